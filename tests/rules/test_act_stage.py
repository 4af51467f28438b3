"""The act stage: cut into steps, stored between them and cut into shards, it does the same."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury import Session
from augury.errors import DataError, StateError
from augury.evaluation.acting.placed import TIME, placed
from augury.evaluation.stages.act import Acted, ActStage, ActState
from augury.matching.matcher import ALWAYS
from oracles.rules import Event, Script
from rules.acting import bind, many, session
from rules.cases import CASES
from rules.test_examples import bounded
from rules.test_reference import cases, opened, rows_of

pytestmark = pytest.mark.filterwarnings("ignore::augury.errors.RowsWarning")
Cuts = list[int]


def stage_of(ag: Session) -> tuple[ActStage, dict[str, pa.Table]]:
    """Return the stage of a session, as it comes out elsewhere, and all candidates."""
    stage = ActStage.of(ag._declared.catalog, ag._declared.checked_queries, ag._bound.rows)
    runner = ag._bound.local_runner()
    return (
        pickle.loads(pickle.dumps(stage)),
        {name: runner.table(name) for name in stage.acting.candidates},
    )


def told(stage: ActStage, steps: list[Acted], states: list[ActState]) -> dict[str, Any]:
    """Return all that came of some steps, in an order that shards do not change."""
    found: dict[str, Any] = {}
    for name in stage.acting.world.tables:
        rows = [tuple(r.values()) for s in states for r in stage.contents(s, name).to_pylist()]
        made = [tuple(r.values()) for a in steps for r in stage.changes(a, name).to_pylist()]
        found[name] = (sorted(rows, key=repr), sorted(made, key=repr))
    for name in stage.catalog.rules:
        fired = [tuple(r.values()) for a in steps for r in stage.firings(a, name).to_pylist()]
        aside = [tuple(r.values()) for a in steps for r in stage.rejected(a, name).to_pylist()]
        found[name] = (sorted(fired, key=repr), sorted(aside, key=repr))
    matches = [r["match_id"] for a in steps for t in a.found.values() for r in t.to_pylist()]
    return found | {"matches": sorted(matches)}


def stepped(
    stage: ActStage, candidates: dict[str, pa.Table], cuts: Cuts, late: bool
) -> tuple[list[Acted], ActState]:
    """Settle candidates in steps; each comes as `late` as it may, or with the first step."""
    state, steps, given_so_far = stage.start(), list[Acted](), dict.fromkeys(candidates, 0)
    known = {}
    for name, rows in candidates.items():
        times = placed(stage.acting.candidates[name], rows, {}).column(TIME)
        known[name] = rows.append_column(TIME, times).sort_by(TIME)
    for horizon in [*sorted(cuts), ALWAYS]:
        batch = {}
        for name, rows in known.items():
            own = rows.column(TIME).to_pylist()
            upto = sum(time < horizon for time in own) if late else len(own)
            start, given_so_far[name] = given_so_far[name], upto
            batch[name] = rows.drop_columns([TIME]).slice(start, upto - start)
        state, acted = stage.advance(state, batch, horizon)
        steps.append(acted)
        state = stage.restore({}, horizon, stage.dump(state))
        if acted.stopped is not None:
            break
    return steps, state


@given(cases(), st.lists(st.integers(0, 16), max_size=5), st.booleans())
@settings(max_examples=many(40), deadline=None)
def test_steps_and_stored_states_change_nothing(
    case: tuple[Script, list[Event]], cuts: Cuts, late: bool
) -> None:
    script, events = case
    stage, candidates = stage_of(bind(opened(script), rows_of(events)))
    state, acted = stage.advance(stage.start(), candidates, ALWAYS)
    steps, last = stepped(stage, candidates, cuts, late)
    assert told(stage, steps, [last]) == told(stage, [acted], [state])
    assert str(steps[-1].stopped) == str(acted.stopped)


@given(cases(), st.integers(2, 5))
@settings(max_examples=many(60), deadline=None)
def test_shards_change_nothing(case: tuple[Script, list[Event]], count: int) -> None:
    script, events = case
    stage, candidates = stage_of(bind(opened(script), rows_of(events)))
    if stage.shards.kind == "single":
        assert stage.shards.reason
        return
    check_shards(stage, candidates, count)


def check_shards(stage: ActStage, candidates: dict[str, pa.Table], count: int) -> None:
    state, acted = stage.advance(stage.start(), candidates, ALWAYS)
    if acted.stopped is not None:
        return
    steps, states = list[Acted](), list[ActState]()
    for number in range(count):
        mine = {
            name: shard_of(rows, stage.shards.queries[name], number, count)
            for name, rows in candidates.items()
        }
        bound = {
            name: shard_of(rows, stage.shards.tables[name], number, count)
            for name, rows in stage.bound.items()
        }
        own = replace(stage, bound=bound)
        last, done = own.advance(own.start(), mine, ALWAYS)
        steps.append(done)
        states.append(last)
    assert told(stage, steps, states) == told(stage, [acted], [state])


def shard_of(rows: pa.Table, columns: tuple[str, ...], number: int, count: int) -> pa.Table:
    values = zip(*(rows.column(name).to_pylist() for name in columns), strict=True)
    return rows.filter(pa.array([hash(value) % count == number for value in values], pa.bool_()))


SHARDED = {"3.1", "N1", "N2", "N10"}


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.name.split()[0] in SHARDED], ids=lambda c: c.name.split()[0]
)
def test_tables_used_by_their_whole_key_cut_candidates(case: Any) -> None:
    stage, candidates = stage_of(bounded(case))
    assert stage.shards.kind == "key"
    assert "by worker" in stage.shards.reason
    check_shards(stage, candidates, 3)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("N4", "rule mark uses table worker_status, and not by values of its whole KEY worker"),
        ("N13", "spree is made of matches of other queries"),
    ],
)
def test_other_uses_keep_candidates_together_and_say_why(name: str, reason: str) -> None:
    case = next(case for case in CASES if case.name.split()[0] == name)
    stage, _ = stage_of(bounded(case))
    assert stage.shards.kind == "single"
    assert reason in stage.shards.reason


def test_what_has_fired_is_handed_on_and_not_kept() -> None:
    case = next(case for case in CASES if case.name.split()[0] == "N10")
    stage, candidates = stage_of(bounded(case))
    state, acted = stage.advance(stage.start(), candidates, ALWAYS)
    assert len(acted.firings) == 2
    assert state.own.firings == []
    assert acted.tried == 2


def test_a_state_of_other_rules_is_refused() -> None:
    first, second = (next(c for c in CASES if c.name.split()[0] == n) for n in ("N1", "N2"))
    one, _ = stage_of(bounded(first))
    other, _ = stage_of(bounded(second))
    with pytest.raises(StateError, match="other declarations"):
        other.restore({}, 0, one.dump(one.start()))


def test_a_moment_that_cannot_be_done_waits_and_is_tried_again() -> None:
    case = next(case for case in CASES if case.name.startswith("N14 "))
    stage, candidates = stage_of(bounded(case))
    state, acted = stage.advance(stage.start(), candidates, ALWAYS)
    assert isinstance(acted.stopped, DataError)
    assert [firing.ts for firing in acted.firings] == [5]
    state = stage.restore({}, ALWAYS, stage.dump(state))
    assert stage.due(state) == 10
    _, again = stage.advance(state, {}, ALWAYS)
    assert str(again.stopped) == str(acted.stopped)
    assert again.firings == []


def test_an_empty_session_is_settled() -> None:
    case = CASES[0]
    stage, candidates = stage_of(bind(session(case.script, {}), []))
    _, acted = stage.advance(stage.start(), candidates, ALWAYS)
    assert acted.tried == 0


def test_explain_says_how_candidates_are_settled() -> None:
    ag = bounded(next(case for case in CASES if case.name.startswith("N4 ")))
    assert "all candidates are settled in one place: rule mark uses" in ag.explain("enters")
    ag = bounded(next(case for case in CASES if case.name.startswith("N2 ")))
    assert "settled apart by the KEY of tables: worker_status by worker" in ag.explain("cleaned")


@pytest.mark.rotating(4)
def test_a_thousand_shards_and_one_are_equal() -> None:
    """A query reads the table that its own rule writes."""
    script = """
    CREATE STREAM doors (id LONG, worker LONG, action STRING, t LONG)
    ID id KEY worker TIME t TYPE action;
    CREATE TABLE status (worker LONG, n LONG) KEY worker;
    CREATE QUERY came ON doors PATTERN SEQ(EXIT x, ENTER e)
    WHERE [worker] AND NOT ((SELECT n FROM status WHERE worker = e.worker) >= 2) WITHIN 50;
    CREATE RULE count ON came
    DO INSERT INTO status VALUES (new.worker, 1) ON CONFLICT DO UPDATE SET n = n + 1;
    """
    ag = session(script, {"status": [(worker, 0) for worker in range(1500)]})
    rows = [
        {"id": k, "worker": k * 7 % 1500, "action": ("EXIT", "ENTER")[k // 1500 % 2], "t": k // 60}
        for k in range(9000)
    ]
    ag.bind("doors", rows)
    stage, candidates = stage_of(ag)
    assert stage.shards.kind == "key"
    assert candidates["came"].num_rows > ag.table("came").num_rows > 1500
    check_shards(stage, candidates, 1000)

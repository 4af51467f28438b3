"""Random scripts against the sequential reference: bound and pushed, however the rows are cut."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury import Session
from augury.errors import DataError
from augury.runners.local.acting import ActingRun
from oracles.rules import Act, Ask, Event, Outcome, Query, Rule, Script, reference, text_of
from rules.acting import bind, contents_of, many, pushed, session

pytestmark = pytest.mark.filterwarnings("ignore::augury.errors.RowsWarning")
COLOURS, WORKERS, KINDS = ("red", "green", "blue"), ("u", "v"), ("A", "B", "C")
colours, kinds = st.sampled_from(COLOURS), st.sampled_from(KINDS)
asks = st.one_of(
    st.builds(Ask, st.sampled_from(["is", "null", "two"]), colours),
    st.builds(Ask, st.just("fewer"), number=st.integers(0, 3)),
    st.builds(Ask, st.just("in")),
)
acts = st.builds(
    Act,
    st.sampled_from(
        ["set", "set all", "turn", "add", "keep", "merge", "swap", "drop", "log", "log"]
    ),
    colours,
) | st.builds(Act, st.just("clear"), st.sampled_from(WORKERS))


@st.composite
def queries(draw: st.DrawFn, name: str, uncertain: bool) -> Query:
    a, b, c = draw(kinds), draw(kinds), draw(kinds)
    shapes = [(a,), (a, b), (a, f"!{b}", c), (a, f"!{b}")]
    parts = draw(st.sampled_from(shapes))
    plain = not any(part[0] == "!" for part in parts)
    return Query(
        name,
        draw(st.integers(0, 1)),
        parts,
        draw(st.integers(1, 6)),
        plain and not uncertain and draw(st.booleans()),
        draw(st.none() | asks),
    )


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    uncertain = draw(st.booleans())
    names = [f"q{k}" for k in range(draw(st.integers(1, 3)))]
    rules = [
        draw(
            st.builds(
                Rule,
                st.just(f"r{k}"),
                st.sampled_from(names),
                st.lists(acts, min_size=1, max_size=2).map(tuple),
                st.none() | asks,
                st.none() | st.sampled_from([0.25, 0.5, 0.8]),
                st.booleans(),
            )
        )
        for k in range(draw(st.integers(1, 3)))
    ]
    status = [(worker, draw(st.none() | colours)) for worker in WORKERS if draw(st.booleans())]
    made = tuple(draw(queries(name, uncertain)) for name in names)
    return Script(draw(st.booleans()), uncertain, made, tuple(rules), tuple(status))


@st.composite
def histories(draw: st.DrawFn, script: Script) -> list[Event]:
    chances = st.sampled_from([1.0, 0.5, 0.8]) if script.uncertain else st.just(1.0)
    return [
        Event(
            draw(st.integers(0, 1)), k, draw(kinds), draw(st.sampled_from(WORKERS)),
            draw(st.integers(0, 8)), draw(st.integers(0, 2)), draw(chances),
        )
        for k in range(draw(st.integers(0, 9)))
    ]  # fmt: skip


@st.composite
def cases(draw: st.DrawFn) -> tuple[Script, list[Event]]:
    script = draw(scripts())
    return script, draw(histories(script))


def rows_of(events: list[Event]) -> list[tuple[str, dict[str, Any]]]:
    rows = [asdict(event) for event in events]
    return [(f"s{row.pop('stream')}", row) for row in rows]


def opened(script: Script) -> Session:
    return session(text_of(script), {"status": list(script.status)})


def names_of(script: Script, events: list[Event]) -> dict[Any, str]:
    """Return what each match is called: by the same queries, without rules and subqueries."""
    plain = replace(script, rules=(), queries=tuple(replace(q, ask=None) for q in script.queries))
    ag = bind(opened(plain), rows_of(events))
    return {
        (query.name, _ids(row)): row["match_id"]
        for query in script.queries
        for row in ag.table(query.name).to_pylist()
    }


def _ids(row: dict[str, Any]) -> tuple[int, ...]:
    return tuple(int(event["event_id"]) for event in row["events"])


def expected_of(script: Script, events: list[Event]) -> tuple[Outcome, dict[Any, str]]:
    names = names_of(script, events)
    return reference(script, events, lambda query, ids: names[query, ids]), names


def check_effects(ag: Session, script: Script, expected: Outcome, names: dict[Any, str]) -> None:
    for table in ("status", "log"):
        if table in ag._declared.acting_for().world.tables:
            assert contents_of(ag, table) == [tuple(row) for row in expected.tables[table]]
            assert _changes(ag, table) == [c[1:] for c in expected.changes if c[0] == table]
    for rule in script.rules:
        fired = [
            (r["match_id"], r["ts"], len(r["changes"])) for r in ag.table(rule.name).to_pylist()
        ]
        own = [f for f in expected.firings if f[0] == rule.name]
        assert fired == [(names[rule.query, ids], ts, n) for _, ids, ts, n in own]
        aside = [row["match_id"] for row in ag.rejected(rule.name).to_pylist()]
        put = [names[rule.query, ids] for name, ids in expected.rejected if name == rule.name]
        assert sorted(aside) == sorted(put)


def _changes(ag: Session, table: str) -> list[Any]:
    rows = ag.changes(table).to_pylist()
    return [(r["ts"], r["seq"], r["operation"], tuple(r.values())[4:]) for r in rows]


def stops(ag: Session, expected: Outcome) -> bool:
    """Return whether the run stops, which it must do at the moment of the reference."""
    if expected.stopped is None:
        ag._acted.state()
        return False
    with pytest.raises(DataError, match=f"at {expected.stopped}: "):
        ag._acted.state()
    return True


@given(cases())
@settings(max_examples=many(40), deadline=None)
def test_bound_rows_give_what_the_reference_gives(case: tuple[Script, list[Event]]) -> None:
    script, events = case
    expected, names = expected_of(script, events)
    ag = bind(opened(script), rows_of(events))
    if not stops(ag, expected):
        check_effects(ag, script, expected, names)
        for query in script.queries:
            passed = {row["match_id"] for row in ag.table(query.name).to_pylist()}
            assert passed == {names[key] for key in expected.passed if key[0] == query.name}


@given(cases())
@settings(max_examples=many(25), deadline=None)
def test_every_read_is_that_of_the_reference(case: tuple[Script, list[Event]]) -> None:
    script, events = case
    expected, _ = expected_of(script, events)
    ag = bind(opened(script), rows_of(events))
    reads: list[tuple[str, int, str, Any]] = []

    def seen(reader: str, match: Any, table: str, value: Any) -> None:
        reads.append((reader, match.moment[0], table, value))

    used = ag._pushed.used(ag._declared.acting_for(), ag._bound.rows)
    run = ActingRun(used, ag._bound.local_runner(), seen)
    if expected.stopped is None:
        assert run.state is not None
        assert sorted(reads, key=str) == sorted(expected.reads, key=str)


@given(cases(), st.lists(st.integers(1, 4), max_size=9), st.integers(0, 9))
@settings(max_examples=many(40), deadline=None)
def test_pushed_rows_give_what_the_reference_gives(
    case: tuple[Script, list[Event]], cuts: list[int], broken: int
) -> None:
    script, events = case
    expected, names = expected_of(script, events)
    rows = sorted(rows_of(events), key=lambda row: row[1]["t"])
    ag = opened(script)
    if expected.stopped is not None:
        with pytest.raises(DataError, match=f"at {expected.stopped}: "):
            pushed(ag, rows, cuts)
        check_effects(ag, script, expected, names)
        return
    # Somewhere the session is left, and another goes on from its checkpoint.
    first, found = opened(script), list[dict[str, Any]]()
    for stream, row in rows[:broken]:
        found += first.push(stream, row)
    ag.restore(first.checkpoint())
    found += pushed(ag, rows[broken:], cuts)
    check_effects(ag, script, expected, names)
    told = sorted((row["query"], row["match_id"]) for row in found)
    assert told == sorted((name, names[name, ids]) for name, ids in expected.passed)

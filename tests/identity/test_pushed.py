"""Streams AS IDENTIFY by push, and their stage: cuts, shards and restarts change nothing."""

from __future__ import annotations

import warnings
from dataclasses import replace
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury import AuguryError, Session
from augury.errors import RowsWarning, StateError
from augury.evaluation.answers.revisions import latest
from augury.evaluation.identifying import Identifying
from augury.evaluation.stages.identify import IdentifyStage
from identity.cases import CASES
from identity.test_examples import session_of, tellings

SCRIPT = """
CREATE TABLE staff (unit STRING, person STRING, room STRING);
CREATE STREAM doors (
    id LONG, unit STRING, person STRING, action STRING, room STRING, t LONG, note STRING
)
ID id TIME t TYPE action LATENESS 3;
CREATE MODEL ward MOVES (
    OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT', HALL 'H', STEP 2, BY unit
);
CREATE STREAM known AS IDENTIFY doors USING ward WITHIN 6;
"""
UNITS, PEOPLE, ROOMS = ("u", "v"), ("ann", "bob", "cat"), ("R1", "R2")
STAFF = [{"unit": u, "person": p, "room": None} for u in UNITS for p in PEOPLE]

rows = st.lists(
    st.tuples(
        st.sampled_from((*UNITS, "w")),
        st.sampled_from((*PEOPLE, None, None, None)),
        st.sampled_from(("ENTER", "EXIT", "WASH")),
        st.sampled_from(ROOMS),
        st.integers(0, 3),
    ),
    max_size=14,
)


def doors_of(drawn: list[tuple]) -> list[dict]:
    time, found = 0, []
    for number, (unit, person, action, room, gap) in enumerate(drawn):
        time += gap
        own = {"id": number, "unit": unit, "person": person, "action": action, "room": room}
        found.append(own | {"t": time, "note": f"n{number}"})
    return found


def session(script: str = SCRIPT, staff: list[dict] = STAFF) -> Session:
    ag = Session(engine="local")
    ag.sql(script)
    ag.bind("staff", staff)
    return ag


def stage_of(ag: Session):
    table = {"staff": pa.Table.from_pylist(STAFF)}
    return Identifying(ag._declared.catalog, lambda name: None, lambda name: table[name]).stage(
        "known"
    )


def bound(doors: list[dict]) -> tuple[list[dict], list[dict]]:
    ag = session()
    ag.bind("doors", doors)
    return ag.revisions("known").to_pylist(), ag.rejected("known").to_pylist()


def by_event(told: list[dict]) -> list[tuple]:
    return sorted(
        (each["unit"], each["as_of"], each["id"], each["revision"], each["person"], each["p"])
        for each in told
    )


@pytest.mark.filterwarnings("ignore")
@given(drawn=rows, cuts=st.lists(st.integers(0, 14), max_size=3))
@settings(deadline=None)
def test_pushed_rows_are_told_as_bound_ones(drawn, cuts):
    doors = doors_of(drawn)
    ag, told = session(), []
    for number, each in enumerate(doors):
        if number in cuts:
            data = ag.checkpoint()
            ag = session()
            ag.restore(data)
        told += ag.push("doors", each)
    told += ag.finish()
    expected, rejected = bound(doors)
    assert told == ag.revisions("known").to_pylist()
    assert by_event(told) == by_event(expected)
    by_id = sorted(ag.rejected("known").to_pylist(), key=lambda each: each["id"])
    assert by_id == sorted(rejected, key=lambda each: each["id"])


def of_ward(stage: IdentifyStage, unit: str) -> IdentifyStage:
    wards = {unit: stage.identifier.wards[unit]}
    return replace(stage, identifier=replace(stage.identifier, wards=wards))


@pytest.mark.filterwarnings("ignore")
@given(drawn=rows, cut=st.integers(0, 14), data=st.data())
@settings(deadline=None)
def test_shards_of_wards_and_stored_states_change_nothing(drawn, cut, data):
    doors = doors_of(drawn)
    whole = stage_of(session())
    table = pa.Table.from_pylist(doors, schema=whole.start().rows.schema)
    told = []
    for unit in UNITS:
        stage = of_ward(whole, unit)
        own = table.filter(pa.array([each["unit"] == unit for each in doors], pa.bool_()))
        horizon = own.column("t")[cut].as_py() if cut < own.num_rows else 0
        first, then = own.slice(0, cut), own.slice(cut)
        if first.num_rows and data.draw(st.booleans()):
            first = first.take(pa.array(range(first.num_rows))[::-1])
        state, early = stage.advance(stage.start(), first, horizon)
        state, late = stage.advance(stage.load(stage.dump(state)), then)
        told += early.told.to_pylist() + late.told.to_pylist()
    expected = [each for each in bound(doors)[0] if each["unit"] in UNITS]
    assert by_event(told) == by_event(expected)


def test_what_may_not_be_told_again_is_not_kept():
    stage = stage_of(session())
    state = stage.start()
    sizes = []
    for number in range(40):
        action = "EXIT" if number % 2 else "ENTER"
        rows = [{"id": number, "unit": "u", "action": action, "room": "R1", "t": 4 * number}]
        table = pa.Table.from_pylist(rows, schema=state.rows.schema)
        state, _ = stage.advance(state, table, 4 * number)
        sizes.append(state.rows.num_rows)
    assert max(sizes) <= 4


MATCHES = """
CREATE QUERY visit ON known PATTERN SEQ(ENTER x, !WASH s, EXIT e) WHERE [unit] AND [person] WITHIN 8
RETURN x.id AS x, e.id AS e, e.p AS p, e.revision AS told;
CREATE QUERY unwashed ON known PATTERN SEQ(ENTER x, !WASH s) WHERE [unit] AND [person] WITHIN 5
HAVING CONFIDENCE >= 0.3 RETURN x.id AS x;
CREATE QUERY others ON known PATTERN SEQ(ENTER x, EXIT e)
WHERE [unit] AND x.person <> e.person USING SKIP TILL NEXT MATCH WITHIN 4;
CREATE QUERY left ON known PATTERN EXIT e WHERE e.room <> 'R2' WITHIN 1 HAVING CONFIDENCE >= 0.3
RETURN e.id AS e, e.p AS p, e.revision AS told;
"""
QUERIES = ("visit", "unwashed", "others", "left")


def rounded(rows: list[dict]) -> list[str]:
    """Return rows whose probabilities are as near as sums in another order are."""
    shown = [{k: round(v, 9) if isinstance(v, float) else v for k, v in r.items()} for r in rows]
    for row in shown:
        row["events"] = [e | {"probability": round(e["probability"], 9)} for e in row["events"]]
    return sorted(map(repr, shown))


@pytest.mark.filterwarnings("ignore")
@patch("augury.identity.track.BETWEEN_MARKS", 2)
@given(drawn=rows, cuts=st.lists(st.integers(0, 14), max_size=3), within=st.sampled_from((6, 30)))
@settings(max_examples=20, deadline=None)
def test_matches_are_told_as_those_of_bound_rows(drawn, cuts, within):
    doors = doors_of(drawn)
    script = SCRIPT.replace("WITHIN 6", f"WITHIN {within}") + MATCHES
    ag, told = session(script), []
    for number, each in enumerate(doors):
        if number in cuts:
            data = ag.checkpoint()
            ag = session(script)
            ag.restore(data)
        told += ag.push("doors", each)
    told += ag.finish()
    whole = session(script)
    whole.bind("doors", doors)
    for name in QUERIES:
        own = [row for row in told if row.get("query") == name]
        assert rounded(own) == rounded(whole.revisions(name).to_pylist())


def test_states_of_other_wards_and_damaged_ones_are_refused():
    stage = stage_of(session())
    data = stage.dump(stage.start())
    with pytest.raises(StateError, match="other columns or wards"):
        of_ward(stage, "u").load(data)
    with pytest.raises(StateError, match="damaged"):
        stage.load(data[: len(data) // 2])


def test_a_checkpoint_belongs_to_its_model():
    ag = session()
    ag.push("doors", doors_of([("u", None, "ENTER", "R1", 1)]))
    other = session(SCRIPT.replace("STEP 2", "STEP 5"))
    with pytest.raises(StateError):
        other.restore(ag.checkpoint())


def test_pushes_say_what_they_put_aside_and_what_they_lack():
    ag = session()
    with pytest.warns(RowsWarning, match="1 row of stream known"):
        ag.push("doors", doors_of([("w", None, "ENTER", "R1", 1), ("u", None, "ENTER", "R1", 9)]))
    with pytest.raises(AuguryError, match="push rows of doors"):
        ag.push("known", {"id": 1})
    bare = Session(engine="local", partly=True)
    bare.sql(SCRIPT)
    with pytest.warns(UserWarning, match="table staff has no data; bind it before the first push"):
        bare.push("doors", doors_of([("u", None, "ENTER", "R1", 1)]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_worked_cases_by_push(case):
    ag = session_of(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = [each for row in case.rows for each in ag.push("doors", row)] + ag.finish()
        rejected = ag.rejected("known").column("id").to_pylist()
    assert tellings(told) == case.tellings
    assert sorted(rejected) == sorted(case.rejected)


@pytest.mark.filterwarnings("ignore")
@patch("augury.identity.track.BETWEEN_MARKS", 4)
def test_what_is_remembered_of_people_does_not_grow_with_the_stream():
    ag, sizes = session(SCRIPT + MATCHES), []
    for number in range(120):
        action, room = ("ENTER", "EXIT")[number // 2 % 2], ROOMS[number % 2]
        person = None if number % 3 else PEOPLE[number % 2]
        row = {"id": number, "unit": "u", "person": person, "action": action, "room": room}
        ag.push("doors", row | {"t": 2 * number, "note": ""})
        state = ag._pushed.live.queries["visit"].state.stages["match visit"]
        past = state.followed.pasts["u"]
        live = len(state.followed.live) + len(state.followed.due)
        sizes.append((state.kept["known"].num_rows, len(past.rows), len(past.marks), live))
    first, then = sizes[30:75], sizes[75:]
    assert [max(column) for column in zip(*then, strict=True)] <= [
        max(column) + 2 for column in zip(*first, strict=True)
    ]
    assert max(rows for _, rows, _, _ in then) < 30


@pytest.mark.filterwarnings("ignore")
@given(drawn=rows)
@settings(max_examples=10, deadline=None)
def test_the_log_of_matches_comes_to_what_its_table_says(drawn):
    ag = session(SCRIPT + MATCHES)
    ag.bind("doors", doors_of(drawn))
    for name, floor in (("visit", 0.0), ("unwashed", 0.3 - 1e-9)):
        log = ag.revisions(name)
        held = latest(log, floor).to_pylist()
        assert sorted(map(repr, held)) == sorted(map(repr, ag.table(name).to_pylist()))

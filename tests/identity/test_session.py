"""Streams AS IDENTIFY through the session: wards, bad input, and what is refused as yet."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from augury import AuguryError, DataError, ModelError, QueryError, Session
from augury.errors import RowsWarning

# Rows that are rejected on purpose are announced; one test asks for it.
pytestmark = pytest.mark.filterwarnings("ignore:.* of stream known w")

TABLES = """
CREATE TABLE staff (unit STRING, person STRING, room STRING);
CREATE TABLE passages (a STRING, b STRING);
CREATE TABLE weights (person STRING, room STRING, w DOUBLE);
CREATE STREAM doors (
    id STRING, unit STRING, person STRING, action STRING, room STRING, at TIMESTAMP
)
ID id TIME at TYPE action;
"""
HALL = "OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT', HALL 'H'"
DOORS = "OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', DOORS passages (a, b)"
KNOWN = "CREATE STREAM known AS IDENTIFY doors USING ward WITHIN 1 HOUR;"


def at(second: int) -> datetime:
    return datetime(2026, 1, 1, 12, 0, second, tzinfo=UTC)


def row(number: str, second: int, person: str | None, action: str, room: str, unit: str = "u"):
    return {
        "id": number,
        "unit": unit,
        "person": person,
        "action": action,
        "room": room,
        "at": at(second),
    }


def session(parts: str, staff: list[tuple], rows: list[dict]) -> Session:
    ag = Session(engine="local")
    ag.sql(f"{TABLES} CREATE MODEL ward MOVES ({parts}); {KNOWN}")
    named = [dict(zip(("unit", "person", "room"), each, strict=True)) for each in staff]
    ag.bind("staff", named)
    ag.bind("passages", [{"a": "H", "b": "R1"}])
    ag.bind("weights", [{"person": "ann", "room": "R1", "w": -1.0}])
    ag.bind("doors", rows)
    return ag


def test_wards_know_nothing_of_each_other():
    staff = [("u", "ann", None), ("u", "bob", None), ("v", "ann", None)]
    rows = [
        row("1", 1, None, "ENTER", "R1", "u"),
        row("2", 1, None, "ENTER", "R1", "v"),
        row("3", 2, None, "ENTER", "R1", "w"),
    ]
    ag = session(f"{HALL}, BY unit", staff, rows)
    known = [(r["unit"], r["id"], r["person"], r["p"]) for r in ag.table("known").to_pylist()]
    assert known == [("u", "1", "ann", 0.5), ("u", "1", "bob", 0.5), ("v", "2", "ann", 1.0)]
    (rejected,) = ag.rejected("known").to_pylist()
    assert (rejected["id"], rejected["reason"]) == ("3", "there is no such ward")


def test_a_match_may_take_two_wards_together_which_know_nothing_of_each_other():
    staff = [("u", "ann", None), ("u", "bob", None), ("v", "cat", None), ("v", "dan", None)]
    rows = [row("1", 1, None, "ENTER", "R1", "u"), row("2", 2, None, "ENTER", "R2", "v")]
    ag = session(f"{HALL}, BY unit", staff, rows)
    ag.sql("CREATE QUERY two ON known PATTERN SEQ(ENTER x, ENTER e) WITHIN 1 MINUTE;")
    assert ag.table("two").column("confidence").to_pylist() == [0.25] * 4


def test_what_is_told_has_the_columns_of_the_source_and_more():
    ag = session(HALL, [("u", "ann", None)], [row("1", 1, None, "ENTER", "R1")])
    (told,) = ag.table("known").to_pylist()
    assert told == row("1", 1, "ann", "ENTER", "R1") | {
        "p": 1.0,
        "revision": 0,
        "as_of": at(1),
        "method": "exact",
        "error_bound": 0.0,
    }
    assert ag.table("known", ["person", "p"]).column_names == ["person", "p"]


def test_rows_that_mean_nothing_are_rejected_with_the_reason():
    rows = [
        row("1", 1, "eve", "ENTER", "R1"),
        row("2", 2, None, "EXIT", "H"),
        row("3", 3, None, "EXIT", "R1"),
        row("4", 4, None, "WASH", None),
        row("5", 5, "ann", None, "R1"),
        row("6", 6, None, "ENTER", "R1"),
        row("6", 7, None, "EXIT", "R1"),
    ]
    ag = session(HALL, [("u", "ann", None)], rows)
    assert [r["id"] for r in ag.table("known").to_pylist()] == ["6"]
    reasons = [r["reason"] for r in ag.rejected("known").to_pylist()]
    assert sorted(reasons) == [
        "EXIT at H, which is the hall",
        "eve is nobody of this ward",
        "id was seen before",
        "no world allows this event",
        "the place of this event is NULL",
        "the type of this event is NULL",
    ]


def test_rejected_rows_are_announced():
    ag = session(HALL, [("u", "ann", None)], [row("1", 1, "eve", "ENTER", "R1")])
    with pytest.warns(RowsWarning, match="1 row of stream known was rejected; eve is nobody"):
        ag.table("known")


def test_resets_are_told_and_announced_once():
    ag = session(HALL, [("u", "ann", "R1")], [row("1", 1, "ann", "EXIT", "R2")])
    with pytest.warns(UserWarning, match="1 badge reads were impossible"):
        assert ag.table("known").column("p").to_pylist() == [1.0]
    assert ag.rejected("known").num_rows == 0


def test_impossible_reads_are_rejected_where_the_model_says_so():
    rows = [row("1", 1, "ann", "EXIT", "R2")]
    ag = session(f"{HALL}, IMPOSSIBLE REJECT", [("u", "ann", "R1")], rows)
    assert ag.table("known").num_rows == 0
    assert "IMPOSSIBLE REJECT" in ag.rejected("known").to_pylist()[0]["reason"]


@pytest.mark.parametrize(
    ("parts", "staff", "said"),
    [
        (HALL, [("u", "ann", None), ("u", "ann", "R1")], "ann more than once"),
        (HALL, [("u", None, "R1")], "without a person"),
        (DOORS, [("u", "ann", None)], "does not say where ann begins"),
        (f"{HALL}, PREFER weights (person, room, w)", [("u", "ann", None)], "the weight -1.0"),
        (f"{HALL}, BY unit", [(None, "ann", None)], "ward that is NULL"),
    ],
)
def test_a_world_that_is_none_is_an_error_of_the_model(parts: str, staff: list, said: str):
    ag = session(parts, staff, [row("1", 1, None, "ENTER", "R1")])
    with pytest.raises(ModelError, match=f"model ward: .*{said}"):
        ag.table("known")


def test_owners_are_neither_bound_nor_pushed():
    ag = session(HALL, [("u", "ann", None)], [])
    with pytest.raises(AuguryError, match="bind the rows of doors"):
        ag.bind("known", [])
    with pytest.raises(AuguryError, match="push rows of doors"):
        ag.push("known", [])


THREE = [row(str(k), k, None, "ENTER", "R1") for k in range(1, 4)]
FOUR = [("u", person, None) for person in ("ann", "bob", "cat", "dan")]
TWO_ENTER = "CREATE QUERY q ON known PATTERN SEQ(ENTER x, ENTER e) WITHIN 1 HOUR"


def test_a_probability_that_takes_too_many_tracks_is_refused_with_the_setting(monkeypatch):
    monkeypatch.setenv("AUGURY_IDENTITY_STATE_LIMIT", "3")
    ag = session(HALL, FOUR, THREE)
    ag.sql(f"{TWO_ENTER} RETURN PROBABILITY BY TIME;")
    with pytest.raises(DataError, match="identity_state_limit"):
        ag.table("q")


def test_matches_that_take_too_many_tracks_are_sampled_and_say_so(monkeypatch):
    ag = session(HALL, FOUR, THREE)
    ag.sql(f"{TWO_ENTER};")
    exact = {row["match_id"]: row["confidence"] for row in ag.table("q").to_pylist()}
    assert {row["method"] for row in ag.table("q").to_pylist()} == {"exact"}
    monkeypatch.setenv("AUGURY_IDENTITY_STATE_LIMIT", "3")
    ag = session(HALL, FOUR, THREE)
    ag.sql(f"{TWO_ENTER};")
    found = ag.table("q").to_pylist()
    assert "sampled" in {row["method"] for row in found}
    for each in found:
        assert abs(each["confidence"] - exact[each["match_id"]]) <= each["error_bound"] + 1e-9


def test_what_return_names_stands_in_the_place_of_the_standard_column():
    ag = session(HALL, [("u", "ann", None)], [row("1", 1, "ann", "ENTER", "R1")])
    ag.sql("CREATE QUERY q ON known PATTERN ENTER x WITHIN 1 HOUR RETURN x.room AS method;")
    (found,) = ag.table("q").to_pylist()
    assert (found["method"], found["error_bound"]) == ("R1", 0.0)


@pytest.mark.filterwarnings("ignore")
def test_a_run_with_few_states_goes_on_with_more(monkeypatch):
    def begun() -> Session:
        ag = session(HALL, FOUR, [])
        ag.sql(f"{TWO_ENTER};")
        return ag

    monkeypatch.setenv("AUGURY_IDENTITY_STATE_LIMIT", "3")
    ag = begun()
    ag.push("doors", THREE[0])
    data = ag.checkpoint()
    assert "sampled" in {row["method"] for row in [*ag.push("doors", THREE[1:]), *ag.finish()]}
    monkeypatch.delenv("AUGURY_IDENTITY_STATE_LIMIT")
    again, whole = begun(), begun()
    again.restore(data)
    later = [*again.push("doors", THREE[1:]), *again.finish()]
    told = [*whole.push("doors", THREE), *whole.finish()]
    assert len(later) == len(told) > 0
    assert {row["method"] for row in later} == {"exact"}


def test_explain_shows_the_stage():
    ag = session(HALL, [("u", "ann", None)], [])
    ag.sql("CREATE QUERY q ON known PATTERN SEQ(ENTER x, EXIT e) WHERE [person] WITHIN 1 HOUR;")
    text = ag.explain("q")
    assert "identify  engine  known: from events without an owner" in text
    assert "not evaluated" not in text


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("CREATE FORECAST f ON q WITHIN 1 HOUR LEARN FROM doors;", "f"),
    ],
)
def test_forecasts_over_owners_are_refused(text: str, asked: str):
    ag = session(HALL, [("u", "ann", None)], [row("1", 1, None, "ENTER", "R1")])
    ag.sql("CREATE QUERY q ON known PATTERN SEQ(ENTER x, EXIT e) WHERE [person] WITHIN 1 HOUR;")
    ag.sql(text)
    with pytest.raises(QueryError, match="P003"):
        ag.table(asked)


def test_the_reads_that_decided_are_those_without_which_another_is_told():
    staff = [("u", person, None) for person in ("ann", "bob", "cat")]
    rows = [
        row("1", 1, None, "ENTER", "R1"),
        row("2", 2, "cat", "ENTER", "R2"),
        row("3", 3, "cat", "EXIT", "R2"),
        row("4", 4, "ann", "EXIT", "R1"),
    ]
    found = session(HALL, staff, rows).why_owner("known", "1").to_pylist()
    # Without the badge of 4 it was ann, or bob, or cat, whom 2 shows elsewhere.
    assert {(each["read"], each["person"]): (each["p"], each["without"]) for each in found} == {
        ("4", "ann"): (1.0, 0.5),
        ("4", "bob"): (0.0, 0.5),
    }
    for name, event in (("doors", "1"), ("known", "9")):
        with pytest.raises(AuguryError):
            session(HALL, staff, rows).why_owner(name, event)

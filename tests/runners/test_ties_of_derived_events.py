"""A derived event has the tie-breaker of its last event, whatever its type and its stream."""

from __future__ import annotations

from datetime import UTC, date, datetime
from math import nan
from typing import Any

import pytest

from augury import Session

THREE = {
    "LONG": (1, 2, 3),
    "DOUBLE": (-1.5, -0.5, 2.0),
    "STRING": ("a", "b", "c"),
    "TIMESTAMP": tuple(datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3)),
    "DATE": tuple(date(2026, 1, day) for day in (1, 2, 3)),
}
PAIRS = [("s1", "s2"), ("s1", "u3"), ("s2", "u3")]


def session(s: str, u: str | None) -> Session:
    """Return a session with streams s and u, ordered by a column of that type, or not at all."""
    ag = Session(engine="local")
    ag.sql(f"""
        CREATE STREAM s (id STRING, t LONG, o {s}) ID id TIME t ORDER BY o;
        CREATE STREAM u (id STRING, t LONG, o {u or s}) ID id TIME t {"ORDER BY o" if u else ""};
        CREATE QUERY d ON s, u PATTERN _ x WITHIN 5 RETURN x.id AS xid;
        CREATE QUERY q ON d PATTERN SEQ(d a, d b) WITHIN 5 RETURN a.xid AS a, b.xid AS b;""")
    return ag


def rows(stream: str, ties: dict[int, Any]) -> list[dict[str, Any]]:
    return [{"id": f"{stream}{k}", "t": 1, "o": tie} for k, tie in ties.items()]


def pairs(matches: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return sorted((row["a"], row["b"]) for row in matches if row["query"] == "q")


def bound(ag: Session, s: dict[int, Any], u: dict[int, Any]) -> list[tuple[str, str]]:
    ag.bind("s", rows("s", s))
    ag.bind("u", rows("u", u))
    return pairs(ag.table("q").to_pylist())


@pytest.mark.parametrize("kind", THREE)
def test_tie_breakers_of_two_streams_meet_as_values(kind: str) -> None:
    one, two, three = THREE[kind]
    assert bound(session(kind, kind), {1: one, 2: two}, {3: three}) == PAIRS


@pytest.mark.parametrize("kind", THREE)
def test_they_do_where_rows_are_pushed(kind: str) -> None:
    one, two, three = THREE[kind]
    ag = session(kind, kind)
    found = ag.push("s", rows("s", {2: two, 1: one})) + ag.push("u", rows("u", {3: three}))
    assert pairs(found + ag.finish()) == PAIRS


def test_whole_and_broken_numbers_compare_as_numbers() -> None:
    found = bound(session("LONG", "DOUBLE"), {1: 1, 2: 2}, {3: 1.5})
    assert found == [("s1", "s2"), ("s1", "u3"), ("u3", "s2")]


def test_what_is_not_a_number_comes_last() -> None:
    found = bound(session("DOUBLE", "DOUBLE"), {1: nan, 2: 2.0}, {3: nan, 4: None})
    assert found == [("s2", "s1"), ("s2", "u3")]


@pytest.mark.parametrize("tie", [-5, 5])
def test_without_order_by_there_is_no_tie_breaker(tie: int) -> None:
    assert bound(session("LONG", None), {1: tie, 2: 7}, {3: 0}) == [("s1", "s2")]


def test_the_last_event_of_a_match_is_the_one_with_the_greatest_tie_breaker() -> None:
    ag = session("STRING", "STRING")
    ag.sql("""
        CREATE QUERY both ON s, u PATTERN AND(s x, u y) WITHIN 5 RETURN y.id AS yid;
        CREATE QUERY two ON both PATTERN SEQ(both a, both b) WITHIN 5
        RETURN a.yid AS a, b.yid AS b;""")
    ag.bind("s", rows("s", {1: "m"}))
    # By their ranks in their own streams, 'm' would not come after 'a', and 'b' would.
    ag.bind("u", rows("u", {2: "a", 3: "b", 4: "z"}))
    found = [(row["a"], row["b"]) for row in ag.table("two").to_pylist()]
    assert sorted(found) == [("u2", "u4"), ("u3", "u4")]

"""A page draws how one partial match of a forecast went on, and the numbers are the forecast's."""

from __future__ import annotations

from typing import Any

from augury import Session
from augury.report.fan import MOST_ROWS, fan_of

SCRIPT = """
CREATE STREAM s (kind STRING, t LONG) TIME t TYPE kind;
CREATE STREAM history (kind STRING, t LONG) TIME t TYPE kind;
CREATE QUERY q ON s PATTERN SEQ(A a, B b, C c) USING SKIP TILL NEXT MATCH;
CREATE FORECAST f ON q WITHIN 4 EVENTS USING MARKOV 0 LEARN FROM history {more};
"""


def session(kinds: str, more: str = "", script: str = SCRIPT) -> Session:
    ag = Session(engine="local")
    ag.sql(script.replace("{more}", more))
    ag.bind("history", rows("ABCX" * 5))
    ag.bind("s", rows(kinds))
    return ag


def rows(kinds: str) -> list[dict[str, Any]]:
    return [{"kind": kind, "t": t} for t, kind in enumerate(kinds, 1)]


def test_a_partial_match_is_followed_through_parts_of_the_horizon() -> None:
    # At 1 and 2 an A waits for B and C, at 3 and 4 for C; each event is a C with 1 / 4 or so.
    fan = fan_of(session("AXBXCX"), "f")
    assert fan is not None
    assert fan.parts == ("1 event", "2 events", "3 events", "4 events")
    assert (fan.times, fan.bound) == ((1, 2, 3, 4), (1, 1, 2, 2))
    for part in range(4):
        asked = session("AXBXCX", script=SCRIPT.replace("4 EVENTS", f"{part + 1} EVENTS"))
        told = {row["ts"]: row["forecast"] for row in asked.table("f").to_pylist()}
        assert [own[part] for own in fan.chances] == [told.get(t, 0.0) for t in fan.times]
    assert fan.chances[0][0] == 0.0
    assert all(list(own) == sorted(own) and own[-1] > 0 for own in fan.chances)


def test_a_threshold_hides_no_moment_and_there_may_be_nothing_to_follow() -> None:
    shown = fan_of(session("AXBXCX", "HAVING FORECAST > 0.6"), "f")
    assert shown == fan_of(session("AXBXCX"), "f")
    assert fan_of(session("XXXX"), "f") is None
    assert fan_of(session("A"), "f") is None
    assert fan_of(session("AXBXCX", "RETURN FORECAST BY TIME"), "f") is None
    assert fan_of(session("AB" + "X" * MOST_ROWS), "f") is None


def test_the_page_draws_it() -> None:
    page = session("AXBXCX").report()
    assert page.count('class="area fan"') == 4
    assert "how a partial match of f went on" in page
    assert "2 events bound: " in page

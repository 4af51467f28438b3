"""Rows of every shape are decided about: alternatives, times, rows without ids, late ones."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from augury import Session
from augury.errors import DataError
from privacy.wards import row, session

Row = dict[str, Any]


def opened(stream: str, *, queries: str = "") -> Session:
    ag = Session(engine="local")
    ag.sql(f"""
{stream}
CREATE QUERY shown ON s PATTERN SEQ(A a, B b) WITHIN {"5" if "t LONG" in stream else "5 MINUTES"};
CREATE QUERY hidden ON s PATTERN SEQ(A a, C b) {queries}
WITHIN {"5" if "t LONG" in stream else "5 MINUTES"};
CREATE POLICY pol ON s PUBLIC shown WEIGHT 2 PRIVATE hidden USING GREEDY;
CREATE STREAM kept AS SUPPRESS s USING pol;
""")
    return ag


def pushed(ag: Session, rows: list[Row]) -> list[Row]:
    return [each for own in rows for each in ag.push("s", own)] + ag.finish()


ALTERNATIVES = (
    "CREATE STREAM s (id STRING, kind STRING, who STRING, t LONG, p DOUBLE)"
    " ID id TIME t TYPE kind ALTERNATIVES who PROBABILITY p;"
)
UNSURE = [
    {"id": "a1", "kind": "A", "who": "x", "t": 1, "p": 0.5},
    {"id": "a1", "kind": "A", "who": "y", "t": 1, "p": 0.5},
    {"id": "b2", "kind": "B", "who": "x", "t": 2, "p": 0.25},
    {"id": "b2", "kind": "B", "who": "z", "t": 2, "p": 0.5},
    {"id": "c3", "kind": "C", "who": "z", "t": 3, "p": 0.5},
    {"id": "c3", "kind": "C", "who": "x", "t": 3, "p": 0.1},
    {"id": "c4", "kind": "C", "who": "z", "t": 4, "p": 0.9},
]


def test_alternatives_are_kept_or_dropped_together_and_count_by_their_expectation() -> None:
    bound, live = (opened(ALTERNATIVES, queries="WHERE [who]") for _ in range(2))
    bound.bind("s", UNSURE)
    log = bound.audit("pol").to_pylist()
    assert [(each["event_id"], each["kept"]) for each in log] == [
        ("a1", True),
        ("b2", True),
        ("c3", False),
        ("c4", True),
    ]
    # Two matches of weight 2 for each of the two As that may have been, with chances of .25 and .5.
    assert log[1]["gain"] == pytest.approx(2 * (0.5 + 0.5) * 0.75)
    assert [each["id"] for each in bound.table("kept").to_pylist()] == [
        "a1",
        "a1",
        "b2",
        "b2",
        "c4",
    ]
    pushed(live, UNSURE)
    assert live.audit("pol").equals(bound.audit("pol"))


def test_alternatives_of_different_times_are_refused_without_their_values() -> None:
    ag = opened(ALTERNATIVES)
    ag.bind("s", [UNSURE[0], UNSURE[1] | {"t": 2}])
    with pytest.raises(DataError, match="different times"):
        ag.table("shown")


CLOCK = "CREATE STREAM s (kind STRING, at TIMESTAMP, seq LONG) TIME at ORDER BY seq TYPE kind;"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_rows_without_ids_are_decided_under_the_ids_that_matches_have() -> None:
    rows = [
        {"kind": kind, "at": NOON + timedelta(seconds=k), "seq": k}
        for k, kind in enumerate("ABCAABBCB")
    ]
    bound, live = opened(CLOCK), opened(CLOCK)
    bound.bind("s", rows)
    log = bound.audit("pol")
    assert str(log.schema.field("ts").type) == "timestamp[us, tz=UTC]"
    assert [each["type"] for each in log.to_pylist() if not each["kept"]] == ["C", "C"]
    ids = set(log.column("event_id").to_pylist())
    matched = [each["event_id"] for m in bound.table("shown").to_pylist() for each in m["events"]]
    assert set(matched) <= ids
    found = pushed(live, rows)
    assert live.audit("pol").equals(log)
    assert sorted(each["match_id"] for each in found) == sorted(
        bound.table("shown").column("match_id").to_pylist()
    )


@pytest.mark.parametrize("seed", range(4))
def test_rows_in_any_order_are_decided_in_the_order_of_time(seed: int) -> None:
    stream = "CREATE STREAM s (id STRING, kind STRING, t LONG) ID id TIME t TYPE kind LATENESS 9;"
    rows = [{"id": f"{kind}{t}", "kind": kind, "t": t} for t, kind in enumerate("ACBACCBAB")]
    whole, bound, live = opened(stream), opened(stream), opened(stream)
    whole.bind("s", rows)
    random.Random(seed).shuffle(rows)
    bound.bind("s", rows)
    pushed(live, rows)
    assert bound.audit("pol").equals(whole.audit("pol"))
    assert live.audit("pol").equals(whole.audit("pol"))


def test_equal_rows_without_ids_are_events_of_their_own() -> None:
    stream = "CREATE STREAM s (kind STRING, t LONG) TIME t TYPE kind;"
    rows = [{"kind": "A", "t": 1}, {"kind": "C", "t": 2}, {"kind": "C", "t": 2}]
    bound, live = opened(stream), opened(stream)
    bound.bind("s", rows)
    pushed(live, rows)
    assert len(set(bound.audit("pol").column("event_id").to_pylist())) == 3
    assert live.audit("pol").equals(bound.audit("pol"))


def test_conditions_look_into_tables() -> None:
    ag = session("""
CREATE TABLE watched (k STRING);
CREATE QUERY shown ON s PATTERN SEQ(A a, B b) WITHIN 5;
CREATE QUERY hidden ON s PATTERN SEQ(A a, C b) WHERE b.k IN watched WITHIN 5;
CREATE POLICY pol ON s PUBLIC shown PRIVATE hidden USING GREEDY;
""")
    ag.bind("watched", [{"k": "x"}])
    ag.bind("s", [row("a1"), row("c2 k=x"), row("c3 k=y")])
    assert ag.audit("pol").column("kept").to_pylist() == [True, False, True]


def test_a_history_that_is_not_bound_is_asked_for() -> None:
    ag = session("""
CREATE QUERY hidden ON s PATTERN SEQ(A a, C b) WITHIN 5;
CREATE POLICY pol ON s PRIVATE hidden USING TYPES LEARN FROM h;
CREATE QUERY shown ON s PATTERN A a WITHIN 5;
""")
    ag.bind("s", [row("a1")])
    with pytest.raises(DataError, match="policy pol learns from h"):
        ag.table("shown")


def test_a_history_ends_before_what_is_learned_online() -> None:
    ag = session("""
CREATE QUERY hidden ON s PATTERN SEQ(A a, C b) WITHIN 5;
CREATE POLICY pol ON s PRIVATE hidden USING HYBRID RATES LEARN FROM h ONLINE;
CREATE QUERY shown ON s PATTERN A a WITHIN 5;
""")
    ag.bind("h", [row("a1"), row("c7")])
    ag.bind("s", [row("a3")])
    with pytest.raises(DataError, match="bind a history of earlier rows"):
        ag.table("shown")

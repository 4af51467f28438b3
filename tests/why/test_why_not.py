"""Why a query has no match: what is named stops it, and with what is named there would be one."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import AuguryError, Session
from augury.why.explanation import Change, WhyNot
from matching.as_text import (
    Case,
    Refused,
    bindings,
    query_text,
    script,
    session_of,
    stream_table,
)
from matching.random_cases import CONSTRUCTS, random_case

COLUMNS = "id LONG, tag STRING, reader STRING, door STRING, price LONG, t LONG, p DOUBLE"
STREAM = f"CREATE STREAM reads ({COLUMNS}) ID id KEY tag TIME t TYPE reader PROBABILITY p;"
THEFT = """CREATE QUERY theft ON reads PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag] AND z.door <> 'staff' WITHIN 100 HAVING CONFIDENCE >= 0.8;"""


def session(query: str, *rows: tuple[Any, ...]) -> Session:
    """Return a session over rows of type, time, probability and further columns."""
    ag = Session(engine="local")
    ag.sql(STREAM + query)
    ag.bind("reads", [_row(k, *row) for k, row in enumerate(rows)])
    return ag


def _row(k: int, kind: str, t: int, p: float = 1.0, **more: Any) -> dict[str, Any]:
    common = {"id": k, "tag": "t1", "reader": kind, "door": "main", "price": 5, "t": t, "p": p}
    return common | more


def asked(query: str, *rows: Any) -> WhyNot:
    ag = Session(engine="local")
    ag.sql(STREAM + query)
    ag.bind("reads", [_row(k, *row[:3], **row[3]) for k, row in enumerate(rows)])
    return ag.why_not("theft", key="t1")


def the(told: WhyNot) -> Change:
    assert told.change is not None
    return told.change


@pytest.mark.parametrize(
    ("rows", "stopped_by", "says"),
    [
        (
            [("SHELF", 0, 0.9, {}), ("EXIT", 10, 0.7, {})],
            ("threshold",),
            "with HAVING CONFIDENCE >= 0.63",
        ),
        (
            [("SHELF", 0, 0.9, {}), ("EXIT", 101, 1.0, {})],
            ("window",),
            "with WITHIN 101 in place of WITHIN 100",
        ),
        (
            [("SHELF", 0, 0.9, {}), ("COUNTER", 5, 1.0, {}), ("EXIT", 10, 1.0, {})],
            ("negation",),
            "without the event COUNTER 1 of reads at 5",
        ),
        (
            [("SHELF", 0, 0.9, {}), ("EXIT", 10, 1.0, {"door": "staff"})],
            ("condition",),
            "without z.door <> 'staff'",
        ),
        (
            [("SHELF", 0, 0.9, {})],
            ("component",),
            "with an event EXIT of reads at 1 with tag = t1, door = main",
        ),
    ],
)
def test_the_nearest_miss_names_what_stopped_it_and_the_least_change(
    rows: list[Any], stopped_by: tuple[str, ...], says: str
) -> None:
    change = the(asked(THEFT, *rows))
    assert (change.stopped_by, change.says) == (stopped_by, (says,))


def test_the_nearest_miss_has_the_events_that_are_there() -> None:
    told = asked(THEFT, ("SHELF", 0, 0.9, {}))
    assert [event.component for event in the(told).reached] == ["x"]
    assert the(told).missing == ("z",)
    assert "nothing for z" in str(told)


def test_several_things_are_named_where_no_single_change_will_do() -> None:
    rows = [("SHELF", 0, 0.9, {}), ("COUNTER", 1, 1.0, {}), ("EXIT", 101, 0.5, {"door": "staff"})]
    query = THEFT.replace("SHELF x", "SHELF x (x.p < 0.95)").replace("EXIT z", "EXIT z (z.t > 100)")
    change = the(asked(query, *rows))
    assert set(change.stopped_by) == {"threshold", "window", "condition", "negation"}
    assert change.confidence == pytest.approx(0.45)


def test_a_bound_is_moved_and_no_further_than_needed() -> None:
    query = """CREATE QUERY theft ON reads PATTERN SEQ(SHELF x, EXIT z)
    WHERE [tag] AND z.t - x.t < 10 WITHIN 100;"""
    change = the(asked(query, ("SHELF", 0, 1.0, {}), ("EXIT", 25, 1.0, {}), ("EXIT", 31, 1.0, {})))
    assert change.says == ("with z.t - x.t <= 25 in place of z.t - x.t < 10",)


def test_what_was_taken_first_under_next_match_is_named() -> None:
    query = """CREATE QUERY theft ON reads PATTERN SEQ(SHELF x, EXIT z, EXIT w)
    WHERE [tag] AND w.price > z.price USING SKIP TILL NEXT MATCH
    WITHIN 100;"""
    rows = [("SHELF", 0, 5), ("EXIT", 10, 9), ("EXIT", 20, 5), ("EXIT", 30, 7)]
    told = asked(query, *((kind, t, 1.0, {"price": price}) for kind, t, price in rows))
    by_selection = next(each for each in told.changes if each.stopped_by == ("selection",))
    assert by_selection.says == ("without the event EXIT 1 of reads at 10",)


def test_a_row_that_was_rejected_is_the_answer_where_it_was_what_lacked() -> None:
    told = asked(THEFT, ("SHELF", 0, 0.9, {}), ("EXIT", 10, 1.7, {}))
    change = the(told)
    assert change.stopped_by == ("rejected",)
    assert "p is not a probability between 0 and 1" in change.reasons[0]
    assert change.added["reads"][0]["p"] == 1.0


def test_a_row_that_was_late_is_the_answer_where_it_was_what_lacked() -> None:
    ag = Session(engine="local")
    ag.sql(STREAM + THEFT)
    shelf, exit_ = _row(0, "SHELF", 10), _row(1, "EXIT", 20)
    ag.push("reads", _row(2, "SHELF", 90, tag="t2"))
    with pytest.warns(UserWarning, match="late"):
        ag.push("reads", exit_)
    ag.bind("reads", [shelf])
    change = the(ag.why_not("theft", key="t1"))
    assert change.stopped_by == ("late",)
    assert change.added["reads"] == [exit_]


def test_matches_that_are_there_are_named() -> None:
    ag = session(THEFT, ("SHELF", 0), ("EXIT", 10))
    (match_id,) = ag.table("theft").column("match_id").to_pylist()
    told = ag.why_not("theft", key="t1")
    assert (told.found, told.changes) == ((match_id,), ())


def test_other_keys_and_other_times_are_other_questions() -> None:
    ag = session(THEFT, ("SHELF", 0), ("EXIT", 10), ("SHELF", 1000))
    assert ag.why_not("theft", around=5).found
    assert the(ag.why_not("theft", around=1000)).stopped_by == ("component",)
    assert the(ag.why_not("theft", key="t2")).stopped_by == ("component", "component")


@pytest.mark.parametrize(
    ("key", "around", "message"),
    [
        ({"colour": 1}, None, "query theft reads no column colour"),
        (None, "noon", "around is 'noon'; expected a whole number"),
        ({"t": "noon"}, None, "t of query theft is a LONG, and 'noon' is none"),
    ],
)
def test_what_cannot_be_meant_is_said(key: Any, around: Any, message: str) -> None:
    ag = session(THEFT, ("SHELF", 0))
    with pytest.raises(AuguryError, match=message):
        ag.why_not("theft", key=key, around=around)


def test_times_are_read_as_texts_and_windows_told_in_words() -> None:
    ag = Session(engine="local")
    ag.sql("""CREATE STREAM s (kind STRING, at TIMESTAMP) TIME at TYPE kind;
    CREATE QUERY q ON s PATTERN SEQ(A a, B b) WITHIN 10 MINUTES;""")
    first, second = (datetime(2026, 1, 1, 9, minute, tzinfo=UTC) for minute in (0, 30))
    ag.bind("s", [{"kind": "A", "at": first}, {"kind": "B", "at": second}])
    change = the(ag.why_not("q", around="2026-01-01T09:10"))
    assert change.says == ("with WITHIN 30 MINUTES in place of WITHIN 10 MINUTES",)


# Laws ---------------------------------------------------------------------------------------------


def thinned(case: Case, seed: int) -> Case:
    """Return a case that may have lost its matches: some events are gone, and it asks for more."""
    rng = random.Random(seed)
    share = rng.choice((0.0, 0.15, 0.4))
    events = tuple(event for event in case.events if rng.random() > share)
    query = case.queries[-1]
    if query.threshold is None and rng.random() < 0.4:
        query = replace(query, threshold=(0.9, False))
    return replace(case, events=events, queries=(*case.queries[:-1], query))


def changed(case: Case, change: Change) -> Any:
    """Return what a query answers in a session of its own with what a change names."""
    text = script(case)
    if change.query is not None:
        own = query_text(case.queries[-1])
        assert own in text
        text = text.replace(own, change.query)
    fresh = Session(engine="local")
    fresh.sql(text)
    for name, table in bindings(case).items():
        fresh.bind(name, table)
    for stream in case.streams:
        table = stream_table(case, stream)
        rows = table.to_pylist()
        for gone in change.removed.get(stream.lower(), ()):
            rows.remove(gone)
        rows += change.added.get(stream.lower(), ())
        fresh.bind(stream, pa.Table.from_pylist(rows, table.schema))
    return fresh.table(case.queries[-1].name)


FEW = settings(
    phases=(Phase.explicit, Phase.generate), max_examples=max(2, settings().max_examples // 25)
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("construct", CONSTRUCTS)
@FEW
@given(
    strategy=st.sampled_from(("any", "next", "strict", "partition")),
    seed=st.integers(min_value=0, max_value=10**9),
)
def test_with_every_change_that_is_named_there_is_a_match(
    construct: str, strategy: str, seed: int
) -> None:
    case = thinned(random_case(construct, strategy, seed), seed)
    try:
        ag = session_of(case)
        told = ag.why_not(case.queries[-1].name)
    except (Refused, AuguryError):
        return
    for change in told.changes:
        found = changed(case, change).column("confidence").to_pylist()
        assert any(abs(each - change.confidence) < 1e-9 for each in found), (told, change)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("construct", ["seq", "repetition", "conjunction", "keys", "streams"])
@FEW
@given(seed=st.integers(min_value=0, max_value=10**9))
def test_a_window_one_shorter_than_is_named_lets_no_match_through(
    construct: str, seed: int
) -> None:
    case = thinned(random_case(construct, "any", seed), seed)
    query = case.queries[-1]
    case = replace(case, queries=(*case.queries[:-1], replace(query, within=("time", 1))))
    try:
        told = session_of(case).why_not(query.name)
    except (Refused, AuguryError):
        return
    for change in told.changes:
        if change.stopped_by == ("window",):
            length = int(change.says[0].split()[2])
            shorter = replace(
                change, query=str(change.query).replace(f"WITHIN {length}", f"WITHIN {length - 1}")
            )
            assert not changed(case, shorter).num_rows, change

"""Pushing events one at a time keeps the contract of operators, and answers as a batch does."""

from __future__ import annotations

import copy
import random
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from augury import DataError, QueryError, Session, StateError
from augury.runners.live import runner
from contracts.live_cases import (
    LATENESS,
    Push,
    arrivals,
    batch_answers,
    comparable,
    live_session,
    pushed,
)
from matching.as_text import Case
from matching.random_cases import CONSTRUCTS, random_case

STRATEGIES = ("any", "next", "strict", "partition")
seeds = st.integers(0, 2**32)
cases = st.builds(
    random_case, st.sampled_from(sorted(CONSTRUCTS)), st.sampled_from(STRATEGIES), seeds
)

STREAM = (
    "CREATE STREAM s (id LONG, tag STRING, kind STRING, t LONG, v LONG, p DOUBLE) "
    "ID id KEY tag TIME t TYPE kind PROBABILITY p LATENESS 2;"
)
PAIRS = "CREATE QUERY pairs ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 10 RETURN b.v - a.v AS d;"


def session(*queries: str, stream: str = STREAM, partly: bool = False) -> Session:
    ag = Session(engine="local", partly=partly)
    ag.sql("\n".join([stream, *queries]))
    return ag


def row(number: int, kind: str, t: int, **changed: Any) -> dict[str, Any]:
    return {"id": number, "tag": "x", "kind": kind, "t": t, "v": t, "p": 0.5} | changed


def in_chunks(ag: Session, pushes: list[Push], size: int) -> list[dict[str, Any]]:
    """Push several rows at a time, as long as they are of one stream."""
    found: list[dict[str, Any]] = []
    for stream, same in groupby(pushes, key=lambda push: push[0]):
        rows = [each for _, each in same]
        for first in range(0, len(rows), size):
            found += ag.push(stream, rows[first : first + size])
    return found


# The laws ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("construct", sorted(CONSTRUCTS))
def test_pushed_in_any_order_that_lateness_allows_events_give_what_a_batch_gives(
    construct: str, strategy: str
) -> None:
    for seed in range(3):
        case = random_case(construct, strategy, seed)
        ag = live_session(case)
        found = pushed(ag, arrivals(case, seed)) + ag.finish()
        assert comparable(found) == comparable(batch_answers(case)), seed
        assert all(ag.late(stream).num_rows == 0 for stream in case.streams)


@given(cases, seeds)
def test_a_live_run_equals_the_batch_run(case: Case, seed: int) -> None:
    ag = live_session(case)
    found = pushed(ag, arrivals(case, seed)) + ag.finish()
    assert comparable(found) == comparable(batch_answers(case))


@given(cases, seeds)
def test_single_rows_are_a_substitution_that_one_line_takes_out(case: Case, seed: int) -> None:
    pushes, told = arrivals(case, seed), []
    for in_steps in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            if in_steps:
                patch.setattr(runner, "needs_steps", lambda _: True)
            ag = live_session(case)
            told.append([comparable(ag.push(*each)) for each in pushes] + [comparable(ag.finish())])
    # Each push tells the same, by the stage for single rows and by steps of the executor.
    assert told[0] == told[1]


@given(cases, seeds)
def test_batch_boundaries_do_not_matter(case: Case, seed: int) -> None:
    pushes = arrivals(case, seed)
    runs = []
    for size in (1, 7, len(pushes)):
        ag = live_session(case)
        runs.append(comparable(in_chunks(ag, pushes, size) + ag.finish()))
    assert runs[0] == runs[1] == runs[2]


@given(cases, seeds)
def test_rows_that_are_pushed_are_not_mutated(case: Case, seed: int) -> None:
    pushes = arrivals(case, seed)
    before = copy.deepcopy(pushes)
    pushed(live_session(case), pushes)
    assert pushes == before


@given(cases, seeds, st.integers(0, 30))
def test_abort_and_resume_equals_no_abort(case: Case, seed: int, cut: int) -> None:
    pushes = arrivals(case, seed)
    cut %= len(pushes) + 1
    first = live_session(case)
    early = pushed(first, pushes[:cut])
    saved = first.checkpoint()
    pushed(first, pushes[cut:])
    second = live_session(case)
    second.restore(saved)
    assert second.checkpoint() == saved
    found = early + pushed(second, pushes[cut:]) + second.finish()
    assert comparable(found) == comparable(batch_answers(case))


@given(cases, seeds)
def test_a_run_that_is_repeated_gives_the_same(case: Case, seed: int) -> None:
    pushes = arrivals(case, seed)
    one, other = live_session(case), live_session(case)
    assert pushed(one, pushes) + one.finish() == pushed(other, pushes) + other.finish()


@given(cases, seeds)
def test_rows_that_are_delivered_twice_change_nothing(case: Case, seed: int) -> None:
    assume(not any(event.group is not None for event in case.events))
    twice = [push for push in arrivals(case, seed) for _ in range(2)]
    ag = live_session(case)
    found = pushed(ag, twice) + ag.finish()
    assert comparable(found) == comparable(batch_answers(case))
    assert sum(ag.rejected(s).num_rows + ag.late(s).num_rows for s in case.streams) == len(
        case.events
    )


@given(cases, seeds)
def test_confidences_are_probabilities(case: Case, seed: int) -> None:
    ag = live_session(case)
    found = pushed(ag, arrivals(case, seed)) + ag.finish()
    assert all(0.0 < match["confidence"] <= 1.0 for match in found)


def test_the_names_and_the_order_of_keys_are_irrelevant() -> None:
    rng = random.Random(3)
    rows = [row(k, rng.choice("AB"), k // 3, tag=rng.choice("xyz")) for k in range(60)]
    renamed = [each | {"tag": {"x": "z", "y": "a", "z": "b"}[each["tag"]]} for each in rows]
    one, other = session(PAIRS), session(PAIRS)
    found = one.push("s", rows) + one.finish()
    same = other.push("s", renamed[::3] + renamed[1::3] + renamed[2::3]) + other.finish()
    late = other.late("s").num_rows
    assert late > 0
    again = session(PAIRS)
    same = again.push("s", sorted(renamed, key=lambda each: (each["t"], each["tag"])))
    same += again.finish()
    assert {m["match_id"]: m["confidence"] for m in found} == {
        m["match_id"]: m["confidence"] for m in same
    }


@pytest.mark.parametrize(
    "within", ["WITHIN 10", "WITHIN 10 EVENTS", "WITHIN 10 HAVING CONFIDENCE > 0.2"]
)
def test_state_stays_bounded_under_a_stream_ten_times_as_long(within: str) -> None:
    sizes = []
    for n in (300, 3000):
        query = f"CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE a.tag <> b.tag {within};"
        ag = session(query)
        for k in range(n):
            chance = 1.0 if k % 2 else 0.5
            ag.push("s", row(k, "AB"[k % 3 == 0], k, tag=f"tag {k}", p=chance))
        sizes.append(len(ag.checkpoint()))
    assert sizes[1] < sizes[0] * 1.6
    assert sizes[1] < 60_000


# Time --------------------------------------------------------------------------------------------


def test_a_match_is_reported_once_the_watermark_has_passed_its_last_event() -> None:
    ag = session(PAIRS)
    assert ag.push("s", row(1, "A", 1)) == []
    assert ag.push("s", row(2, "B", 4)) == []
    assert ag.push("s", row(3, "C", 6)) == []
    (match,) = ag.push("s", row(4, "C", 7))
    assert (match["tag"], match["start_ts"], match["end_ts"], match["d"]) == ("x", 1, 4, 3)
    assert match["confidence"] == 0.25
    assert [event["event_id"] for event in match["events"]] == ["1", "2"]


def test_an_event_before_the_watermark_is_late_and_one_at_it_is_not() -> None:
    ag = session(PAIRS)
    ag.push("s", [row(1, "A", 10), row(2, "A", 8), row(3, "A", 7)])
    assert ag.late("s").select(["id", "reason"]).to_pylist() == [
        {"id": 3, "reason": "t is 7, before the watermark 8"}
    ]


def test_a_negation_at_the_end_waits_for_the_end_of_the_window() -> None:
    ag = session("CREATE QUERY q ON s PATTERN SEQ(A a, !B b) WHERE [tag] WITHIN 10;")
    ag.push("s", [row(1, "A", 1), row(2, "B", 5)])
    assert ag.push("s", row(3, "C", 13)) == []
    (match,) = ag.push("s", row(4, "C", 14))
    assert match["confidence"] == 0.25


def test_an_open_repetition_waits_for_the_end_of_the_window() -> None:
    ag = session(
        "CREATE QUERY q ON s PATTERN SEQ(A a, B+ b) WHERE [tag] USING SKIP TILL NEXT MATCH "
        "WITHIN 10 RETURN COUNT(b) AS n, SUM(b.v) AS v;"
    )
    rows = [row(1, "A", 1, p=1.0), row(2, "B", 5, p=1.0), row(3, "B", 6, p=1.0)]
    assert ag.push("s", [*rows, row(4, "C", 13)]) == []
    (match,) = ag.push("s", row(5, "C", 14))
    assert (match["n"], match["v"], match["confidence"]) == (2, 11, 1.0)


def test_finish_reports_what_waits_and_ends_the_streams() -> None:
    ag = session(PAIRS)
    ag.push("s", [row(1, "A", 1), row(2, "B", 4)])
    assert len(ag.finish()) == 1
    assert ag.finish() == []
    assert ag.push("s", row(3, "B", 5)) == []
    assert ag.late("s").column("reason").to_pylist() == ["t is 5, but the stream was finished"]


def test_a_query_over_two_streams_goes_as_far_as_the_slower_one() -> None:
    ag = session("CREATE QUERY q ON a, b PATTERN SEQ(a x, b y) WITHIN 10;", stream=(
        "CREATE STREAM a (id LONG, t LONG) ID id TIME t; CREATE STREAM b (id LONG, t LONG) "
        "ID id TIME t;"
    ))  # fmt: skip
    ag.push("a", [{"id": 1, "t": 1}, {"id": 2, "t": 100}])
    assert ag.push("b", {"id": 3, "t": 2}) == []
    (match,) = ag.push("b", {"id": 4, "t": 3})
    assert [event["event_id"] for event in match["events"]] == ["1", "3"]


def test_a_query_declared_later_sees_what_is_pushed_from_then_on() -> None:
    ag = session(PAIRS)
    ag.push("s", row(1, "A", 1))
    ag.sql("CREATE QUERY more ON s PATTERN SEQ(A a, B b) WITHIN 10;")
    ag.push("s", [row(2, "A", 2), row(3, "B", 3)])
    found = ag.finish()
    assert sorted((m["query"], m["start_ts"]) for m in found) == [
        ("more", 2),
        ("pairs", 1),
        ("pairs", 2),
    ]


# Rows --------------------------------------------------------------------------------------------


def test_bad_rows_are_put_aside_with_the_reason() -> None:
    ag = session(PAIRS)
    ag.push("s", [
        row(1, "A", 1),
        row(1, "A", 2),
        row(2, "A", 1, tag=None),
        row(3, "A", 1, p=1.5),
        row(4, "A", 1, p=float("nan")),
        row(5, "A", 1, v="much"),
        {"id": 6, "tag": "x", "kind": "A", "p": 1.0},
        {"tag": "x", "kind": "A", "t": 1, "p": 1.0},
        row(7, "A", 2**70),
    ])  # fmt: skip
    assert ag.rejected("s").column("reason").to_pylist() == [
        "id was seen before",
        "tag is null",
        "p is not a probability between 0 and 1",
        "p is not a probability between 0 and 1",
        "v is declared LONG, but is 'much'",
        "t is null",
        "id is null",
        f"t is declared LONG, but is {2**70}",
    ]
    assert ag.rejected("s").column("id").to_pylist() == [1, 2, 3, 4, 5, 6, None, 7]


def test_alternatives_above_one_are_put_aside_all_of_them() -> None:
    stream = (
        "CREATE STREAM s (who STRING, place STRING, t LONG, p DOUBLE) KEY who TIME t "
        "ALTERNATIVES place PROBABILITY p;"
    )
    ag = session("CREATE QUERY q ON s PATTERN s x RETURN x.place AS place;", stream=stream)
    ag.push("s", [
        {"who": "joe", "place": "a", "t": 1, "p": 0.7},
        {"who": "sue", "place": "a", "t": 1, "p": 0.7},
        {"who": "joe", "place": "b", "t": 1, "p": 0.7},
        {"who": "joe", "place": "c", "t": 1, "p": 0.1},
    ])  # fmt: skip
    assert [(m["place"], m["confidence"]) for m in ag.finish()] == [("a", 0.7)]
    assert ag.rejected("s").column("place").to_pylist() == ["a", "b", "c"]


def test_times_come_in_and_go_out_as_datetimes() -> None:
    stream = "CREATE STREAM s (id STRING, d DATE, at TIMESTAMP) ID id TIME at LATENESS 1 SECOND;"
    ag = session(
        "CREATE QUERY q ON s PATTERN SEQ(s x, s y) WITHIN 1 HOUR "
        "RETURN x.at AS first, y.at - x.at AS span, x.d AS day;",
        stream=stream,
    )
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    ag.push("s", {"id": "a", "at": noon.replace(tzinfo=None), "d": noon.date()})
    ag.push("s", {"ID": "b", "AT": "2026-03-01T12:05:00+00:00"})
    (match,) = ag.finish()
    assert match["first"] == match["start_ts"] == noon
    assert match["span"] == timedelta(minutes=5)
    assert match["day"] == noon.date()


def test_what_is_no_row_is_an_error_of_the_data() -> None:
    with pytest.raises(DataError, match="push dicts"):
        session(PAIRS).push("s", [7])


def test_a_stream_that_is_not_declared_is_an_error_of_the_query() -> None:
    with pytest.raises(QueryError, match="nowhere"):
        session(PAIRS).push("nowhere", row(1, "A", 1))


def test_a_query_that_returns_no_matches_is_named_and_left_out() -> None:
    ag = session(
        "CREATE QUERY often ON s PATTERN SEQ(A a, B b) WHERE [tag] RETURN PROBABILITY;",
        PAIRS,
        partly=True,
    )
    with pytest.warns(UserWarning, match="query often asks whether anything ever matches"):
        ag.push("s", [row(1, "A", 1), row(2, "B", 2)])
    assert [m["query"] for m in ag.finish()] == ["pairs"]


def test_a_query_that_cannot_be_planned_is_named_and_left_out() -> None:
    ag = session(
        "CREATE QUERY odd ON s PATTERN SEQ(A a, B b) WHERE [tag] AND a.kind || b.kind = 'AB' "
        "WITHIN 10;",
        PAIRS,
        partly=True,
    )
    with pytest.warns(UserWarning, match="query odd cannot be evaluated, and push leaves it out: "):
        ag.push("s", [row(1, "A", 1), row(2, "B", 2)])
    assert ag.push("s", row(3, "C", 3)) == []
    assert [m["query"] for m in ag.finish()] == ["pairs"]


def test_a_push_that_would_leave_a_query_out_fails_unless_it_is_to_go_on() -> None:
    asked = " CREATE QUERY n ON s PATTERN SEQ(A a) RETURN PROBABILITY;"
    ag = session(PAIRS + asked)
    for _ in range(2):
        with pytest.raises(QueryError, match=r"(?s)query n asks whether.*partly=True"):
            ag.push("s", row(1, "A", 1))


def test_the_warning_about_a_query_points_at_the_push() -> None:
    asked = " CREATE QUERY n ON s PATTERN SEQ(A a) RETURN PROBABILITY;"
    ag = session(PAIRS + asked, partly=True)
    with pytest.warns(UserWarning, match="query n asks whether") as caught:
        ag.push("s", row(1, "A", 1))
    assert [warning.filename for warning in caught] == [__file__]


# Stored state ------------------------------------------------------------------------------------


def test_the_checkpoint_of_other_declarations_is_refused() -> None:
    saved = session(PAIRS).checkpoint()
    with pytest.raises(StateError, match="other declarations"):
        session(PAIRS.replace("WITHIN 10", "WITHIN 11")).restore(saved)


@pytest.mark.parametrize(("at", "what"), [(8, "format version"), (-1, "damaged"), (0, "no such")])
def test_a_damaged_checkpoint_is_refused(at: int, what: str) -> None:
    saved = bytearray(session(PAIRS).checkpoint())
    saved[at] ^= 0xFF
    with pytest.raises(StateError, match=what):
        session(PAIRS).restore(bytes(saved))


def test_lateness_is_what_the_cases_declare() -> None:
    case = random_case("seq", "any", 1)
    ag = live_session(case)
    stream = case.streams[0]
    first = {"id": "z", "kind": "A", "t": 100, "tie": 0, "p": 1.0, "g": "z"}
    ag.push(stream, [first, first | {"id": "y", "t": 99 - LATENESS}])
    assert ag.late(stream).num_rows == 1


def test_a_negation_before_an_absent_option_waits_for_the_end_of_the_window() -> None:
    ag = session("CREATE QUERY q ON s PATTERN SEQ(A a, !B b, C? c) WHERE [tag] WITHIN 10;")
    ag.push("s", [row(1, "A", 1, p=1.0), row(2, "C", 3, p=1.0)])
    (early,) = ag.push("s", row(3, "B", 6, p=0.25))
    assert [event["event_id"] for event in early["events"]] == ["1", "2"]
    assert ag.push("s", row(4, "D", 13)) == []
    (match,) = ag.push("s", row(5, "D", 14))
    assert (len(match["events"]), match["confidence"]) == (1, 0.75)

"""Retention: an event is kept while a later match can need it, and no longer."""

from __future__ import annotations

import numpy as np
import pytest

from augury.analysis.script import check_text
from augury.evaluation.stages.retention import oldest_counted, oldest_needed
from augury.matching.ends import ends_late, looks_back
from augury.matching.pattern import Pattern
from augury.operator import NEVER_YET
from augury.planning.match_plan import plan_match

STREAM = "CREATE STREAM s (kind STRING, t LONG, p DOUBLE) TIME t TYPE kind PROBABILITY p;"


def pattern(rest: str) -> Pattern:
    checked = check_text(f"{STREAM} CREATE QUERY q ON s PATTERN {rest};")
    return plan_match(checked.queries[0], checked.catalog).pattern


@pytest.mark.parametrize(
    ("rest", "oldest"),
    [
        ("SEQ(A a, B b) WITHIN 10", 90),
        ("SEQ(A a, !B b) WITHIN 10", 90),
        ("SEQ(!B b, A a) WITHIN 10", 80),
        ("SEQ(A a, B b)", NEVER_YET),
        ("SEQ(A a, B b) WITHIN 10 EVENTS", NEVER_YET),
    ],
)
def test_the_clock_keeps_one_window_and_two_where_a_negation_looks_back(
    rest: str, oldest: int
) -> None:
    assert oldest_needed(pattern(rest), 100) == oldest


def kept(rest: str, chances: list[float]) -> int:
    """Return how many of the latest events are kept; the events are at 0, 1, 2, ..."""
    time = np.arange(len(chances))
    oldest = oldest_counted(pattern(rest), time, np.array(chances))
    return len(chances) - max(0, oldest)


def test_of_certain_events_counting_keeps_one_less_than_the_window() -> None:
    assert kept("SEQ(A a, B b) WITHIN 4 EVENTS", [1.0] * 20) == 3


def test_without_a_threshold_uncertain_events_may_all_be_absent() -> None:
    assert kept("SEQ(A a, B b) WITHIN 4 EVENTS", [0.9] * 20) == 20


def test_a_threshold_bounds_uncertain_events() -> None:
    found = kept("SEQ(A a, B b) WITHIN 4 EVENTS HAVING CONFIDENCE >= 0.2", [0.5] * 40)
    # P(at most 2 of n exist) is 0.1445 for n = 8 and 0.2266 for n = 7.
    assert found == 8


def test_ties_go_together() -> None:
    time = np.array([0, 1, 1, 1, 2, 3])
    assert oldest_counted(pattern("SEQ(A a, B b) WITHIN 4 EVENTS"), time, np.ones(6)) == 1


@pytest.mark.parametrize(
    ("rest", "late"),
    [
        ("SEQ(A a, B b) WITHIN 9", False),
        ("SEQ(A a, !B b) WITHIN 9", True),
        ("SEQ(A a, B+ b) USING SKIP TILL NEXT MATCH WITHIN 9", True),
        ("SEQ(A a, B+ b) WITHIN 9", False),
    ],
)
def test_an_open_end_is_known_at_the_end_of_the_window(rest: str, late: bool) -> None:
    assert ends_late(pattern(rest)) is late


def test_a_negation_at_the_start_looks_back() -> None:
    assert looks_back(pattern("SEQ(!B b, A a) WITHIN 9"))
    assert not looks_back(pattern("SEQ(A a, !B b, C c) WITHIN 9"))

"""What a threshold leaves without hope is not searched, and nothing else is lost."""

from __future__ import annotations

import numpy as np
import pytest

from augury import Session
from augury.evaluation.prune_by_threshold import prune_by_threshold
from augury.planning.match_plan import MatchPlan
from augury.records import Events
from matching.asking import ask

STREAM = "a1 .9 b2 .5 b3 .8 c4 .9 b5 .2 c6 .4"


def searched(clauses: str, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the times of the events that the search is given."""
    seen: list[Events] = []

    def noted(plan: MatchPlan, events: Events) -> Events:
        seen.append(prune_by_threshold(plan, events))
        return seen[-1]

    monkeypatch.setattr("augury.evaluation.enumeration.prune_by_threshold", noted)
    ask(clauses, STREAM)
    return np.sort(seen[0].time).tolist()


def test_an_event_is_searched_only_where_the_best_of_the_others_can_carry_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = "PATTERN SEQ(A a, B b, C c) HAVING CONFIDENCE >= 0.4"
    # With .9 and .9 beside it, b2 gives .405 and b5 .162; c6, with .9 and .8, gives .288.
    assert searched(query, monkeypatch) == [1, 2, 3, 4]
    assert ask(query, STREAM) == pytest.approx({"a=a1 b=b2 c=c4": 0.405, "a=a1 b=b3 c=c4": 0.648})


def test_an_event_that_may_break_a_match_is_kept_however_unlikely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = "PATTERN SEQ(A a, !B b, C c) HAVING CONFIDENCE >= 0.05"
    assert searched(query, monkeypatch) == [1, 2, 3, 4, 5, 6]
    assert ask(query, STREAM) == pytest.approx({"a=a1 c=c4": 0.081})


@pytest.mark.parametrize(
    "clauses",
    [
        "PATTERN SEQ(A a, B b, C c) USING SKIP TILL NEXT MATCH HAVING CONFIDENCE >= 0.4",
        "PATTERN SEQ(A a, B b, C c) WITHIN 4 EVENTS HAVING CONFIDENCE >= 0.4",
        "PATTERN SEQ(A a, B b, C c)",
    ],
)
def test_where_others_count_or_nothing_is_asked_all_are_searched(
    clauses: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert searched(clauses, monkeypatch) == [1, 2, 3, 4, 5, 6]


def test_only_components_that_every_match_has_lend_their_best() -> None:
    query = "PATTERN SEQ(A a, OR(B b, C c)) HAVING CONFIDENCE >= 0.7"
    assert ask(query, STREAM) == pytest.approx({"a=a1 b=b3": 0.72, "a=a1 c=c4": 0.81})


def test_derived_events_that_share_a_base_event_are_not_judged_by_products() -> None:
    ag = Session(engine="local")
    ag.sql(
        "CREATE STREAM s (id LONG, kind STRING, t LONG, p DOUBLE)"
        " ID id TIME t TYPE kind PROBABILITY p;"
        "CREATE QUERY low ON s PATTERN SEQ(A a, B b);"
        "CREATE QUERY q ON low PATTERN AND(low x, low y) HAVING CONFIDENCE >= 0.45;"
    )
    told = [(1, "A", 1, 0.5), (2, "B", 2, 1.0), (3, "B", 3, 1.0)]
    ag.bind("s", [dict(zip(("id", "kind", "t", "p"), row, strict=True)) for row in told])
    assert set(ag.table("q")["confidence"].to_pylist()) == {0.5}

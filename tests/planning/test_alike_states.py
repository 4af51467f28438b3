"""States of several queries are alike as P-ToPSS merges them (its Figure 6)."""

from __future__ import annotations

import pytest

from augury import Session
from augury.planning.pattern.alike_states import Alike, alike_states


def alike(*subscriptions: str) -> Alike:
    ag = Session(engine="local")
    ag.sql("CREATE STREAM s (kind STRING, v LONG, t LONG) TIME t TYPE kind;")
    for number, text in enumerate(subscriptions):
        ag.sql(f"CREATE QUERY q{number} ON s {text};")
    return alike_states(ag._declared.checked_queries.values())


def test_figure_6_shares_two_states_and_not_the_third() -> None:
    found = alike("SUBSCRIPTION a; b; c", "SUBSCRIPTION a; b; d", "SUBSCRIPTION a")
    first, second, third = found.classes.values()
    assert first[:2] == second[:2]
    assert first[2] != second[2]
    # What waits for b has a loop over whatever comes, and what waits for nothing has none.
    assert third[0] not in first
    assert (found.states, found.merged) == (7, 5)
    assert found.commonality == pytest.approx(2 / 7)
    assert [found.shared(name) for name in found.classes] == [2, 2, 0]


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        ("SUBSCRIPTION a, b, c", "SUBSCRIPTION a, b, d", 4),
        ("SUBSCRIPTION a, b; c", "SUBSCRIPTION a; b, c", 6),
        ("SUBSCRIPTION a; b; c", "PATTERN SEQ(a x, b y, c z)", 3),
        ("SUBSCRIPTION a; b WITH a, b: v > 1", "SUBSCRIPTION c; d WITH c: v > 1, d: v > 2", 3),
        ("SUBSCRIPTION a; b", "SUBSCRIPTION b; a", 4),
        ("PATTERN SEQ(a x, b y)", "PATTERN SEQ(a x, b y) USING STRICT", 4),
    ],
)
def test_states_are_alike_by_their_ways_in(one: str, other: str, merged: int) -> None:
    assert alike(one, other).merged == merged


def test_explain_says_what_forecasts_have_in_common() -> None:
    ag = Session(engine="local")
    ag.sql("""
        CREATE STREAM s (kind STRING, t LONG) TIME t TYPE kind;
        CREATE QUERY one ON s SUBSCRIPTION a; b; c;
        CREATE QUERY two ON s SUBSCRIPTION a; b; d;
        CREATE FORECAST f ON one WITHIN 5 EVENTS;
    """)
    assert "alike" not in ag.explain("f")
    ag.sql("CREATE FORECAST g ON two WITHIN 5 EVENTS;")
    assert "2 of its 3 states are those of other forecasts" in ag.explain("f")
    assert "commonality 0.33" in ag.explain("f")

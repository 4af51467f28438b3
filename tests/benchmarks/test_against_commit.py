"""What got slower since a commit: seconds that grew, and rates that fell."""

from __future__ import annotations

import pytest

from against_commit import leaves, medians, slower


def test_longer_seconds_and_lower_rates_are_slower() -> None:
    old = {"a/seconds": 2.0, "a/events_per_second": 100.0, "gone_seconds": 1.0}
    new = {"a/seconds": 3.0, "a/events_per_second": 50.0, "new_seconds": 1.0}
    assert slower(old, new) == {"a/seconds": 1.5, "a/events_per_second": 2.0}


def test_what_no_time_passed_in_is_not_compared() -> None:
    assert slower({"seconds": 0.0}, {"seconds": 1.0}) == {}


def test_figures_are_found_wherever_they_stand() -> None:
    found = {"cases": {"one": [{"seconds": 1, "rows": 3, "exact": True}]}}
    assert dict(leaves(found)) == {"/cases/one/0/seconds": 1.0, "/cases/one/0/rows": 3.0}


def test_medians_are_of_figures_that_every_round_gave() -> None:
    rounds = [{"x": 1.0, "y": 1.0}, {"x": 5.0}, {"x": 2.0, "y": 3.0}]
    assert medians(rounds) == {"x": pytest.approx(2.0)}

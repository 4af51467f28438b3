"""What a missed event can score, against the printed figures."""

from __future__ import annotations

import math

import pytest

from augury.analysis.checked import CheckedGap
from augury.planning.gap_models import best_score, reached_by


def gap(family: str, *parameters: float, reaches: float = 1.0) -> CheckedGap:
    return CheckedGap(0, 1, False, family, parameters, reaches)


@pytest.mark.parametrize(
    ("window", "law", "ayac"),
    [(0.5, 0.060920, 0.039347), (1.0, 0.146633, 0.063212), (2.0, 0.389837, 0.086466)],
)
def test_one_missed_event_scores_as_printed(window: float, law: float, ayac: float) -> None:
    model = gap("EXPONENTIAL", 1.0)
    assert best_score(model, 0.1, window) == pytest.approx(law, abs=5e-7)
    assert best_score(model, 0.1, window, ayac=True) == pytest.approx(ayac, abs=5e-7)


def test_an_event_that_may_not_come_at_all_scores_less() -> None:
    model = gap("EXPONENTIAL", 1.0, reaches=0.8)
    assert best_score(model, 0.1, 1.0) == pytest.approx(0.092810, abs=5e-7)


def test_without_a_window_a_sure_event_must_have_been_missed() -> None:
    assert best_score(gap("EXPONENTIAL", 1.0), 0.1, math.inf) == pytest.approx(1.0)
    assert best_score(gap("EXPONENTIAL", 1.0, reaches=0.5), 0.1, math.inf) == pytest.approx(1 / 11)


def test_no_miss_rate_scores_nothing() -> None:
    assert best_score(gap("EXPONENTIAL", 1.0), 0.0, math.inf) == 0.0


@pytest.mark.parametrize(
    ("model", "length", "chance"),
    [
        (gap("GAMMA", 2.0, 1.0), 2.0, 1 - math.exp(-1)),
        (gap("GAMMA", 2.0, 2.0), 2.0, 1 - 3 * math.exp(-2)),
        (gap("GAMMA", 3.0, 3.0), 9.0, 1 - math.exp(-9) * (1 + 9 + 40.5)),
        (gap("GAMMA", 1.0, 0.5), 1.0, math.erf(math.sqrt(0.5))),
        (gap("LOGNORMAL", 30.0, 0.5), 30.0, 0.5),
        (gap("LOGNORMAL", 30.0, 0.5), 0.0, 0.0),
        (gap("UNIFORM", 2.0, 6.0), 3.0, 0.25),
        (gap("UNIFORM", 2.0, 6.0), 1.0, 0.0),
        (gap("UNIFORM", 2.0, 6.0), 7.0, 1.0),
        (gap("EMPIRICAL", 1.0, 2.0, 4.0, 8.0), 4.0, 0.75),
    ],
)
def test_each_family_has_its_distribution(model: CheckedGap, length: float, chance: float) -> None:
    assert reached_by(model, length) == pytest.approx(chance, abs=1e-12)

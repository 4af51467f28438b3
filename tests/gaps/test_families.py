"""Each family has its distribution, exactly and tabulated."""

from __future__ import annotations

import math

import numpy as np
import pytest

from augury.gaps.families import Gap, chance, chances, density, farthest
from augury.gaps.integrals import came, ended, mean_over


@pytest.mark.parametrize(
    ("gap", "length", "expected"),
    [
        (Gap("GAMMA", (2.0, 1.0)), 2.0, 1 - math.exp(-1)),
        (Gap("GAMMA", (2.0, 2.0)), 2.0, 1 - 3 * math.exp(-2)),
        (Gap("GAMMA", (3.0, 3.0)), 9.0, 1 - math.exp(-9) * (1 + 9 + 40.5)),
        (Gap("GAMMA", (1.0, 0.5)), 1.0, math.erf(math.sqrt(0.5))),
        (Gap("LOGNORMAL", (30.0, 0.5)), 30.0, 0.5),
        (Gap("LOGNORMAL", (30.0, 0.5)), 0.0, 0.0),
        (Gap("UNIFORM", (2.0, 6.0)), 3.0, 0.25),
        (Gap("UNIFORM", (2.0, 6.0)), 1.0, 0.0),
        (Gap("UNIFORM", (2.0, 6.0)), 7.0, 1.0),
        (Gap("EMPIRICAL", (1.0, 2.0, 4.0, 8.0)), 4.0, 0.75),
    ],
)
def test_each_family_has_its_distribution(gap: Gap, length: float, expected: float) -> None:
    assert chance(gap, length) == pytest.approx(expected, abs=1e-12)
    assert ended(gap)(np.array(length)) == pytest.approx(expected, abs=1e-10)


SMOOTH = [
    Gap("EXPONENTIAL", (20.0,)),
    Gap("GAMMA", (20.0, 0.4)),
    Gap("GAMMA", (20.0, 2.5)),
    Gap("GAMMA", (20.0, 90.0)),
    Gap("LOGNORMAL", (20.0, 0.05)),
    Gap("LOGNORMAL", (20.0, 1.5)),
    Gap("UNIFORM", (5.0, 30.0)),
]


@pytest.mark.parametrize("gap", SMOOTH, ids=lambda gap: f"{gap.family}{gap.parameters}")
def test_the_error_of_interpolation_is_bounded(gap: Gap) -> None:
    lengths = np.random.default_rng(3).uniform(0.0, 1.1 * min(farthest(gap), 2000.0), 2000)
    assert np.abs(ended(gap)(lengths) - chances(gap, lengths)).max() < 1e-10


@pytest.mark.parametrize("gap", SMOOTH, ids=lambda gap: f"{gap.family}{gap.parameters}")
def test_a_density_adds_up_to_its_distribution(gap: Gap) -> None:
    for length in (3.0, 17.0, 40.0):
        summed = mean_over(gap, np.ones_like, 0.0, length)
        assert summed == pytest.approx(chance(gap, length), abs=2e-7)
    assert (density(gap, np.array([3.0, 17.0])) >= 0.0).all()


def test_what_may_not_come_at_all_comes_less_often() -> None:
    assert came(Gap("UNIFORM", (0.0, 4.0), 0.5), np.array(2.0)) == pytest.approx(0.25)

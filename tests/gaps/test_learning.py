"""Gaps and miss rates learned from a simulated history are those that it was drawn from."""

from __future__ import annotations

import numpy as np
import pytest

from augury.gaps.families import Gap
from augury.gaps.learning import Weighted, fit, learn


def history(miss: float, n: int = 6000) -> np.ndarray:
    rng = np.random.default_rng(7)
    steps = [np.zeros(n), rng.gamma(3.0, 20.0, n), rng.lognormal(np.log(30.0), 0.5, n)]
    times = np.cumsum(steps, axis=0).T
    never = rng.random(n) > 0.8
    times[never, 2] = np.nan
    unread = rng.random((n, 3)) < np.array([0.0, miss, miss])
    times[unread] = np.nan
    return times


def test_a_history_without_misses_gives_its_own_gaps() -> None:
    found = learn(history(0.0), (0.0, 0.0, 0.0), 1e9)
    assert [gap.family for gap in found.gaps] == ["GAMMA", "LOGNORMAL"]
    assert found.gaps[0].parameters == pytest.approx((60.0, 3.0), rel=0.05)
    assert found.gaps[1].parameters == pytest.approx((30.0, 0.5), rel=0.05)
    assert found.gaps[1].reaches == pytest.approx(0.8, abs=0.02)


def test_a_history_with_misses_gives_the_same_gaps_and_the_rate_of_misses() -> None:
    found = learn(history(0.3), (0.0, None, 0.3), 1e9)
    assert found.rates[1] == pytest.approx(0.3, abs=0.03)
    assert found.gaps[0].parameters == pytest.approx((60.0, 3.0), rel=0.1)
    assert found.gaps[1].parameters == pytest.approx((30.0, 0.5), rel=0.1)
    assert found.gaps[1].reaches == pytest.approx(0.8, abs=0.05)


def test_few_lengths_give_an_exponential_gap() -> None:
    gap = fit(Weighted(np.array([10.0, 20.0]), np.ones(2)))
    assert (gap.family, gap.parameters) == ("EXPONENTIAL", (15.0,))


def test_lengths_that_hardly_differ_give_a_shape_that_can_be_declared() -> None:
    lengths = np.random.default_rng(0).normal(60.0, 0.12, 200)
    gap = fit(Weighted(lengths, np.ones(200)))
    assert gap.parameters[1] <= 10_000.0


def test_learning_goes_on_until_the_chance_to_come_at_all_stays_as_it_is() -> None:
    rng = np.random.default_rng(5)
    times = np.stack([np.zeros(4000), rng.exponential(20.0, 4000)], axis=1)
    times[rng.random(4000) < 0.8, 1] = np.nan
    # A fifth was read at a miss rate of .6, so half of them came.
    found = learn(times, (0.0, 0.6), 1e9)
    assert found.gaps[0].reaches == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("rates", [(0.3, 0.3, 0.0), (0.3, 0.3, 0.3), (0.5, 0.2, 0.3)], ids=str)
def test_the_rate_of_a_component_does_not_depend_on_how_often_the_first_is_missed(
    rates: tuple[float, float, float],
) -> None:
    rng, n = np.random.default_rng(3), 6000
    steps = [np.zeros(n), rng.gamma(3.0, 20.0, n), rng.gamma(2.0, 15.0, n)]
    times = np.cumsum(steps, axis=0).T
    times[rng.random((n, 3)) < np.array(rates)] = np.nan
    found = learn(times, (rates[0], None, rates[2]), 1e9)
    assert found.rates[1] == pytest.approx(rates[1], abs=0.025)
    assert found.gaps[1].reaches == pytest.approx(1.0, abs=0.04)


def passers(miss: float, n: int = 4000) -> np.ndarray:
    """Draw instances in which y comes in seven of ten, and z comes by itself."""
    rng = np.random.default_rng(17)
    times = np.stack([np.zeros(n), rng.gamma(3.0, 20.0, n), rng.normal(300.0, 20.0, n)], axis=1)
    times[rng.random(n) >= 0.7, 1] = np.nan
    times[rng.random(n) < miss, 1] = np.nan
    return times


@pytest.mark.parametrize("miss", [0.0, 0.3])
def test_what_never_comes_is_not_taken_as_missed(miss: float) -> None:
    found = learn(passers(miss), (0.0, miss, 0.0), 1e9)
    assert found.gaps[0].reaches == pytest.approx(0.7, abs=0.03)
    assert found.gaps[0].family == "GAMMA"
    assert found.gaps[0].parameters == pytest.approx((60.0, 3.0), rel=0.15)


def test_nor_is_it_where_the_later_one_follows_what_came() -> None:
    rng, n = np.random.default_rng(19), 4000
    y = rng.gamma(3.0, 20.0, n)
    paid = rng.random(n) < 0.7
    z = np.where(paid, y + rng.gamma(2.0, 10.0, n), rng.gamma(2.0, 15.0, n))
    times = np.stack([np.zeros(n), np.where(paid, y, np.nan), z], axis=1)
    times[rng.random((n, 3)) < np.array([0.0, 0.3, 0.2])] = np.nan
    found = learn(times, (0.0, 0.3, 0.2), 1e9)
    assert found.gaps[0].reaches == pytest.approx(0.7, abs=0.03)
    assert found.gaps[0].parameters == pytest.approx((60.0, 3.0), rel=0.12)
    assert found.gaps[1].parameters == pytest.approx((20.0, 2.0), rel=0.12)


def test_nor_where_two_in_a_row_never_come() -> None:
    rng, n = np.random.default_rng(23), 4000
    y = rng.gamma(3.0, 20.0, n)
    times = np.stack([np.zeros(n), y, y + rng.gamma(2.0, 20.0, n), np.full(n, 400.0)], axis=1)
    times[:, 3] += rng.normal(0.0, 20.0, n)
    times[rng.random(n) >= 0.7, 1:3] = np.nan
    times[rng.random((n, 4)) < np.array([0.0, 0.2, 0.3, 0.0])] = np.nan
    found = learn(times, (0.0, 0.2, 0.3, 0.0), 1e9)
    assert found.gaps[0].reaches == pytest.approx(0.7, abs=0.04)
    assert found.gaps[1].reaches == pytest.approx(1.0, abs=0.04)


def test_what_comes_only_through_another_tells_that_it_came() -> None:
    rng, n = np.random.default_rng(29), 4000
    y = rng.gamma(3.0, 20.0, n)
    times = np.stack([np.zeros(n), y, y + rng.gamma(2.0, 20.0, n)], axis=1)
    times[rng.random(n) >= 0.7, 1:] = np.nan
    times[rng.random((n, 3)) < np.array([0.0, 0.3, 0.2])] = np.nan
    found = learn(times, (0.0, 0.3, 0.2), 1e9)
    assert found.gaps[0].reaches == pytest.approx(0.7, abs=0.04)


def test_with_a_written_gap_the_rate_is_learned_beside_what_never_comes() -> None:
    gap = Gap("GAMMA", (60.0, 3.0), 0.7)
    found = learn(passers(0.3), (0.0, None, 0.0), 1e9, (gap, None))
    assert found.gaps[0] == gap
    assert found.rates[1] == pytest.approx(0.3, abs=0.03)


def test_without_a_rate_and_a_gap_what_is_unread_was_missed() -> None:
    found = learn(passers(0.3), (0.0, None, 0.0), 1e9)
    assert found.gaps[0].reaches == pytest.approx(1.0)
    # Seven in ten came, and of those seven in ten were read.
    assert found.rates[1] == pytest.approx(0.51, abs=0.03)

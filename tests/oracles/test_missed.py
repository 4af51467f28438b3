"""The oracle of missed events, against the printed figures and against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.missed import Unseen, before, between, erlang, exponential, paper, simulate, uniform

Y = Unseen(exponential(1.0), 0.1)
N = Unseen(exponential(1.0), 0.1, negated=True)
LENGTHS = (0.5, 1.0, 2.0)


@pytest.mark.parametrize(
    ("unseen", "law"),
    [
        ((N,), (0.939080, 0.853367, 0.610163)),
        ((Y,), (0.060920, 0.146633, 0.389837)),
        ((Y, Y), (0.001414, 0.006487, 0.035285)),
        ((N, Y), (0.059064, 0.135882, 0.313850)),
        ((Y, N), (0.047552, 0.090319, 0.160786)),
    ],
    ids=["negated", "missed", "two missed", "negated, missed", "missed, negated"],
)
def test_the_law_is_as_printed(unseen, law) -> None:
    assert [between(unseen, t) for t in LENGTHS] == pytest.approx(law, abs=5e-7)


@pytest.mark.parametrize(
    ("unseen", "printed"),
    [
        ((N,), (0.939080, 0.853367, 0.610163)),
        ((Y,), (0.039347, 0.063212, 0.086466)),
        ((Y, Y), (0.000774, 0.001998, 0.003738)),
        ((N, Y), (0.036950, 0.053943, 0.052759)),
        ((Y, N), (0.036950, 0.053943, 0.052759)),
    ],
    ids=["negated", "missed", "two missed", "negated, missed", "missed, negated"],
)
def test_the_paper_is_as_printed(unseen, printed) -> None:
    assert [paper(unseen, t) for t in LENGTHS] == pytest.approx(printed, abs=5e-7)


def test_a_missed_first_component_is_as_printed() -> None:
    first = Unseen(exponential(1.0), 0.1, reaches=0.8)
    assert before(first, (), 1.0) == pytest.approx(0.092810, abs=5e-7)


def test_long_gaps_are_as_printed() -> None:
    assert between((Y,), 5.0) == pytest.approx(0.936, abs=5e-4)
    assert between((Y, Y), 5.0) == pytest.approx(0.487, abs=5e-4)


@pytest.mark.parametrize(
    "unseen",
    [
        (Unseen(erlang(2.0, 3), 0.3, 0.8),),
        (Unseen(uniform(0.2, 0.7), 0.4, 0.9), Unseen(exponential(0.5), 0.3)),
        (N, Unseen(erlang(1.0, 2), 0.4), Unseen(uniform(0.1, 0.9), 0.2, 0.7, negated=True)),
    ],
    ids=["one", "two", "between negations"],
)
def test_simulated_worlds_agree(unseen) -> None:
    silent, true = simulate(unseen, np.full(1_000_000, 1.3), np.random.default_rng(5))
    share = (silent & true).sum() / silent.sum()
    assert between(unseen, 1.3) == pytest.approx(share, abs=4e-3)

"""The period of a stream is found where there is one, and only there."""

from __future__ import annotations

import random

import pytest

from augury.privacy.pattern import Event, Face
from augury.privacy.period import find_period
from augury.privacy.policy import Decider, Policy, Weighted
from privacy.plain import plain_pattern


def stream(seed: int, regular: float, period: int, cycles: int, each: int) -> list[Event]:
    """Return a share of a perfectly periodic stream, and of arrivals by themselves."""
    chance = random.Random(seed)
    cycle = [(chance.random() * period, chance.choice("ABCDE")) for _ in range(each)]
    found = [
        (at + number * period, kind)
        for number in range(cycles)
        for at, kind in cycle
        if chance.random() < regular
    ]
    others = round((1.0 - regular) * each * cycles)
    found += [(chance.random() * period * cycles, chance.choice("ABCDE")) for _ in range(others)]
    return [
        Event(round(at), None, number, kind, (Face(1.0, {}),))
        for number, (at, kind) in enumerate(sorted(found))
    ]


@pytest.mark.parametrize("regular", [1.0, 0.7, 0.4])
@pytest.mark.parametrize("seed", range(8))
def test_a_period_is_found_well_enough_for_twenty_cycles_back(regular: float, seed: int) -> None:
    period = random.Random(seed).randint(50_000, 200_000)
    found = find_period(stream(seed, regular, period, 30, 6 + 4 * seed))
    assert found is not None
    assert abs(found - period) * 20 <= 0.001 * period


@pytest.mark.parametrize("seed", range(12))
def test_no_period_is_found_where_events_come_by_themselves(seed: int) -> None:
    assert find_period(stream(seed, 0.0, 100_000, 30, 6 + 4 * seed)) is None


def test_few_events_have_no_period() -> None:
    assert find_period([]) is None
    assert find_period(stream(1, 1.0, 100, 3, 2)) is None


def test_a_hybrid_policy_takes_the_period_where_one_is_found() -> None:
    public = (Weighted(plain_pattern("q", "AB", 30), 1.0),)
    private = (Weighted(plain_pattern("p", "CD", 30), 1.0),)
    policy = Policy(public, private, method="HYBRID", patience=1.0)
    assert Decider(policy, stream(1, 1.0, 1000, 30, 10)).period == 1000
    by_themselves = Decider(policy, stream(1, 0.0, 1000, 30, 10))
    assert by_themselves.period is None
    assert by_themselves.cycles is None

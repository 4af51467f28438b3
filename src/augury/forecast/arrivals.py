"""When events come: as a Poisson process, or one each mean gap.

With Poisson arrivals at rate r the i-th event from now comes within a time d with the Erlang
probability, which is that of at least i events in d.
"""

from __future__ import annotations

import math

import numpy as np

from augury.records import Reals

# A length of time that is off by so much of a gap is a whole number of gaps.
SLACK = 1e-9


def poisson(mean: float, most: int) -> Reals:
    """Return P(exactly i events) for i = 0..most, where `mean` of them are expected."""
    counts = np.arange(most + 1)
    if mean <= 0.0:
        return np.where(counts == 0, 1.0, 0.0)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(counts[1:]))])
    found: Reals = np.exp(counts * math.log(mean) - mean - factorials)
    return found


def erlang(mean: float, most: int) -> Reals:
    """Return P(at least i events) for i = 0..most: summed from the small end, nothing cancels."""
    chances = poisson(mean, max(most, most_events(mean)))
    found: Reals = np.cumsum(chances[::-1])[::-1][: most + 1]
    return found


def most_events(mean: float) -> int:
    """Return a number of events beyond which no more are to be expected."""
    return math.ceil(mean + 12.0 * math.sqrt(mean + 1.0) + 25.0)


def in_time(within: Reals, rate: float, length: float) -> tuple[float, float | None]:
    """Return how likely a match completes within a time, and the mean time until then."""
    most = len(within) - 1
    first = np.diff(within)
    reaches = erlang(rate * length, most + 1)
    forecast = float(first @ reaches[1 : most + 1])
    if forecast <= 0.0:
        return 0.0, None
    times = np.arange(1, most + 1) / rate
    return forecast, float((first * times) @ reaches[2 : most + 2]) / forecast


def in_events(within: Reals, rate: float, length: float) -> tuple[float, float | None]:
    """Return how likely a match completes within the table's events, all within a time."""
    most = len(within) - 1
    first = np.diff(within) * erlang(rate * length, most)[1:]
    forecast = float(first.sum())
    if forecast <= 0.0:
        return 0.0, None
    return forecast, float(first @ np.arange(1, most + 1)) / forecast


def steps_within(length: float, gap: float) -> int:
    """Return how many steady arrivals come within a time."""
    return max(0, math.floor(length / gap + SLACK))

"""The period of a stream: found in its history, or not at all.

Under Poisson arrivals the distances between events of one type are spread evenly; in a periodic
stream they pile up at the period and its multiples. Distances up to half of the history are counted
in bins; how far each bin lies above what even arrivals would give, in standard deviations, is its
score. A period is found where the best score passes a threshold; of the lags whose score comes near
the best, the smallest is taken, and refined on its multiples until twenty cycles back are still
hit.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from augury.privacy.pattern import Event

BINS = 2000
FEWEST = 20
# Deviations above what even arrivals give: by chance no bin of so many lies there.
THRESHOLD = 7.0
# A smaller lag is taken if its score is that much of the best.
NEAR = 0.6
# The last events of a history; pairs of more would take long.
MOST_EVENTS = 2000
CYCLES_BACK = 20


def find_period(events: Sequence[Event]) -> int | None:
    """Return the length of a cycle in ticks or microseconds; None where none is found."""
    by_type = defaultdict[str | None, list[int]](list)
    for event in events[-MOST_EVENTS:]:
        by_type[event.type].append(event.time)
    return period_of(by_type.values())


def period_of(moments: Iterable[Sequence[int]]) -> int | None:
    """Return the length of a cycle, by the times of events of each type, in order; or None."""
    times = [np.array(own, np.float64) for own in moments if len(own) > 2]
    if sum(map(len, times)) < FEWEST:
        return None
    first, last = min(own[0] for own in times), max(own[-1] for own in times)
    longest = (last - first) / 2.0
    if longest <= 0.0:
        return None
    distances = np.sort(np.concatenate([_distances(own, longest) for own in times]))
    width = max(1.0, longest / BINS)
    edges = np.arange(0.5 * width, longest + width, width)
    counts = np.histogram(distances, edges)[0].astype(np.float64)
    scores = _scores(counts, edges, times, last - first)
    coarse = _smallest_near_best(scores)
    if coarse is None:
        return None
    middle = (edges[coarse] + edges[coarse + 1]) / 2.0
    return max(1, round(_refined(distances, middle, width, longest)))


def _distances(times: np.ndarray, longest: float) -> np.ndarray:
    """Return the distances between the events of one type, up to the longest."""
    pairs = np.subtract.outer(times, times)
    found: np.ndarray = pairs[(pairs > 0.0) & (pairs <= longest)]
    return found


def _scores(
    counts: np.ndarray, edges: np.ndarray, times: list[np.ndarray], span: float
) -> np.ndarray:
    """Return how far each bin lies above what even arrivals give, in deviations."""
    middle = (edges[:-1] + edges[1:]) / 2.0
    pairs = sum(len(own) * (len(own) - 1) for own in times)
    even = pairs * (edges[1] - edges[0]) * np.maximum(0.0, span - middle) / span**2
    found: np.ndarray = (counts - even) / np.sqrt(np.maximum(even, 1.0))
    return found


def _smallest_near_best(scores: np.ndarray) -> int | None:
    """Return the smallest bin near the best one; None where none stands out."""
    best = int(np.argmax(scores))
    if scores[best] < THRESHOLD:
        return None
    near = np.flatnonzero(scores >= NEAR * scores[best])
    groups = np.split(near, np.flatnonzero(np.diff(near) > 1) + 1)
    first = groups[0]
    return int(first[np.argmax(scores[first])])


def _refined(distances: np.ndarray, period: float, width: float, longest: float) -> float:
    """Return the period as its multiples have it, each closer than the one before."""
    cycles = max(1, min(CYCLES_BACK, math.floor(longest / period)))
    for number in range(1, cycles + 1):
        near = distances[np.abs(distances - number * period) <= width]
        if len(near):
            period = float(np.median(near)) / number
    return period

"""The windows of RETURN PROBABILITY: [k s, k s + W), aligned to tick 0 or the epoch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from augury.analysis.checked import CheckedQuery
from augury.records import Words


def windows_of(
    query: CheckedQuery, times: Words
) -> Iterator[tuple[int | None, tuple[int, int] | None]]:
    """Yield the start and the span of each window that holds an event; None: the whole input."""
    within, every = query.within, query.every
    if within is None or within.events:
        yield None, None
        return
    if not len(times):
        return
    step = every.length if every else within.length
    ordered = np.unique(times)
    first, last = int(ordered[0]), int(ordered[-1])
    k = (first - within.length) // step + 1
    while k * step <= last:
        start, stop = k * step, k * step + within.length
        if np.searchsorted(ordered, start) < np.searchsorted(ordered, stop):
            yield start, (start, stop)
        k += 1

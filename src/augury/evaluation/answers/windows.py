"""The windows of RETURN PROBABILITY: [k s, k s + W), aligned to tick 0 or the epoch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from augury.analysis.checked import CheckedQuery
from augury.records import Words

# Asks for every window, each by itself.
EACH = -(2**62)


def windows_of(
    query: CheckedQuery, times: Words, only: int | None = None
) -> Iterator[tuple[int | None, tuple[int, int] | None]]:
    """Yield the start and the span of each window that holds an event; None: the whole input.

    `only` is the start of the one that is asked for; None and EACH ask for all.
    """
    within, every = query.within, query.every
    if within is None or within.events:
        yield None, None
        return
    if not len(times):
        return
    step = every.length if every else within.length
    for start in _starts(np.unique(times), within.length, step).tolist():
        if only in (None, EACH, start):
            yield start, (start, start + within.length)


def _starts(times: Words, length: int, step: int) -> Words:
    """Return the starts of the windows that hold some time, however far apart the times lie."""
    first = (times - length) // step + 1
    count = np.maximum(times // step - first + 1, 0)
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    starts: Words = np.unique(np.repeat(first, count) + within) * step
    return starts

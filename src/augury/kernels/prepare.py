"""Prepare events for the search: rows that hold all of an event, and queues by component."""

from __future__ import annotations

import numpy as np

from augury.kernels.jit import kernel
from augury.kernels.layout import BEGIN, STOP


@kernel
def mark_partitions(partition, e):
    """Write into each event's row where its partition begins and stops; events are sorted by it."""
    n, begin = partition.shape[0], 0
    for k in range(1, n + 1):
        if k == n or partition[k] != partition[begin]:
            for inside in range(begin, k):
                e[inside, BEGIN] = begin
                e[inside, STOP] = k
            begin = k


@kernel
def queues(mask, n_components):
    """Return, in compressed rows, the events that may play each component."""
    rows = np.zeros(n_components + 1, np.int64)
    for e in range(mask.shape[0]):
        if mask[e] != 0:
            for c in range(n_components):
                rows[c + 1] += (mask[e] >> c) & 1
    for c in range(n_components):
        rows[c + 1] += rows[c]
    queue = np.empty(rows[n_components], np.int64)
    free = rows[:-1].copy()
    for e in range(mask.shape[0]):
        if mask[e] != 0:
            for c in range(n_components):
                if (mask[e] >> c) & 1:
                    queue[free[c]] = e
                    free[c] += 1
    return rows, queue

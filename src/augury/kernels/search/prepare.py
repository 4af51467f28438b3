"""Prepare events for the search: rows that hold all of an event, and queues by component."""

from __future__ import annotations

import numpy as np

from augury.kernels.jit import kernel
from augury.kernels.search.layout import (
    BEGIN,
    GROUP,
    KEY,
    MASK,
    NULLS,
    STOP,
    STREAM,
    TIE,
    TIME,
    VALUES,
    P,
)


@kernel
def fill_rows(order, places, p, values, nulls, e, er):
    """Write one row per event into `e`, in the given order; `er` is the same memory as doubles.

    `places` are the columns time, tie, stream, key, mask and group. One pass over the events:
    gathering column by column would read memory six times over.
    """
    time, tie, stream, key, mask, group = places
    for k in range(order.shape[0]):
        event = order[k]
        e[k, TIME] = time[event]
        e[k, TIE] = tie[event]
        e[k, STREAM] = stream[event]
        e[k, KEY] = key[event]
        e[k, MASK] = mask[event]
        e[k, GROUP] = group[event]
        er[k, P] = p[event]
        for a in range(values.shape[0]):
            e[k, VALUES + a] = values[a, event]
            e[k, NULLS] |= np.int64(nulls[a, event]) << a


@kernel
def mark_partitions(order, partition, e):
    """Write into each event's row where its partition begins and stops; `order` sorts by it."""
    n, begin = order.shape[0], 0
    for k in range(1, n + 1):
        if k == n or partition[order[k]] != partition[order[begin]]:
            for inside in range(begin, k):
                e[inside, BEGIN] = begin
                e[inside, STOP] = k
            begin = k


@kernel
def queues(e, n_components):
    """Return, in compressed rows, the events that may play each component."""
    rows = np.zeros(n_components + 1, np.int64)
    for k in range(e.shape[0]):
        mask = e[k, MASK]
        if mask != 0:
            for c in range(n_components):
                rows[c + 1] += (mask >> c) & 1
    for c in range(n_components):
        rows[c + 1] += rows[c]
    queue = np.empty(rows[n_components], np.int64)
    free = rows[:-1].copy()
    for k in range(e.shape[0]):
        mask = e[k, MASK]
        if mask != 0:
            for c in range(n_components):
                if (mask >> c) & 1:
                    queue[free[c]] = k
                    free[c] += 1
    return rows, queue

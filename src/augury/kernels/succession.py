"""Sequences of certain events under next-match selection: no search, each event has one successor.

Where every event happened for sure and no two are at one time, the run from a start takes the next
event of its partition that may play the next component, and there is no other world to look at. So
one pass backwards tells each event's successor, and one pass forwards follows them.

Shapes: T events, C components. Oracle: the search (`kernels.search`) over the same events.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.jit import kernel


@kernel
def are_apart(order, time, partition):
    """Whether no two events of one partition have the same time; `order` sorts by both."""
    for k in range(1, order.shape[0]):
        a, b = order[k - 1], order[k]
        if time[a] == time[b] and partition[a] == partition[b]:
            return False
    return True


@kernel
def are_certain(p, group):
    """Whether every event happened, whatever others did."""
    for k in range(p.shape[0]):
        if p[k] < 1.0 or group[k] >= 0:
            return False
    return True


@kernel
def successors(order, partition, mask, n_components):
    """Return (T, C): the place of the event that follows place k in component c; -1 for none."""
    n = order.shape[0]
    found = np.empty((n, n_components), np.int64)
    ahead = np.full(n_components + 1, -1, np.int64)
    for k in range(n - 1, -1, -1):
        if k + 1 < n and partition[order[k]] != partition[order[k + 1]]:
            ahead[:] = -1
        plays = mask[order[k]]
        for c in range(n_components):
            found[k, c] = ahead[c + 1]
        for c in range(n_components):
            if (plays >> c) & 1:
                ahead[c] = k
    return found


@kernel
def follow(order, time, mask, after, window, span, items, known):
    """Write the matches known in `span`, (component, place) by component; return how many.

    `items` has a row for each start there can be; `known` gets the time at which a match is.
    """
    n, n_components = after.shape
    count = 0
    for k in range(n):
        if mask[order[k]] & 1 == 0:
            continue
        place = k
        for c in range(n_components):
            items[count, c, 0], items[count, c, 1] = c, place
            if c + 1 < n_components:
                place = after[place, c]
            if place < 0:
                break
        if place < 0:
            continue
        last = time[order[place]]
        if last - time[order[k]] > window or last < span[0] or last >= span[1]:
            continue
        known[count] = last
        count += 1
    return count

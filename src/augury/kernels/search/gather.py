"""Gather the live events of one partition from a ring, as the search reads them.

A ring keeps events in the order of time, each in as few words as the query needs: event number n is
row n modulo the capacity. The upper half of LINK is how far back the partition's event before it
stands (0: none), the lower half numbers the partition. Following the links from the newest event
gives one partition, so nothing has to be kept or moved per partition.

Shapes: N rows of the ring, T events of the partition, A attributes, C components.
"""

from __future__ import annotations

from augury.kernels.jit import kernel, part
from augury.kernels.search.layout import (
    ABSENTS,
    BEGIN,
    FOREVER,
    GROUP,
    HORIZON,
    ITEMS,
    MASK,
    MATCHES,
    NULLS,
    QUEUE_ROWS,
    REPORTED,
    STOP,
    TIME,
    P,
)

# Columns that every ring has; the others are where the caller says.
LINK, WHEN, FIXED_COLUMNS = range(3)
DISTANCE_BITS = 32
NEVER = -FOREVER


@kernel
def gather(ring, newest, oldest, where, slots, e, er, q, m, span):
    """Fill `e`, its queues `q` and the arena's counters for one partition; return T.

    `where` has the column of the ring for each column of `e` (-1: none). `span` is (reported,
    horizon, closing, C): of components in `closing`, which end a match, only events that were not
    reported yet are listed. `slots[k]` gets the row of event k in the ring. Returns -T where `e` is
    too small, and then writes nothing.
    """
    n = chain_length(ring, newest, oldest)
    if n > e.shape[0]:
        return -n
    number = newest
    for k in range(n - 1, -1, -1):
        row = number % ring.shape[0]
        slots[k] = row
        number -= ring[row, LINK] >> DISTANCE_BITS
        for c in range(where.shape[0]):
            e[k, c] = ring[row, where[c]] if where[c] >= 0 else 0
        if where[NULLS] == where[MASK]:
            # One word for both: the components in the lower bits, the NULLs above.
            e[k, NULLS] = e[k, MASK] >> span[3]
            e[k, MASK] &= (1 << span[3]) - 1
        e[k, STOP] = n
        if where[P] < 0:
            er[k, P] = 1.0
    number_groups(e, n, where[GROUP] >= 0)
    fill_queues(e, n, q, m, span)
    m[REPORTED], m[HORIZON] = span[0], span[1]
    m[MATCHES], m[ITEMS], m[ABSENTS] = 0, 0, 0
    return n


@part
def chain_length(ring, newest, oldest):
    """Return how many live events the partition of event `newest` has."""
    n, number = 0, newest
    while number >= oldest:
        n += 1
        distance = ring[number % ring.shape[0], LINK] >> DISTANCE_BITS
        if distance == 0:
            break
        number -= distance
    return n


@part
def number_groups(e, n, has_groups):
    """Give groups of alternatives numbers from 0, in the order of their first event; -1 is none."""
    used = 0
    for k in range(n):
        raw = e[k, GROUP] if has_groups else -1
        e[k, BEGIN] = raw
        e[k, GROUP] = -1
        if raw < 0:
            continue
        for other in range(k):
            if e[other, BEGIN] == raw:
                e[k, GROUP] = e[other, GROUP]
                break
        if e[k, GROUP] < 0:
            e[k, GROUP] = used
            used += 1
    for k in range(n):
        e[k, BEGIN] = 0


@part
def fill_queues(e, n, q, m, span):
    """List by component the events that may play it, and where each list starts in the arena."""
    reported, _, closing, n_components = span
    rows, used = m[QUEUE_ROWS], 0
    for c in range(n_components):
        m[rows + c] = used
        since = reported if (closing >> c) & 1 else NEVER
        for k in range(n):
            if (e[k, MASK] >> c) & 1 and e[k, TIME] >= since:
                q[used] = k
                used += 1
    m[rows + n_components] = used

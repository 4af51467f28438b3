"""Bounds: the most that the rest of a match can still score, so that no path is walked in vain.

For one start event, backwards over its window: the best product of probabilities that leads from an
event, taken on a transition, to an accepting state. It is exact but for rules, absences and
alternatives, which only lower a confidence. A tree of maxima over each transition's events finds
the next event that can still reach the threshold in logarithmic time, so a search with bounds costs
about as much as it reports.

Bounds cost a pass over the window. A start gets them once its search has looked at more events than
that, so they never cost more than the search that they spare.

Shapes: n events in the window, L transitions; a tree has `leaves` (a power of two) leaves, its root
at 1.
"""

from __future__ import annotations

from augury.kernels.jit import part
from augury.kernels.memory import get, get_real, put, put_real
from augury.kernels.search.layout import (
    ACCEPTING,
    AMBIGUOUS,
    BEST,
    BOUND_AFTER,
    BOUND_ROOM,
    BOUNDED_START,
    BOUNDS,
    BUDGET,
    EDGE_COMPONENT,
    EDGE_ROWS,
    EDGE_TARGET,
    FOREVER,
    INDEPENDENT,
    LEAVES,
    MASK,
    N_STATES,
    THRESHOLD,
    TIME,
    TOLERANCE,
    WINDOW,
    WORK,
    P,
    entry,
    of,
    real_of,
)

# Products in another order differ in their last bits; what is on the threshold must stay.
SLACK = 1.0 + 1e-12


@part
def forget_bounds(s):
    """Begin the search of a new start: no bounds, no work done."""
    put(s.m, BOUNDED_START, -1)
    put(s.m, WORK, 0)
    # Runs that take ties in any order do not go forward only.
    allowed = get(s.m, INDEPENDENT) and not get(s.m, AMBIGUOUS)
    put(s.m, BUDGET, get(s.m, BOUND_AFTER) - 1 if allowed else FOREVER)


@part
def is_bounded(s, start):
    """Whether the bounds of this start are known."""
    return get(s.m, BOUNDED_START) == start


@part
def window_end(s, start, stop):
    """Return the first event past the window of a match that starts at `start`."""
    window = get(s.m, WINDOW)
    if window == FOREVER:
        return stop
    low, high, first = start, stop, of(s, start, TIME)
    while low < high:
        middle = (low + high) // 2
        if of(s, middle, TIME) - first <= window:
            low = middle + 1
        else:
            high = middle
    return low


@part
def wants_bounds(s, start, stop):
    """Whether the search has done enough work to pay for bounds; if so, they are made."""
    if get(s.m, WORK) <= get(s.m, BUDGET) or is_bounded(s, start):
        return False
    n = window_end(s, start, stop) - start
    leaves = 1
    while leaves < n:
        leaves *= 2
    lanes = entry(s, EDGE_ROWS, get(s.m, N_STATES))
    cost = 2 * leaves * lanes
    if cost > get(s.m, BOUND_ROOM):
        put(s.m, BUDGET, FOREVER)
        return False
    if get(s.m, WORK) < cost and get(s.m, BOUND_AFTER) > 0:
        put(s.m, BUDGET, cost)
        return False
    make_bounds(s, start, n, leaves)
    put(s.m, LEAVES, leaves)
    put(s.m, BOUNDED_START, start)
    return True


@part
def make_bounds(s, start, n, leaves):
    """Fill the trees of all transitions for the n events from `start` on."""
    states, bounds, best = get(s.m, N_STATES), get(s.m, BOUNDS), get(s.m, BEST)
    lanes = entry(s, EDGE_ROWS, states)
    for k in range(2 * leaves * lanes):
        put_real(s.m, bounds + k, 0.0)
    for state in range(states):
        put_real(s.m, best + state, 1.0 if entry(s, ACCEPTING, state) else 0.0)
    for k in range(n - 1, 0, -1):
        if of(s, start + k, MASK) != 0:
            bound_event(s, start + k, bounds + leaves + k, 2 * leaves)
    for lane in range(lanes):
        tree = bounds + lane * 2 * leaves
        for node in range(leaves - 1, 0, -1):
            left, right = get_real(s.m, tree + 2 * node), get_real(s.m, tree + 2 * node + 1)
            put_real(s.m, tree + node, max(left, right))


@part
def bound_event(s, event, leaf, stride):
    """Write the bounds of one event, and what they mean for the states before it."""
    states, best = get(s.m, N_STATES), get(s.m, BEST)
    mask, p = of(s, event, MASK), real_of(s, event, P)
    for lane in range(entry(s, EDGE_ROWS, states)):
        if (mask >> entry(s, EDGE_COMPONENT, lane)) & 1:
            rest = get_real(s.m, best + entry(s, EDGE_TARGET, lane))
            put_real(s.m, leaf + lane * stride, p * rest)
    # Only now: an event is taken once.
    for state in range(states):
        for lane in range(entry(s, EDGE_ROWS, state), entry(s, EDGE_ROWS, state + 1)):
            value = get_real(s.m, leaf + lane * stride)
            if value > get_real(s.m, best + state):
                put_real(s.m, best + state, value)


@part
def is_hopeful(s, weight, bound):
    """Whether a path of this weight can reach the threshold with a rest of at most `bound`."""
    best = weight * bound
    return best > 0.0 and best * SLACK >= get_real(s.m, THRESHOLD) - TOLERANCE


@part
def can_finish(s, start, lane, event, weight):
    """Whether taking the event on a transition may still lead to a match."""
    if not is_bounded(s, start):
        return True
    leaves = get(s.m, LEAVES)
    place = get(s.m, BOUNDS) + lane * 2 * leaves + leaves + event - start
    return is_hopeful(s, weight, get_real(s.m, place))


@part
def next_hopeful(s, start, lane, event, weight):
    """Return the first event from `event` on that may lead to a match on a transition, or -1."""
    leaves = get(s.m, LEAVES)
    tree = get(s.m, BOUNDS) + lane * 2 * leaves
    if event - start >= leaves:
        return -1
    node = leaves + event - start
    while not is_hopeful(s, weight, get_real(s.m, tree + node)):
        while node & 1:
            node >>= 1
        if node == 0:
            return -1
        node += 1
    while node < leaves:
        node *= 2
        if not is_hopeful(s, weight, get_real(s.m, tree + node)):
            node += 1
    return start + node - leaves

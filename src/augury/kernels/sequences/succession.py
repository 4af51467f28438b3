"""Sequences of single events without a search: each event knows what may follow it.

A plain sequence asks nothing of its events but what each may play, so the events that can follow
one are those of the next component, later in its partition. Two ways lead through them backwards:

- Under any-match (`look_back`, `follow`) a pass tells, for every event, the next of each component,
  and when a match that goes on from it can end at the soonest. All of them are followed; the
  soonest end says which lead to a match within the window, so that none is followed in vain unless
  a threshold is missed.
- Under next-match, where every event is certain (`follow_first`), there is one way on from each
  event, so that a partition need not know more than this way for each component. One pass finds the
  matches as it goes.

Events come in the order of time, so that partitions take turns, and what is asked of one is little
and near; no two of a partition may have the same time. Shapes: T events, C components.
Oracle: the search (`kernels.search`) over the same events, and tests/oracles/worlds.py.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.jit import kernel, part
from augury.kernels.search.layout import TOLERANCE

NEVER = np.int64(2**62)
TOO_MANY, IN_VAIN, AT_ONCE, TOO_MANY_IN_ALL = -1, -2, -3, -4
# Steps that may lead nowhere, for each event and match, before the search is asked instead.
PATIENCE = 16


@kernel
def are_free(group):
    """Whether no event excludes another."""
    for k in range(group.shape[0]):
        if group[k] >= 0:
            return False
    return True


@kernel
def are_certain(p):
    """Whether every event happened."""
    for k in range(p.shape[0]):
        if p[k] < 1.0:
            return False
    return True


@kernel
def look_back(partition, time, mask, n_partitions, following, soonest):
    """Fill what comes after each event, (T, C): the next one of a component; -1 for none.

    `soonest` gets when a match can end that has an event in a component which it may play. Returns
    False, and nothing of use, where two events of one partition have the same time.
    """
    n, n_components = following.shape
    ahead = np.full((n_partitions, n_components), -1, np.int32)
    # The last is when the partition's next event is, with which a match of no more ends.
    ends = np.full((n_partitions, n_components + 1), NEVER, np.int64)
    for k in range(n - 1, -1, -1):
        own = partition[k]
        if ends[own, n_components] == time[k]:
            return False
        for c in range(n_components):
            following[k, c] = ahead[own, c]
        ends[own, n_components] = time[k]
        plays = mask[k]
        for c in range(n_components):
            if (plays >> c) & 1:
                # What follows in component c + 1 is further on, and was not touched by this event.
                soonest[k, c] = ends[own, c] = ends[own, c + 1]
                ahead[own, c] = k
    return True


@part
def leads_on(soonest, k, depth, begin, window):
    """Whether a match that began at a time can end within the window, with event k at a depth."""
    return k >= 0 and soonest[k, depth] != NEVER and soonest[k, depth] - begin <= window


@part
def is_told(last, confidence, span, thresholds):
    """Whether a match is known in the span, and likely enough; it has reached the threshold."""
    threshold, is_strict = thresholds
    is_over = not is_strict or confidence > threshold + TOLERANCE
    return is_over and span[0] <= last < span[1]


@part
def write(number, taken, last, confidence, items, known, chance):
    """Write a match where there is room for it."""
    if number < known.shape[0]:
        for c in range(taken.shape[0]):
            items[number, c, 0], items[number, c, 1] = c, taken[c]
        known[number], chance[number] = last, confidence


@kernel
def follow(events, tables, limits, span, thresholds, items, known, chance):
    """Write matches as (component, event) by component, when each is known, and its confidence.

    Returns how many there are, of which the buffers hold the first; TOO_MANY begin with one event;
    TOO_MANY_IN_ALL; or IN_VAIN: too many steps led nowhere. `limits` are the window, how many
    matches may begin with one event, and how many there may be.
    """
    time, mask, p = events
    following, soonest = tables
    window, most, most_in_all = limits
    n, n_components = following.shape
    taken = np.zeros(n_components, np.int64)
    candidate = np.zeros(n_components, np.int64)
    weight = np.ones(n_components)
    count, steps = 0, 0
    for start in range(n):
        begin, before = time[start], count
        if mask[start] & 1 == 0 or span[0] - begin > window:
            continue
        depth, candidate[0] = 0, start
        while depth >= 0:
            k = candidate[depth]
            if not leads_on(soonest, k, depth, begin, window):
                depth -= 1
                continue
            candidate[depth] = -1 if depth == 0 else following[k, depth]
            steps += 1
            if steps > PATIENCE * (n + n_components * count):
                return IN_VAIN
            so_far = weight[depth] * p[k]
            if so_far <= 0.0 or so_far < thresholds[0] - TOLERANCE:
                continue
            taken[depth] = k
            if depth + 1 < n_components:
                depth += 1
                weight[depth], candidate[depth] = so_far, following[k, depth]
            elif is_told(time[k], so_far, span, thresholds):
                write(count, taken, time[k], so_far, items, known, chance)
                count += 1
                if count - before > most:
                    return TOO_MANY
                if count > most_in_all:
                    return TOO_MANY_IN_ALL
    return count


@kernel
def follow_first(partition, time, mask, n_partitions, window, span, items, known):
    """Write the first way through all components from each event, to the end of the buffers.

    They need room for a match of every event. Returns how many matches there are, or AT_ONCE: two
    events of one partition have the same time.
    """
    n, n_components = items.shape[0], items.shape[1]
    # The next event of each component, and when the way from it ends; the last is the time of the
    # next event of all, with which a match of no more ends.
    ahead = np.empty((n_partitions, n_components), np.int32)
    ends = np.full((n_partitions, n_components + 1), NEVER, np.int64)
    # What follows an event in a component. Only what is written takes memory.
    links = np.empty((n, n_components), np.int32)
    count = 0
    for k in range(n - 1, -1, -1):
        own, now = partition[k], time[k]
        if ends[own, n_components] == now:
            return AT_ONCE
        ends[own, n_components] = now
        # What it may begin, with those after it; then where it may be in the ways of others.
        end = ends[own, 1]
        if mask[k] & 1 and end != NEVER and end - now <= window and span[0] <= end < span[1]:
            count += 1
            follower = k
            for c in range(n_components):
                if c > 0:
                    follower = ahead[own, 1] if c == 1 else links[follower, c - 1]
                items[n - count, c, 0], items[n - count, c, 1] = c, follower
            known[n - count] = end
        for c in range(1, n_components):
            if (mask[k] >> c) & 1:
                if c + 1 < n_components:
                    links[k, c] = ahead[own, c + 1]
                ends[own, c], ahead[own, c] = ends[own, c + 1], k
    return count

"""Worlds that agree become one state.

A state is written behind the last one, as a candidate; `take` makes it a state, or adds it to the
one it equals.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.layout import BEFORE, FRESH, LINES, TALES
from augury.kernels.identity.room import more_lines, resized
from augury.kernels.jit import part
from augury.kernels.rows.identity import spread


@part
def table_for(n):
    """Return an empty table in which `n` states are found fast."""
    size = 16
    while size < 2 * n:
        size *= 2
    return np.full(size, -1, np.int64)


@part
def with_room(states, table, n):
    """Return states and table with room for `n` more states and a candidate."""
    needed = states.size[0] + n + 1
    if needed > states.length.shape[0]:
        states = resized(
            states,
            2 * needed,
            states.opened.shape[1],
            states.owner.shape[1],
            states.place.shape[1],
        )
    if 2 * needed > table.shape[0]:
        table = table_for(2 * needed)
        mask = np.uint64(table.shape[0] - 1)
        for s in range(states.size[0]):
            at = np.int64(states.key[s] & mask)
            while table[at] >= 0:
                at = np.int64(np.uint64(at + 1) & mask)
            table[at] = s
    return states, table


@part
def copy_state(old, s, states, tales):
    """Write a state as the candidate, with all that it knows; return its number."""
    t = states.size[0]
    n = old.length[s]
    states.length[t] = n
    for j in range(n):
        states.opened[t, j] = old.opened[s, j]
        states.counts[t, j] = old.counts[s, j]
    copy_rest(old, s, states, tales)
    return t


@part
def copy_rest(old, s, states, tales):
    """Write all that a state knows, but its open acts, as the candidate."""
    t = states.size[0]
    for k in range(tales):
        states.owner[t, k] = old.owner[s, k]
    for n in range(old.place.shape[1]):
        states.place[t, n] = old.place[s, n]
        states.step[t, n] = old.step[s, n]
    states.weight[t] = old.weight[s]
    states.sure[t] = old.sure[s]
    for b in range(old.noise.shape[1]):
        states.noise[t, b] = old.noise[s, b]


@part
def scale(states, t, by):
    """Multiply the weight of a state."""
    states.weight[t] *= by
    states.sure[t] *= by
    for b in range(states.noise.shape[1]):
        states.noise[t, b] *= by


@part
def simplify(states, t, acts, head_place, head_step):
    """Leave no more of the past in a candidate than its open acts ask for."""
    for n in range(states.place.shape[1]):
        if states.place[t, n] < 0:
            continue
        own, head = BEFORE, BEFORE
        for j in range(states.length[t]):
            step = acts.step[states.opened[t, j]]
            if step <= states.step[t, n]:
                own = step
            if step <= head_step[n]:
                head = step
        if states.place[t, n] == head_place[n] and own == head:
            states.place[t, n] = -1
        else:
            states.step[t, n] = own


@part
def _key(states, t, acts):
    key = np.uint64(0)
    for j in range(states.length[t]):
        key ^= acts.key[states.opened[t, j]]
    for n in range(states.place.shape[1]):
        if states.place[t, n] >= 0:
            key = spread(key + np.uint64(n * 1000003 + states.place[t, n])) ^ np.uint64(
                states.step[t, n]
            )
    return key


@part
def _is_same(states, a, b):
    if states.length[a] != states.length[b]:
        return False
    for j in range(states.length[a]):
        if states.opened[a, j] != states.opened[b, j]:
            return False
    for n in range(states.place.shape[1]):
        if states.place[a, n] != states.place[b, n]:
            return False
        if states.place[a, n] >= 0 and states.step[a, n] != states.step[b, n]:
            return False
    return True


@part
def take(states, acts, table, pool, counts):
    """Make the candidate a state, or add it to its equal; return the pool."""
    t = states.size[0]
    key = _key(states, t, acts)
    mask = np.uint64(table.shape[0] - 1)
    at = np.int64(key & mask)
    while table[at] >= 0:
        o = table[at]
        if states.key[o] == key and _is_same(states, o, t):
            return _mixed(states, o, t, pool, counts)
        at = np.int64(np.uint64(at + 1) & mask)
    table[at] = t
    states.key[t] = key
    states.size[0] = t + 1
    return pool


@part
def _mixed(states, o, t, pool, counts):
    """Add the candidate to a state: what they know is mixed by their weights."""
    total = states.weight[o] + states.weight[t]
    if total > 0.0:
        a, b = states.weight[o] / total, states.weight[t] / total
        people = pool.line.shape[1]
        if counts[LINES] + counts[TALES] > pool.line.shape[0]:
            pool = more_lines(pool, 2 * (counts[LINES] + counts[TALES]))
        for k in range(counts[TALES]):
            x, y = states.owner[o, k], states.owner[t, k]
            if x != y:
                _mix(states, (o, k, x, y), (a, b), pool, (counts, people))
    states.weight[o] = total
    states.sure[o] += states.sure[t]
    for i in range(states.noise.shape[1]):
        states.noise[o, i] += states.noise[t, i]
    return pool


@part
def _mix(states, what, shares, pool, rest):
    """Mix two owners into a line that belongs to the state alone."""
    o, k, x, y = what
    a, b = shares
    counts, people = rest
    to = x - people
    if to < counts[FRESH]:
        to = counts[LINES]
        counts[LINES] += 1
        pool.tale[to] = k
        states.owner[o, k] = people + to
        if x < people:
            pool.line[to] = 0.0
            pool.line[to, x] = a
        else:
            for n in range(people):
                pool.line[to, n] = a * pool.line[x - people, n]
    else:
        for n in range(people):
            pool.line[to, n] *= a
    if y < people:
        pool.line[to, y] += b
    else:
        for n in range(people):
            pool.line[to, n] += b * pool.line[y - people, n]

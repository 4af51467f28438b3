"""Worlds that agree become one state.

A state is written behind the last one, as a candidate; `take` makes it a state, or adds it to the
one it equals.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.layout import (
    AT,
    BEFORE,
    FRESH,
    HASH,
    KEY,
    LENGTH,
    LINES,
    OPENED,
    PLACE,
    STEP,
    TALES,
    WEIGHT,
    States,
)
from augury.kernels.identity.room import larger, longer
from augury.kernels.jit import part
from augury.kernels.rows.identity import spread


@part
def table_for(n):
    """Return an empty table in which `n` states are found fast."""
    size = 16
    while size < 4 * n:
        size *= 2
    return np.full(size, -1, np.int64)


@part
def with_room(states, table, n):
    """Return states and table with room for `n` more states and a candidate."""
    needed = states.size[0] + n + 1
    if needed > states.words.shape[0]:
        states = States(
            states.size,
            larger(states.words, 2 * needed),
            larger(states.reals, 2 * needed),
            states.counts,
            states.owner,
            states.place,
            states.step,
        )
    if 2 * needed > table.shape[0]:
        table = table_for(needed)
        words, mask = states.words, table.shape[0] - 1
        for s in range(states.size[0]):
            at = words[s, KEY] & mask
            while table[at] >= 0:
                at = (at + 1) & mask
            table[at] = s
    return states, table


@part
def copy_opened(old, s, states, first):
    """Write the open acts of a state from `first` on as the candidate's."""
    t = states.size[0]
    words, to = old.words, states.words
    n = words[s, LENGTH] - first
    to[t, LENGTH] = n
    for j in range(n):
        to[t, OPENED + j] = words[s, OPENED + first + j]
        to[t, states.counts + j] = words[s, old.counts + first + j]


@part
def copy_rest(old, s, states, tales, by):
    """Write all else that a state knows as the candidate, with its weight times `by`."""
    t = states.size[0]
    words, to = old.words, states.words
    for k in range(tales):
        to[t, states.owner + k] = words[s, old.owner + k]
    for n in range(words.shape[1] - old.place):
        to[t, states.place + n] = words[s, old.place + n]
    reals, to_reals = old.reals, states.reals
    for i in range(reals.shape[1]):
        to_reals[t, i] = reals[s, i] * by


@part
def simplify(states, t, acts, heads):
    """Leave no more of the past in a candidate than its open acts ask for."""
    words = states.words
    for n in range(states.step - states.place):
        if words[t, states.place + n] < 0:
            continue
        own, head = BEFORE, BEFORE
        for j in range(OPENED, OPENED + words[t, LENGTH]):
            step = acts[words[t, j], AT]
            if step <= words[t, states.step + n]:
                own = step
            if step <= heads[n, STEP]:
                head = step
        if words[t, states.place + n] == heads[n, PLACE] and own == head:
            words[t, states.place + n] = -1
        else:
            words[t, states.step + n] = own


@part
def _key(states, t, acts):
    words, key = states.words, 0
    for j in range(OPENED, OPENED + words[t, LENGTH]):
        key ^= acts[words[t, j], HASH]
    for n in range(states.step - states.place):
        if words[t, states.place + n] >= 0:
            own = spread(np.uint64(n * 1000003 + words[t, states.place + n]))
            key ^= np.int64(spread(own + np.uint64(words[t, states.step + n])))
    return key


@part
def _is_same(states, a, b):
    words = states.words
    if words[a, LENGTH] != words[b, LENGTH]:
        return False
    for j in range(OPENED, OPENED + words[a, LENGTH]):
        if words[a, j] != words[b, j]:
            return False
    for n in range(states.step - states.place):
        if words[a, states.place + n] != words[b, states.place + n]:
            return False
        is_moved = words[a, states.place + n] >= 0
        if is_moved and words[a, states.step + n] != words[b, states.step + n]:
            return False
    return True


@part
def take(states, acts, table, pool, counts):
    """Make the candidate a state, or add it to its equal; return the pool of lines."""
    t = states.size[0]
    words = states.words
    key = _key(states, t, acts)
    mask = table.shape[0] - 1
    at = key & mask
    while table[at] >= 0:
        o = table[at]
        if words[o, KEY] == key and _is_same(states, o, t):
            return _mixed(states, o, pool, counts)
        at = (at + 1) & mask
    table[at] = t
    words[t, KEY] = key
    states.size[0] = t + 1
    return pool


@part
def _mixed(states, o, pool, counts):
    """Add the candidate to a state: what they know is mixed by their weights."""
    t = states.size[0]
    words, reals = states.words, states.reals
    lines, line_tale = pool
    total = reals[o, WEIGHT] + reals[t, WEIGHT]
    people = lines.shape[1]
    if counts[LINES] + counts[TALES] > lines.shape[0]:
        more = 2 * (counts[LINES] + counts[TALES])
        lines, line_tale = larger(lines, more), longer(line_tale, more)
    a = reals[o, WEIGHT] / total if total > 0.0 else 0.5
    b = 1.0 - a
    for k in range(counts[TALES]):
        x, y = words[o, states.owner + k], words[t, states.owner + k]
        if x == y:
            continue
        # A line that is of this state alone is mixed where it is.
        to = x - people
        if to < counts[FRESH]:
            to = counts[LINES]
            counts[LINES] += 1
            line_tale[to] = k
            words[o, states.owner + k] = people + to
        _mix(lines, to, (x, a), (y, b))
    for i in range(reals.shape[1]):
        reals[o, i] += reals[t, i]
    return lines, line_tale


@part
def _mix(lines, to, one, other):
    """Write a line as the mixture of two owners: people, or lines, each with its share."""
    x, a = one
    y, b = other
    people = lines.shape[1]
    if x < people:
        for n in range(people):
            lines[to, n] = 0.0
        lines[to, x] = a
    else:
        for n in range(people):
            lines[to, n] = a * lines[x - people, n]
    if y < people:
        lines[to, y] += b
    else:
        for n in range(people):
            lines[to, n] += b * lines[y - people, n]

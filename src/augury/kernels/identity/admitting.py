"""An act of somebody whose badge was not read: it stays open, in each state as it can.

Where people are not alike it is given to each of those who can have done it, at once.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.layout import (
    ACTS,
    AT,
    CHANGED,
    EVEN,
    FRESH,
    HASH,
    LAST_OPEN,
    LENGTH,
    LINES,
    MADE,
    NOBODY,
    OPENED,
    ORIGIN,
    PLACE,
    STEP,
    TALE,
    TALES,
    TO,
)
from augury.kernels.identity.merging import copy_opened, copy_rest, table_for, take, with_room
from augury.kernels.jit import part
from augury.kernels.rows.identity import spread


@part
def note(acts, counts, origins, act):
    """Write an act among those that may be open: one entry for each place where it may begin."""
    place, _, step, tale = act
    for i in range(origins.shape[0]):
        at = counts[ACTS] + i
        acts[at, ORIGIN], acts[at, TO] = origins[i], place
        acts[at, AT], acts[at, TALE] = step, tale
        acts[at, HASH] = np.int64(spread(np.uint64(counts[MADE] + 1 + i)))


@part
def admit(world, weights, spare, origins, act):
    """Return the states after an act; the same where no world allows it.

    The act is (place, room, step, tale), and is noted; there is room in all arrays.
    """
    _, _, step, tale = act
    states, acts, counts = world.states, world.acts, world.counts
    pool = world.lines, world.line_tale
    is_apart = weights.shape[1] > 0
    n_states = states.size[0]
    possible = np.zeros((n_states, origins.shape[0]), np.int64)
    if not is_apart:
        for i in range(origins.shape[0]):
            _present(world, origins[i], step, possible[:, i])
    most = _most(world, weights, possible, act)
    counts[FRESH] = counts[LINES]
    found = spare
    found.size[0] = 0
    table = table_for(n_states)
    for s in range(n_states):
        found, table = with_room(found, table, origins.shape[0] + is_apart * weights.shape[0])
        to = found.words
        for i in range(origins.shape[0]):
            if possible[s, i] > 0:
                t = found.size[0]
                copy_opened(states, s, found, 0)
                copy_rest(states, s, found, counts[TALES], np.float64(possible[s, i]))
                length = to[t, LENGTH]
                to[t, OPENED + length] = counts[ACTS] + i
                to[t, found.counts + length] = possible[s, i]
                to[t, LENGTH] = length + 1
                to[t, found.owner + tale] = NOBODY
                pool = take(found, acts, table, pool, counts)
        if is_apart:
            pool = _given(world, weights, (s, found, table, pool), origins, act)
    is_level = origins.shape[0] == 1 and not is_apart
    for s in range(n_states):
        is_level = is_level and possible[s, 0] == possible[0, 0]
    counts[CHANGED] |= np.int64(not is_level)
    if found.size[0] == 0:
        return states, found, pool, False
    world.lost[0] *= most
    counts[LAST_OPEN] = step
    counts[EVEN] &= np.int64(origins.shape[0] == 1)
    return found, states, pool, True


@part
def _present(world, origin, step, out):
    """Write how many people may do an act of a step from a place, in each state."""
    states, acts, heads = world.states, world.acts, world.heads
    words, has_moved = states.words, states.step > states.place
    there = 0
    for n in range(heads.shape[0]):
        if heads[n, PLACE] == origin and heads[n, STEP] < step:
            there += 1
    for s in range(states.size[0]):
        count = there
        if has_moved:
            for n in range(heads.shape[0]):
                if words[s, states.place + n] >= 0:
                    if heads[n, PLACE] == origin and heads[n, STEP] < step:
                        count -= 1
                    is_there = words[s, states.place + n] == origin
                    if is_there and words[s, states.step + n] < step:
                        count += 1
        for j in range(OPENED, OPENED + words[s, LENGTH]):
            act = words[s, j]
            if acts[act, ORIGIN] == origin:
                count -= 1
            if acts[act, TO] == origin and acts[act, AT] < step:
                count += 1
        out[s] = count


@part
def _given(world, weights, rest, origins, act):
    """Give an act to each of those who can have done it, by their weights."""
    place, room, step, tale = act
    s, found, table, pool = rest
    states, counts, heads = world.states, world.counts, world.heads
    words, to = states.words, found.words
    for n in range(heads.shape[0]):
        at, last = heads[n, PLACE], heads[n, STEP]
        if words[s, states.place + n] >= 0:
            at, last = words[s, states.place + n], words[s, states.step + n]
        is_there = False
        for origin in origins:
            is_there |= at == origin
        if is_there and last < step and weights[n, room] > 0.0:
            t = found.size[0]
            copy_opened(states, s, found, 0)
            copy_rest(states, s, found, counts[TALES], weights[n, room])
            to[t, found.place + n], to[t, found.step + n] = place, step
            to[t, found.owner + tale] = n
            pool = take(found, world.acts, table, pool, counts)
    return pool


@part
def _most(world, weights, possible, act):
    """Return in how many ways a world can go on with an act, at most."""
    _, room, step, _ = act
    most = 0.0
    if world.counts[EVEN] and weights.shape[1] == 0:
        for i in range(possible.shape[1]):
            most += possible[0, i]
        return most
    for n in range(world.heads.shape[0]):
        if world.heads[n, STEP] < step:
            most += weights[n, room] if weights.shape[1] else 1.0
    return most

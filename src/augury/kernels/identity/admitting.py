"""An act of somebody whose badge was not read: it stays open, in each state as it can.

Where people are not alike it is given to each of those who can have done it, at once.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.layout import (
    ACTS,
    ADMITTED,
    CHANGED,
    EVEN,
    FRESH,
    LAST_OPEN,
    LINES,
    MADE,
    NOBODY,
    TALES,
)
from augury.kernels.identity.merging import copy_state, scale, table_for, take, with_room
from augury.kernels.jit import part
from augury.kernels.rows.identity import spread


@part
def present(world, s, origin, step):
    """Return how many people may do an act of a step from a place, in a state."""
    states, acts = world.states, world.acts
    count = 0
    for n in range(world.head_place.shape[0]):
        place, last = world.head_place[n], world.head_step[n]
        if states.place.shape[1] and states.place[s, n] >= 0:
            place, last = states.place[s, n], states.step[s, n]
        if place == origin and last < step:
            count += 1
    for j in range(states.length[s]):
        act = states.opened[s, j]
        if acts.origin[act] == origin:
            count -= 1
        if acts.place[act] == origin and acts.step[act] < step:
            count += 1
    return count


@part
def admit(world, law, spare, origins, act):
    """Return the states after an act; none where no world allows it.

    The act is (place, room, step, tale); where it began is one of the origins. There is room in all
    arrays.
    """
    place, room, step, tale = act
    states, acts, counts = world.states, world.acts, world.counts
    is_apart = law.weights.shape[1] > 0
    most = _most(world, law, origins, act)
    n_states = states.size[0]
    possible = np.zeros((n_states, origins.shape[0]), np.int64)
    if not is_apart:
        for s in range(n_states):
            for i in range(origins.shape[0]):
                possible[s, i] = present(world, s, origins[i], step)
    counts[FRESH] = counts[LINES]
    found, pool = spare, world.pool
    found.size[0] = 0
    table = table_for(2 * n_states)
    for s in range(n_states):
        found, table = with_room(found, table, origins.shape[0] + law.weights.shape[0])
        for i in range(origins.shape[0]):
            if possible[s, i] > 0:
                t = copy_state(states, s, found, counts[TALES])
                scale(found, t, np.float64(possible[s, i]))
                found.opened[t, found.length[t]] = counts[ACTS] + i
                found.counts[t, found.length[t]] = possible[s, i]
                found.length[t] += 1
                found.owner[t, tale] = NOBODY
                pool = take(found, acts, table, pool, counts)
        if is_apart:
            pool = _given(world, law, (states, s, found, table, pool), origins, act)
    counts[CHANGED] |= np.int64(is_apart or origins.shape[0] > 1 or not _is_level(possible))
    if found.size[0] == 0:
        return states, found, pool, False
    world.lost[0] *= most
    counts[LAST_OPEN] = step
    counts[EVEN] &= np.int64(origins.shape[0] == 1)
    return found, states, pool, True


@part
def note(acts, counts, origins, act):
    """Write an act among those that may be open: one entry for each place where it may begin."""
    place, _, step, tale = act
    for i in range(origins.shape[0]):
        at = counts[ACTS] + i
        acts.origin[at], acts.place[at] = origins[i], place
        acts.step[at], acts.tale[at] = step, tale
        acts.key[at] = spread(np.uint64(counts[MADE] + 1 + i))


@part
def _is_level(possible):
    for s in range(possible.shape[0]):
        for i in range(possible.shape[1]):
            if possible[s, i] != possible[0, 0]:
                return False
    return True


@part
def _given(world, law, rest, origins, act):
    """Give an act to each of those who can have done it, by their weights."""
    place, room, step, tale = act
    states, s, found, table, pool = rest
    counts = world.counts
    for n in range(world.head_place.shape[0]):
        at, last = world.head_place[n], world.head_step[n]
        if states.place[s, n] >= 0:
            at, last = states.place[s, n], states.step[s, n]
        is_there = False
        for origin in origins:
            is_there |= at == origin
        if is_there and last < step and law.weights[n, room] > 0.0:
            t = copy_state(states, s, found, counts[TALES])
            scale(found, t, law.weights[n, room])
            found.place[t, n], found.step[t, n] = place, step
            found.owner[t, tale] = n
            pool = take(found, world.acts, table, pool, counts)
    return pool


@part
def _most(world, law, origins, act):
    """Return in how many ways a world can go on with an act, at most."""
    _, room, step, _ = act
    counts = world.counts
    most = 0.0
    if counts[EVEN] and law.weights.shape[1] == 0:
        for origin in origins:
            most += present(world, 0, origin, step)
        return most
    for n in range(world.head_place.shape[0]):
        if world.head_step[n] < step:
            most += law.weights[n, room] if law.weights.shape[1] else 1.0
    return most

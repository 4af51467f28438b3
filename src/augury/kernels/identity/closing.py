"""Between steps: states in their simplest form, and nothing kept that nobody asks for.

Where open acts are many, the oldest are given to people. Somebody who is never read would keep them
open for ever otherwise.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.layout import FRESH, LINES, TALES
from augury.kernels.identity.merging import (
    copy_rest,
    copy_state,
    scale,
    simplify,
    table_for,
    take,
    with_room,
)
from augury.kernels.jit import part


@part
def longest(states):
    """Return how many acts are open in a state, at most."""
    most = 0
    for s in range(states.size[0]):
        most = max(most, states.length[s])
    return most


@part
def is_giving(states, law):
    """Whether the oldest act of some state is to be given to people."""
    most = longest(states)
    if most <= law.many_open:
        return False
    if most > law.most_open:
        return True
    for s in range(states.size[0]):
        if states.length[s] and states.counts[s, 0] == 1:
            return True
    return False


@part
def given(world, law, found):
    """Return the states after the oldest acts were given; there is room for who is elsewhere."""
    states, acts, counts, pool = world.states, world.acts, world.counts, world.pool
    most = longest(states)
    counts[FRESH] = counts[LINES]
    found.size[0] = 0
    table = table_for(2 * states.size[0])
    for s in range(states.size[0]):
        found, table = with_room(found, table, world.head_place.shape[0])
        is_sole = states.length[s] > 0 and states.counts[s, 0] == 1
        if not (is_sole or (most > law.most_open and states.length[s] == most)):
            t = copy_state(states, s, found, counts[TALES])
            simplify(found, t, acts, world.head_place, world.head_step)
            pool = take(found, acts, table, pool, counts)
            continue
        act = states.opened[s, 0]
        for n in range(world.head_place.shape[0]):
            place, last = world.head_place[n], world.head_step[n]
            if states.place[s, n] >= 0:
                place, last = states.place[s, n], states.step[s, n]
            if place != acts.origin[act] or last >= acts.step[act]:
                continue
            t = found.size[0]
            copy_rest(states, s, found, counts[TALES])
            scale(found, t, 1.0 / states.counts[s, 0])
            found.length[t] = states.length[s] - 1
            for j in range(found.length[t]):
                found.opened[t, j] = states.opened[s, j + 1]
                found.counts[t, j] = states.counts[s, j + 1]
            found.place[t, n], found.step[t, n] = acts.place[act], acts.step[act]
            if acts.tale[act] >= 0:
                found.owner[t, acts.tale[act]] = n
            simplify(found, t, acts, world.head_place, world.head_step)
            pool = take(found, acts, table, pool, counts)
    return found, states, pool


@part
def simplified(world, found):
    """Return the states with no more of the past than their open acts ask for."""
    states, acts, counts, pool = world.states, world.acts, world.counts, world.pool
    counts[FRESH] = counts[LINES]
    found.size[0] = 0
    table = table_for(2 * states.size[0])
    for s in range(states.size[0]):
        found, table = with_room(found, table, 1)
        t = copy_state(states, s, found, counts[TALES])
        simplify(found, t, acts, world.head_place, world.head_step)
        pool = take(found, acts, table, pool, counts)
    return found, states, pool


@part
def is_anyone_moved(states):
    """Whether somebody is elsewhere than the heads say."""
    for s in range(states.size[0]):
        for n in range(states.place.shape[1]):
            if states.place[s, n] >= 0:
                return True
    return False


@part
def total_of(states):
    """Return the weight of all states."""
    total = 0.0
    for s in range(states.size[0]):
        total += states.weight[s]
    return total


@part
def rescale(world):
    """Make the weight of all states 1."""
    states = world.states
    by = 1.0 / total_of(states)
    for s in range(states.size[0]):
        scale(states, s, by)
    world.lost[0] *= by


@part
def doubt(states):
    """Take nothing as sure: what no state allows, worlds may allow that were left out."""
    for s in range(states.size[0]):
        states.sure[s] = 0.0

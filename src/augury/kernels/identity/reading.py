"""A badge read: whoever is read takes a chain of open acts along, every way it can."""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.chains import (
    TAKES,
    all_chains,
    no_chains,
    no_way,
    some_chains,
    ways_on,
)
from augury.kernels.identity.layout import (
    AT,
    CHANGED,
    FRESH,
    LENGTH,
    LINES,
    OPENED,
    ORIGIN,
    PLACE,
    STEP,
    SURE,
    TALE,
    TALES,
    WEIGHT,
)
from augury.kernels.identity.merging import copy_rest, table_for, take, with_room
from augury.kernels.identity.sampling import mark_drawn, uniform
from augury.kernels.jit import part


@part
def led(world, spare, who, ends, most):
    """Return the states in which somebody took the ways that end in some places; none: the same.

    Who is apart from the others took no open act along. Of more than `most` chains of a state so
    many are drawn. Writes whether anything changed.
    """
    person, is_apart = who
    states, acts, counts = world.states, world.acts, world.counts
    pool = world.lines, world.line_tale
    if _is_idle(world, person, is_apart):
        # Nobody else can have been meant: all is as it was, or nothing is possible.
        return states, spare, pool, ends[world.heads[person, PLACE]]
    counts[FRESH] = counts[LINES]
    found, words = spare, states.words
    found.size[0] = 0
    table = table_for(states.size[0])
    chains, is_changed = no_chains(states.counts - OPENED, ends.shape[0]), False
    for s in range(states.size[0]):
        length = words[s, LENGTH]
        n, chains, is_drawn = _chains_of(world, s, who, (ends, most), chains)
        marks, factors = chains.marks, chains.factors
        found, table = with_room(found, table, n)
        is_changed |= n != 1
        to = found.words
        for c in range(n):
            t = found.size[0]
            copy_rest(states, s, found, counts[TALES], factors[c, 0])
            if is_drawn:
                mark_drawn(found, t, factors[c, 1] * states.reals[s, WEIGHT], counts)
            left = 0
            for j in range(length):
                act, mark = words[s, OPENED + j], marks[c, j]
                is_changed |= mark != 0
                if mark != TAKES:
                    to[t, OPENED + left] = act
                    to[t, found.counts + left] = words[s, states.counts + j] - mark
                    left += 1
                elif acts[act, TALE] >= 0:
                    to[t, found.owner + acts[act, TALE]] = person
            to[t, LENGTH] = left
            if found.step > found.place:
                to[t, found.place + person] = -1
            pool = take(found, acts, table, pool, counts)
    if found.size[0] == 0:
        return states, found, pool, False
    counts[CHANGED] |= np.int64(is_changed)
    return found, states, pool, True


@part
def _chains_of(world, s, who, goal, chains):
    """Return how many chains of a state lead to the ends, those, and whether they were drawn."""
    person, is_apart = who
    ends, most = goal
    states, words = world.states, world.states.words
    head = world.heads[person, PLACE], world.heads[person, STEP]
    if states.step > states.place and words[s, states.place + person] >= 0:
        head = words[s, states.place + person], words[s, states.step + person]
    length, own = words[s, LENGTH], (words, s, states.counts)
    if is_apart:
        return no_way(chains, length, ends[head[0]]), chains, False
    n = ways_on(own, world.acts, head, ends, chains)
    if n <= most:
        return n, all_chains(own, world.acts, head, chains), False
    world.lost[0] += states.reals[s, SURE] * chains.ahead[length]
    start = uniform(world.counts)
    return most, some_chains(own, world.acts, head, chains, (most, start)), True


@part
def _is_idle(world, person, is_apart):
    """Whether nobody could take an open act of any state along: all states go on as they are."""
    states, acts, words = world.states, world.acts, world.states.words
    if states.step > states.place:
        return False
    if is_apart:
        return True
    place, step = world.heads[person, PLACE], world.heads[person, STEP]
    for s in range(states.size[0]):
        for j in range(OPENED + words[s, LENGTH] - 1, OPENED - 1, -1):
            act = words[s, j]
            if acts[act, AT] <= step:
                break
            if acts[act, ORIGIN] == place:
                return False
    return True

"""A badge read: whoever is read takes a chain of open acts along, every way it can."""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.chains import (
    TAKES,
    listed,
    no_chains,
    no_way,
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
        length, own = words[s, LENGTH], (words, s, states.counts)
        head = _head(world.heads, words, s, person, (states.place, states.step))
        if is_apart or not _is_near(own, acts, head):
            n = no_way(chains.marks, chains.factors, length, ends[head[0]])
        else:
            n = ways_on(own, acts, head, ends, chains)
            start = uniform(counts) if n > most else 0.0
            chains = listed(own, acts, head, chains, (min(n, most), start))
        is_drawn = n > most
        if is_drawn:
            n = most
            world.lost[0] += states.reals[s, SURE] * chains.ahead[length]
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
def _head(heads, words, s, person, columns):
    """Return where somebody was last seen in a state, and in which step."""
    place, step = columns
    if step > place and words[s, place + person] >= 0:
        return words[s, place + person], words[s, step + person]
    return heads[person, PLACE], heads[person, STEP]


@part
def _is_near(own, acts, head):
    """Whether somebody can have done an open act of a state, as the first since the head."""
    words, s, _ = own
    for j in range(OPENED + words[s, LENGTH] - 1, OPENED - 1, -1):
        act = words[s, j]
        if acts[act, AT] <= head[1]:
            return False
        if acts[act, ORIGIN] == head[0]:
            return True
    return False


@part
def _is_idle(world, person, is_apart):
    """Whether nobody could take an open act of any state along: all states go on as they are."""
    states, acts, words = world.states, world.acts, world.states.words
    if states.step > states.place:
        return False
    if is_apart:
        return True
    head = world.heads[person, PLACE], world.heads[person, STEP]
    for s in range(states.size[0]):
        if _is_near((words, s, 0), acts, head):
            return False
    return True

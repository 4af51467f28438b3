"""Between steps: states in their simplest form, and nothing kept that nobody asks for.

Where open acts are many, the oldest are given to people. Somebody who is never read would keep them
open for ever otherwise.
"""

from __future__ import annotations

from augury.kernels.identity.layout import (
    AT,
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
    TO,
    WEIGHT,
)
from augury.kernels.identity.merging import (
    copy_opened,
    copy_rest,
    simplify,
    table_for,
    take,
    with_room,
)
from augury.kernels.jit import part


@part
def longest(states):
    """Return how many acts are open in a state, at most."""
    words, most = states.words, 0
    for s in range(states.size[0]):
        most = max(most, words[s, LENGTH])
    return most


@part
def is_giving(states, law):
    """Whether the oldest act of some state is to be given to people."""
    most, words = longest(states), states.words
    if most <= law.many_open:
        return False
    if most > law.most_open:
        return True
    for s in range(states.size[0]):
        if words[s, LENGTH] > 0 and words[s, states.counts] == 1:
            return True
    return False


@part
def simplified(world, found, most_open, gives):
    """Return the states with no more of the past than their open acts ask for.

    Where it `gives`, the oldest acts are given to people: those of the longest states, if they have
    more than `most_open`, and those that one person alone can have done. There is room for who is
    elsewhere than the heads say.
    """
    states, acts, counts, heads = world.states, world.acts, world.counts, world.heads
    pool, words = (world.lines, world.line_tale), states.words
    most = longest(states)
    counts[FRESH] = counts[LINES]
    found.size[0] = 0
    table = table_for(states.size[0])
    for s in range(states.size[0]):
        found, table = with_room(found, table, heads.shape[0])
        is_sole = words[s, LENGTH] > 0 and words[s, states.counts] == 1
        is_over = most > most_open and words[s, LENGTH] == most
        if not (gives and (is_sole or is_over)):
            copy_opened(states, s, found, 0)
            copy_rest(states, s, found, counts[TALES], 1.0)
            simplify(found, found.size[0], acts, heads)
            pool = take(found, acts, table, pool, counts)
            continue
        act, to = words[s, OPENED], found.words
        for n in range(heads.shape[0]):
            place, last = heads[n, PLACE], heads[n, STEP]
            if words[s, states.place + n] >= 0:
                place, last = words[s, states.place + n], words[s, states.step + n]
            if place != acts[act, ORIGIN] or last >= acts[act, AT]:
                continue
            t = found.size[0]
            copy_opened(states, s, found, 1)
            copy_rest(states, s, found, counts[TALES], 1.0 / words[s, states.counts])
            to[t, found.place + n], to[t, found.step + n] = acts[act, TO], acts[act, AT]
            if acts[act, TALE] >= 0:
                to[t, found.owner + acts[act, TALE]] = n
            simplify(found, t, acts, heads)
            pool = take(found, acts, table, pool, counts)
    return found, states, pool


@part
def is_anyone_moved(states):
    """Whether somebody is elsewhere than the heads say."""
    words = states.words
    for s in range(states.size[0]):
        for n in range(states.place, states.step):
            if words[s, n] >= 0:
                return True
    return False


@part
def total_of(states):
    """Return the weight of all states."""
    reals, total = states.reals, 0.0
    for s in range(states.size[0]):
        total += reals[s, WEIGHT]
    return total


@part
def rescale(world):
    """Make the weight of all states 1."""
    reals = world.states.reals
    by = 1.0 / total_of(world.states)
    for s in range(world.states.size[0]):
        for i in range(reals.shape[1]):
            reals[s, i] *= by
    world.lost[0] *= by


@part
def doubt(states):
    """Take nothing as sure: what no state allows, worlds may allow that were left out."""
    for s in range(states.size[0]):
        states.reals[s, SURE] = 0.0

"""A badge read: whoever is read takes a chain of open acts along, in each state every way it can.

A chain leads from where somebody was last seen to where it is now. Of the acts that it passes by,
one candidate fewer is left: who was there and did not do it.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.layout import CHANGED, FRESH, LINES, TALES
from augury.kernels.identity.merging import copy_rest, scale, table_for, take, with_room
from augury.kernels.identity.room import larger, longer
from augury.kernels.jit import part

# What a chain does with an open act.
PASSES, TAKES = 1, 2


@part
def led(world, law, spare, person, ends):
    """Return the states in which somebody took the ways that end in some places; none: the same.

    Writes whether anything changed.
    """
    states, acts, counts = world.states, world.acts, world.counts
    if _is_idle(world, law, person):
        # Nobody else can have been meant: all is as it was, or nothing is possible.
        if ends[world.head_place[person]]:
            return states, spare, world.pool, True
        return states, spare, world.pool, False
    counts[FRESH] = counts[LINES]
    found, pool = spare, world.pool
    found.size[0] = 0
    table = table_for(2 * states.size[0])
    marks, factors = np.empty((16, states.opened.shape[1]), np.int8), np.empty(16)
    until = np.empty(ends.shape[0], np.int64)
    is_changed = False
    for s in range(states.size[0]):
        place, step = world.head_place[person], world.head_step[person]
        if states.place.shape[1] and states.place[s, person] >= 0:
            place, step = states.place[s, person], states.step[s, person]
        if law.weights.shape[1]:
            # Who is not like the others took no open act along.
            n = np.int64(ends[place])
            marks[0, : states.length[s]] = 0
            factors[0] = 1.0
        else:
            _reach(states, s, acts, ends, until)
            n, marks, factors = _chains(
                (states.opened[s], states.counts[s], states.length[s]),
                acts,
                (place, step),
                (ends, until),
                (marks, factors),
            )
        found, table = with_room(found, table, n)
        is_changed |= n != 1
        for c in range(n):
            t = found.size[0]
            copy_rest(states, s, found, counts[TALES])
            scale(found, t, factors[c])
            left = 0
            for j in range(states.length[s]):
                act = states.opened[s, j]
                mark = marks[c, j]
                is_changed |= mark != 0
                if mark == TAKES:
                    if acts.tale[act] >= 0:
                        found.owner[t, acts.tale[act]] = person
                else:
                    found.opened[t, left] = act
                    found.counts[t, left] = states.counts[s, j] - mark
                    left += 1
            found.length[t] = left
            if found.place.shape[1]:
                found.place[t, person] = -1
            pool = take(found, acts, table, pool, counts)
    if found.size[0] == 0:
        counts[LINES] = counts[FRESH]
        return states, found, pool, False
    counts[CHANGED] |= np.int64(is_changed)
    return found, states, pool, True


@part
def _is_idle(world, law, person):
    """Whether nobody could take an open act of any state along: all states go on as they are."""
    states, acts = world.states, world.acts
    if states.place.shape[1]:
        return False
    place, step = world.head_place[person], world.head_step[person]
    if law.weights.shape[1]:
        return True
    for s in range(states.size[0]):
        for j in range(states.length[s] - 1, -1, -1):
            act = states.opened[s, j]
            if acts.step[act] <= step:
                break
            if acts.origin[act] == place:
                return False
    return True


@part
def _reach(states, s, acts, ends, until):
    """Write by place before which open act one must be there to reach an end; -1: never."""
    n = states.length[s]
    for place in range(ends.shape[0]):
        until[place] = n if ends[place] else -1
    for j in range(n - 1, -1, -1):
        act = states.opened[s, j]
        if until[acts.place[act]] > j and until[acts.origin[act]] < 0:
            until[acts.origin[act]] = j


@part
def _chains(own, acts, head, goal, found):
    """Write each chain from a head to an end: its marks, and its part of the weight."""
    opened, counts, length = own
    place, step = head
    ends, until = goal
    marks, factors = found
    mark = np.zeros(length, np.int8)
    # Where the way forks: the act, and what was before it.
    fork = np.empty((length, 2), np.int64)
    steps, parts = np.empty(length, np.int64), np.empty(length)
    depth, n, j, factor = 0, 0, 0, 1.0
    while True:
        is_dead = False
        while j < length:
            if j > until[place]:
                is_dead = True
                break
            act = opened[j]
            if acts.origin[act] == place and acts.step[act] > step:
                fork[depth, 0], fork[depth, 1] = j, place
                steps[depth], parts[depth] = step, factor
                depth += 1
                mark[j] = TAKES
                place, step = acts.place[act], acts.step[act]
                factor /= counts[j]
            j += 1
        if not is_dead and ends[place]:
            if n == factors.shape[0]:
                marks, factors = larger(marks, 2 * n, marks.shape[1], 0), longer(factors, 2 * n, 0.0)
            for i in range(length):
                marks[n, i] = mark[i]
            factors[n] = factor
            n += 1
        # Back to the last fork whose act may be passed by.
        at = -1
        while depth > 0 and at < 0:
            depth -= 1
            if counts[fork[depth, 0]] > 1:
                at = fork[depth, 0]
        if at < 0:
            return n, marks, factors
        for i in range(at, length):
            mark[i] = 0
        mark[at] = PASSES
        place, step = np.int32(fork[depth, 1]), steps[depth]
        factor = parts[depth] * (counts[at] - 1) / counts[at]
        j = at + 1

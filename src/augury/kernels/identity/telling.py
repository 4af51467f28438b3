"""What is told of an event's owner, and when it is told again."""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.layout import (
    ACTS,
    ANY,
    CERTAIN,
    NEVER,
    NOBODY,
    TALES,
    Told,
)
from augury.kernels.identity.room import longer
from augury.kernels.jit import part

# Probabilities that differ by no more are the same.
SAME = 1e-9
# Of sums of positive parts, what is smaller is none of them.
DUST = 1e-13


@part
def nothing_told():
    """Return no tellings, and room for some."""
    return Told(
        np.zeros(2, np.int64),
        np.empty(64, np.int64),
        np.empty(64, np.int64),
        np.empty(64, np.int64),
        np.empty(64, np.int64),
        np.empty(64, np.float64),
        np.empty(64, np.int64),
        np.empty(256, np.int32),
        np.empty(256, np.float64),
    )


@part
def _with_room(told, people):
    n, rows = told.size[0], told.size[1]
    if n < told.event.shape[0] and rows + people <= told.p.shape[0]:
        return told
    more, more_rows = 2 * (n + 1), 2 * (rows + people)
    if n < told.event.shape[0]:
        more = told.event.shape[0]
    if rows + people <= told.p.shape[0]:
        more_rows = told.p.shape[0]
    return Told(
        told.size,
        longer(told.event, more, 0),
        longer(told.step, more, 0),
        longer(told.revision, more, 0),
        longer(told.as_of, more, 0),
        longer(told.bound, more, 0.0),
        longer(told.first, more, 0),
        longer(told.person, more_rows, 0),
        longer(told.p, more_rows, 0.0),
    )


@part
def _begin(told, event, revision, when, bound):
    """Begin a telling; its rows follow."""
    n = told.size[0]
    told.event[n], told.revision[n] = event, revision
    told.step[n], told.as_of[n] = when
    told.bound[n] = bound
    told.first[n] = told.size[1]
    told.size[0] = n + 1


@part
def tell_read(told, event, person, when, bound):
    """Tell a badge read: it is what it says."""
    told = _with_room(told, 1)
    _begin(told, event, 0, when, bound)
    row = told.size[1]
    told.person[row], told.p[row] = person, 1.0
    told.size[1] = row + 1
    return told


@part
def tell(told, tales, k, own, rest):
    """Tell a tale, and remember it. Who cannot have done it any more comes once more, with 0."""
    when, bound = rest
    told = _with_room(told, own.shape[0])
    is_first = tales.revision[k] < 0
    tales.revision[k] += 1
    _begin(told, tales.event[k], tales.revision[k], when, bound)
    row = told.size[1]
    for n in range(own.shape[0]):
        shown = min(own[n], 1.0) if own[n] > DUST else 0.0
        if shown > 0.0 or (not is_first and tales.told[k, n] > 0.0):
            told.person[row], told.p[row] = n, shown
            row += 1
        tales.told[k, n] = shown
    told.size[1] = row
    return told


@part
def is_news(law, before, own, bound):
    """Whether what is known now is told, after what was told last."""
    moved, most, most_before = 0.0, 0.0, 0.0
    for n in range(own.shape[0]):
        moved = max(moved, abs(own[n] - before[n]))
        most = max(most, own[n])
        most_before = max(most_before, before[n])
    if law.strategy == NEVER or moved <= max(SAME, bound):
        return False
    if law.strategy == CERTAIN:
        return most >= 1.0 - SAME and most_before < 1.0 - SAME
    return law.strategy == ANY or moved >= law.least - SAME


@part
def forget(world, k):
    """Tell a tale no more; what is not known of it is summed out."""
    states, acts = world.states, world.acts
    world.tales.event[k] = -1
    for s in range(states.size[0]):
        states.owner[s, k] = NOBODY
    for n in range(world.counts[ACTS]):
        if acts.tale[n] == k:
            acts.tale[n] = -1


@part
def forget_settled(world):
    """Tell no more what no later act can change.

    Those are acts that are open in no state, where one state is left, and those that one person did
    in all of them.
    """
    states, people = world.states, world.head_place.shape[0]
    for k in range(world.counts[TALES]):
        if world.tales.event[k] < 0:
            continue
        own = states.owner[0, k]
        is_settled = own >= 0 and (own < people or states.size[0] == 1)
        for s in range(1, states.size[0]):
            is_settled = is_settled and states.owner[s, k] == own
        if is_settled:
            forget(world, k)

"""What is told of an event's owner, and when it is told again."""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.layout import (
    ACTS,
    ANY,
    AS_OF,
    CERTAIN,
    EVENT,
    FIRST_ROW,
    NEVER,
    NOBODY,
    REVISION,
    TALE,
    TALES,
    TOLD_EVENT,
    TOLD_REVISION,
    TOLD_STEP,
    TOLD_WIDTH,
    Told,
)
from augury.kernels.identity.room import larger, longer
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
        np.empty((64, TOLD_WIDTH), np.int64),
        np.empty(64),
        np.empty(256, np.int64),
        np.empty(256),
    )


@part
def _begun(told, event, revision, when, rest):
    """Begin a telling of at most so many rows, with its bound; return where there is room."""
    bound, rows = rest
    n, row = told.size
    if n == told.words.shape[0]:
        told = Told(
            told.size, larger(told.words, 2 * n), longer(told.bound, 2 * n), told.person, told.p
        )
    if row + rows > told.p.shape[0]:
        more = 2 * (row + rows)
        told = Told(
            told.size, told.words, told.bound, longer(told.person, more), longer(told.p, more)
        )
    words = told.words
    words[n, TOLD_EVENT], words[n, TOLD_REVISION], words[n, FIRST_ROW] = event, revision, row
    words[n, TOLD_STEP], words[n, AS_OF] = when
    told.bound[n] = bound
    told.size[0] = n + 1
    return told


@part
def tell_read(told, event, person, when, bound):
    """Tell a badge read: it is what it says."""
    told = _begun(told, event, 0, when, (bound, 1))
    row = told.size[1]
    told.person[row], told.p[row] = person, 1.0
    told.size[1] = row + 1
    return told


@part
def tell(told, world, k, own, rest):
    """Tell a tale, and remember it. Who cannot have done it any more comes once more, with 0."""
    when, bound = rest
    tales, before = world.tales, world.told[k]
    is_first = tales[k, REVISION] < 0
    tales[k, REVISION] += 1
    told = _begun(told, tales[k, EVENT], tales[k, REVISION], when, (bound, own.shape[0]))
    person, p, row = told.person, told.p, told.size[1]
    for n in range(own.shape[0]):
        shown = min(own[n], 1.0) if own[n] > DUST else 0.0
        if shown > 0.0 or (not is_first and before[n] > 0.0):
            person[row], p[row] = n, shown
            row += 1
        before[n] = shown
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
    world.tales[k, EVENT] = -1
    for s in range(states.size[0]):
        states.words[s, states.owner + k] = NOBODY
    for n in range(world.counts[ACTS]):
        if acts[n, TALE] == k:
            acts[n, TALE] = -1


@part
def forget_settled(world):
    """Tell no more what no later act can change.

    Those are acts that are open in no state, where one state is left, and those that one person did
    in all of them.
    """
    states, words, people = world.states, world.states.words, world.heads.shape[0]
    for k in range(world.counts[TALES]):
        if world.tales[k, EVENT] < 0:
            continue
        at = states.owner + k
        own = words[0, at]
        is_settled = own >= 0 and (own < people or states.size[0] == 1)
        s = 1
        while is_settled and s < states.size[0]:
            is_settled = words[s, at] == own
            s += 1
        if is_settled:
            forget(world, k)

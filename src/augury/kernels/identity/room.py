"""More room for arrays that are full, and less where much is no longer needed."""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.layout import (
    ACTS,
    EVENT,
    LENGTH,
    LINES,
    LIVE,
    NOBODY,
    NOISE,
    OPENED,
    SIGNS,
    TALE,
    TALES,
    States,
)
from augury.kernels.jit import part


@part
def longer(old, n):
    """Return a line of `n` that begins as the old one."""
    new = np.empty(n, old.dtype)
    new[: old.shape[0]] = old
    return new


@part
def larger(old, n):
    """Return a matrix of `n` lines that begins as the old one."""
    new = np.empty((n, old.shape[1]), old.dtype)
    new[: old.shape[0]] = old
    return new


@part
def widths(states):
    """Return for how many open acts, tales and people who are elsewhere there is room."""
    opened = states.counts - OPENED
    return opened, states.place - states.owner, states.step - states.place


@part
def empty(n, opened, tales, people):
    """Return no states, with room for `n` of such widths."""
    counts = OPENED + opened
    owner = counts + opened
    place = owner + tales
    step = place + people
    words = np.empty((n, step + people), np.int64)
    reals = np.empty((n, NOISE + SIGNS))
    return States(np.zeros(1, np.int64), words, reals, counts, owner, place, step)


@part
def wider(states, opened, tales, people):
    """Return the states with room for more; who was nowhere else is where the heads say."""
    words, reals, n = states.words, states.reals, states.size[0]
    _, old_tales, old_people = widths(states)
    new = empty(words.shape[0], opened, tales, people)
    new.size[0] = n
    to, new_reals = new.words, new.reals
    for s in range(n):
        for i in range(reals.shape[1]):
            new_reals[s, i] = reals[s, i]
        to[s, :OPENED] = words[s, :OPENED]
        for j in range(words[s, LENGTH]):
            to[s, OPENED + j] = words[s, OPENED + j]
            to[s, new.counts + j] = words[s, states.counts + j]
        for k in range(tales):
            to[s, new.owner + k] = words[s, states.owner + k] if k < old_tales else NOBODY
        for k in range(people):
            is_old = k < old_people
            to[s, new.place + k] = words[s, states.place + k] if is_old else -1
            to[s, new.step + k] = words[s, states.step + k] if is_old else 0
    return new


@part
def drop_lines(world):
    """Keep the lines of owners that a state knows of."""
    counts, states, people = world.counts, world.states, world.heads.shape[0]
    words, lines, line_tale = states.words, world.lines, world.line_tale
    first = states.owner
    new = np.full(counts[LINES], -1, np.int64)
    for s in range(states.size[0]):
        for k in range(first, first + counts[TALES]):
            if words[s, k] >= people:
                new[words[s, k] - people] = 0
    kept = 0
    for n in range(counts[LINES]):
        if new[n] == 0:
            new[n] = kept
            for i in range(people):
                lines[kept, i] = lines[n, i]
            line_tale[kept] = line_tale[n]
            kept += 1
    for s in range(states.size[0]):
        for k in range(first, first + counts[TALES]):
            if words[s, k] >= people:
                words[s, k] = people + new[words[s, k] - people]
    counts[LINES] = counts[LIVE] = kept


@part
def drop_tales(world):
    """Keep the tales that may be told again."""
    counts, states, acts, line_tale = world.counts, world.states, world.acts, world.line_tale
    words, tales, told = states.words, world.tales, world.told
    new = np.full(counts[TALES], -1, np.int64)
    kept = 0
    for k in range(counts[TALES]):
        if tales[k, EVENT] >= 0:
            new[k] = kept
            tales[kept] = tales[k]
            told[kept] = told[k]
            for s in range(states.size[0]):
                words[s, states.owner + kept] = words[s, states.owner + k]
            kept += 1
    for n in range(counts[ACTS]):
        if acts[n, TALE] >= 0:
            acts[n, TALE] = new[acts[n, TALE]]
    for n in range(counts[LINES]):
        if line_tale[n] >= 0:
            line_tale[n] = new[line_tale[n]]
    counts[TALES] = kept


@part
def drop_acts(world):
    """Keep the acts that are open in some state."""
    counts, states, acts = world.counts, world.states, world.acts
    words = states.words
    new = np.full(counts[ACTS], -1, np.int64)
    for s in range(states.size[0]):
        for j in range(OPENED, OPENED + words[s, LENGTH]):
            new[words[s, j]] = 0
    kept = 0
    for n in range(counts[ACTS]):
        if new[n] == 0:
            new[n] = kept
            acts[kept] = acts[n]
            kept += 1
    if kept < counts[ACTS]:
        for s in range(states.size[0]):
            for j in range(OPENED, OPENED + words[s, LENGTH]):
                words[s, j] = new[words[s, j]]
    counts[ACTS] = kept

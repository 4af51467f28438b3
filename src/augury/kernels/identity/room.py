"""More room for arrays that are full, and less where much is no longer needed."""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.layout import ACTS, LINES, NOBODY, SIGNS, TALES, Acts, Pool, States, Tales
from augury.kernels.jit import part


@part
def longer(old, n, rest):
    """Return a line of `n` that begins as the old one, and goes on with `rest`."""
    new = np.empty(n, old.dtype)
    new[: old.shape[0]] = old
    new[old.shape[0] :] = rest
    return new


@part
def larger(old, n, width, rest):
    """Return a matrix of `n` lines that begins as the old one, and goes on with `rest`."""
    new = np.empty((n, width), old.dtype)
    new[:] = rest
    new[: old.shape[0], : old.shape[1]] = old
    return new


@part
def resized(states, n, opened, tales, people):
    """Return the states in arrays of such sizes, none of them smaller."""
    return States(
        states.size.copy(),
        longer(states.length, n, 0),
        larger(states.opened, n, opened, 0),
        larger(states.counts, n, opened, 0),
        larger(states.owner, n, tales, NOBODY),
        larger(states.place, n, people, -1),
        larger(states.step, n, people, 0),
        longer(states.weight, n, 0.0),
        longer(states.sure, n, 0.0),
        larger(states.noise, n, SIGNS, 0.0),
        longer(states.key, n, 0),
    )


@part
def empty_like(states):
    """Return arrays of the same sizes, for other states."""
    n = states.length.shape[0]
    return States(
        np.zeros(1, np.int64),
        np.empty(n, np.int64),
        np.empty(states.opened.shape, np.int32),
        np.empty(states.counts.shape, np.int32),
        np.empty(states.owner.shape, np.int32),
        np.empty(states.place.shape, np.int32),
        np.empty(states.step.shape, np.int64),
        np.empty(n, np.float64),
        np.empty(n, np.float64),
        np.empty((n, SIGNS), np.float64),
        np.empty(n, np.uint64),
    )


@part
def more_acts(acts, n):
    """Return the acts in arrays for `n`."""
    return Acts(
        longer(acts.origin, n, 0),
        longer(acts.place, n, 0),
        longer(acts.step, n, 0),
        longer(acts.tale, n, -1),
        longer(acts.key, n, 0),
    )


@part
def more_tales(tales, n):
    """Return the tales in arrays for `n`."""
    return Tales(
        longer(tales.event, n, -1),
        longer(tales.time, n, 0),
        longer(tales.revision, n, 0),
        larger(tales.told, n, tales.told.shape[1], 0.0),
    )


@part
def more_lines(pool, n):
    """Return the pool with room for `n` lines."""
    return Pool(larger(pool.line, n, pool.line.shape[1], 0.0), longer(pool.tale, n, -1))


@part
def drop_lines(counts, states, pool, people):
    """Keep the lines of the pool that a state knows of."""
    new = np.full(counts[LINES], -1, np.int32)
    for s in range(states.size[0]):
        for k in range(counts[TALES]):
            if states.owner[s, k] >= people:
                new[states.owner[s, k] - people] = 0
    kept = 0
    for n in range(counts[LINES]):
        if new[n] == 0:
            new[n] = kept
            pool.line[kept] = pool.line[n]
            pool.tale[kept] = pool.tale[n]
            kept += 1
    for s in range(states.size[0]):
        for k in range(counts[TALES]):
            if states.owner[s, k] >= people:
                states.owner[s, k] = people + new[states.owner[s, k] - people]
    counts[LINES] = kept


@part
def drop_tales(counts, states, acts, tales, pool):
    """Keep the tales that may be told again."""
    new = np.full(counts[TALES], -1, np.int32)
    kept = 0
    for k in range(counts[TALES]):
        if tales.event[k] >= 0:
            new[k] = kept
            tales.event[kept] = tales.event[k]
            tales.time[kept] = tales.time[k]
            tales.revision[kept] = tales.revision[k]
            tales.told[kept] = tales.told[k]
            for s in range(states.size[0]):
                states.owner[s, kept] = states.owner[s, k]
            kept += 1
    for n in range(counts[ACTS]):
        if acts.tale[n] >= 0:
            acts.tale[n] = new[acts.tale[n]]
    for n in range(counts[LINES]):
        if pool.tale[n] >= 0:
            pool.tale[n] = new[pool.tale[n]]
    counts[TALES] = kept


@part
def drop_acts(counts, states, acts):
    """Keep the acts that are open in some state."""
    new = np.full(counts[ACTS], -1, np.int32)
    for s in range(states.size[0]):
        for j in range(states.length[s]):
            new[states.opened[s, j]] = 0
    kept = 0
    for n in range(counts[ACTS]):
        if new[n] == 0:
            new[n] = kept
            acts.origin[kept] = acts.origin[n]
            acts.place[kept] = acts.place[n]
            acts.step[kept] = acts.step[n]
            acts.tale[kept] = acts.tale[n]
            acts.key[kept] = acts.key[n]
            kept += 1
    for s in range(states.size[0]):
        for j in range(states.length[s]):
            states.opened[s, j] = new[states.opened[s, j]]
    counts[ACTS] = kept

"""The sequence operator of a safe plan: what values' prefixes did since each start, all at once.

A start is a time at which the last subgoal may have had its latest candidate before now. Each value
has, for every start that still matters, the mass over its prefix's automaton states with which the
prefix has *not* held since that start; values are independent, so the product of their sums is the
chance that none has. A step of one value costs the starts that matter, times its symbols, times Q.

Shapes: T steps, S starts, V values, Q automaton states of the prefix. Start 0 is the beginning,
which comes before the first step. Oracle: tests/oracles/probabilities.py.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.jit import kernel, part


@kernel
def sequence(rows, p, tables, goal, room, out):
    """Write P(the sequence ends at t) into `out` (T).

    `rows` are first (T + 1), value and symbol: what step t may mean to a value, with probability
    `p`; the rows of one value lie together and sum to 1. `tables` are delta and done (Q, symbols).
    `goal` are, of the last subgoal, P(accepts an event at t) (T), P(has a candidate) by start (S),
    and for each step the oldest start that matters and how many there were before it (T). `room`
    are the mass of each value (V, Q), and the same by start (V, slots, Q).
    """
    first, value, symbol = rows
    accepted, candidate, oldest, before = goal
    now, since = room
    n_slots = since.shape[1]
    since[:, 0] = now
    ahead = np.zeros(now.shape[1])
    n_steps = accepted.shape[0]
    for t in range(n_steps):
        if accepted[t] > 0.0:
            out[t] = accepted[t] * _held(candidate, oldest[t], before[t], since)
        if t + 1 == n_steps:
            break
        if before[t + 1] > before[t]:
            since[:, before[t] % n_slots] = now
        k = first[t]
        while k < first[t + 1]:
            stop = k + 1
            while stop < first[t + 1] and value[stop] == value[k]:
                stop += 1
            v, means, chance = value[k], symbol[k:stop], p[k:stop]
            for s in range(oldest[t + 1], before[t + 1]):
                _carry(since[v, s % n_slots], means, chance, tables, True, ahead)
            _carry(now[v], means, chance, tables, False, ahead)
            k = stop


@part
def _held(candidate, oldest, before, since):
    """Return P(some value's prefix has held since the latest candidate)."""
    total, none_since = 0.0, 1.0
    for s in range(before - 1, oldest - 1, -1):
        mass = since[:, s % since.shape[1]]
        never = 1.0
        for v in range(mass.shape[0]):
            never *= mass[v].sum()
        total += none_since * candidate[s] * (1.0 - never)
        none_since *= 1.0 - candidate[s]
    return total


@part
def _carry(mass, means, chance, tables, ever, ahead):
    """Carry mass (Q) over one step; `ever` makes a match that ends take its mass with it."""
    delta, done = tables
    ahead[:] = 0.0
    for k in range(means.shape[0]):
        s = means[k]
        for q in range(mass.shape[0]):
            if not (ever and done[q, s]):
                ahead[delta[q, s]] += mass[q] * chance[k]
    mass[:] = ahead

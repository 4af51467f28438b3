"""What is known of owners: P(person | all acts so far) for every tale.

Acts that are given to people are known by the state. An open one takes each of those who may have
done it with the same probability: where a person is follows act by act.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.closing import total_of
from augury.kernels.identity.layout import (
    ACTS,
    AT,
    BEFORE,
    LENGTH,
    LINES,
    NOISE,
    OPENED,
    ORIGIN,
    PLACE,
    SIGNS,
    STEP,
    TALE,
    TALES,
    TO,
    WEIGHT,
)
from augury.kernels.jit import part


@part
def known_owners(world, first, known, noise):
    """Write P(person | acts) of tales from `first` on (K, N), and its noise (SIGNS, K, N)."""
    states, counts, people = world.states, world.counts, world.heads.shape[0]
    words, reals = states.words, states.reals
    signs = SIGNS if noise.shape[1] else 0
    of_line = np.zeros((counts[LINES], 1 + signs))
    by = 1.0 / total_of(states)
    share = np.empty(1 + signs)
    sweep = _sweep(world)
    for s in range(states.size[0]):
        share[0] = reals[s, WEIGHT] * by
        for b in range(signs):
            share[1 + b] = reals[s, NOISE + b] * by
        for k in range(first, counts[TALES]):
            own = words[s, states.owner + k]
            if own >= people:
                for b in range(1 + signs):
                    of_line[own - people, b] += share[b]
            elif own >= 0:
                known[k, own] += share[0]
                for b in range(signs):
                    noise[b, k, own] += share[1 + b]
        if words[s, LENGTH] > 0:
            _open_shares(world, s, share, sweep, (first, known, noise))
    _add_lines(world, of_line, known, noise)


@part
def _add_lines(world, of_line, known, noise):
    """Add what lines of owners speak for, each with the weight of its states."""
    lines, people = world.lines, world.heads.shape[0]
    for n in range(of_line.shape[0]):
        if of_line[n, 0] > 0.0:
            k = world.line_tale[n]
            for i in range(people):
                known[k, i] += of_line[n, 0] * lines[n, i]
            for b in range(of_line.shape[1] - 1):
                for i in range(people):
                    noise[b, k, i] += of_line[n, 1 + b] * lines[n, i]


@part
def _sweep(world):
    """Return memory for the sweep over the open acts of one state, and who was last read where."""
    heads, acts = world.heads, world.acts
    people, places = heads.shape[0], 1
    for n in range(people):
        places = max(places, heads[n, PLACE] + 1)
    for n in range(world.counts[ACTS]):
        places = max(places, acts[n, ORIGIN] + 1, acts[n, TO] + 1)
    width = world.states.counts - OPENED
    # By place: whether it was looked at, the next act that may lead there, the step of the last
    # look, and the first of those last read there; each of whom leads to the next.
    seen = np.full((places, 4), -1, np.int64)
    following = np.full(people, -1, np.int64)
    for n in range(people - 1, -1, -1):
        following[n] = seen[heads[n, PLACE], 3]
        seen[heads[n, PLACE], 3] = n
    return np.empty((places, people)), np.empty((width, people)), seen, following


@part
def _open_shares(world, s, share, sweep, out):
    """Add how much of a state speaks for each person, for each of its open acts."""
    _give(world, s, sweep)
    given, words, acts = sweep[1], world.states.words, world.acts
    first, known, noise = out
    for j in range(words[s, LENGTH]):
        tale = acts[words[s, OPENED + j], TALE]
        if tale >= max(first, 0):
            for n in range(given.shape[1]):
                known[tale, n] += share[0] * given[j, n]
            for b in range(share.shape[0] - 1):
                for n in range(given.shape[1]):
                    noise[b, tale, n] += share[1 + b] * given[j, n]


@part
def _give(world, s, sweep):
    """Write how likely each person did each open act of a state, by act (M, N)."""
    there, given, seen, following = sweep
    states, acts, heads = world.states, world.acts, world.heads
    words, people = states.words, heads.shape[0]
    n_open = words[s, LENGTH]
    for j in range(n_open):
        seen[acts[words[s, OPENED + j], ORIGIN], 0] = 0
    for j in range(n_open):
        act = words[s, OPENED + j]
        origin, step = acts[act, ORIGIN], acts[act, AT]
        if seen[origin, 0] == 0:
            seen[origin, 0], seen[origin, 1], seen[origin, 2] = 1, 0, BEFORE
            for n in range(people):
                there[origin, n] = 0.0
        since = seen[origin, 2]
        seen[origin, 2] = step
        if states.step > states.place:
            _stay(world, s, (origin, since, step), there)
        else:
            # Who was last read there, since the last look and in an earlier step.
            n = seen[origin, 3]
            while n >= 0:
                there[origin, n] += since <= heads[n, STEP] < step
                n = following[n]
        # Who came there by an earlier act.
        i = seen[origin, 1]
        while i < j and acts[words[s, OPENED + i], AT] < step:
            if acts[words[s, OPENED + i], TO] == origin:
                for n in range(people):
                    there[origin, n] += given[i, n]
            i += 1
        seen[origin, 1] = i
        part_of = 1.0 / words[s, states.counts + j]
        for n in range(people):
            given[j, n] = there[origin, n] * part_of
            there[origin, n] -= given[j, n]


@part
def _stay(world, s, where, there):
    """Put those into a place who were last seen there, where that differs from state to state."""
    origin, since, step = where
    states, heads, words = world.states, world.heads, world.states.words
    for n in range(heads.shape[0]):
        place, last = heads[n, PLACE], heads[n, STEP]
        if words[s, states.place + n] >= 0:
            place, last = words[s, states.place + n], words[s, states.step + n]
        if place == origin and since <= last < step:
            there[origin, n] += 1.0

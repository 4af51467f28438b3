"""What is known of owners: P(person | all acts so far) for every tale.

Acts that are given to people are known by the state. An open one takes each of those who may have
done it with the same probability: where a person is follows act by act.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.closing import total_of
from augury.kernels.identity.layout import BEFORE, LINES, SIGNS, TALES
from augury.kernels.jit import part


@part
def known_owners(world, first, known, noise):
    """Write P(person | acts) of the tales from `first` on (K, N); its noise (SIGNS, K, N), if any."""
    states, counts, people = world.states, world.counts, world.head_place.shape[0]
    known[:] = 0.0
    noise[:] = 0.0
    has_noise = noise.shape[1] > 0
    of_line = np.zeros((counts[LINES], 1 + SIGNS))
    total = 1.0 / total_of(states)
    share = np.empty(1 + SIGNS)
    sweep = _sweep(world)
    for s in range(states.size[0]):
        share[0] = states.weight[s] * total
        for b in range(SIGNS):
            share[1 + b] = states.noise[s, b] * total
        for k in range(first, counts[TALES]):
            own = states.owner[s, k]
            if own >= people:
                for b in range(1 + SIGNS if has_noise else 1):
                    of_line[own - people, b] += share[b]
            elif own >= 0:
                known[k, own] += share[0]
                if has_noise:
                    for b in range(SIGNS):
                        noise[b, k, own] += share[1 + b]
        if states.length[s]:
            _open_shares(world, s, share, sweep, (first, known, noise))
    for n in range(counts[LINES]):
        if of_line[n, 0] > 0.0:
            k = world.pool.tale[n]
            for i in range(people):
                known[k, i] += of_line[n, 0] * world.pool.line[n, i]
            if has_noise:
                for b in range(SIGNS):
                    for i in range(people):
                        noise[b, k, i] += of_line[n, 1 + b] * world.pool.line[n, i]


@part
def _sweep(world):
    """Return memory for the sweep over the open acts of one state, and heads by place and step."""
    places = 1
    for n in range(world.head_place.shape[0]):
        places = max(places, world.head_place[n] + 1)
    for n in range(world.acts.origin.shape[0]):
        places = max(places, world.acts.origin[n] + 1, world.acts.place[n] + 1)
    people, most = world.head_place.shape[0], world.states.opened.shape[1]
    there = np.empty((places, people))
    given = np.empty((most, people))
    # By place: whether it was looked at, the next act and the next head that may lead there.
    state = np.zeros((places, 3), np.int64)
    order = np.argsort(world.head_step, kind="mergesort")
    return there, given, state, order


@part
def _open_shares(world, s, share, sweep, out):
    """Add how much of a state speaks for each person, for each of its open acts."""
    there, given, seen, order = sweep
    first, known, noise = out
    states, acts, people = world.states, world.acts, world.head_place.shape[0]
    n_open = states.length[s]
    for j in range(n_open):
        seen[acts.origin[states.opened[s, j]], 0] = 0
    for j in range(n_open):
        act = states.opened[s, j]
        origin, step = acts.origin[act], acts.step[act]
        here = there[origin]
        if seen[origin, 0] == 0:
            seen[origin, 0] = 1
            seen[origin, 1] = 0
            seen[origin, 2] = 0 if states.place.shape[1] == 0 else BEFORE
            for n in range(people):
                here[n] = 0.0
        # Who was last read there, in an earlier step.
        _arrive(world, s, (origin, step), here, (seen, order))
        # Who came there by an earlier act.
        i = seen[origin, 1]
        while i < j and acts.step[states.opened[s, i]] < step:
            if acts.place[states.opened[s, i]] == origin:
                own = given[i]
                for n in range(people):
                    here[n] += own[n]
            i += 1
        seen[origin, 1] = i
        part_of = 1.0 / states.counts[s, j]
        own = given[j]
        for n in range(people):
            own[n] = here[n] * part_of
            here[n] -= own[n]
        tale = acts.tale[act]
        if tale >= first and tale >= 0:
            to, by = known[tale], share[0]
            for n in range(people):
                to[n] += by * own[n]
            if noise.shape[1]:
                for b in range(SIGNS):
                    to, by = noise[b, tale], share[1 + b]
                    for n in range(people):
                        to[n] += by * own[n]


@part
def _arrive(world, s, where, here, sweep):
    """Put those into a place who were last seen there before a step."""
    origin, step = where
    seen, order = sweep
    states = world.states
    if states.place.shape[1] == 0:
        i = seen[origin, 2]
        while i < order.shape[0] and world.head_step[order[i]] < step:
            if world.head_place[order[i]] == origin:
                here[order[i]] += 1.0
            i += 1
        seen[origin, 2] = i
        return
    # Heads that differ from state to state: those since the last look.
    for n in range(world.head_place.shape[0]):
        place, last = world.head_place[n], world.head_step[n]
        if states.place[s, n] >= 0:
            place, last = states.place[s, n], states.step[s, n]
        if place == origin and last < step and last >= seen[origin, 2]:
            here[n] += 1.0
    seen[origin, 2] = step

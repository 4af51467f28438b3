"""Particles on a floor plan: guesses at a position that walk, and are kept as the readings agree.

The filter moves N particles by the model's own steps, weighs each by the readings and draws anew
(systematic resampling). The smoother then draws N whole paths backward through the stored clouds:
from where a path is, the particle before it is chosen by what it weighed and how well it leads
here. That choice is a Markov chain of a few rounds, begun at the true parent, so it is right from
the start and the rounds only renew what resampling has thinned out; who rested keeps the parent.
Counting paths by cell gives marginals and tables that agree with each other exactly.

Each key has random numbers of its own, so other keys do not change its answer.

Oracle: tests/inference/grid.py has the same floor as a fine grid, summed over exactly.
Paper: Bunch and Godsill, Improved particle approximations to the joint smoothing distribution using
Markov chain Monte Carlo, 2013.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np

from augury.errors import DataError
from augury.inference.floor import Floor
from augury.inference.readings import Readings
from augury.inference.smoothing import Belief
from augury.records import Flags, Reals, Words

ROUNDS = 8
MOST_POSITIONS = 100_000_000
Rng = np.random.Generator


@dataclass(frozen=True)
class Cloud:
    """The particles of a step: where (N, 2), their weights (N), whence (N), and who stepped (N)."""

    at: Reals
    weight: Reals
    parent: Words
    stepped: Flags
    evidence: float

    @classmethod
    def of(cls, at: Reals, weight: Reals) -> Cloud:
        """Return particles of which nothing is known but where they are: others go on from them."""
        return cls(at, weight, np.arange(len(at)), np.zeros(len(at), np.bool_), 1.0)


def filtered(floor: Floor, readings: Readings, n: int, seed: int) -> Belief:
    """Return P(cell at t | readings up to t), by n particles for each key."""
    marginal = np.zeros((len(readings.time), len(floor.states)))
    evidence = np.ones(len(readings.time))
    for key, start, stop in readings.spans():
        rng = random_numbers(seed, key)
        for t, cloud in enumerate(clouds(floor, readings.codes[start:stop], n, rng), start):
            marginal[t] = np.bincount(floor.cell(cloud.at), cloud.weight, len(floor.states))
            evidence[t] = cloud.evidence
    return belief(readings, marginal, (), evidence)


def smoothed(floor: Floor, readings: Readings, n: int, seed: int) -> Belief:
    """Return P(cell at t | all readings) with its tables, by n particles and n paths a key."""
    k = len(floor.states)
    marginal = np.zeros((len(readings.time), k))
    evidence, tables = np.ones(len(readings.time)), []
    for key, start, stop in readings.spans():
        if (stop - start) * n > MOST_POSITIONS:
            raise DataError(
                f"{n} particles over the {stop - start} steps of one key are more than "
                f"{MOST_POSITIONS} positions; take fewer particles, or cut the stream"
            )
        rng = random_numbers(seed, key)
        crowds = list(clouds(floor, readings.codes[start:stop], n, rng))
        evidence[start:stop] = [cloud.evidence for cloud in crowds]
        cells = _paths(floor, crowds, rng)
        for t, here in enumerate(cells, start):
            marginal[t] = np.bincount(here, minlength=k) / n
        tables.append(_tables(cells, k))
    return belief(readings, marginal, tuple(tables), evidence)


def random_numbers(seed: int, key: Any) -> Rng:
    """Return the random numbers of a key."""
    return np.random.default_rng([seed, crc32(repr(key).encode())])


def belief(
    readings: Readings, marginal: Reals, tables: tuple[Reals, ...], evidence: Reals
) -> Belief:
    """Return what is known of steps, with P(readings of a step | those before)."""
    none = np.zeros(len(readings.keys))
    logs = np.log(np.where(evidence > 0.0, evidence, 1.0))
    total = np.add.reduceat(logs, readings.first[:-1]) if len(logs) else none
    return Belief(readings, marginal, tables, evidence == 0.0, none, total)


# Forward ------------------------------------------------------------------------------------------


def clouds(
    floor: Floor, codes: Words, n: int, rng: Rng, cloud: Cloud | None = None
) -> Iterator[Cloud]:
    """Yield the particles of each step; what none of them explains says nothing.

    `cloud` are those of the step before the first, where there is one.
    """
    for own in codes:
        if cloud is None:
            at, parent, stepped = floor.begin(n, rng), np.arange(n), np.zeros(n, np.bool_)
        else:
            parent = _drawn(cloud.weight, rng)
            at, stepped = floor.move(cloud.at[parent], rng)
        likelihood = floor.likelihood(own, at)
        total = float(likelihood.sum())
        weight = likelihood / total if total > 0.0 else np.full(n, 1.0 / n)
        cloud = Cloud(at, weight, parent, stepped, total / n)
        yield cloud


def _drawn(weight: Reals, rng: Rng) -> Words:
    """Return as many numbers as there are weights, evenly spread over them (systematic)."""
    n = len(weight)
    found = np.searchsorted(np.cumsum(weight), (rng.random() + np.arange(n)) / n)
    return np.minimum(found, n - 1)


# Backward -----------------------------------------------------------------------------------------


def _paths(floor: Floor, crowds: list[Cloud], rng: Rng) -> list[Words]:
    """Return, step by step, the cells of N paths given all readings."""
    own = _drawn(crowds[-1].weight, rng)
    found = [floor.cell(crowds[-1].at[own])]
    for later, cloud in pairwise(reversed(crowds)):
        own = _before(floor, cloud, later, own, rng)
        found.append(floor.cell(cloud.at[own]))
    return found[::-1]


def _before(floor: Floor, cloud: Cloud, later: Cloud, own: Words, rng: Rng) -> Words:
    """Return the particles of `cloud` from which paths came to the particles `own` of `later`."""
    chosen = later.parent[own]
    free = np.flatnonzero(later.stepped[own])
    here, now = later.at[own[free]], chosen[free]
    best = _leads(floor, cloud.at[now], here)
    edges = np.cumsum(cloud.weight)
    for _ in range(ROUNDS):
        # Drawn each by itself: a path must not depend on the order of the others.
        other = np.searchsorted(edges, rng.random(len(free)) * edges[-1])
        other = np.minimum(other, len(edges) - 1)
        start = cloud.at[other]
        leads = _leads(floor, start, here)
        takes = np.log(1.0 - rng.random(len(free))) < leads - best
        takes &= floor.is_free(start, here)
        now, best = np.where(takes, other, now), np.where(takes, leads, best)
    chosen[free] = now
    return chosen


def _leads(floor: Floor, start: Reals, end: Reals) -> Reals:
    """Return the logarithm of how well a step leads from start to end, up to a constant."""
    found: Reals = -((end - start) ** 2).sum(axis=1) / (2.0 * floor.ways.speed**2)
    return found


def _tables(cells: list[Words], k: int) -> Reals:
    """Return P(j at t + 1 | i at t) by counting paths; 0 where none is."""
    found = np.zeros((len(cells) - 1, k, k))
    for t, (here, ahead) in enumerate(pairwise(cells)):
        found[t] = np.bincount(here * k + ahead, minlength=k * k).reshape(k, k)
    total = found.sum(axis=2, keepdims=True)
    np.divide(found, total, out=found, where=total > 0.0)
    return found

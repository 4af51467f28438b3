"""The oracle of hidden Markov models: every path with its weight, from the definition alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

Path = tuple[int, ...]
Step = dict[Any, Any]


def weights(
    initial: Sequence[float],
    transition: Sequence[Sequence[float]],
    emission: dict[tuple[int, Any, Any], float],
    steps: Sequence[Step],
) -> dict[Path, float]:
    """Return P(path, readings) of every path; a step maps each sensor that read to its value."""
    n, sensors = len(initial), {sensor for _, sensor, _ in emission}
    found = {}
    for path in product(range(n), repeat=len(steps)):
        weight = initial[path[0]]
        weight *= math.prod(transition[a][b] for a, b in pairwise(path))
        for state, step in zip(path, steps, strict=True):
            weight *= math.prod(_reads(emission, state, s, step) for s in sensors)
        found[path] = weight
    return found


def _reads(emission: dict[tuple[int, Any, Any], float], k: int, sensor: Any, step: Step) -> float:
    if sensor in step:
        return emission.get((k, sensor, step[sensor]), 0.0)
    return 1.0 - sum(p for (state, s, _), p in emission.items() if (state, s) == (k, sensor))


def marginal(found: dict[Path, float], t: int, k: int) -> float:
    """Return P(state k at t | readings)."""
    total = math.fsum(found.values())
    return math.fsum(w for path, w in found.items() if path[t] == k) / total


def conditional(found: dict[Path, float], t: int, k: int, j: int) -> float:
    """Return P(j at t + 1 | k at t, readings)."""
    given = [(path, w) for path, w in found.items() if path[t] == k]
    total = math.fsum(w for _, w in given)
    return math.fsum(w for path, w in given if path[t + 1] == j) / total

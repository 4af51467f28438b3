"""Integrals over a gap: the mean of a function of when the gap ends.

Gauss-Legendre on cells between the places where an integrand bends, so that each cell is smooth;
an empirical gap is a sum over its atoms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from augury.gaps.families import Gap, bends, chances, density
from augury.gaps.tables import Function, tabulate
from augury.records import Reals

NODES = 10
FINE = 1e-11
NOTHING = 1e-290
# How many values are computed at once, so that the memory stays small.
MOST_NODES = 60_000
_X, _W = np.polynomial.legendre.leggauss(NODES)


@lru_cache(maxsize=256)
def ended(gap: Gap) -> Function:
    """Return F as a function of arrays."""
    if gap.family == "EXPONENTIAL":
        mean = gap.parameters[0]
        return lambda lengths: -np.expm1(-np.maximum(lengths, 0.0) / mean)
    if gap.family == "UNIFORM":
        least, most = gap.parameters
        return lambda lengths: np.clip((lengths - least) / (most - least), 0.0, 1.0)
    if gap.has_atoms:
        atoms = np.sort(np.array(gap.parameters))
        return lambda lengths: np.searchsorted(atoms, lengths, side="right") / len(atoms)
    cuts = bends(gap)
    return tabulate(lambda lengths: chances(gap, lengths), cuts, max(cuts), FINE)


def came(gap: Gap, lengths: Reals) -> Reals:
    """Return q F at each length: the chance that the component has come by then."""
    return gap.reaches * ended(gap)(lengths)


def mean_over(
    gap: Gap, function: Function, low: float, high: float, cuts: Iterable[float] = ()
) -> float:
    """Return q times the integral of f(v) function(v) over v from low to high.

    `cuts` are the places where the function bends; those of the density are known.
    """
    if high < low:
        return 0.0
    if gap.has_atoms:
        atoms = np.array([a for a in gap.parameters if low <= a <= high])
        found = function(atoms).sum() / len(gap.parameters) if len(atoms) else 0.0
        return float(gap.reaches * found)
    start, found = low, 0.0
    if gap.family == "GAMMA" and gap.parameters[1] < 1.0 and low == 0.0:
        # The density has no bound at zero: of the first cell its whole mass is taken.
        start = min(high, bends(gap)[0])
        found = float(ended(gap)(np.array(start)) * function(np.array([start / 2.0]))[0])
    nodes, weights = _cells(start, high, (*bends(gap), *cuts))
    return gap.reaches * (found + float((weights * density(gap, nodes) * function(nodes)).sum()))


# Of a stretch: when the gap ends (N, M), and the length (N, 1).
Inner = Callable[[Reals, Reals], Reals]
Inners = Callable[[Reals, Reals], Sequence[Reals]]


@dataclass(frozen=True)
class Range:
    """From when to when a gap may end, and where the rest of the integrand bends.

    It bends at `cuts`, and at each of `turns` before the end of the stretch.
    """

    low: float = 0.0
    high: float = math.inf
    cuts: tuple[float, ...] = ()
    turns: tuple[float, ...] = ()


def means_over(gap: Gap, function: Inner, lengths: Reals, where: Range) -> Reals:
    """Return the mean over the gap, as `mean_over` has it, for each length of a stretch."""
    return all_means_over(gap, lambda v, length: [function(v, length)], lengths, where)[0]


def all_means_over(gap: Gap, functions: Inners, lengths: Reals, where: Range) -> list[Reals]:
    """Return the means of several functions, which are looked at in the same places."""
    flat = np.ravel(lengths)
    each = (2 + len(bends(gap)) + len(where.cuts) + len(where.turns)) * NODES
    size = max(1, MOST_NODES // each)
    # None at all, where there are no lengths, says how many functions there are.
    starts = range(0, max(len(flat), 1), size)
    found = [_means(gap, functions, flat[k : k + size], where) for k in starts]
    return [np.concatenate(own).reshape(np.shape(lengths)) for own in zip(*found, strict=True)]


def _means(gap: Gap, functions: Inners, lengths: Reals, where: Range) -> list[Reals]:
    own = lengths[:, None]
    until = np.minimum(own, where.high)
    if gap.has_atoms:
        atoms = np.broadcast_to(np.sort(gap.parameters), (len(lengths), len(gap.parameters)))
        inside = (atoms >= where.low) & (atoms <= until) & (own > 0.0)
        sums = [np.where(inside, values, 0.0) for values in functions(atoms, own)]
        return [gap.reaches * values.mean(axis=1) for values in sums]
    high, start = np.maximum(until, where.low), np.full_like(own, where.low)
    is_unbound = gap.family == "GAMMA" and gap.parameters[1] < 1.0 and where.low == 0.0
    if is_unbound:
        # The density has no bound at zero: of the first cell its whole mass is taken.
        start = np.minimum(high, bends(gap)[0])
    bent = np.array((*bends(gap), *where.cuts))
    fixed = np.broadcast_to(bent, (len(lengths), len(bent)))
    places = np.concatenate([start, high, fixed, own - np.array(where.turns)], axis=1)
    places = np.sort(np.clip(places, start, high), axis=1)
    # Many places lie beyond a short length, and their cells have no width.
    of, cell = np.nonzero(np.diff(places, axis=1))
    low = places[of, cell, None]
    widths = places[of, cell + 1, None] - low
    nodes, length = low + widths * (_X + 1.0) / 2.0, lengths[of, None]
    weights = widths * _W / 2.0 * density(gap, np.maximum(nodes, NOTHING))
    sums = [np.einsum("kn,kn->k", weights, values) for values in functions(nodes, length)]
    found = [np.bincount(of, values, len(lengths)).astype(np.float64) for values in sums]
    if is_unbound:
        first = [(ended(gap)(start) * values)[:, 0] for values in functions(start / 2.0, own)]
        found = [one + rest for one, rest in zip(first, found, strict=True)]
    return [gap.reaches * total for total in found]


def each_mean(lengths: Reals, one: Callable[[float], float], zero: float = 0.0) -> Reals:
    """Return an integral for each length; a length of nothing gives `zero`."""
    found = [one(float(length)) if length > 0.0 else zero for length in np.ravel(lengths)]
    return np.array(found).reshape(np.shape(lengths))


def _cells(low: float, high: float, cuts: Iterable[float]) -> tuple[Reals, Reals]:
    inside = np.array(sorted({low, high, *(c for c in cuts if low < c < high)}))
    starts, widths = inside[:-1, None], np.diff(inside)[:, None]
    nodes = (starts + widths * (_X + 1.0) / 2.0).ravel()
    return nodes, (widths * _W / 2.0).ravel()

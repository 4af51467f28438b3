"""Integrals over a gap: the mean of a function of when the gap ends.

Gauss-Legendre on cells between the places where an integrand bends, so that each cell is smooth;
an empirical gap is a sum over its atoms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np

from augury.gaps.families import Gap, bends, chances, density
from augury.gaps.tables import Function, tabulate
from augury.records import Reals

NODES = 10
FINE = 1e-11
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


def each_mean(lengths: Reals, one: Callable[[float], float], zero: float = 0.0) -> Reals:
    """Return an integral for each length; a length of nothing gives `zero`."""
    found = [one(float(length)) if length > 0.0 else zero for length in np.ravel(lengths)]
    return np.array(found).reshape(np.shape(lengths))


def _cells(low: float, high: float, cuts: Iterable[float]) -> tuple[Reals, Reals]:
    inside = np.array(sorted({low, high, *(c for c in cuts if low < c < high)}))
    starts, widths = inside[:-1, None], np.diff(inside)[:, None]
    nodes = (starts + widths * (_X + 1.0) / 2.0).ravel()
    return nodes, (widths * _W / 2.0).ravel()

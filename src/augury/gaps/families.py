"""The families of gap distributions: how likely a gap has ended, its density, and where it bends.

Parameters are lengths of time first, bare numbers after them, as the language has them:
EXPONENTIAL(mean), GAMMA(mean, shape), LOGNORMAL(median, sigma), UNIFORM(least, most),
EMPIRICAL(length, length, ...). An empirical gap has atoms; the others have densities.

Oracle: tests/oracles/missed.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from augury.records import Reals

Parameters = tuple[float, ...]
# Of a long tail, what lies beyond this many sigmas weighs less than a rounding error.
FAR = 8.3


@dataclass(frozen=True, slots=True)
class Gap:
    """A gap model: the later component comes at all with probability `reaches`."""

    family: str
    parameters: Parameters
    reaches: float = 1.0

    @property
    def has_atoms(self) -> bool:
        return self.family == "EMPIRICAL"


def chance(gap: Gap, length: float) -> float:
    """Return F(length): the chance that the gap has ended by then, if it ends at all."""
    if length <= 0.0 and gap.family != "EMPIRICAL":
        return 0.0
    return 1.0 if math.isinf(length) else _CHANCES[gap.family](gap.parameters, length)


def chances(gap: Gap, lengths: Reals) -> Reals:
    """Return F at each length, exactly; for many lengths, tabulate it."""
    flat = [chance(gap, float(length)) for length in np.ravel(lengths)]
    return np.array(flat).reshape(np.shape(lengths))


def density(gap: Gap, lengths: Reals) -> Reals:
    """Return f at each positive length, for a family that has a density."""
    return _DENSITIES[gap.family](gap.parameters, lengths)


@lru_cache(maxsize=1024)
def bends(gap: Gap) -> tuple[float, ...]:
    """Return where F bends: between two such lengths it is close to a polynomial."""
    return _BENDS[gap.family](gap.parameters)


def farthest(gap: Gap) -> float:
    """Return a length by which practically every gap that ends has ended."""
    return max(bends(gap))


# Chances --------------------------------------------------------------------------------------


def _exponential(parameters: Parameters, length: float) -> float:
    return -math.expm1(-length / parameters[0])


def _gamma(parameters: Parameters, length: float) -> float:
    mean, shape = parameters
    return _regularised_gamma(shape, length * shape / mean)


def _lognormal(parameters: Parameters, length: float) -> float:
    median, sigma = parameters
    return 0.5 * math.erfc(-math.log(length / median) / (sigma * math.sqrt(2.0)))


def _uniform(parameters: Parameters, length: float) -> float:
    least, most = parameters
    return min(1.0, max(0.0, (length - least) / (most - least)))


def _empirical(parameters: Parameters, length: float) -> float:
    return sum(1 for each in parameters if each <= length) / len(parameters)


def _regularised_gamma(shape: float, x: float) -> float:
    """Return P(shape, x), by its series below the mean and its continued fraction above."""
    if x <= 0.0:
        return 0.0
    scale = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1.0:
        return scale * _series(shape, x)
    return 1.0 - scale * _fraction(shape, x)


def _series(shape: float, x: float) -> float:
    term = total = 1.0 / shape
    for n in range(1, 10_000):
        term *= x / (shape + n)
        total += term
        if term < total * 1e-16:
            break
    return total


def _fraction(shape: float, x: float) -> float:
    # Lentz's method.
    b = x + 1.0 - shape
    c, d = 1e300, 1.0 / b
    value = d
    for n in range(1, 10_000):
        a = n * (shape - n)
        b += 2.0
        d = 1.0 / (a * d + b)
        c = b + a / c
        value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value


_CHANCES: dict[str, Callable[[Parameters, float], float]] = {
    "EXPONENTIAL": _exponential,
    "GAMMA": _gamma,
    "LOGNORMAL": _lognormal,
    "UNIFORM": _uniform,
    "EMPIRICAL": _empirical,
}


# Densities ------------------------------------------------------------------------------------


def _exponential_density(parameters: Parameters, lengths: Reals) -> Reals:
    found: Reals = np.exp(-lengths / parameters[0]) / parameters[0]
    return found


def _gamma_density(parameters: Parameters, lengths: Reals) -> Reals:
    mean, shape = parameters
    rate = shape / mean
    log = shape * math.log(rate) + (shape - 1.0) * np.log(lengths) - rate * lengths
    found: Reals = np.exp(log - math.lgamma(shape))
    return found


def _lognormal_density(parameters: Parameters, lengths: Reals) -> Reals:
    median, sigma = parameters
    z = np.log(lengths / median) / sigma
    found: Reals = np.exp(-0.5 * z * z) / (lengths * sigma * math.sqrt(2.0 * math.pi))
    return found


def _uniform_density(parameters: Parameters, lengths: Reals) -> Reals:
    least, most = parameters
    return np.where((lengths >= least) & (lengths <= most), 1.0 / (most - least), 0.0)


_DENSITIES: dict[str, Callable[[Parameters, Reals], Reals]] = {
    "EXPONENTIAL": _exponential_density,
    "GAMMA": _gamma_density,
    "LOGNORMAL": _lognormal_density,
    "UNIFORM": _uniform_density,
}


# Bends ----------------------------------------------------------------------------------------


def _exponential_bends(parameters: Parameters) -> Parameters:
    return tuple(parameters[0] * k for k in (0.5, 1, 2, 4, 8, 16, 36))


def _gamma_bends(parameters: Parameters) -> Parameters:
    mean, shape = parameters
    deviation = mean / math.sqrt(shape)
    around = {mean + k * deviation for k in (-6, -4, -2, -1, 0, 1, 2, 4, 6, 10, 16, 26, 40)}
    # Near zero a gamma density is a power of the length: cells that halve keep it smooth.
    powers = 40 if shape < 1.0 else 12 if shape < 3.0 and shape % 1.0 else 3
    small = {mean * 2.0**-k for k in range(1, powers)}
    return tuple(sorted(length for length in around | small if length > 0.0))


def _lognormal_bends(parameters: Parameters) -> Parameters:
    median, sigma = parameters
    return tuple(median * math.exp(sigma * FAR * k / 12.0) for k in range(-12, 13))


def _given_bends(parameters: Parameters) -> Parameters:
    return tuple(sorted(set(parameters)))


_BENDS: dict[str, Callable[[Parameters], Parameters]] = {
    "EXPONENTIAL": _exponential_bends,
    "GAMMA": _gamma_bends,
    "LOGNORMAL": _lognormal_bends,
    "UNIFORM": _given_bends,
    "EMPIRICAL": _given_bends,
}

"""Gap models as far as planning needs them: how likely a gap has ended, and what a miss scores.

Law (one positive component missed, nothing read in its stretch of length T, reached with q):
score = e q F(T) / (e q F(T) + 1 - q F(T)), where e is the miss rate. It grows with T, so its best
within a window W is at W. AYAC's own formula, e q F(T), grows with T too.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from augury.analysis.checked import CheckedGap


def reached_by(gap: CheckedGap, length: float) -> float:
    """Return q F(length): the chance that the later event has come by then."""
    return gap.reaches * _DISTRIBUTIONS[gap.family](gap.parameters, length)


def best_score(gap: CheckedGap, miss_rate: float, window: float, *, ayac: bool = False) -> float:
    """Return the highest score of one missed component within the window."""
    came = reached_by(gap, window)
    missed = miss_rate * came
    if ayac:
        return missed
    return missed / (missed + 1.0 - came) if missed > 0.0 else 0.0


def _exponential(parameters: tuple[float, ...], length: float) -> float:
    return -math.expm1(-length / parameters[0])


def _gamma(parameters: tuple[float, ...], length: float) -> float:
    mean, shape = parameters
    return _regularised_gamma(shape, length * shape / mean)


def _lognormal(parameters: tuple[float, ...], length: float) -> float:
    median, sigma = parameters
    if length <= 0.0:
        return 0.0
    return 0.5 * math.erfc(-math.log(length / median) / (sigma * math.sqrt(2.0)))


def _uniform(parameters: tuple[float, ...], length: float) -> float:
    least, most = parameters
    if most <= least:
        return 1.0 if length >= least else 0.0
    return min(1.0, max(0.0, (length - least) / (most - least)))


def _empirical(parameters: tuple[float, ...], length: float) -> float:
    return sum(1 for each in parameters if each <= length) / len(parameters)


def _regularised_gamma(shape: float, x: float) -> float:
    """Return P(shape, x), by its series below the mean and its continued fraction above."""
    if x <= 0.0:
        return 0.0
    if math.isinf(x):
        return 1.0
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


_DISTRIBUTIONS: dict[str, Callable[[tuple[float, ...], float], float]] = {
    "EXPONENTIAL": _exponential,
    "GAMMA": _gamma,
    "LOGNORMAL": _lognormal,
    "UNIFORM": _uniform,
    "EMPIRICAL": _empirical,
}

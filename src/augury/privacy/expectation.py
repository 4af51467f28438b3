"""How many completions of a prefix are expected, if events come by themselves at known rates.

Poisson arrivals: what comes in one stretch says nothing about another. So the expected number of
ways in which the steps to come are taken within a span is an integral over the times of the steps,
of the rates, and of the chance that no wait between them is ended by something else. It is one
entry of the exponential of a bidiagonal matrix, all of whose terms are positive once its diagonal
is shifted: nothing cancels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

# Terms of the series, for a matrix whose norm is at most one.
TERMS = 20


def expected(rates: Sequence[float], leaving: Sequence[float], span: float) -> float:
    """Return the expected number of completions within `span`.

    `rates[j]` is that of step j to come; `leaving[j]` that of events which end the wait for it:
    forbidden ones, and under next-match selection those that take it. `leaving[-1]`, one more than
    there are steps, is that of events which must not follow.
    """
    if span < 0.0:
        return 0.0
    if not any(leaving):
        product = 1.0
        for number, rate in enumerate(rates, 1):
            product *= rate * span / number
        return product
    product = math.prod(rate * span for rate in rates)
    return product * _divided(np.array([rate * span for rate in leaving])) if product else 0.0


def _divided(waits: np.ndarray) -> float:
    """Return the upper right entry of exp of the matrix with -waits and, above them, ones."""
    shift = float(waits.max())
    doublings = max(0, math.ceil(math.log2(shift + 1.0)))
    small = (np.diag(shift - waits) + np.eye(len(waits), k=1)) / 2.0**doublings
    total, term = np.eye(len(waits)), np.eye(len(waits))
    for number in range(1, TERMS + 1):
        term = term @ small / number
        total += term
    total *= math.exp(-shift / 2.0**doublings)
    for _ in range(doublings):
        total = total @ total
    return float(total[0, -1])


def expected_wang(types: Sequence[str], rates: Sequence[float], span: float) -> float:
    """Return the expected completions by equation 4.8 of Wang's thesis, at least 0.

    It takes the mean number of events of all types for their number, so it is no expectation.
    """
    by_type: dict[str, float] = {}
    for kind, rate in zip(types, rates, strict=True):
        by_type[kind] = max(rate, by_type.get(kind, 0.0))
    whole = sum(by_type.values())
    if not whole or span < 0.0:
        return 0.0 if rates else 1.0
    chosen = 1.0
    for number, rate in enumerate(rates):
        chosen *= (whole * span - number) / (number + 1) * rate / whole
    return max(0.0, chosen)

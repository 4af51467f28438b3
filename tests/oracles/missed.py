"""What unseen components are worth, by the model alone: integrals over worlds, and a simulator.

The model: given the positive component before it, a component's time is one draw from its gap; it
comes at all with probability `reaches`; each read is missed with probability `rate`; draws and
misses are independent. A stretch lies between two seen components. `posterior` asks: of all worlds
in which nothing unseen was read in the stretch, in which share did the missed ones happen in their
order, and no negated one where it is forbidden? Times are absolute, every integral is nested
Gauss-Legendre over fine cells, and nothing is shared with the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

CELLS, NODES = 2, 12
_X, _W = np.polynomial.legendre.leggauss(NODES)


@dataclass(frozen=True)
class Law:
    """A distribution of gaps: density, chance to have come by then, a way to draw, kinks."""

    pdf: Callable[[float], float]
    cdf: Callable[[float], float]
    draw: Callable[[np.random.Generator, int], np.ndarray]
    kinks: tuple[float, ...] = ()


def exponential(mean: float) -> Law:
    return Law(
        lambda t: math.exp(-t / mean) / mean if t >= 0 else 0.0,
        lambda t: 1.0 - math.exp(-t / mean) if t > 0 else 0.0,
        lambda rng, n: rng.exponential(mean, n),
    )


def erlang(mean: float, shape: int) -> Law:
    """Return a gamma distribution whose shape is a whole number."""
    rate = shape / mean

    def pdf(t: float) -> float:
        x = rate * t
        return rate * x ** (shape - 1) * math.exp(-x) / math.factorial(shape - 1) if t >= 0 else 0.0

    def cdf(t: float) -> float:
        x = rate * max(t, 0.0)
        return 1.0 - math.exp(-x) * sum(x**k / math.factorial(k) for k in range(shape))

    return Law(pdf, cdf, lambda rng, n: rng.gamma(shape, mean / shape, n))


def lognormal(median: float, sigma: float) -> Law:
    def pdf(t: float) -> float:
        if t <= 0:
            return 0.0
        z = math.log(t / median) / sigma
        return math.exp(-z * z / 2) / (t * sigma * math.sqrt(2 * math.pi))

    def cdf(t: float) -> float:
        return 0.5 * (1 + math.erf(math.log(t / median) / sigma / math.sqrt(2))) if t > 0 else 0.0

    kinks = tuple(median * math.exp(k * sigma) for k in (-5, -3, -1.5, 0, 1.5, 3))
    return Law(pdf, cdf, lambda rng, n: median * np.exp(sigma * rng.standard_normal(n)), kinks)


def uniform(least: float, most: float) -> Law:
    return Law(
        lambda t: 1.0 / (most - least) if least <= t <= most else 0.0,
        lambda t: min(1.0, max(0.0, (t - least) / (most - least))),
        lambda rng, n: rng.uniform(least, most, n),
        (least, most),
    )


@dataclass(frozen=True)
class Unseen:
    """A component that was not read: missed, if it is positive, or negated."""

    law: Law
    rate: float
    reaches: float = 1.0
    negated: bool = False

    def came(self, length: float) -> float:
        return self.reaches * self.law.cdf(length)


def between(unseen: Sequence[Unseen], length: float) -> float:
    """Return the posterior of a stretch between two seen components, or after the last one."""
    silent, true = _silent(unseen, 0.0, length), _true(unseen, 0.0, length)
    return true / silent


def _groups(unseen: Sequence[Unseen]) -> tuple[list[Unseen], Unseen | None, Sequence[Unseen]]:
    """Return the negated ones timed from here, the next positive one, and what follows that."""
    for k, part in enumerate(unseen):
        if not part.negated:
            return list(unseen[:k]), part, unseen[k + 1 :]
    return list(unseen), None, ()


def _silent(unseen: Sequence[Unseen], start: float, end: float) -> float:
    """Return the weight of the worlds in which nothing after `start` is read before `end`."""
    negated, following, rest = _groups(unseen)
    total = 1.0
    if following is not None:
        total = 1.0 - following.came(end - start)
        total += sum(
            w * following.reaches * following.law.pdf(t - start) * following.rate
            * _silent(rest, t, end)
            for t, w in _points(start, end, following.law, unseen)
        )  # fmt: skip
    for part in negated:
        total *= 1.0 - (1.0 - part.rate) * part.came(end - start)
    return total


def _true(
    unseen: Sequence[Unseen],
    start: float,
    end: float,
    last_at: Callable[[float], float] = lambda t: 1.0,
) -> float:
    """Return the weight of those of them in which all is as the match needs it.

    `last_at` weighs when the last positive component came.
    """
    negated, following, rest = _groups(unseen)
    if following is None:
        return last_at(start) * math.prod(1.0 - part.came(end - start) for part in negated)
    total = 0.0
    for t, w in _points(start, end, following.law, unseen):
        weight = w * following.reaches * following.law.pdf(t - start) * following.rate
        for part in negated:
            inside, unread = part.came(t - start), part.came(end - start) - part.came(t - start)
            weight *= 1.0 - inside - (1.0 - part.rate) * unread
        total += weight * _true(rest, t, end, last_at)
    return total


def before(missed: Unseen, between_them: Sequence[Unseen], window: float) -> float:
    """Return the posterior of a missed first component, `window` of time being left for it.

    `missed` is timed back from the first seen one, `between_them` are negated and timed from it.
    """
    true = silent = 0.0
    for u, w in _points(0.0, window, missed.law, between_them):
        weight = w * missed.reaches * missed.law.pdf(u) * missed.rate
        true += weight * math.prod(1.0 - n.came(u) for n in between_them)
        silent += weight * math.prod(1.0 - (1.0 - n.rate) * n.came(u) for n in between_them)
    silent += 1.0 - missed.came(window)
    # Where it lies before the window, what follows it may still fall inside, and was not read.
    for u, w in _tail(missed.law, between_them, window):
        weight = w * missed.reaches * missed.law.pdf(u)
        chance = math.prod(
            1.0 - (1.0 - n.rate) * (n.came(u) - n.came(u - window)) for n in between_them
        )
        silent -= weight * (1.0 - chance)
    return true / silent


def _tail(law: Law, others: Sequence[Unseen], start: float) -> Iterator[tuple[float, float]]:
    cuts = {start + _scale(law) * 2.0**k for k in range(-6, 10)} | set(law.kinks) | {start}
    for part in others:
        cuts |= {start + k for k in part.law.kinks} | set(part.law.kinks)
    inside = sorted(c for c in cuts if c >= start)
    for low, high in pairwise(inside):
        yield from _points(low, high, Law(law.pdf, law.cdf, law.draw), ())


def both_ends(first: Unseen, last: Sequence[Unseen], window: float) -> float:
    """Return the posterior of a missed first component and missed last ones, within one window."""
    true = sum(
        w * first.reaches * first.law.pdf(u) * first.rate
        * _true(last, 0.0, window - u)
        for u, w in _points(0.0, window, first.law, last)
    )  # fmt: skip
    silent = 1.0 - (1.0 - first.rate) * first.came(window)
    return true / (silent * _silent(last, 0.0, window))


def leading_and_last(leading: Unseen, last: Sequence[Unseen], window: float) -> float:
    """Return the posterior of missed last components after a leading negation.

    The window begins `window` before the last seen component at the latest: the later the last one
    came, the shorter the time in which the negated one, timed back from the first, is forbidden.
    """

    def absent(t: float) -> float:
        inside, whole = leading.came(window - t), leading.came(window)
        return 1.0 - inside - (1.0 - leading.rate) * (whole - inside)

    # Where the negated one's chance bends, the integral over the last one's time does too.
    law = last[0].law
    bent = replace(last[0], law=replace(law, kinks=(*law.kinks, *leading.law.kinks)))
    true = _true((bent, *last[1:]), 0.0, window, absent)
    silent = (1.0 - (1.0 - leading.rate) * leading.came(window)) * _silent(last, 0.0, window)
    return true / silent


def leading_first_and_last(leading: Unseen, first: Unseen, last: Unseen, window: float) -> float:
    """Return the posterior of a missed first and last component, with a negation before the first.

    The negated one is timed back from the first, and forbidden from where the window begins: that
    is one window before the last.
    """
    true, silent = 0.0, 1.0 - first.came(window)
    for u, w in _points(0.0, window, first.law, (leading,)):
        weight = w * first.reaches * first.law.pdf(u) * first.rate
        unread = 1.0 - (1.0 - leading.rate) * leading.came(window - u)
        silent += weight * unread
        for v, x in _points(0.0, window - u, last.law, (leading,)):
            seen_last = x * last.reaches * last.law.pdf(v) * last.rate
            inside, whole = leading.came(window - u - v), leading.came(window - u)
            absent = 1.0 - inside - (1.0 - leading.rate) * (whole - inside)
            true += weight * seen_last * absent
    return true / (silent * _silent((last,), 0.0, window))


def _scale(law: Law) -> float:
    t = 1.0
    while law.cdf(t) < 0.5:
        t *= 2.0
    while law.cdf(t) > 0.6 and t > 1e-6:
        t /= 1.5
    return t


def _points(
    start: float, end: float, law: Law, others: Sequence[Unseen]
) -> Iterator[tuple[float, float]]:
    """Yield nodes and weights on cells that end where any density has a kink."""
    cuts = {start, end}
    kinks = [*law.kinks, *(k for part in others for k in part.law.kinks)]
    cuts |= {start + k for k in kinks} | {end - k for k in kinks}
    inside = sorted(c for c in cuts if start <= c <= end)
    for low, high in pairwise(inside):
        step = (high - low) / CELLS
        for c in range(CELLS):
            for x, w in zip(_X, _W, strict=True):
                yield low + step * (c + (x + 1.0) / 2.0), w * step / 2.0


# The paper ------------------------------------------------------------------------------------


def paper(unseen: Sequence[Unseen], length: float) -> float:
    """Return AYAC's score: gaps start together, and negated ones are absent everywhere."""
    positive = [part for part in unseen if not part.negated]
    score = _ordered(positive, length)
    for part in unseen:
        if part.negated:
            absent = 1.0 - part.came(length)
            score *= absent / (part.rate * part.came(length) + absent)
    return score


def _ordered(positive: Sequence[Unseen], length: float) -> float:
    """Return the chance that all come in order, each timed from the start, and are missed."""
    if not positive:
        return 1.0
    *earlier, last = positive
    if not earlier:
        return last.rate * last.came(length)
    return sum(
        w * last.reaches * last.law.pdf(t) * last.rate * _ordered(earlier, t)
        for t, w in _points(0.0, length, last.law, earlier)
    )


# Simulation -----------------------------------------------------------------------------------


def simulate(
    unseen: Sequence[Unseen], length: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw one world per length; return which are silent, and in which the match is true."""
    n = len(length)
    anchor, silent, true = np.zeros(n), np.ones(n, bool), np.ones(n, bool)
    waiting: list[np.ndarray] = []
    starts = anchor
    for part in unseen:
        comes = rng.random(n) < part.reaches
        at = np.where(comes, starts + part.law.draw(rng, n), np.inf)
        inside = at < length
        silent &= ~inside | (rng.random(n) < part.rate)
        if part.negated:
            waiting.append(at)
            continue
        true &= inside & _all_outside(waiting, starts, at)
        waiting, starts = [], at
    true &= _all_outside(waiting, starts, length)
    return silent, true


def _all_outside(times: Sequence[np.ndarray], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    fine = np.ones(len(low), bool)
    for at in times:
        fine &= ~((at > low) & (at < high))
    return fine

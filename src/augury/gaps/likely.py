"""When a missed component probably happened: the middle nine tenths of its time, by length.

Given that all missed components of a stretch of length L ended within it, one that comes after the
gaps `own`, with the gaps `rest` still to come, lies at t with a weight of

    f_own(t) F_rest(L - t)

where f_own is the density of the sum of the own gaps and F_rest the chance of that of the others.
Sums are tabulated on nodes whose distance grows with the time, and are shared by all stretches.
Read off as shares of the stretch, to about a percent of the interval, more roughly where a stretch
is so short that all but never so much comes within it: it is for people to look at, and no
confidence depends on it. Negated components, and conditions on time, are left out.

Shapes: N nodes of time, L lengths. Oracle: tests/gaps/test_likely.py integrates by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from augury.gaps.families import Gap, bends, farthest
from augury.gaps.integrals import ended
from augury.gaps.stretch import Backward, Ends, Forward, Stretch
from augury.records import Reals

LOW, HIGH = 0.05, 0.95
# Neighbouring nodes of time differ by this factor; where the sum probably ends, there are more.
STEP, INNER, LENGTHS = 1.03, 200, 64
# How far a share may be off between two lengths, of the interval.
ERROR = 0.005
# A stretch without a window may have any length that a time can have.
LONGEST = 2.0**62
# Sums of gaps are looked at from here to there; what lies outside is too rare to matter.
EARLIEST, RARE, MOST = 1e-6, 1e-3, 0.9999
Gaps = tuple[Gap, ...]


@dataclass(frozen=True)
class Likely:
    """Shares of the stretch, from its start on, between which the component probably lies."""

    component: int
    lengths: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def likely_times(stretch: Stretch, window: float) -> tuple[Likely, ...]:
    """Return when each missed component of a stretch probably happened, up to the window."""
    if isinstance(stretch, Ends):
        first = (stretch.start.first.gap,) if stretch.start.first else ()
        last = tuple(step.missed.gap for step in stretch.end.steps if step.missed is not None)
        before = _backward(stretch.start, last, window)
        return (*before, *_forward(stretch.end, first, window))
    if isinstance(stretch, Backward):
        return tuple(_backward(stretch, (), window))
    return tuple(_forward(stretch, (), window))


def _backward(stretch: Backward, others: Gaps, window: float) -> Iterator[Likely]:
    if stretch.first is not None:
        lengths, low, high = _shares((stretch.first.gap,), others, window)
        back = (tuple(1.0 - share for share in shares) for shares in (high, low))
        yield Likely(stretch.first.component, lengths, *back)


def _forward(stretch: Forward, others: Gaps, window: float) -> Iterator[Likely]:
    missed = [step.missed for step in stretch.steps if step.missed is not None]
    gaps = tuple(part.gap for part in missed)
    for k, part in enumerate(missed):
        rest = tuple(sorted((*gaps[k + 1 :], *others), key=repr))
        own = tuple(sorted(gaps[: k + 1], key=repr))
        yield Likely(part.component, *_shares(own, rest, window))


@lru_cache(maxsize=2048)
def _shares(own: Gaps, rest: Gaps, window: float) -> tuple[tuple[float, ...], ...]:
    """Return lengths, and the shares of each before which a twentieth, and all but one, lies."""
    settled = 2.0 * (_sum(own).times[-1] + (_sum(rest).times[-1] if rest else 0.0))
    top, stride = min(window, LONGEST), _stride(own)
    near = _lengths((*own, *rest), min(settled, top), stride)
    times = _middles(own, rest, near)
    there = np.isfinite(times[:, 0])
    if not there.any():
        # Nothing can have come within the window: no match is scored so.
        return (top,), (0.0,), (1.0,)
    near, times = near[there], times[there]
    far = _geometric(near[-1] * stride, top, stride) if top > near[-1] else np.zeros(0)
    lengths = np.concatenate([near, far])
    found = np.concatenate([times, np.repeat(times[-1:], len(far), axis=0)]) / lengths[:, None]
    low, high = (tuple(column.tolist()) for column in found.T)
    return tuple(lengths.tolist()), low, high


def _stride(own: Gaps) -> float:
    """Return the factor between lengths, between which c / length is interpolated.

    That is off by a quarter of (stride - 1) squared of the time, at most.
    """
    low, high = (sum(quantile(gap, share) for gap in own) for share in (LOW, HIGH))
    return 1.0 + 2.0 * math.sqrt(ERROR * max((high - low) / high, 0.01))


def _lengths(gaps: Gaps, top: float, stride: float) -> Reals:
    """Return lengths that are close where the interval changes: where the gaps end."""
    least, most = (sum(quantile(gap, share) for gap in gaps) for share in (RARE, 1.0 - RARE))
    # Before its least length an interval is empty, and just after it begins to grow.
    first = sum(_least(gap) for gap in gaps)
    grown = [first * (1.0 + 2.0**-k) for k in range(1, 24)] if first else []
    low = first or min(quantile(gap, 0.5) for gap in gaps) * RARE
    inner = np.linspace(least, most, LENGTHS)
    found = [_geometric(low, top, stride), inner, np.array([*grown, top])]
    return np.unique(np.clip(np.concatenate(found), min(low, top), top))


def _least(gap: Gap) -> float:
    return min(gap.parameters) if gap.family in ("UNIFORM", "EMPIRICAL") else 0.0


def _middles(own: Gaps, rest: Gaps, lengths: Reals) -> Reals:
    """Return both ends of the interval for each length (L, 2), NaN where nothing can come."""
    summed = _sum(own)
    nodes, inside = summed.times, lengths[:, None]
    reached = np.interp(np.minimum(nodes, inside), nodes, summed.chance)
    weights = np.diff(reached, axis=1)
    if rest:
        middles = (nodes[1:] + nodes[:-1]) / 2.0
        left = np.maximum(inside - middles, 0.0)
        others = _sum(rest)
        weights = weights * np.interp(left, others.times, others.chance)
    total = weights.sum(axis=1, keepdims=True)
    share = np.cumsum(np.divide(weights, total, where=total > 0.0, out=np.zeros_like(weights)), 1)
    share = np.concatenate([np.zeros((len(lengths), 1)), share], axis=1)
    found = [
        np.minimum([np.interp(each, own_share, nodes) for own_share in share], lengths)
        for each in (LOW, HIGH)
    ]
    return np.where(total > 0.0, np.stack(found, axis=1), np.nan)


# Sums of gaps -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sum:
    """The chance that a sum of gaps has ended, at growing times (N)."""

    times: Reals
    chance: Reals


@lru_cache(maxsize=512)
def _sum(gaps: Gaps) -> Sum:
    """Return the distribution of a sum of gaps, if all of them end."""
    times = _nodes(gaps)
    *before, last = gaps
    if not before:
        return Sum(times, ended(last)(times))
    earlier, own = _sum(tuple(before)), _sum((last,))
    middles = (earlier.times[1:] + earlier.times[:-1]) / 2.0
    masses = np.diff(earlier.chance)
    onward = np.interp(times[:, None] - middles, own.times, own.chance, left=0.0)
    return Sum(times, onward @ masses)


def _nodes(gaps: Gaps) -> Reals:
    """Return times that grow by a factor, and closer ones where the sum probably ends."""
    least, most, far = (sum(quantile(g, p) for g in gaps) for p in (RARE, 1.0 - RARE, MOST))
    # In a stretch that is far too short, what comes at all came early.
    earliest = sum(quantile(gap, EARLIEST) for gap in gaps)
    low = max(earliest, 1e-7 * sum(quantile(gap, 0.5) for gap in gaps), 1e-9)
    # An atom, and the ends of a uniform gap, stand at nodes; just before them is another.
    kinks = [k for gap in gaps if gap.family in ("UNIFORM", "EMPIRICAL") for k in bends(gap)]
    sharp = [k for kink in kinks for k in (kink * (1.0 - 1e-6), kink)]
    parts = [np.zeros(1), _geometric(low, far, STEP), np.linspace(least, most, INNER), sharp, [far]]
    return np.unique(np.concatenate([np.asarray(part, np.float64) for part in parts]))


def _geometric(low: float, high: float, factor: float) -> Reals:
    if high <= low or low <= 0.0:
        return np.array([high])
    count = 2 + int(math.log(high / low) / math.log(factor))
    return np.geomspace(low, high, count)


@lru_cache(maxsize=4096)
def quantile(gap: Gap, share: float) -> float:
    """Return the length by which this share of the gaps that end has ended."""
    function = ended(gap)
    low, high = 0.0, farthest(gap)
    for _ in range(100):
        # Halve in proportion, once the zero is left behind.
        middle = math.sqrt(low * high) if low > 0.0 else high / 4.0
        if float(function(np.array(middle))) >= share:
            high = middle
        else:
            low = middle
        if high - low <= 1e-9 * high:
            break
    return high

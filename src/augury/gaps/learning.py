"""Learn gaps, and miss rates, from a history that may have missed reads itself.

A history is many instances of the pattern: for each, the times at which its positive components
were read, NaN where one was not. Expectation maximisation: given the gaps and rates so far, an
unread component between two read ones happened at some time between them, with weights on a grid;
after the last read one it was missed, or did not come. Then gaps are fitted to the weighted lengths
and rates to the weighted counts, until neither changes.

Of EXPONENTIAL, GAMMA and LOGNORMAL the most likely is taken, by Bayes' information criterion.

Shapes: I instances, C components in order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from augury.gaps.families import Gap, chance, density
from augury.records import Reals

GRID = 24
MOST_ROUNDS = 60
CLOSE = 1e-4
LEAST_SAMPLES = 5
MOST_SHAPE, MOST_SIGMA = 1e4, 5.0


@dataclass(frozen=True)
class Learned:
    """The gap from each component to the next, and each component's miss rate."""

    gaps: tuple[Gap, ...]
    rates: tuple[float, ...]


@dataclass(frozen=True)
class History:
    """Instances (I, C); the lengths between read components that have unread ones between them."""

    times: Reals
    between: dict[tuple[int, int], Reals]
    horizon: float


@dataclass(frozen=True)
class Weighted:
    """Lengths of one gap with their weights."""

    lengths: Reals
    weights: Reals


def learn(times: Reals, rates: tuple[float | None, ...], horizon: float) -> Learned:
    """Return gaps and rates of the instances `times` (I, C).

    Rates that are given stay as they are; the others are learned, from a start of one tenth. What
    has not come `horizon` after the component before it is not waited for.
    """
    start = tuple(0.1 if rate is None else rate for rate in rates)
    # From a chance of 1 to come at all, nothing that is unread could ever lead away.
    gaps = tuple(replace(fit(_seen(times, c)), reaches=0.9) for c in range(times.shape[1] - 1))
    current, history = Learned(gaps, start), History(times, _gaps_between(times), horizon)
    for _ in range(MOST_ROUNDS):
        following = _improved(history, current, rates)
        if _is_close(current, following):
            return following
        current = following
    return current


def _seen(times: Reals, c: int) -> Weighted:
    lengths = times[:, c + 1] - times[:, c]
    known = lengths[np.isfinite(lengths) & (lengths > 0.0)]
    return Weighted(known, np.ones(len(known)))


def _is_close(one: Learned, other: Learned) -> bool:
    gaps = list(zip(one.gaps, other.gaps, strict=True))
    if any(g.family != h.family for g, h in gaps):
        return False
    lengths = [pair for g, h in gaps for pair in zip(g.parameters, h.parameters, strict=True)]
    chances = [(g.reaches, h.reaches) for g, h in gaps] + list(
        zip(one.rates, other.rates, strict=True)
    )
    is_near = all(abs(a - b) <= CLOSE * abs(b) for a, b in lengths)
    return is_near and all(abs(a - b) < CLOSE for a, b in chances)


# One round ------------------------------------------------------------------------------------


def _improved(history: History, now: Learned, given: tuple[float | None, ...]) -> Learned:
    times, n_components = history.times, history.times.shape[1]
    samples: list[list[Weighted]] = [[_seen(times, c)] for c in range(n_components - 1)]
    # What was missed is seen only after a read, so what was read counts only after one too.
    read = np.isfinite(times)
    missed, happened = np.zeros(n_components), np.zeros(n_components)
    happened[1:] = (read[:, 1:] & read[:, :-1]).sum(axis=0)
    came = np.zeros(n_components - 1)
    tried = np.zeros(n_components - 1)
    for ends, lengths in history.between.items():
        _add_between(ends, lengths, now, (samples, missed, happened))
    for c in range(n_components - 1):
        later = read[:, c + 1 :].any(axis=1)
        here = read[:, c]
        came[c] += (here & later).sum()
        tried[c] += here.sum()
        open_ended = float((here & ~later).sum())
        unread = _unread_share(now, c, history.horizon)
        came[c] += open_ended * unread
        missed[c + 1] += open_ended * unread
        happened[c + 1] += open_ended * unread
    gaps = []
    for c, parts in enumerate(samples):
        whole = Weighted(
            np.concatenate([p.lengths for p in parts]), np.concatenate([p.weights for p in parts])
        )
        reaches = min(1.0, max(came[c] / tried[c], 1e-3)) if tried[c] else 1.0
        gaps.append(replace(fit(whole), reaches=float(reaches)))
    rates = tuple(
        own if own is not None else float(min(0.95, missed[c] / max(happened[c], 1.0)))
        for c, own in enumerate(given)
    )
    return Learned(tuple(gaps), rates)


def _unread_share(now: Learned, last: int, horizon: float) -> float:
    """Return P(the next one came, and was missed | nothing was read after component `last`)."""
    came, silent = 0.0, 1.0
    for gap, rate in reversed(list(zip(now.gaps[last:], now.rates[last + 1 :], strict=True))):
        q = gap.reaches * chance(gap, horizon)
        came = q * rate * silent
        silent = 1.0 - q + came
    return came / silent if came > 0.0 else 0.0


def _gaps_between(times: Reals) -> dict[tuple[int, int], Reals]:
    """Return the lengths between read components that have unread ones between them."""
    read, found = np.isfinite(times), {}
    for first, last in combinations(range(times.shape[1]), 2):
        own = read[:, first] & read[:, last] & ~read[:, first + 1 : last].any(axis=1)
        lengths = (times[:, last] - times[:, first])[own]
        if last - first > 1 and (lengths > 0.0).any():
            found[first, last] = lengths[lengths > 0.0]
    return found


def _add_between(
    ends: tuple[int, int],
    lengths: Reals,
    now: Learned,
    totals: tuple[list[list[Weighted]], Reals, Reals],
) -> None:
    """Add what happened unread between two read components, on a grid of times."""
    samples, missed, happened = totals
    first, last = ends
    shares = (np.arange(GRID) + 0.5) / GRID
    # The joint weight of all that lies between is a chain, so its pairs follow from two passes.
    onward = [np.ones((len(lengths), GRID))]
    for c in range(last - 1, first, -1):
        onward.insert(0, _step_back(now.gaps[c], lengths, shares, onward[0], is_last=c == last - 1))
    start = _density(now.gaps[first], lengths[:, None] * shares)
    reached = start
    _keep(samples[first], lengths[:, None] * shares, start * onward[0])
    missed[first + 1] += len(lengths)
    happened[first + 1] += len(lengths)
    for k, c in enumerate(range(first + 1, last)):
        if c == last - 1:
            rest = lengths[:, None] * (1.0 - shares)
            _keep(samples[c], rest, reached * _density(now.gaps[c], rest))
            continue
        ahead = lengths[:, None, None] * (shares[None, None, :] - shares[None, :, None])
        steps = np.where(ahead > 0.0, _density(now.gaps[c], np.maximum(ahead, 1e-9)), 0.0)
        joint = reached[:, :, None] * steps * onward[k + 1][:, None, :]
        _keep(samples[c], np.maximum(ahead, 1e-9), joint)
        reached = (reached[:, :, None] * steps).sum(axis=1)


def _step_back(gap: Gap, lengths: Reals, shares: Reals, onward: Reals, *, is_last: bool) -> Reals:
    if is_last:
        return _density(gap, lengths[:, None] * (1.0 - shares))
    ahead = lengths[:, None, None] * (shares[None, None, :] - shares[None, :, None])
    steps = np.where(ahead > 0.0, _density(gap, np.maximum(ahead, 1e-9)), 0.0)
    found: Reals = (steps * onward[:, None, :]).sum(axis=2)
    return found


def _density(gap: Gap, lengths: Reals) -> Reals:
    return density(gap, np.maximum(lengths, 1e-9))


def _keep(samples: list[Weighted], lengths: Reals, weights: Reals) -> None:
    """Add weighted lengths; those of one instance weigh one together."""
    flat = weights.reshape(len(weights), -1)
    total = flat.sum(axis=1, keepdims=True)
    share = np.divide(flat, total, out=np.zeros_like(flat), where=total > 0.0)
    samples.append(Weighted(lengths.reshape(share.shape).ravel(), share.ravel()))


# Fitting --------------------------------------------------------------------------------------


def fit(sample: Weighted) -> Gap:
    """Return the most likely distribution of weighted lengths."""
    total = float(sample.weights.sum())
    if total < LEAST_SAMPLES:
        mean = float((sample.weights * sample.lengths).sum() / total) if total > 0.0 else 1.0
        return Gap("EXPONENTIAL", (max(mean, 1e-6),))
    mean = float((sample.weights * sample.lengths).sum() / total)
    logs = np.log(np.maximum(sample.lengths, 1e-9))
    log_mean = float((sample.weights * logs).sum() / total)
    spread = float((sample.weights * (logs - log_mean) ** 2).sum() / total)
    sigma = min(max(math.sqrt(spread), 1e-3), MOST_SIGMA)
    shape = _gamma_shape(math.log(mean) - log_mean)
    candidates = (
        (Gap("EXPONENTIAL", (mean,)), 1),
        (Gap("GAMMA", (mean, shape)), 2),
        (Gap("LOGNORMAL", (math.exp(log_mean), sigma)), 2),
    )
    return min(candidates, key=lambda each: _cost(each[0], each[1], sample, total))[0]


def _cost(gap: Gap, n_parameters: int, sample: Weighted, total: float) -> float:
    """Return Bayes' information criterion."""
    likelihood = np.log(np.maximum(density(gap, np.maximum(sample.lengths, 1e-9)), 1e-300))
    return n_parameters * math.log(total) - 2.0 * float((sample.weights * likelihood).sum())


def _gamma_shape(surplus: float) -> float:
    """Return the shape k for which log k - digamma(k) is the surplus of log mean over mean log."""
    # A query may not declare a larger shape either: its integrals would take minutes.
    low, high = 1e-3, MOST_SHAPE
    for _ in range(80):
        middle = math.sqrt(low * high)
        if math.log(middle) - _digamma(middle) > surplus:
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)


def _digamma(x: float) -> float:
    total = 0.0
    while x < 6.0:
        total -= 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (1.0 / 12.0 - inverse * (1.0 / 120.0 - inverse / 252.0))
    return total + math.log(x) - 0.5 / x - series

"""Learn gaps, and miss rates, from a history that may have missed reads itself.

A history is many instances of the pattern: for each, the times at which its positive components
were read, NaN where one was not. Expectation maximisation, by the gaps and rates so far. What is
unread between two read components was missed there, at times with weights on a grid; or it did not
come, and the later one came without it, after a length of its own distribution. After the last read
one, the next was missed, or did not come. Then gaps are fitted to the weighted lengths and rates to
the weighted counts, until neither changes.

Between two read components, a miss rate and a chance to come at all cannot both be learned: all
that is seen is how often one of them failed. So where neither is given, what is unread was missed.

Of EXPONENTIAL, GAMMA and LOGNORMAL the most likely is taken, by Bayes' information criterion.

Shapes: I instances, C components in order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from augury.gaps.families import Gap, chance, density
from augury.records import Reals

GRID = 24
# Places in a stretch, as shares of its length.
SHARES = (np.arange(GRID) + 0.5) / GRID
TINY = 1e-9
MOST_ROUNDS = 60
CLOSE = 1e-4
LEAST_SAMPLES = 5
MOST_SHAPE, MOST_SIGMA = 1e4, 5.0


@dataclass(frozen=True)
class Bypass:
    """How often, and how long after a component, a later one comes without those between them.

    `share` is of the instances in which the next component does not come. `through` is how long
    after it the later one comes where all between were there: whether they were read is chance.
    """

    share: float
    gap: Gap
    through: Gap


Ends = tuple[int, int]


@dataclass(frozen=True)
class Learned:
    """The gap from each component to the next, each component's miss rate, and ways past some."""

    gaps: tuple[Gap, ...]
    rates: tuple[float, ...]
    past: Mapping[Ends, Bypass] = field(default_factory=dict)

    def is_past(self, component: int) -> float:
        """Return how often something comes after a component though the next one does not."""
        found = sum(way.share for (first, _), way in self.past.items() if first == component)
        return min(1.0, found)


@dataclass(frozen=True)
class History:
    """Instances (I, C); the lengths between read components that have unread ones between them.

    `rates` and `gaps` are those that are given, None where they are to be learned.
    """

    times: Reals
    between: dict[Ends, Reals]
    horizon: float
    rates: tuple[float | None, ...]
    gaps: tuple[Gap | None, ...]

    def is_sure(self, gap: int) -> bool:
        """Whether the component after a gap is taken as missed wherever it is unread."""
        return self.rates[gap + 1] is None and self.gaps[gap] is None


@dataclass(frozen=True)
class Weighted:
    """Lengths of one gap with their weights."""

    lengths: Reals
    weights: Reals


def learn(
    times: Reals,
    rates: tuple[float | None, ...],
    horizon: float,
    gaps: tuple[Gap | None, ...] | None = None,
) -> Learned:
    """Return gaps and rates of the instances `times` (I, C).

    Rates and gaps that are given stay as they are; the others are learned, rates from a start of
    one tenth. What has not come `horizon` after the component before it is not waited for.
    """
    given = gaps or (None,) * (times.shape[1] - 1)
    history = History(times, _gaps_between(times), horizon, rates, given)
    # From a chance of 1 to come at all, nothing that is unread could ever lead away.
    start = tuple(own or replace(fit(_seen(times, c)), reaches=0.9) for c, own in enumerate(given))
    past = {ends: found for ends in history.between if (found := _way_past(history, ends))}
    current = Learned(start, tuple(0.1 if rate is None else rate for rate in rates), past)
    for _ in range(MOST_ROUNDS):
        following = _improved(history, current)
        if _is_close(current, following):
            return following
        current = following
    return current


def _way_past(history: History, ends: Ends) -> Bypass | None:
    """Return a way past unread components to begin with; None where all of them were missed."""
    first, last = ends
    if all(history.is_sure(gap) for gap in range(first, last - 1)):
        return None
    whole = history.times[np.isfinite(history.times[:, first : last + 1]).all(axis=1)]
    taken = whole[:, last] - whole[:, first]
    lengths = history.between[ends]
    # Where all were never read together, lengths tell nothing.
    through = taken[taken > 0.0] if (taken > 0.0).sum() >= LEAST_SAMPLES else lengths
    gaps = [fit(Weighted(own, np.ones(len(own)))) for own in (lengths, through)]
    return Bypass(0.5, *gaps)


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


@dataclass
class Totals:
    """What one round adds up: lengths by gap, and how often each component was tried and came.

    `past` has the lengths of what came without the components before it.
    """

    samples: list[list[Weighted]]
    missed: Reals
    happened: Reals
    tried: Reals
    came: Reals
    past: dict[Ends, Weighted] = field(default_factory=dict)


def _improved(history: History, now: Learned) -> Learned:
    totals = _counted(history)
    for ends, lengths in history.between.items():
        _add_between(ends, lengths, now, history, totals)
    _add_open(history, now, totals)
    gaps = tuple(given or _refitted(totals, gap) for gap, given in enumerate(history.gaps))
    rates = tuple(
        own if own is not None else float(min(0.95, missed / max(happened, 1.0)))
        for own, missed, happened in zip(history.rates, totals.missed, totals.happened, strict=True)
    )
    past = {ends: _passed(totals, ends, way) for ends, way in now.past.items()}
    return Learned(gaps, rates, past)


def _passed(totals: Totals, ends: Ends, way: Bypass) -> Bypass:
    first, own = ends[0], totals.past[ends]
    never = max(totals.tried[first] - totals.came[first], 1.0)
    return replace(way, share=float(min(1.0, own.weights.sum() / never)), gap=fit(own))


def _counted(history: History) -> Totals:
    """Return what was read: no round changes it."""
    times, n_components = history.times, history.times.shape[1]
    read = np.isfinite(times)
    # What was missed is seen only after a read, so what was read counts only after one too.
    both = (read[:, 1:] & read[:, :-1]).sum(axis=0).astype(np.float64)
    happened = np.concatenate([[0.0], both])
    later = np.stack([read[:, c + 1 :].any(axis=1) for c in range(n_components - 1)], axis=1)
    came = (read[:, :-1] & later).sum(axis=0).astype(np.float64)
    for (first, _), lengths in history.between.items():
        came[first] -= len(lengths)
    samples = [[_seen(times, c)] for c in range(n_components - 1)]
    tried = read[:, :-1].sum(axis=0).astype(np.float64)
    return Totals(samples, np.zeros(n_components), happened, tried, came)


def _add_open(history: History, now: Learned, totals: Totals) -> None:
    """Add what came unread after the last read component."""
    read = np.isfinite(history.times)
    for c in range(read.shape[1] - 1):
        open_ended = float((read[:, c] & ~read[:, c + 1 :].any(axis=1)).sum())
        unread = open_ended * _unread_share(now, c, history.horizon)
        totals.came[c] += unread
        totals.missed[c + 1] += unread
        totals.happened[c + 1] += unread


def _refitted(totals: Totals, gap: int) -> Gap:
    parts, tried = totals.samples[gap], totals.tried[gap]
    lengths = np.concatenate([part.lengths for part in parts])
    weights = np.concatenate([part.weights for part in parts])
    reaches = min(1.0, max(totals.came[gap] / tried, 1e-3)) if tried else 1.0
    return replace(fit(Weighted(lengths, weights)), reaches=float(reaches))


def _unread_share(now: Learned, last: int, horizon: float) -> float:
    """Return P(the next one came, and was missed | nothing was read after component `last`)."""
    came, silent = 0.0, 1.0
    for c in reversed(range(last, len(now.gaps))):
        q = now.gaps[c].reaches * chance(now.gaps[c], horizon)
        came = q * now.rates[c + 1] * silent
        silent = (1.0 - q) * (1.0 - now.is_past(c)) + came
    return came / silent if came > 0.0 else 0.0


def _gaps_between(times: Reals) -> dict[Ends, Reals]:
    """Return the lengths between read components that have unread ones between them."""
    read, found = np.isfinite(times), {}
    for first, last in combinations(range(times.shape[1]), 2):
        own = read[:, first] & read[:, last] & ~read[:, first + 1 : last].any(axis=1)
        lengths = (times[:, last] - times[:, first])[own]
        if last - first > 1 and (lengths > 0.0).any():
            found[first, last] = lengths[lengths > 0.0]
    return found


def _add_between(
    ends: Ends, lengths: Reals, now: Learned, history: History, totals: Totals
) -> None:
    """Add what became of the components that are unread between two read ones."""
    first, last = ends
    gaps = list(range(first, last - 1))
    all_missed, ended_at = _outcomes(ends, lengths, now, history)
    _add_chain(ends, lengths, now, totals.samples, all_missed)
    reached = np.ones(len(lengths))
    for gap, never in zip(gaps, ended_at, strict=True):
        came = float((reached - never).sum())
        totals.tried[gap] += reached.sum() if gap > first else 0.0
        for total, place in (
            (totals.came, gap),
            (totals.missed, gap + 1),
            (totals.happened, gap + 1),
        ):
            total[place] += came
        reached = reached - never
    if ends in now.past:
        totals.past[ends] = Weighted(lengths, 1.0 - all_missed)


def _outcomes(
    ends: Ends, lengths: Reals, now: Learned, history: History
) -> tuple[Reals, list[Reals]]:
    """Return, of each instance, that all unread were missed, and that each was the first to fail.

    Those before it were missed, and the later read one came without the rest.
    """
    way, before, weights = now.past.get(ends), 1.0, list[float]()
    for gap in range(ends[0], ends[1] - 1):
        sure = history.is_sure(gap)
        reaches, rate = (1.0, 1.0) if sure else (now.gaps[gap].reaches, now.rates[gap + 1])
        weights.append(before * (1.0 - reaches))
        before *= reaches * rate
    if way is None:
        return np.ones(len(lengths)), [np.zeros(len(lengths)) for _ in weights]
    through = before * _density(way.through, lengths)
    past = way.share * _density(way.gap, lengths)
    whole = np.maximum(through + sum(weights) * past, 1e-300)
    return through / whole, [each * past / whole for each in weights]


def _add_chain(
    ends: Ends,
    lengths: Reals,
    now: Learned,
    samples: list[list[Weighted]],
    weights: Reals,
) -> None:
    """Add the lengths between two read components with all that lies between them missed."""
    first, last = ends
    # The joint weight of all that lies between is a chain, so its pairs follow from two passes.
    onward = [_density(now.gaps[last - 1], lengths[:, None] * (1.0 - SHARES))]
    for c in range(last - 2, first, -1):
        onward.insert(0, _step_back(now.gaps[c], lengths, onward[0]))
    at = lengths[:, None] * SHARES
    reached = _density(now.gaps[first], at)
    _keep(samples[first], at, reached * onward[0], weights)
    for k, c in enumerate(range(first + 1, last)):
        if c == last - 1:
            rest = lengths[:, None] * (1.0 - SHARES)
            _keep(samples[c], rest, reached * _density(now.gaps[c], rest), weights)
            continue
        ahead = _ahead(lengths)
        steps = np.where(ahead > 0.0, _density(now.gaps[c], ahead), 0.0)
        joint = reached[:, :, None] * steps * onward[k + 1][:, None, :]
        _keep(samples[c], np.maximum(ahead, TINY), joint, weights)
        reached = (reached[:, :, None] * steps).sum(axis=1)


def _ahead(lengths: Reals) -> Reals:
    found: Reals = lengths[:, None, None] * (SHARES[None, None, :] - SHARES[None, :, None])
    return found


def _step_back(gap: Gap, lengths: Reals, onward: Reals) -> Reals:
    ahead = _ahead(lengths)
    steps = np.where(ahead > 0.0, _density(gap, ahead), 0.0)
    found: Reals = (steps * onward[:, None, :]).sum(axis=2)
    return found


def _density(gap: Gap, lengths: Reals) -> Reals:
    """Return f; a gap with atoms, which only a given one can have, tells nothing about lengths."""
    if gap.has_atoms:
        return np.ones_like(lengths)
    return density(gap, np.maximum(lengths, TINY))


def _keep(samples: list[Weighted], lengths: Reals, weights: Reals, of_instance: Reals) -> None:
    """Add weighted lengths; those of one instance weigh `of_instance` together."""
    flat = weights.reshape(len(weights), -1)
    total = flat.sum(axis=1, keepdims=True)
    share = np.divide(flat, total, out=np.zeros_like(flat), where=total > 0.0)
    share = share * np.maximum(of_instance, 0.0)[:, None]
    samples.append(Weighted(lengths.reshape(share.shape).ravel(), share.ravel()))


# Fitting --------------------------------------------------------------------------------------


def fit(sample: Weighted) -> Gap:
    """Return the most likely distribution of weighted lengths."""
    total = float(sample.weights.sum())
    if total < LEAST_SAMPLES:
        mean = float((sample.weights * sample.lengths).sum() / total) if total > 0.0 else 1.0
        return Gap("EXPONENTIAL", (max(mean, 1e-6),))
    mean = float((sample.weights * sample.lengths).sum() / total)
    logs = np.log(np.maximum(sample.lengths, TINY))
    log_mean = float((sample.weights * logs).sum() / total)
    variance = float((sample.weights * (logs - log_mean) ** 2).sum() / total)
    sigma = min(max(math.sqrt(variance), 1e-3), MOST_SIGMA)
    shape = _gamma_shape(math.log(mean) - log_mean)
    candidates = (
        (Gap("EXPONENTIAL", (mean,)), 1),
        (Gap("GAMMA", (mean, shape)), 2),
        (Gap("LOGNORMAL", (math.exp(log_mean), sigma)), 2),
    )
    return min(candidates, key=lambda each: _cost(each[0], each[1], sample, total))[0]


def _cost(gap: Gap, n_parameters: int, sample: Weighted, total: float) -> float:
    """Return Bayes' information criterion."""
    likelihood = np.log(np.maximum(density(gap, np.maximum(sample.lengths, TINY)), 1e-300))
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

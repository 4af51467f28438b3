"""What a stretch scores by the law: P(all is as the match needs it | what was and was not read).

With R the length that is left, F the chance that a gap has ended (times `reaches`), e the miss
rate, and step j timed from the missed component before it:

    silent_j(R) = prod_n (1 - (1 - e_n) F_n(R)) * (1 - F(R) + e int_0^R f(v) silent_j+1(R - v) dv)
    true_j(R)   = e int_0^R f(v) prod_n (1 - e_n F_n(v) - (1 - e_n) F_n(R)) true_j+1(R - v) dv

A step without a missed component ends the stretch: silent is the product alone, and true is
prod_n (1 - F_n(R)). A negated component that comes after the missed one that ends its reach does
not break the match, but it must not have been read. The score is true_0 / silent_0.

Oracle: tests/oracles/missed.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from augury.gaps.families import Gap, bends, farthest
from augury.gaps.integrals import (
    Range,
    all_means_over,
    came,
    each_mean,
    ended,
    mean_over,
    means_over,
)
from augury.gaps.stretch import Backward, Ends, Forward, Step, Stretch, Unseen, unseen_in
from augury.gaps.tables import Function, Pair, Tables, tabulate_both
from augury.records import Reals

# Inner steps are tabulated finer than the score that is made of them, the innermost finest.
INNER_ERROR, COARSER = 2e-11, 3.0
# Of the error of an inner step, what joining the pieces of its tables may add.
JOINED_ERROR = 0.3
MOST_CUTS = 4000
# How far beside a bound its cut lies, relatively: more than sums round off, less than any error.
BESIDE = 1e-12


@dataclass(frozen=True)
class Parts:
    """Numerator and denominator of a score as functions of length, and where they bend."""

    true: Function
    silent: Function
    cuts: tuple[float, ...]
    is_slow: bool = False
    pair: Pair | None = None

    def both(self, lengths: Reals) -> tuple[Reals, Reals]:
        """Return numerator and denominator at each length."""
        if self.pair is not None:
            return self.pair(lengths)
        return self.true(lengths), self.silent(lengths)


def parts_of(stretch: Stretch, top: float) -> Parts:
    """Return what the score of a stretch is made of, for lengths up to `top`."""
    if isinstance(stretch, Forward):
        return _forward(stretch.steps, top)
    if isinstance(stretch, Backward):
        return _backward(stretch)
    return _ends(stretch, top)


def longest(stretch: Stretch) -> float:
    """Return a length beyond which the score hardly changes."""
    gaps = sum(farthest(part.gap) for part in unseen_in(stretch))
    return 1.25 * (gaps + sum(max(_bounds(each), default=0.0) for each in _bounded_in(stretch)))


def _bounded_in(stretch: Stretch) -> tuple[Step | Backward, ...]:
    if isinstance(stretch, Ends):
        return (stretch.start, *stretch.end.steps)
    return (stretch,) if isinstance(stretch, Backward) else stretch.steps


# Forward --------------------------------------------------------------------------------------


def _forward(steps: tuple[Step, ...], top: float) -> Parts:
    step, *rest = steps
    cuts = _own_cuts(step.negated)
    if step.missed is None:
        return Parts(
            lambda lengths: _within(step, lengths) * _absent(step.negated, lengths),
            lambda lengths: _unread(step.negated, lengths),
            (*cuts, *_bounds(step)),
        )
    # A table of it has to follow its density, and whoever integrates over the table has to, too.
    cuts = (*cuts, *bends(step.missed.gap))
    kinks = (*_kinks(step.missed.gap), *_bounds(step))
    if _is_plain(rest):
        return _one_missed(step, _sums(kinks, (), cuts))
    after = tuple(rest)
    ahead = _tabulated(after, min(top, longest(Forward(after))))
    return _missed(step, ahead, _sums(kinks, ahead.cuts, cuts))


def _is_plain(rest: list[Step]) -> bool:
    """Whether nothing that matters comes after the missed component."""
    return len(rest) == 1 and not rest[0].negated and not rest[0].is_bounded


def _one_missed(step: Step, cuts: tuple[float, ...]) -> Parts:
    """Return the parts where a component is missed and the rest of the stretch is free."""
    own = step.missed
    assert own is not None
    if step.negated:
        return _missed(step, Parts(_ones, _ones, ()), cuts)

    def true(lengths: Reals) -> Reals:
        until = came(own.gap, np.minimum(lengths, step.most))
        # What ends at the bound itself, as an atom may, is within it.
        before = came(own.gap, np.full_like(lengths, math.nextafter(step.least, 0.0)))
        found = until - before if step.least else until
        return own.rate * np.maximum(found, 0.0)

    return Parts(true, lambda lengths: 1.0 - (1.0 - own.rate) * came(own.gap, lengths), cuts)


def _missed(step: Step, ahead: Parts, cuts: tuple[float, ...]) -> Parts:
    """Return the parts where a component is missed, and then what is `ahead`."""
    own, turns = step.missed, ahead.cuts
    assert own is not None
    needed, free = Range(step.least, step.most, _own_cuts(step.negated), turns), Range(turns=turns)

    def inside(v: Reals, length: Reals) -> Reals:
        return _absent_until(step.negated, v, length) * ahead.true(length - v)

    def later(v: Reals, length: Reals) -> Reals:
        return ahead.silent(length - v)

    def true(lengths: Reals) -> Reals:
        return own.rate * means_over(own.gap, inside, lengths, needed)

    def unread(lengths: Reals, missed: Reals) -> Reals:
        return _unread(step.negated, lengths) * (1.0 - came(own.gap, lengths) + own.rate * missed)

    def silent(lengths: Reals) -> Reals:
        return unread(lengths, means_over(own.gap, later, lengths, free))

    def each(v: Reals, length: Reals) -> tuple[Reals, Reals]:
        true_rest, silent_rest = ahead.both(length - v)
        return _absent_until(step.negated, v, length) * true_rest, silent_rest

    def both(lengths: Reals) -> tuple[Reals, Reals]:
        found, missed = all_means_over(own.gap, each, lengths, free)
        return own.rate * found, unread(lengths, missed)

    return Parts(true, silent, cuts, pair=both if needed == free else None)


@lru_cache(maxsize=512)
def _tabulated(steps: tuple[Step, ...], top: float) -> Parts:
    """Return the parts of the later steps as tables: stretches that end alike share them."""
    parts = _forward(steps, top)
    # A table that asked for less than the error of those it is made of would never end.
    error = INNER_ERROR * COARSER ** sum(step.missed is not None for step in steps[1:])
    alone = parts.true, parts.silent
    exact = Tables.of(*tabulate_both(parts.both, alone, parts.cuts, top, error))
    tables = exact.joined(JOINED_ERROR * error)
    return Parts(tables.first, tables.second, tables.turns, pair=tables)


# Backward -------------------------------------------------------------------------------------


def _backward(stretch: Backward) -> Parts:
    if stretch.first is None:
        return Parts(
            lambda lengths: _absent(stretch.before, lengths),
            lambda lengths: _unread(stretch.before, lengths),
            _own_cuts(stretch.before),
        )
    cuts = (*bends(stretch.first.gap), *_own_cuts((*stretch.after, *stretch.before)))
    own = (*_kinks(stretch.first.gap), *_bounds(stretch))
    kinks = tuple(kink for n in stretch.after for kink in _kinks(n.gap))
    sums = _sums(own, _own_cuts(stretch.before), (*cuts, *(a - b for a in own for b in kinks)))
    return Parts(
        lambda lengths: each_mean(lengths, lambda w: _true_before(stretch, w)),
        lambda lengths: each_mean(lengths, lambda w: _silent_before(stretch, w), 1.0),
        sums,
    )


def _true_before(stretch: Backward, window: float) -> float:
    first = stretch.first
    assert first is not None

    def inside(u: Reals) -> Reals:
        return _absent(stretch.after, u) * _absent(stretch.before, window - u)

    cuts = _folded(stretch, window)
    until = min(stretch.most, window)
    return first.rate * mean_over(first.gap, inside, stretch.least, until, cuts)


def _silent_before(stretch: Backward, window: float) -> float:
    first = stretch.first
    assert first is not None
    if not stretch.after and not stretch.before:
        return 1.0 - (1.0 - first.rate) * float(came(first.gap, np.array(window)))

    def inside(u: Reals) -> Reals:
        return _unread(stretch.after, u) * _unread(stretch.before, window - u)

    def outside(u: Reals) -> Reals:
        # It came before the window, and what is timed from it may have fallen inside, unread.
        found = np.ones_like(u)
        for n in stretch.after:
            found *= 1.0 - (1.0 - n.rate) * (came(n.gap, u) - came(n.gap, u - window))
        return found

    cuts = _folded(stretch, window)
    far = max(window, farthest(first.gap))
    never = 1.0 - first.gap.reaches
    beyond = first.gap.reaches * (1.0 - float(ended(first.gap)(np.array(far))))
    inner = first.rate * mean_over(first.gap, inside, 0.0, window, cuts)
    # An atom at the end of the window belongs to the inside.
    start = math.nextafter(window, math.inf) if first.gap.has_atoms else window
    return never + inner + mean_over(first.gap, outside, start, far, cuts) + beyond


def _folded(stretch: Backward, window: float) -> tuple[float, ...]:
    after, before = _own_cuts(stretch.after), _own_cuts(stretch.before)
    return (*after, *(window + cut for cut in after), *(window - cut for cut in before))


# Both ends ------------------------------------------------------------------------------------


def _ends(stretch: Ends, top: float) -> Parts:
    start, end = _backward(stretch.start), _forward(stretch.end.steps, top)
    is_free = not stretch.start.before and not any(step.negated for step in stretch.end.steps)
    later = _tabulated(stretch.end.steps, min(top, longest(stretch.end))) if is_free else end

    def true(lengths: Reals) -> Reals:
        if is_free and stretch.start.first is not None:
            return _free_at_ends(stretch, lengths, later.cuts, later.true)
        return each_mean(lengths, lambda window: _true_at_ends(stretch, window, end.cuts))

    first, missed = stretch.start.first, [step.missed for step in stretch.end.steps]
    gaps = [part.gap for part in (first, *missed) if part is not None]
    kinks = tuple(kink for gap in gaps for kink in _kinks(gap))
    if is_free:
        cuts = _sums(kinks, later.cuts, start.cuts)
    else:
        own = tuple(bend for gap in gaps for bend in bends(gap))
        cuts = _sums(kinks, _own_cuts(stretch.start.before), own)
    slow = not is_free and len(gaps) > 1
    return Parts(true, lambda lengths: start.silent(lengths) * end.silent(lengths), cuts, slow)


def _free_at_ends(stretch: Ends, lengths: Reals, turns: Iterable[float], later: Function) -> Reals:
    """Return the chance at both ends where nothing is negated beyond the seen: for all windows."""
    first, after = stretch.start.first, stretch.start.after
    assert first is not None

    def inside(u: Reals, window: Reals) -> Reals:
        return _absent(after, u) * later(window - u)

    where = Range(stretch.start.least, stretch.start.most, _own_cuts(after), tuple(turns))
    return first.rate * means_over(first.gap, inside, lengths, where)


def _true_at_ends(stretch: Ends, window: float, turns: Iterable[float]) -> float:
    """Return the chance that all at both ends is as needed within what the window leaves."""
    first, leading = stretch.start.first, stretch.start.before
    steps, whole = stretch.end.steps, np.array([window])
    if first is None:
        return float(_needed(steps, whole, whole, Leading(leading, whole))[0])

    def inside(u: Reals) -> Reals:
        # Negated components must not have been read in what the window leaves the seen.
        zone = np.full_like(u, window)
        rest = _needed(steps, window - u, zone, Leading(leading, window - u))
        return _absent(stretch.start.after, u) * rest

    bent = (*_own_cuts((*stretch.start.after, *leading)), *(window - turn for turn in turns))
    until = min(stretch.start.most, window)
    return first.rate * mean_over(first.gap, inside, stretch.start.least, until, bent)


@dataclass(frozen=True)
class Leading:
    """Negated components before the first one, none of which was read within `zone` of it.

    The window begins where the last component came: the later that is, the less is forbidden them.
    """

    negated: tuple[Unseen, ...]
    zone: Reals

    def at(self, k: int, n: int) -> Leading:
        """Return the negated with the zone of window number k, for n points of it."""
        return Leading(self.negated, np.full(n, self.zone[k]))


def _needed(steps: tuple[Step, ...], need: Reals, zone: Reals, leading: Leading) -> Reals:
    """Return the chance that all is as needed within `need`, and nothing is read within `zone`."""
    step, *rest = steps
    if step.missed is None:
        own_zone = _absent_until(step.negated, need, zone)
        return own_zone * _absent_until(leading.negated, need, leading.zone)
    own = step.missed
    found = np.zeros(need.shape)
    for k, (inner, outer) in enumerate(zip(need.tolist(), zone.tolist(), strict=True)):

        def inside(v: Reals, k: int = k, inner: float = inner, outer: float = outer) -> Reals:
            ahead = _needed(tuple(rest), inner - v, outer - v, leading.at(k, len(v)))
            return _absent_until(step.negated, v, np.array(outer)) * ahead

        cuts = [*_own_cuts(step.negated)]
        cuts += [inner - bend for bend in _own_cuts(leading.negated)]
        for n in (n for after in rest for n in after.negated):
            cuts += [place - bend for place in (inner, outer) for bend in bends(n.gap)]
        found[k] = mean_over(own.gap, inside, step.least, min(step.most, inner), cuts)
    return own.rate * found


# Pieces ---------------------------------------------------------------------------------------


def _ones(lengths: Reals) -> Reals:
    return np.ones_like(lengths)


def _within(step: Step, lengths: Reals) -> Reals:
    if not step.is_bounded:
        return np.ones_like(lengths)
    # Up to the end of the piece that holds the bound: where least is most, it holds nothing else.
    return np.where((lengths >= step.least) & (lengths < step.most * (1.0 + BESIDE)), 1.0, 0.0)


def _absent(negated: tuple[Unseen, ...], lengths: Reals) -> Reals:
    """Return the chance that none of them came within the length."""
    found = np.ones_like(lengths)
    for n in negated:
        found = found * (1.0 - came(n.gap, lengths))
    return found


def _unread(negated: tuple[Unseen, ...], lengths: Reals) -> Reals:
    """Return the chance that none of them was read within the length."""
    found = np.ones_like(lengths)
    for n in negated:
        found = found * (1.0 - (1.0 - n.rate) * came(n.gap, lengths))
    return found


def _absent_until(negated: tuple[Unseen, ...], until: Reals, length: Reals) -> Reals:
    """Return the chance that none came before `until`, and none was read within the length."""
    found = np.ones_like(until)
    for n in negated:
        whole = came(n.gap, length)
        found = found * (1.0 - n.rate * came(n.gap, until) - (1.0 - n.rate) * whole)
    return found


def _own_cuts(parts: Iterable[Unseen]) -> tuple[float, ...]:
    return tuple(cut for part in parts for cut in bends(part.gap))


def _kinks(gap: Gap) -> tuple[float, ...]:
    """Return where F is not smooth at all, so that sums of such places matter."""
    return gap.parameters if gap.family in ("UNIFORM", "EMPIRICAL") else ()


def _bounds(where: Step | Backward) -> tuple[float, ...]:
    # A piece is closed on the left, and so holds its least length; the most it has to go beyond.
    bounds = (where.least, where.most * (1.0 + BESIDE))
    return tuple(b for b in bounds if 0.0 < b < math.inf)


def _sums(
    first: tuple[float, ...], second: tuple[float, ...], others: tuple[float, ...]
) -> tuple[float, ...]:
    """Return the cuts of a convolution: all of each, and the sums where there are not too many."""
    found = {*first, *second, *others}
    if len(first) * len(second) <= MOST_CUTS:
        found |= {a + b for a in first for b in second}
    return tuple(sorted(found))

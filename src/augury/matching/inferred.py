"""What a match says of the components that it takes as missed: how likely, and when.

Shapes: M matches, I items, J missed components of all matches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from augury.matching.pattern import Pattern, Stretch
from augury.records import Matches, Reals, Words

# A length that stands for no window at all; shares of it are still times.
LONGEST = 2**61
NEVER = -(2**62)


@dataclass(frozen=True, slots=True)
class Inferred:
    """The missed components of all matches, by match and then by component.

    `place` is where in the items each belongs. `probability` is the score of its stretch: of all
    that was missed between the same two seen components. `earliest` and `latest` bound the middle
    nine tenths of the time at which it happened.
    """

    match: Words
    component: Words
    place: Words
    probability: Reals
    earliest: Words
    latest: Words


def inferred(pattern: Pattern, matches: Matches, time: Words) -> Inferred:
    """Return what was missed; `time` has the time of each item."""
    pieces = [piece for way in pattern.variants for piece in _of_variant(way, matches, time)]
    columns = [np.concatenate(own) for own in zip(*pieces, strict=True)]
    if not columns:
        none = np.zeros(0, np.int64)
        return Inferred(none, none, none, np.zeros(0), none, none)
    order = np.lexsort((columns[1], columns[0]))
    match, component, place, probability, earliest, latest = (own[order] for own in columns)
    return Inferred(match, component, place, probability, earliest, latest)


def _of_variant(way: Pattern, matches: Matches, time: Words) -> list[tuple[Words, ...]]:
    numbers = np.flatnonzero(matches.missed == way.missed)
    if not len(numbers):
        return []
    found = []
    firsts, counts = matches.first_item[numbers], np.diff(matches.first_item)[numbers]
    starts = np.concatenate([[0], np.cumsum(counts)])
    items = np.arange(starts[-1]) + np.repeat(firsts - starts[:-1], counts)
    bound, when = matches.component[items], time[items]
    for stretch in way.stretches:
        span = spans(way, stretch, bound, when, starts[:-1])
        length, score = span.length, scores(stretch, span.length)
        for component, lengths, low, high in stretch.likely:
            before = np.add.reduceat((bound < component).astype(np.int64), starts[:-1])
            start = np.where(before == 0, span.first - length, span.left)
            ends = [
                start + np.floor(np.interp(length, lengths, share) * length).astype(np.int64)
                for share in (low, high)
            ]
            own = np.full(len(numbers), component)
            found.append((numbers, own, firsts + before, score, *ends))
    return found


@dataclass(frozen=True, slots=True)
class Spans:
    """Of each match: the first seen event, the last one before a stretch, and its length."""

    first: Words
    left: Words
    length: Words


def spans(way: Pattern, stretch: Stretch, bound: Words, when: Words, firsts: Words) -> Spans:
    """Return where a stretch lies in each match.

    `bound` and `when` are components and times of the matches' items, which begin at `firsts`.
    """
    is_left, is_right = (((side >> bound) & 1 != 0) for side in (stretch.earlier, stretch.later))
    left = np.maximum.reduceat(np.where(is_left, when, NEVER), firsts)
    right = np.minimum.reduceat(np.where(is_right, when, -NEVER), firsts)
    first, last = np.minimum.reduceat(when, firsts), np.maximum.reduceat(when, firsts)
    rest = LONGEST if way.window is None else way.window - (last - first)
    inner = (left > NEVER) & (right < -NEVER)
    return Spans(first, np.where(inner, left, last), np.where(inner, right - left, rest))


def scores(stretch: Stretch, length: Words) -> Reals:
    """Return the score of a stretch at each length."""
    cuts, powers = np.array(stretch.cuts), np.array(stretch.powers)
    inside = np.clip(length.astype(np.float64), cuts[0], cuts[-1])
    piece = np.clip(np.searchsorted(cuts, inside, side="right") - 1, 0, len(powers) - 1)
    x = 2.0 * (inside - cuts[piece]) / (cuts[piece + 1] - cuts[piece]) - 1.0
    value = np.zeros(len(inside))
    for power in reversed(range(powers.shape[1])):
        value = value * x + powers[piece, power]
    return np.clip(value, 0.0, 1.0)

"""Stretches: what was not read between two seen components, or at an end of the window.

A stretch says which components of the pattern were not read there: positive ones that the match
takes as missed, and negated ones that may have been missed too. Its score depends on nothing but
its length: the time between its seen neighbours, or what the window leaves at the ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from augury.gaps.families import Gap


@dataclass(frozen=True, slots=True)
class Unseen:
    """A component that was not read, with its gap and the chance that a read of it is missed."""

    component: int
    gap: Gap
    rate: float
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """Negated components, then the positive one whose time they share an origin with.

    `missed` is None at the end of a stretch, where the next component was seen, or nothing is to
    come. WHERE bounds the time from the origin to the positive one by `least` and `most`.
    """

    negated: tuple[Unseen, ...] = ()
    missed: Unseen | None = None
    least: float = 0.0
    most: float = math.inf

    @property
    def is_bounded(self) -> bool:
        return self.least > 0.0 or self.most < math.inf


@dataclass(frozen=True, slots=True)
class Forward:
    """From a seen component on: to the next seen one, or to the end of the window.

    All steps but the last have a missed component; each step starts where the one before it ended.
    """

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Backward:
    """Before the first seen component, as far back as the window reaches.

    `first` is the missed first component, timed back from the seen one (None: it was seen, or there
    is none), `after` the negated ones timed from it, `before` those timed back from it. WHERE
    bounds the time between the two by `least` and `most`.
    """

    first: Unseen | None = None
    after: tuple[Unseen, ...] = ()
    before: tuple[Unseen, ...] = ()
    least: float = 0.0
    most: float = math.inf


@dataclass(frozen=True, slots=True)
class Ends:
    """A missed first component and missed last ones, which share what the window leaves."""

    start: Backward
    end: Forward


Stretch = Forward | Backward | Ends


def unseen_in(stretch: Stretch) -> tuple[Unseen, ...]:
    """Return all that was not read, in the order of the pattern."""
    if isinstance(stretch, Ends):
        return unseen_in(stretch.start) + unseen_in(stretch.end)
    if isinstance(stretch, Backward):
        first = (stretch.first,) if stretch.first else ()
        return (*stretch.before, *first, *stretch.after)
    found: list[Unseen] = []
    for step in stretch.steps:
        found += step.negated
        if step.missed is not None:
            found.append(step.missed)
    return tuple(found)


def missed_in(stretch: Stretch) -> tuple[Unseen, ...]:
    """Return the positive components that the match takes as missed, in order."""
    return tuple(part for part in unseen_in(stretch) if not part.negated)


def nameless(stretch: Stretch) -> Stretch:
    """Return the stretch without saying which components it leaves unseen: it scores the same."""
    if isinstance(stretch, Ends):
        start, end = nameless(stretch.start), nameless(stretch.end)
        assert isinstance(start, Backward)
        assert isinstance(end, Forward)
        return Ends(start, end)
    if isinstance(stretch, Backward):
        first = stretch.first and replace(stretch.first, component=0)
        after, before = _nameless(stretch.after), _nameless(stretch.before)
        return replace(stretch, first=first, after=after, before=before)
    steps = tuple(
        replace(
            step,
            negated=_nameless(step.negated),
            missed=step.missed and replace(step.missed, component=0),
        )
        for step in stretch.steps
    )
    return Forward(steps)


def _nameless(parts: tuple[Unseen, ...]) -> tuple[Unseen, ...]:
    return tuple(replace(part, component=0) for part in parts)

"""What a policy looks at: events with their alternatives, and sequences that weigh something.

A pattern is a sequence of steps, each played by one event of its type. Between two steps, and
after the last, events may be forbidden. Conditions come as functions, made by planning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Values = Mapping[str, Any]
Held = tuple[Values, ...]
# Numbers before texts, NaN last; no tie-breaker before any.
Order = tuple[int, bool, Any]
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Face:
    """One alternative of an event: how likely it is, and its attributes as they are inside."""

    chance: float
    values: Values


@dataclass(frozen=True, slots=True)
class Event:
    """An event; its faces exclude each other. `tie` is its tie-breaker, comparable, or None."""

    time: int
    tie: Any
    id: Any
    type: str | None
    faces: tuple[Face, ...]

    @property
    def order(self) -> Order:
        """Where it stands: events of equal order are not in sequence."""
        return self.time, self.tie is not None, self.tie

    def later(self, shift: int) -> Event:
        """Return the event, moved in time by so much."""
        return Event(self.time + shift, self.tie, self.id, self.type, self.faces)


@dataclass(frozen=True)
class Step:
    """A component: events of `type` whose own attributes pass `fits`."""

    type: str
    fits: Callable[[Values], bool]

    def mass(self, event: Event) -> float:
        """Return how likely it is that the event happened so that it fits."""
        if event.type != self.type:
            return 0.0
        return sum(face.chance for face in event.faces if self.fits(face.values))


@dataclass(frozen=True)
class Forbidden:
    """What must not come in a gap: a step, and what it has to do with events held by then."""

    step: Step
    conditions: tuple[Callable[[Held, Values], bool], ...] = ()

    def mass(self, event: Event, held: Held) -> float:
        """Return how likely it is that the event breaks what is held."""
        if event.type != self.step.type:
            return 0.0
        return sum(
            face.chance
            for face in event.faces
            if self.step.fits(face.values) and all(c(held, face.values) for c in self.conditions)
        )


@dataclass(frozen=True)
class Pattern:
    """A sequence of steps within a window of time.

    `conditions[i]` are those that are decided once step i is held. `forbidden[i]` must not come
    between steps i - 1 and i; the last entry is for what must not follow. `takes_next`: a run goes
    on with the earliest event that fits (SKIP TILL NEXT MATCH). `equated` are the columns that are
    equal over all steps.
    """

    name: str
    steps: tuple[Step, ...]
    window: int
    conditions: tuple[tuple[Callable[[Held], bool], ...], ...]
    forbidden: tuple[tuple[Forbidden, ...], ...]
    takes_next: bool = False
    equated: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.steps)

    @cached_property
    def types(self) -> frozenset[str]:
        """The types of its steps."""
        return frozenset(step.type for step in self.steps)

    @cached_property
    def guards(self) -> frozenset[str]:
        """The types that are forbidden somewhere."""
        return frozenset(each.step.type for gap in self.forbidden for each in gap)

    @cached_property
    def step_tests(self) -> tuple[Callable[[str | None, Values], bool], ...]:
        """Which events can play each step."""
        return tuple(_any_of((step,)) for step in self.steps)

    @cached_property
    def end_tests(self) -> tuple[Callable[[str | None, Values], bool], ...]:
        """Which events end the wait before each step, and after the last."""
        return tuple(_any_of(self.ending(place)) for place in range(len(self) + 1))

    def ending(self, place: int) -> tuple[Step, ...]:
        """Return what ends the wait before a step: what is forbidden, and what is taken next."""
        taken = self.steps[place : place + 1] if self.takes_next else ()
        return (*(each.step for each in self.forbidden[place]), *taken)

    def key(self, values: Values) -> Key:
        """Return the values of the equated columns."""
        return tuple(values[column] for column in self.equated)


def _any_of(steps: tuple[Step, ...]) -> Callable[[str | None, Values], bool]:
    return lambda kind, values: any(step.type == kind and step.fits(values) for step in steps)

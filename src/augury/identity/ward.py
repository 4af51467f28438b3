"""A ward: who there is, where each begins, which ways there are, and what a row means there.

A row becomes an *act*: somebody who is in one of its `origins` does it, and is in its `place`
afterwards. A move leads from one to the other; what is done without moving ends where it begins.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from augury.errors import ModelError

Person = Any
Place = Any


@dataclass(frozen=True, slots=True)
class Row:
    """What a stream says of one event; `person` is None where the badge was not read."""

    id: Any
    time: int
    person: Person
    type: Any
    place: Place
    origin: Place = None


@dataclass(frozen=True, slots=True)
class Act:
    """An event as the law sees it: where from, where to, in which step.

    `number` counts the admitted acts of a ward. `room` is the place that the row names, by which
    preferences go.
    """

    number: int
    id: Any
    time: int
    step: int
    origins: tuple[Place, ...]
    place: Place
    room: Place
    is_move: bool


@dataclass(frozen=True)
class Ways:
    """How people get about: by a hall, or through doors of any graph.

    `doors` has the places on the other side of each place's doors; None where there is a hall.
    """

    enter: Any
    exit: Any = None
    hall: Place = None
    doors: Mapping[Place, frozenset[Place]] | None = None

    @staticmethod
    def through(passages: Iterable[tuple[Place, Place]], enter: Any) -> Ways:
        """Return the ways of a graph whose doors are passed both ways."""
        doors: dict[Place, set[Place]] = {}
        for a, b in passages:
            if a is None or b is None:
                raise ModelError("a door leads to NULL; name both of its places in DOORS")
            doors.setdefault(a, set()).add(b)
            doors.setdefault(b, set()).add(a)
        return Ways(enter, doors={place: frozenset(near) for place, near in doors.items()})


@dataclass(frozen=True)
class Ward:
    """The closed world: people by number, in their order, and where each begins."""

    people: tuple[Person, ...]
    begins: tuple[Place, ...]
    ways: Ways
    step: int
    weights: Mapping[tuple[Person, Place], float] = field(default_factory=dict)

    @staticmethod
    def of(
        staff: Iterable[tuple[Person, Place]],
        ways: Ways,
        step: int,
        weights: Mapping[tuple[Person, Place], float] | None = None,
    ) -> Ward:
        """Return a ward, whatever the order of its staff; raise where the staff is none."""
        rows = list(staff)
        _check_staff(rows, ways)
        _check_weights(weights or {})
        known = sorted(rows, key=lambda row: row[0])
        begins = tuple(ways.hall if place is None else place for _, place in known)
        # A weight of 1 says nothing, and without weights the inference is far cheaper.
        own = {key: w for key, w in (weights or {}).items() if w != 1.0}
        return Ward(tuple(person for person, _ in known), begins, ways, step, own)

    @cached_property
    def number_of(self) -> dict[Person, int]:
        """The numbers of the people."""
        return {person: k for k, person in enumerate(self.people)}

    @cached_property
    def _places(self) -> frozenset[Place]:
        return frozenset(self.ways.doors or ()) | frozenset(self.begins)

    def step_of(self, time: int) -> int:
        """Return the step of a time."""
        return time // self.step

    def act(self, row: Row, number: int) -> Act | str:
        """Return what a row means, or why it means nothing."""
        if row.type is None:
            return "the type of this event is NULL"
        if row.place is None:
            return "the place of this event is NULL"
        if row.person is not None and row.person not in self.number_of:
            return f"{row.person} is nobody of this ward"
        found = self._way(row)
        if isinstance(found, str):
            return found
        origins, place = found
        is_move = row.type in (self.ways.enter, self.ways.exit)
        step = self.step_of(row.time)
        return Act(number, row.id, row.time, step, origins, place, row.place, is_move)

    def _way(self, row: Row) -> tuple[tuple[Place, ...], Place] | str:
        if self.ways.doors is not None:
            return self._through_door(row)
        if row.type not in (self.ways.enter, self.ways.exit):
            return (row.place,), row.place
        if row.place == self.ways.hall:
            return f"{row.type} at {row.place}, which is the hall"
        if row.type == self.ways.enter:
            return (self.ways.hall,), row.place
        return (row.place,), self.ways.hall

    def _through_door(self, row: Row) -> tuple[tuple[Place, ...], Place] | str:
        assert self.ways.doors is not None
        if row.place not in self._places:
            return f"{row.place} is no place of this ward"
        if row.type != self.ways.enter:
            return (row.place,), row.place
        near = self.ways.doors.get(row.place, frozenset())
        if row.origin is None:
            return tuple(sorted(near)), row.place
        if row.origin not in near:
            return f"there is no door from {row.origin} to {row.place}"
        return (row.origin,), row.place

    def weight(self, person: int, room: Place) -> float:
        """Return the weight of a person's event at a room, if its badge was not read."""
        return self.weights.get((self.people[person], room), 1.0)


def _check_staff(rows: list[tuple[Person, Place]], ways: Ways) -> None:
    if any(person is None for person, _ in rows):
        raise ModelError("OBJECTS has a row without a person; leave it out")
    repeated = [person for person, count in Counter(p for p, _ in rows).items() if count > 1]
    if repeated:
        raise ModelError(f"OBJECTS has {repeated[0]} more than once; everyone is in one place")
    if ways.doors is not None:
        lost = [person for person, place in rows if place is None]
        if lost:
            raise ModelError(f"OBJECTS does not say where {lost[0]} begins; with DOORS it must")


def _check_weights(weights: Mapping[tuple[Person, Place], float]) -> None:
    for (person, room), w in weights.items():
        if w is None or not (w >= 0.0 and math.isfinite(w)):
            raise ModelError(f"PREFER gives {person} at {room} the weight {w}; expected 0 or more")

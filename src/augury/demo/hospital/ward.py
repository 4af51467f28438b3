"""A simulated ward with known truth: who went where, and what the badge readers say of it.

A ward has corridors; on each, workers walk from its hall into rooms and back, clean their hands or
forget to, and put on masks where they must. Readers at the doors and dispensers tell what was done,
and by whom: unless the badge was not read, the event was lost, or another badge nearby was read in
its place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

HALL = "H"
# The day begins at 7; the night from 20 to 6 is quieter.
START = datetime(2026, 3, 2, 7, tzinfo=UTC)
NIGHT = (20, 6)


@dataclass(frozen=True, slots=True)
class Care:
    """How a ward is: people, rooms, habits, and how good its readers are."""

    corridors: int = 4
    # Of each corridor; in the first rooms a mask must be worn, and the last is the psychiatrist's.
    workers: int = 8
    rooms: int = 6
    contagious: int = 2
    hours: float = 1.0
    sanitizes: float = 0.7
    washes: float = 0.3
    masks: float = 0.85
    unread: float = 0.1
    lost: float = 0.002
    mistaken: float = 0.001


@dataclass(frozen=True, slots=True)
class Act:
    """Something that was done, or what is told of it: `person` is None where no badge was read."""

    id: int
    corridor: str
    person: str | None
    action: str
    room: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Ward:
    """What happened, what was told of it, and where everybody began."""

    care: Care
    true: list[Act]
    told: list[Act]
    staff: list[dict[str, str]]

    @property
    def owners(self) -> dict[int, str | None]:
        """Who did it, by event."""
        return {act.id: act.person for act in self.true}

    @property
    def unread(self) -> int:
        return sum(act.person is None for act in self.told)


def simulate(seed: int, care: Care | None = None) -> Ward:
    """Return a ward's hours: always the same ones for a seed."""
    care, rng = care or Care(), np.random.default_rng(seed)
    corridors = [chr(ord("A") + k) for k in range(care.corridors)]
    people = {c: [f"{c}{k + 1}" for k in range(care.workers)] for c in corridors}
    days = [(c, step) for c in corridors for p in people[c] for step in _day(p, care, rng)]
    true = [
        Act(k + 1, corridor, person, action, room, START + timedelta(seconds=second))
        for k, (corridor, (second, person, action, room)) in enumerate(
            sorted(days, key=lambda each: each[1])
        )
    ]
    staff = [
        {"corridor": corridor, "person": person, "room": HALL}
        for corridor, own in people.items()
        for person in own
    ]
    return Ward(care, true, _told(true, people, care, rng), staff)


def _day(person: str, care: Care, rng: np.random.Generator) -> list[tuple[int, str, str, str]]:
    """Return what one worker does, in seconds since the start; one thing in a second."""
    found: list[tuple[int, str, str, str]] = []
    time, end = int(rng.integers(10, 400)), int(care.hours * 3600)
    while time < end:
        room = f"R{int(rng.integers(care.rooms)) + 1}"
        if rng.random() < care.sanitizes:
            found.append((time, person, "SANITIZE", HALL))
            time += int(rng.integers(3, 9))
        found.append((time, person, "ENTER", room))
        inside = time + int(rng.integers(2, 6))
        if int(room[1:]) <= care.contagious and rng.random() < care.masks:
            found.append((inside, person, "MASK", room))
        stay = int(max(15, rng.exponential(150)))
        if rng.random() < care.washes:
            found.append((time + stay - int(rng.integers(3, 8)), person, "WASH", room))
        time += stay
        found.append((time, person, "EXIT", room))
        # Some go straight on to the next room, others do something else first.
        hurries = rng.random() < 0.4
        pause = rng.integers(6, 35) if hurries else rng.exponential(240 * _quiet(time)) + 40
        time += int(pause)
    return [step for step in found if step[0] < end]


def _quiet(second: int) -> float:
    """Return by how much longer pauses are at a time: at night little happens."""
    hour = (START + timedelta(seconds=second)).hour
    return 4.0 if hour >= NIGHT[0] or hour < NIGHT[1] else 1.0


def _told(
    true: list[Act], people: dict[str, list[str]], care: Care, rng: np.random.Generator
) -> list[Act]:
    """Return what the readers tell of what was done."""
    found = []
    for act in true:
        chance = rng.random()
        if chance < care.lost:
            continue
        if chance < care.lost + care.mistaken:
            others = people[act.corridor]
            found.append(replace(act, person=others[int(rng.integers(len(others)))]))
        elif rng.random() < care.unread:
            found.append(replace(act, person=None))
        else:
            found.append(act)
    return found

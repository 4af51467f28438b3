"""A simulated ward with known truth: who went where, and what the badge readers say of it.

A ward has corridors; on each, workers walk from its hall into rooms and back, clean their hands or
forget to, and put on masks. Readers at the doors and dispensers tell what was done,
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
    # Seconds until somebody in the hall, or in a room, does something, on average.
    pause: float = 70.0
    stay: float = 110.0
    # How often that is to clean hands at the dispenser, to wash, and to put on a mask.
    sanitizes: float = 0.5
    washes: float = 0.2
    masks: float = 0.4
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
    corridors = [_letters(k) for k in range(care.corridors)]
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


def _letters(k: int) -> str:
    """Return the name of a corridor: A to Z, AA, AB, and so on."""
    before, own = divmod(k, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + own)


def _day(person: str, care: Care, rng: np.random.Generator) -> list[tuple[int, str, str, str]]:
    """Return what one worker does, in seconds since the start; one thing in a second.

    When somebody does something next hangs on the place alone: so who did what was not read is a
    matter of where everybody is, as the model of moves has it.
    """
    found: list[tuple[int, str, str, str]] = []
    time, end, at = 0, int(care.hours * 3600), HALL
    while True:
        mean = care.pause * _quiet(time) if at == HALL else care.stay
        time += max(1, round(rng.exponential(mean)))
        if time >= end:
            return found
        chance = rng.random()
        if at == HALL and chance < care.sanitizes:
            found.append((time, person, "SANITIZE", HALL))
        elif at == HALL:
            at = f"R{int(rng.integers(care.rooms)) + 1}"
            found.append((time, person, "ENTER", at))
        elif chance < (masked := care.masks * (int(at[1:]) <= care.contagious)):
            found.append((time, person, "MASK", at))
        elif chance < masked + care.washes:
            found.append((time, person, "WASH", at))
        else:
            found.append((time, person, "EXIT", at))
            at = HALL


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

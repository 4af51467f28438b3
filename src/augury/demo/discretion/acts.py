"""What is done on a ward by day and by night: acts of hygiene, and visits of a psychiatrist.

By day people come and go as it happens; by night they go their rounds. Both have a history of the
same kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

ACTS = ("EXIT", "SANITIZE", "WASH", "OFFICE")
BEGIN = {
    "day": datetime(2026, 3, 2, 8, tzinfo=UTC),
    "night": datetime(2026, 3, 2, 22, tzinfo=UTC),
}
ROUND = 20 * 60
Rows = list[dict[str, Any]]
WORKERS = ("ann", "bob", "cleo", "dan")
# Seconds from the begin, what was done, and by whom.
_Done = tuple[float, str, str]


@dataclass(frozen=True)
class Half:
    """The acts of one half of a day, and those of the days before."""

    name: str
    history: Rows
    acts: Rows


def simulate(seed: int, hours: float = 3.0) -> tuple[Half, Half]:
    """Return a day and a night."""
    rng = np.random.default_rng(seed)
    return _half("day", _by_day, rng, hours), _half("night", _by_night, rng, hours)


def _half(name: str, act: Any, rng: np.random.Generator, hours: float) -> Half:
    # Rounds stay the same from night to night.
    plan = _shifted(rng, 6, ROUND)
    before, now = act(rng, 2 * hours, plan), act(rng, hours, plan)
    return Half(name, _rows(before, name, -2 * hours, "h"), _rows(now, name, 0.0, name[0]))


def _by_day(rng: np.random.Generator, hours: float, plan: list[_Done]) -> list[_Done]:
    """Return acts that follow from each other, but come when they come."""
    del plan
    return _shifted(rng, int(rng.poisson(30 * hours)), hours * 3600)


def _by_night(rng: np.random.Generator, hours: float, plan: list[_Done]) -> list[_Done]:
    """Return rounds, of which an act is left out now and then, and some acts between."""
    found = [
        (number * ROUND + at + rng.uniform(-1, 1), act, worker)
        for number in range(int(hours * 3600 / ROUND))
        for at, act, worker in plan
        if rng.random() < 0.97
    ]
    return found + _shifted(rng, int(rng.poisson(2 * hours)), hours * 3600)


def _shifted(rng: np.random.Generator, visits: int, seconds: float) -> list[_Done]:
    """Return the acts of some visits: hands are cleaned after most, some go on to the office."""
    found: list[_Done] = []
    for at in rng.uniform(0, seconds, visits):
        worker, moment = str(rng.choice(WORKERS)), float(at)
        for act, often in (("EXIT", 0.9), ("SANITIZE", 0.7), ("WASH", 0.4), ("OFFICE", 0.6)):
            if rng.random() < often:
                found.append((moment, act, worker))
                moment += rng.uniform(20, 90)
    return sorted(found)


def _rows(done: list[_Done], name: str, shift: float, mark: str) -> Rows:
    begin = BEGIN[name] + timedelta(hours=shift)
    return [
        {
            "id": f"{mark}{number:04}",
            "act": act,
            "worker": worker,
            "at": begin + timedelta(seconds=round(at, 3)),
        }
        for number, (at, act, worker) in enumerate(sorted(done))
    ]

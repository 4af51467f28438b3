"""A day in a store whose readers miss reads: what happened to each item, and what was heard of it.

An item is taken from a shelf. It is paid for after a while, or not; it leaves after a while of its
own, or stays. An item that leaves before it is paid for is stolen, and not paid for any more. Every
reader misses each event with its own rate.

The same seed gives the same day, on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from math import inf, log
from random import Random

OPENING = datetime(2026, 3, 14, 9, tzinfo=UTC)
OPEN_MINUTES = 9 * 60.0
ITEMS = 6_000
MISSED = {"SHELF": 0.25, "COUNTER": 0.08, "EXIT": 0.15}
PAID, LEAVES = 0.93, 0.8


@dataclass(frozen=True, slots=True)
class Read:
    """One read of a tag."""

    id: int
    tag: str
    reader: str
    at: datetime


@dataclass(frozen=True)
class Day:
    """What was heard, which items were really stolen, and how many events went unheard."""

    reads: tuple[Read, ...]
    items: int
    stolen: frozenset[str]
    unheard: int

    @cached_property
    def by_tag(self) -> dict[str, list[Read]]:
        found: dict[str, list[Read]] = {}
        for read in self.reads:
            found.setdefault(read.tag, []).append(read)
        return found


def simulate(seed: int, items: int = ITEMS) -> Day:
    """Return the day of a seed."""
    rng = Random(seed)
    heard, stolen, unheard = list[tuple[datetime, str, str]](), set[str](), 0
    for number in range(1, items + 1):
        tag, visit = f"T{number:05d}", dict(_visit(rng))
        if visit.get("EXIT", inf) < visit.get("COUNTER", inf):
            stolen.add(tag)
            visit.pop("COUNTER", None)
        for reader, minute in visit.items():
            if rng.random() < MISSED[reader]:
                unheard += 1
            else:
                heard.append((OPENING + timedelta(seconds=round(60 * minute)), tag, reader))
    reads = (Read(k, tag, reader, at) for k, (at, tag, reader) in enumerate(sorted(heard), 1))
    return Day(tuple(reads), items, frozenset(stolen), unheard)


def _visit(rng: Random) -> Iterator[tuple[str, float]]:
    """Yield what happens to an item, with the minute of the day."""
    taken = rng.uniform(0.0, OPEN_MINUTES)
    yield "SHELF", taken
    if rng.random() < PAID:
        yield "COUNTER", taken + rng.lognormvariate(log(8.0), 0.5)
    if rng.random() < LEAVES:
        yield "EXIT", taken + rng.gammavariate(3.0, 25.0 / 3.0)

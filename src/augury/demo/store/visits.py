"""A business day in a store: what RFID readers say about each tagged item, and what is true.

A reader that hears a tag says how sure it is that the tag was in its zone, and not a reflection or
an item that is carried past. These readers are calibrated: whether the tag was really there is
decided by a coin of exactly that weight, one for each read. So what shoppers intend decides only
what is heard, and how clearly; what happened is the set of reads that are real.

The same seed gives the same day, on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

OPENING = datetime(2026, 3, 14, 9, tzinfo=UTC)
OPEN_MINUTES = 11 * 60
LONGEST_MINUTES = 45.0  # between two reads of an item
ITEMS = 9_000


@dataclass(frozen=True, slots=True)
class Read:
    """One read of a tag: `p` is what the reader says, `real` whether the tag was there."""

    id: int
    tag: str
    reader: str
    door: str | None
    at: datetime
    p: float
    real: bool


@dataclass(frozen=True, slots=True)
class Step:
    """A read that is to be: after how many minutes, where, and how clear it is."""

    after: float
    reader: str
    p: float
    door: str | None = None


Visit = Iterator[Step]


def simulate(seed: int, items: int = ITEMS) -> list[Read]:
    """Return the reads of a day, in order of time, numbered from 1."""
    rng = Random(seed)
    drawn = [read for number in range(1, items + 1) for read in _reads_of(number, rng)]
    drawn.sort(key=lambda read: (read[3], read[0]))
    return [Read(number, *read) for number, read in enumerate(drawn, start=1)]


Drawn = tuple[str, str, str | None, datetime, float, bool]


def _reads_of(number: int, rng: Random) -> Iterator[Drawn]:
    (visit,) = rng.choices(tuple(VISITS), tuple(VISITS.values()))
    minute = _arrival(rng)
    for step in visit(rng):
        minute += min(max(step.after, 0.1), LONGEST_MINUTES)
        at = OPENING + timedelta(seconds=round(minute * 60))
        p = round(min(max(step.p, 0.01), 0.999), 3)
        yield f"T{number:05d}", step.reader, step.door, at, p, rng.random() < p


def _arrival(rng: Random) -> float:
    # Two waves of shoppers, at noon and after work; the last ones are still served.
    while True:
        minute = rng.gauss(210, 80) if rng.random() < 0.45 else rng.gauss(470, 75)
        if 2.0 <= minute <= OPEN_MINUTES - 90.0:
            return minute


# What people do with an item ---------------------------------------------------------------------


def buys(rng: Random) -> Visit:
    """Taken, paid for, carried out: the counter reads it at the belt and again at the till."""
    yield from _taken(rng)
    yield Step(rng.lognormvariate(2.7, 0.5), "COUNTER", rng.betavariate(60, 1.2))
    yield Step(rng.uniform(0.3, 2), "COUNTER", rng.betavariate(40, 1.5))
    yield Step(rng.uniform(1, 6), "EXIT", rng.betavariate(18, 1.2), _door(rng))


def buys_in_a_crowd(rng: Random) -> Visit:
    """Bought at a busy counter, where other items hide the tag: one read, and not a clear one."""
    yield from _taken(rng)
    yield Step(rng.lognormvariate(2.7, 0.5), "COUNTER", rng.betavariate(4, 2))
    yield Step(rng.uniform(1, 6), "EXIT", rng.betavariate(18, 1.2), _door(rng))


def walks_out(rng: Random) -> Visit:
    """Carried from the shelf to the door, with nothing of a counter."""
    yield from _taken(rng)
    yield Step(rng.lognormvariate(2.4, 0.7), "EXIT", rng.betavariate(34, 1.1), _door(rng))


def slips_past_a_counter(rng: Random) -> Visit:
    """Carried out past a counter, whose reader hears the tag from afar."""
    yield from _taken(rng)
    for _ in range(rng.choice((1, 1, 2))):
        yield Step(rng.lognormvariate(2.2, 0.6), "COUNTER", rng.betavariate(1.6, 6))
    yield Step(rng.uniform(1, 8), "EXIT", rng.betavariate(34, 1.1), _door(rng))


def hides_the_tag(rng: Random) -> Visit:
    """Carried out in a lined bag: the door hears something, but not clearly."""
    yield from _taken(rng)
    yield Step(rng.lognormvariate(2.4, 0.7), "EXIT", rng.betavariate(3, 2.4), _door(rng))


def puts_back(rng: Random) -> Visit:
    """Taken and put back; a door near the shelf sometimes hears the tag."""
    yield from _taken(rng)
    yield Step(rng.uniform(1, 15), "SHELF", rng.betavariate(12, 1.5))
    if rng.random() < 0.12:
        yield Step(rng.uniform(2, 40), "EXIT", rng.betavariate(1.3, 7), _door(rng))


def changes_mind(rng: Random) -> Visit:
    """Put back, taken again after a while, and bought."""
    yield from _taken(rng)
    yield Step(rng.uniform(20, 45), "SHELF", rng.betavariate(14, 1.2))
    yield Step(rng.lognormvariate(2.5, 0.5), "COUNTER", rng.betavariate(50, 1.3))
    yield Step(rng.uniform(1, 6), "EXIT", rng.betavariate(18, 1.2), _door(rng))


def is_sent_back(rng: Random) -> Visit:
    """Carried out by staff, through the staff door: no theft, paid for or not."""
    yield from _taken(rng)
    yield Step(rng.uniform(5, 45), "EXIT", rng.betavariate(20, 1.1), "staff")


def _taken(rng: Random) -> Visit:
    yield Step(0.0, "SHELF", rng.betavariate(40, 1.2))


def _door(rng: Random) -> str:
    return rng.choice(("north", "north", "south"))


VISITS: dict[Callable[[Random], Visit], float] = {
    buys: 62.0,
    buys_in_a_crowd: 2.0,
    walks_out: 2.2,
    slips_past_a_counter: 1.8,
    hides_the_tag: 1.0,
    puts_back: 19.0,
    changes_mind: 5.0,
    is_sent_back: 7.0,
}

"""What events have begun of any pattern a policy weighs, and what is expected to come of it.

Plain sequences are followed by `prefixes`, other patterns by `threads`; here is what both can tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from augury.privacy.foresight import Foresight
from augury.privacy.machine import Machine
from augury.privacy.pattern import Event, Key, Pattern
from augury.privacy.prefixes import Counted, Prefix, Prefixes, completions_in
from augury.privacy.threads import Thread, Threads, completions

Weighable = Pattern | Machine
Begun = Prefix | Thread
# Matches that are there, and those to come.
Counts = tuple[float, float]
# Numbers of matches by the types that they are made of.
ByTypes = Mapping[frozenset[str], float]


def follower(pattern: Weighable) -> Prefixes | Threads:
    """Return what follows the beginnings of a pattern."""
    return Threads(pattern) if isinstance(pattern, Machine) else Prefixes(pattern)


def begun_by(follows: Prefixes | Threads, event: Event) -> list[Begun]:
    """Return the beginnings that end in an event."""
    return list(follows.touched(event))


def take_in(follows: Prefixes | Threads, event: Event, found: list[Begun]) -> None:
    """Take a kept event in, with what it has begun."""
    follows.add(event, found)  # type: ignore[arg-type]


def key_of(pattern: Weighable, begun: Begun) -> Key:
    """Return the equated values of a beginning."""
    return begun.key if isinstance(begun, Thread) else pattern.key(begun.held[0])


def as_is(pattern: Weighable, begun: Begun) -> float:
    """Return how far a beginning is a match with its last event, whatever comes."""
    if isinstance(begun, Prefix):
        return float(len(begun.held) == len(pattern))  # type: ignore[arg-type]
    assert isinstance(pattern, Machine)
    if not (pattern.states[begun.state].accepts and Threads(pattern).is_whole(begun)):
        return 0.0
    return begun.unharmed(begun.last, pattern.window)


def completed(pattern: Weighable, begun: Begun, events: Iterable[Event]) -> Counts:
    """Return the matches that some events make of a beginning: itself, and longer ones."""
    if isinstance(begun, Prefix):
        assert isinstance(pattern, Pattern)
        number = completions_in(pattern, begun, events)
        return (number, 0.0) if len(begun.held) == len(pattern) else (0.0, number)
    assert isinstance(pattern, Machine)
    inside = list(events)
    whole = completions(pattern, begun, inside, grows=False)
    return whole, completions(pattern, begun, inside) - whole


def foreseen(foresight: Foresight, thread: Thread) -> Counts:
    """Return what is expected of a thread by rates."""
    machine = foresight.machine
    span = float(machine.window + thread.first - thread.last)
    if span < 0.0:
        return 0.0, 0.0
    whole, more = foresight.expected(thread, span)
    return (whole if Threads(machine).is_whole(thread) else 0.0), more


@dataclass
class Tallied:
    """The expected matches of a pattern over the events taken in."""

    pattern: Weighable
    counted: Counted | Threads

    @classmethod
    def of(cls, pattern: Weighable) -> Tallied:
        if isinstance(pattern, Machine):
            return cls(pattern, Threads(pattern, counts=True))
        return cls(pattern, Counted.of(pattern))

    def add(self, event: Event) -> None:
        """Take an event in, if it matters."""
        if event.type not in self.pattern.types and event.type not in self.pattern.guards:
            return
        if isinstance(self.counted, Counted):
            self.counted.add(event)
        else:
            self.counted.add(event, self.counted.touched(event))

    @property
    def matches(self) -> ByTypes:
        """How many there are, those included that may still be broken."""
        if isinstance(self.counted, Counted):
            return {self.pattern.types: self.counted.matches}
        return self.counted.matches()

    def dump(self) -> list[Any]:
        """Return it as plain values."""
        if isinstance(self.counted, Counted):
            return [self.counted.prefixes.dump(), self.counted.total]
        return self.counted.dump()

    def load(self, value: list[Any]) -> None:
        """Become what `dump` returned."""
        if isinstance(self.counted, Counted):
            prefixes, self.counted.total = value
            self.counted.prefixes.load(prefixes)
        else:
            self.counted.load(value)


def matches_of(pattern: Weighable, events: Iterable[Event]) -> ByTypes:
    """Return the expected matches of a pattern over some events, in their order."""
    tallied = Tallied.of(pattern)
    for event in events:
        tallied.add(event)
    return tallied.matches

"""What the raw history says of a stream: how often events come that can play a step.

A rate is the expected number of events over (last - first) n / (n - 1), where n events were seen.
Under an equated attribute it is divided by the number of its values, or taken of the value at hand
where statistics are kept by that attribute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from augury.privacy.machine import Machine
from augury.privacy.pattern import Event, Key, Pattern
from augury.privacy.prefixes import event_of, event_value
from augury.records import as_key

# A pattern, whether a step is taken or a wait ends, and which one.
Slot = tuple[int, bool, int]
# An expected number of events, and how many may be among them.
Mass = tuple[float, int]


@dataclass(frozen=True, slots=True)
class Flow:
    """Rates of a pattern: those of its steps, and those that end the wait for each, and after."""

    rates: tuple[float, ...]
    leaving: tuple[float, ...]


@dataclass
class Tally:
    """Counts of the events that went by, for some patterns; `by` is a column kept apart.

    With `over`, only events of that much time count. `keeps` remembers all that count: they are
    `events`, in order, from number `begin` on.
    """

    patterns: Sequence[Pattern | Machine]
    by: str | None = None
    over: int | None = None
    keeps: bool = False
    count: int = 0
    first: int = 0
    last: int = 0
    expected: dict[tuple[Slot, Any], Mass] = field(default_factory=dict)
    values: dict[str, Counter[Any]] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    begin: int = 0

    def __post_init__(self) -> None:
        columns = {column for pattern in self.patterns for column in pattern.equated}
        self.values = {column: Counter() for column in sorted(columns)}
        self.keeps = self.keeps or self.over is not None

    def add(self, event: Event) -> None:
        """Count an event that went by."""
        if not self.count:
            self.first = event.time
        self._count(event, 1)
        self.last = event.time
        if self.keeps:
            self.events.append(event)
            self.times.append(event.time)

    def forget(self, now: int) -> None:
        """Let go of events that are too old to count at a time."""
        if self.over is None:
            return
        while self.begin < len(self.events) and self.times[self.begin] <= now - self.over:
            self._count(self.events[self.begin], -1)
            self.begin += 1
        if self.begin > len(self.events) // 2:
            del self.events[: self.begin], self.times[: self.begin]
            self.begin = 0
        self.first = self.times[self.begin] if self.begin < len(self.times) else 0

    def remembered(self) -> list[Event]:
        """Return the events that count, where they are kept."""
        return self.events[self.begin :]

    def _count(self, event: Event, sign: int) -> None:
        self.count += sign
        for column, seen in self.values.items():
            for value in {face.values[column] for face in event.faces} - {None}:
                seen[value] += sign
                if not seen[value]:
                    del seen[value]
        for slot, own, mass in self._masses(event):
            self._weigh((slot, own), mass, sign)

    def _weigh(self, slot: tuple[Slot, Any], mass: float, sign: int) -> None:
        """Add to a count or take from it; where nothing is left, no rounding is left either."""
        total, number = self.expected.get(slot, (0.0, 0))
        if number + sign:
            self.expected[slot] = total + sign * mass, number + sign
        else:
            self.expected.pop(slot, None)

    def _masses(self, event: Event) -> Iterator[tuple[Slot, Any, float]]:
        """Yield what an event adds to each count: for any value of `by`, and for its own."""
        for number, pattern in enumerate(self.patterns):
            if event.type not in pattern.types and event.type not in pattern.guards:
                continue
            for face in event.faces:
                own = face.values.get(self.by) if self.by in pattern.equated else None
                for place, plays in enumerate(pattern.step_tests):
                    if plays(event.type, face.values):
                        yield (number, False, place), own, face.chance
                for place, ends in enumerate(pattern.end_tests):
                    if ends(event.type, face.values):
                        yield (number, True, place), own, face.chance

    @property
    def length(self) -> float:
        """How much time the events took; 0 where they took none."""
        if self.count < 2:
            return 0.0
        return (self.last - self.first) * self.count / (self.count - 1)

    def flow(self, number: int, key: Key) -> Flow:
        """Return the rates of a pattern, for what has a key."""
        pattern, own = self.patterns[number], None
        share = self.length
        for column, value in zip(pattern.equated, key, strict=True):
            if column == self.by:
                own = value
            else:
                share *= max(1, len(self.values[column]))
        tests = pattern.step_tests, pattern.end_tests
        if not share:
            return Flow((0.0,) * len(tests[0]), (0.0,) * len(tests[1]))
        steps, ends = (
            tuple(
                self.expected.get(((number, end, k), own), (0.0, 0))[0] / share
                for k in range(len(tests[end]))
            )
            for end in (False, True)
        )
        return Flow(steps, ends)

    # As a value -------------------------------------------------------------------------------

    def dump(self) -> list[Any]:
        """Return the counts as plain values, and the events where they are kept."""
        expected = [[*slot, own, *mass] for (slot, own), mass in self.expected.items()]
        values = {column: list(seen.items()) for column, seen in self.values.items()}
        events = [event_value(each) for each in self.remembered()]
        return [[self.count, self.first, self.last], expected, values, events]

    def load(self, value: list[Any]) -> None:
        """Become what `dump` returned."""
        (self.count, self.first, self.last), expected, values, events = value
        self.expected = {
            ((number, end, place), as_key(own)): (mass, seen)
            for number, end, place, own, mass, seen in expected
        }
        for column, seen in values.items():
            self.values[column] = Counter({as_key(each): number for each, number in seen})
        self.events, self.begin = [event_of(each) for each in events], 0
        self.times = [each.time for each in self.events]

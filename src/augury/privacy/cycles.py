"""What comes after an event, by what came in the same stretch of earlier cycles.

For an event at t and a window W these are the stretches (t - nP, t - nP + W] of the history, for
all whole numbers n of cycles back for which the stretch lies inside the history.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from augury.privacy.pattern import Event, Pattern
from augury.privacy.prefixes import Prefix, completions_in
from augury.privacy.statistics import Tally


@dataclass(frozen=True)
class Cycles:
    """What went by, which is kept, and the length of a cycle."""

    tally: Tally
    period: int

    def stretches(self, time: int, window: int) -> Iterator[list[Event]]:
        """Yield the events of each stretch, as if they came after `time`."""
        known, times, shift = self.tally, self.tally.times, self.period
        while known.count and time - shift >= known.first:
            if time - shift + window <= known.last:
                begin = bisect_right(times, time - shift, known.begin)
                end = bisect_right(times, time - shift + window, begin)
                yield [event.later(shift) for event in known.events[begin:end]]
            shift += self.period

    def expected(
        self, pattern: Pattern, prefixes: Sequence[Prefix], dropped: frozenset[str]
    ) -> list[float] | None:
        """Return the mean number of completions of prefixes that end together; None: unknown."""
        time = prefixes[0].order[0]
        totals, count = [0.0] * len(prefixes), 0
        for stretch in self.stretches(time, pattern.window):
            count += 1
            kept = [event for event in stretch if event.type not in dropped]
            for number, prefix in enumerate(prefixes):
                inside = (each for each in kept if each.time - prefix.first <= pattern.window)
                totals[number] += completions_in(pattern, prefix, inside)
        return [total / count for total in totals] if count else None

"""What comes after an event, by what came in the same stretch of earlier cycles.

For an event at t and a window W these are the stretches (t - nP, t - nP + W] of the history, for
all whole numbers n of cycles back for which the stretch lies inside the history.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from augury.privacy.beginnings import Begun, Counts
from augury.privacy.pattern import Event
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
        self,
        window: int,
        time: int,
        prefixes: Sequence[Begun],
        dropped: frozenset[str],
        complete: Callable[[Begun, Iterable[Event]], Counts],
    ) -> list[Counts] | None:
        """Return the mean number of completions of prefixes that end at a time; None: unknown."""
        totals, count = [(0.0, 0.0)] * len(prefixes), 0
        for stretch in self.stretches(time, window):
            count += 1
            kept = [event for event in stretch if event.type not in dropped]
            for number, prefix in enumerate(prefixes):
                inside = [each for each in kept if each.time - prefix.first <= window]
                whole, more = complete(prefix, inside)
                totals[number] = totals[number][0] + whole, totals[number][1] + more
        return [(whole / count, more / count) for whole, more in totals] if count else None

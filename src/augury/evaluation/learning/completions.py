"""What completes in drawn futures, and in how many of them: of each past part, or of any.

One future counts once, by what completes first in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from augury.forecast.past import Bound
from augury.records import Reals, Words


@dataclass(frozen=True)
class Completed:
    """Matches that complete in time, one each: in which future, after how long, and of which past.

    Items `first[m]..first[m + 1]` are (component, place in the past) in the order of time.
    """

    future: Words
    wait: Reals
    first: Words
    component: Words
    place: Words

    @cached_property
    def part(self) -> Words:
        """What each has bound of the past, as one number; 0 where that is nothing."""
        found = np.zeros(len(self.future), np.uint64)
        if len(self.place):
            sizes = np.diff(self.first)
            mixed = _mixed(self.component.astype(np.uint64) << np.uint64(40), self.place)
            np.add.at(found, np.repeat(np.arange(len(sizes)), sizes), mixed)
        return found.view(np.int64)

    def bound(self, match: int, numbers: Words) -> Bound:
        """Return what one of them has bound of the past."""
        own = slice(int(self.first[match]), int(self.first[match + 1]))
        listed = zip(self.component[own].tolist(), numbers[self.place[own]].tolist(), strict=True)
        return tuple(listed)


@dataclass
class Sums:
    """How many futures complete, and the sum of their waits: of each past part, or of all."""

    counts: dict[int, int] = field(default_factory=dict)
    waits: dict[int, float] = field(default_factory=dict)
    bounds: dict[int, Bound] = field(default_factory=dict)

    def add(self, found: Completed, numbers: Words, *, by_time: bool) -> None:
        """Add the first completion of each future: of each part that is not empty, or of any."""
        part = np.zeros(len(found.future), np.int64) if by_time else found.part
        order = np.lexsort((found.wait, found.future, part))
        first = np.ones(len(order), np.bool_)
        same = (np.diff(part[order]) == 0) & (np.diff(found.future[order]) == 0)
        first[1:] = ~same
        chosen = order[first & (by_time | (np.diff(found.first)[order] > 0))]
        for match in chosen.tolist():
            key = int(part[match])
            self.counts[key] = self.counts.get(key, 0) + 1
            self.waits[key] = self.waits.get(key, 0.0) + float(found.wait[match])
            if key not in self.bounds:
                self.bounds[key] = () if by_time else found.bound(match, numbers)

    def told(self, size: int, *, by_time: bool) -> Iterator[tuple[Bound, float, float | None]]:
        """Yield forecasts and mean waits, parts in the order of their events."""
        if by_time and not self.counts:
            yield (), 0.0, None
        listed = sorted(self.counts, key=lambda key: [(n, c) for c, n in self.bounds[key]])
        for key in listed:
            count = self.counts[key]
            yield self.bounds[key], count / size, self.waits[key] / count


def _mixed(high: npt.NDArray[np.uint64], low: Words) -> npt.NDArray[np.uint64]:
    """Return one number for two, as if it were drawn: sums of them tell sets apart."""
    x = high + low.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))

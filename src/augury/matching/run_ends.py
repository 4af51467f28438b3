"""Where contiguous runs that could have gone on are known to have ended: at which event.

An event that is sure to exist lets nothing after it be a neighbour: with the first such event after
the last one taken no world leaves the run open. Without one within the window, only its end tells.

Oracle: tests/oracles/rules.py, which looks at all worlds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from augury.matching.pattern import Pattern
from augury.records import Events, Words

# A run that could take no more is known with its last event; one that nothing ended, when its
# window has.
WITH_THE_LAST, WITH_THE_WINDOW = -2, -1
# As in `augury.kernels.search.contiguity`.
SUM_ERROR = 1e-12


def run_ends(pattern: Pattern, events: Events, first_item: Words, items: Words) -> Words:
    """Return by match the place of the event with which its run is known to have ended.

    `events` are in the order of the search; items are (component, place), in the order taken.
    """
    runs = _Runs(pattern, events)
    found = np.empty(max(len(first_item) - 1, 0), np.int64)
    for m, (first, end) in enumerate(pairwise(first_item.tolist())):
        found[m] = runs.end_of(items[first:end, 0].tolist(), items[first:end, 1].tolist())
    return found


class _Runs:
    """The events among which runs lie; which components may go on is remembered."""

    def __init__(self, pattern: Pattern, events: Events) -> None:
        self.pattern, self.events = pattern, events
        self.leaves = {edge.source for edge in pattern.edges}
        self.known: dict[tuple[int, ...], bool] = {}

    def end_of(self, components: Sequence[int], places: Sequence[int]) -> int:
        if not self._goes_on(tuple(components)):
            return WITH_THE_LAST
        events, last = self.events, places[-1]
        assert self.pattern.window is not None
        deadline = events.time[places[0]] + self.pattern.window
        place = last + 1
        while place < len(events) and events.partition[place] == events.partition[last]:
            if events.time[place] > deadline:
                break
            if self._counts(place, places) and self._is_sure(place, places):
                return place
            place += 1
        return WITH_THE_WINDOW

    def _goes_on(self, components: tuple[int, ...]) -> bool:
        """Return whether a run that took these components could take another event."""
        if components not in self.known:
            states = {0}
            for component in components:
                edges = [e for e in self.pattern.edges if e.component == component]
                states = {edge.target for edge in edges if edge.source in states}
            ends = (state for state in states if self.pattern.accepting[state])
            self.known[components] = any(state in self.leaves for state in ends)
        return self.known[components]

    def _is_before(self, a: int, b: int) -> bool:
        time, tie, stream = self.events.time, self.events.tie, self.events.stream
        if time[a] != time[b]:
            return bool(time[a] < time[b])
        return bool(stream[a] == stream[b] and tie[a] < tie[b])

    def _counts(self, place: int, places: Sequence[int]) -> bool:
        """Return whether a run must not skip an event: it comes after all that was taken."""
        last, key = places[-1], self.events.key
        if self.pattern.strategy == "PARTITION" and key[place] != key[last]:
            return False
        beside = (self.events.time[each] == self.events.time[place] for each in places)
        if not self._is_before(last, place):
            return False
        return not any(
            same and not self._is_before(each, place) and not self._is_before(place, each)
            for same, each in zip(beside, places, strict=True)
        )

    def _is_sure(self, place: int, places: Sequence[int]) -> bool:
        """Return whether it, or an alternative of its time, is sure to exist."""
        events = self.events
        if events.p[place] >= 1.0:
            return True
        group, mass = events.group[place], 0.0
        if group < 0:
            return False
        each = place
        while each > places[-1] and events.time[each] == events.time[place]:
            if events.group[each] == group and self._counts(each, places):
                mass += float(events.p[each])
            each -= 1
        return mass >= 1.0 - SUM_ERROR

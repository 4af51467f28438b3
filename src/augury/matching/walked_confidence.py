"""Confidence by a walk over the events in their order, where a formula would take many cases.

Two doubts that a product cannot settle are told by a walk. A negated composite such as !SEQ(B, A):
how far an instance of it has come is all that matters of the past. A window of events with a
negation at an open end: how many events exist so far is all that matters. Both are carried as
distributions from event to event, and what matches share is walked once.

Only where events are independent, in one order without ties, and nothing else is in doubt; the
rest, and what is wanted as lineage, is left to formulas (`resolve_confidence`), which are the
oracle of this in the tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from augury.kernels.search import layout
from augury.matching.pattern import Guard, Pattern
from augury.records import Events, Flags, Words

Item = tuple[int, int]
# Events that must be absent, and since when (see `kernels.search.layout`).
Absent = tuple[int, list[int]]


@dataclass(frozen=True)
class Walks:
    """What walks over sorted events know of one pattern; what is known is kept."""

    pattern: Pattern
    events: Events
    _free_from: dict[int, list[float]] = field(default_factory=dict)
    _rows: dict[tuple[int, int, int, tuple[int, ...]], float] = field(default_factory=dict)

    @classmethod
    def of(cls, pattern: Pattern, events: Events) -> Walks | None:
        """Return the walks of a pattern, or None where it needs formulas."""
        composites = [guard for guard in pattern.guards if guard.inside is not None]
        doubts = (pattern.count_window is not None) + len(composites)
        other = pattern.stretches or pattern.variants or pattern.is_ambiguous
        if doubts != 1 or other or not all(map(_is_walked, composites)):
            return None
        if not len(events) or (events.group >= 0).any() or _has_ties(events).any():
            return None
        return cls(pattern, events)

    def confidence(self, items: Sequence[Item], absents: Sequence[Absent]) -> float | None:
        """Return the confidence of a match; None where it needs a formula."""
        never = [who for who, since in absents if since == [layout.ALWAYS_ABSENT]]
        unless = [who for who, since in absents if since == [layout.UNLESS_OUTSIDE]]
        if len(never) + len(unless) < len(absents):
            return None
        found = self._product([e for _, e in items], never)
        if self.pattern.count_window is not None:
            return found * self._room([e for _, e in items], never, unless)
        (guard,) = (guard for guard in self.pattern.guards if guard.inside is not None)
        free = None if unless else self._free(guard, items, never)
        return None if free is None else found * free

    def _product(self, there: Iterable[int], absent: Iterable[int]) -> float:
        p, found = self.events.p, 1.0
        for e in there:
            found *= float(p[e])
        for e in absent:
            found *= 1.0 - float(p[e])
        return found

    # Negated composites -----------------------------------------------------------------------

    def _free(self, guard: Guard, items: Sequence[Item], never: Sequence[int]) -> float | None:
        """Return P(no instance of the composite lies in its gap)."""
        if not any((guard.company >> c) & 1 for c, _ in items):
            return 1.0
        low, high = self._gap(guard, items)
        if any(low <= e < high for e in (*never, *(e for _, e in items))):
            return None
        if high <= low:
            return 1.0
        return self._free_until(guard, low, high)

    def _gap(self, guard: Guard, items: Sequence[Item]) -> tuple[int, int]:
        """Return the events between what stands before the composite and what stands after it."""
        left = [e for c, e in items if (guard.earlier >> c) & 1]
        right = [e for c, e in items if (guard.later >> c) & 1]
        taken = [e for _, e in items]
        begin, stop = _partition_of(self.events, taken[0])
        time, window = self.events.time[begin:stop], self.pattern.window
        low, high = begin, stop
        if left:
            low = max(left) + 1
        elif window is not None:
            oldest = int(self.events.time[max(taken)]) - window
            low = begin + int(np.searchsorted(time, oldest, "left"))
        if right:
            high = min(right)
        elif window is not None:
            latest = int(self.events.time[min(taken)]) + window
            high = begin + int(np.searchsorted(time, latest, "right"))
        return low, high

    def _free_until(self, guard: Guard, low: int, high: int) -> float:
        """Return P(no instance among the events from low to before high)."""
        known = self._free_from.setdefault(low, [1.0])
        if len(known) <= high - low:
            known[:] = self._walked(guard, low, high)
        return known[high - low]

    def _walked(self, guard: Guard, low: int, high: int) -> list[float]:
        """Return P(no instance) before every end up to high; as all begin one way, in one walk."""
        assert guard.inside is not None
        order = [edge.component for edge in guard.inside.edges]
        # How likely an instance has come so far, and no farther.
        reached, free = [1.0, *[0.0] * (len(order) - 1)], [1.0]
        for e in range(low, high):
            p, mask = float(self.events.p[e]), int(self.events.mask[e])
            lost = 0.0
            for k in range(len(order) - 1, -1, -1):
                if (mask >> order[k]) & 1:
                    gone = reached[k] * p
                    reached[k] -= gone
                    if k + 1 < len(order):
                        reached[k + 1] += gone
                    else:
                        lost = gone
            free.append(max(0.0, free[-1] - lost))
        return free

    # Windows of events ------------------------------------------------------------------------

    def _room(self, taken: list[int], never: Sequence[int], unless: Sequence[int]) -> float:
        """Return P(the window holds all that exists from first to last, and nothing forbidden).

        Events beyond the ends are forbidden as far as the window has room for them.
        """
        assert self.pattern.count_window is not None
        first, last = min(taken), max(taken)
        most = self.pattern.count_window - len(taken)
        if most < 0:
            return 0.0
        out = {*taken, *never}
        inner = [float(self.events.p[e]) for e in range(first + 1, last) if e not in out]
        before = tuple(e for e in unless if e < first)
        after = tuple(e for e in unless if e > last)
        if len(before) + len(after) < len(unless):
            inside = {e for e in unless if first < e < last}
            # Between first and last nothing is outside.
            return self._room(taken, [*never, *inside], [*before, *after]) * self._product(
                (), inside
            )
        found = 0.0
        for n, chance in enumerate(_counted(inner, most)):
            if chance > 0.0:
                back = self._none_of(first, -1, most - n, before)
                found += chance * back * self._none_of(last, 1, most - n, after)
        return found

    def _none_of(self, origin: int, step: int, room: int, forbidden: tuple[int, ...]) -> float:
        """Return P(none of the first `room` events that exist from an event on is forbidden)."""
        if not forbidden or room == 0:
            return 1.0
        key = (origin, step, room, forbidden)
        if key not in self._rows:
            begin, stop = _partition_of(self.events, origin)
            line = range(origin - 1, begin - 1, -1) if step < 0 else range(origin + 1, stop)
            self._rows[key] = self._spared(line, room, frozenset(forbidden))
        return self._rows[key]

    def _spared(self, line: Iterable[int], room: int, forbidden: frozenset[int]) -> float:
        """Return P(none of the first `room` events of a line that exist is forbidden)."""
        count, full = [1.0, *[0.0] * (room - 1)], 0.0
        for e in line:
            p = float(self.events.p[e])
            if e not in forbidden:
                full += count[-1] * p
            for n in range(room - 1, 0, -1):
                more = 0.0 if e in forbidden else count[n - 1] * p
                count[n] = count[n] * (1.0 - p) + more
            count[0] *= 1.0 - p
        return full + sum(count)


def _is_walked(guard: Guard) -> bool:
    """Whether a negated composite is single events in turn, which no condition ties to others."""
    assert guard.inside is not None
    own, n = guard.inside, len(guard.inside.edges)
    steps = [(edge.source, edge.target) for edge in own.edges]
    return (
        not guard.rules
        and not own.guards
        and steps == [(k, k + 1) for k in range(n)]
        and own.accepting == (*(False,) * n, True)
        and not any(edge.adjacent or edge.yields for edge in own.edges)
    )


def _counted(chances: Iterable[float], most: int) -> list[float]:
    """Return P(exactly n of them exist), for n up to `most`."""
    found = [1.0, *[0.0] * most]
    for p in chances:
        for n in range(most, 0, -1):
            found[n] = found[n] * (1.0 - p) + found[n - 1] * p
        found[0] *= 1.0 - p
    return found


def _has_ties(events: Events) -> Flags:
    """Return which events are not before the next one of their partition."""
    apart = events.partition[1:] != events.partition[:-1]
    later = events.time[1:] > events.time[:-1]
    same = (events.time[1:] == events.time[:-1]) & (events.stream[1:] == events.stream[:-1])
    tied: Flags = ~(apart | later | (same & (events.tie[1:] > events.tie[:-1])))
    return tied


def _partition_of(events: Events, event: int) -> tuple[int, int]:
    partition: Words = events.partition
    begin = int(np.searchsorted(partition, partition[event], "left"))
    return begin, int(np.searchsorted(partition, partition[event], "right"))

"""Settle matches whose confidence is not a plain product: build their lineage and value it.

Needed where a neighbour of a NEXT(...), the end of a contiguous run or of a window of events is in
doubt, where a negation has several components, where ties lead to one match in several ways, and
where events are derived from others. Exact, event by event, and in plain Python: the search kernel
has already dropped what cannot reach the threshold, and most matches never come here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Literal

import numpy as np

from augury.kernels.search import layout
from augury.kernels.search.predicates import Predicates
from augury.matching.arena import Report
from augury.matching.find import Found, find
from augury.matching.inferred import scores, spans
from augury.matching.lineage import (
    TRUE,
    Formula,
    Is,
    at_most,
    conjunction,
    disjunction,
    negation,
    probability,
)
from augury.matching.pattern import Guard, Pattern, Stretch
from augury.matching.walked_confidence import Walks
from augury.records import Events, Matches

TOLERANCE = 1e-9
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
Item = tuple[int, int]


@dataclass(frozen=True)
class ConfidenceResolver:
    """All that lineage needs: the sorted events, what each row is made of, and the pattern.

    `formula_of` gives the lineage of a row over base events, whose `chances` are independent.
    """

    pattern: Pattern
    events: Events
    predicates: Predicates
    formula_of: Callable[[int], Formula]
    chances: dict[Any, dict[Any, float]]

    def resolve(self, matches: Matches) -> tuple[Matches, list[Formula]]:
        """Return the matches that pass the threshold, with final confidences and their lineage."""
        place = {int(row): k for k, row in enumerate(self.events.row)}
        kept, formulas, confidences = [], list[Formula](), []
        for m, formula in self.united(matches, place):
            confidence = probability(formula, self.chances)
            if self._passes(confidence):
                kept.append(m)
                formulas.append(formula)
                confidences.append(confidence)
        passing = matches.only(np.array(kept, np.int64))
        return passing.settled(np.array(confidences, np.float64)), formulas

    def resolve_pending(self, matches: Matches) -> Matches:
        """Resolve only what is not final yet: by walks where they tell, by formulas otherwise."""
        final, pending = np.flatnonzero(matches.is_final), np.flatnonzero(~matches.is_final)
        done, doubtful = matches.only(final), matches.only(pending)
        walked = self._walked(doubtful)
        passing = [m for m, p in enumerate(walked) if p is not None and self._passes(p)]
        known = doubtful.only(np.array(passing, np.int64))
        known = known.settled(np.array([walked[m] for m in passing], np.float64))
        rest = np.array([m for m, p in enumerate(walked) if p is None], np.int64)
        settled, _ = self.resolve(doubtful.only(rest))
        joined = Matches.joined(done.settled(done.confidence), known)
        return Matches.joined(joined, settled)

    def _walked(self, matches: Matches) -> list[float | None]:
        """Return the confidence of each match that needs no formula."""
        walks = Walks.of(self.pattern, self.events)
        if walks is None:
            return [None] * len(matches)
        place = {int(row): k for k, row in enumerate(self.events.row)}
        return [
            walks.confidence(_items(matches, m, place), _absents(matches, m, place))
            for m in range(len(matches))
        ]

    def lineage(self, matches: Matches) -> tuple[Matches, list[Formula]]:
        """Return each match once, and its lineage, whatever that is worth."""
        place = {int(row): k for k, row in enumerate(self.events.row)}
        found = list(self.united(matches, place))
        numbers = np.array([m for m, _ in found], np.int64)
        return matches.only(numbers), [formula for _, formula in found]

    def united(self, matches: Matches, place: dict[int, int]) -> Iterator[tuple[int, Formula]]:
        """Yield each match once, by its first number, with all ways in which it is an answer."""
        ways: dict[object, list[int]] = {}
        for m in range(len(matches)):
            same = frozenset(_items(matches, m, place)) if self.pattern.is_ambiguous else m
            ways.setdefault(same, []).append(m)
        for numbers in ways.values():
            each = [conjunction(self._way(matches, m)._parts(matches, m, place)) for m in numbers]
            yield numbers[0], disjunction(each) if len(each) > 1 else each[0]

    def _way(self, matches: Matches, m: int) -> ConfidenceResolver:
        """Return the settlement by the variant of the pattern that match m is of."""
        if not self.pattern.variants:
            return self
        missed = int(matches.missed[m])
        way = next(way for way in self.pattern.ways if way.missed == missed)
        return replace(self, pattern=replace(way, variants=()))

    def _passes(self, confidence: float) -> bool:
        if self.pattern.strict_threshold:
            return confidence > self.pattern.threshold + TOLERANCE
        return confidence > 0.0 and confidence >= self.pattern.threshold - TOLERANCE

    def _parts(self, matches: Matches, m: int, place: dict[int, int]) -> Iterator[Formula]:
        """Yield what must be true for match m to be an answer."""
        items = _items(matches, m, place)
        for _, event in items:
            yield self._exists(event)
        for who, since in _absents(matches, m, place):
            yield self._is_passed_over(who, since, items)
        for guard in self.pattern.guards:
            if guard.inside is not None:
                yield from self._is_free_of(guard, items)
        yield self._is_within(items)
        for stretch in self.pattern.stretches:
            yield self._is_as_needed(stretch, items)

    def _is_as_needed(self, stretch: Stretch, items: Sequence[Item]) -> Formula:
        """Say that what was not read is as the match needs it: one choice per stretch.

        Matches that leave the same components unseen between the same events share it.
        """
        bound = np.array([component for component, _ in items])
        when = self.events.time[[event for _, event in items]]
        length = spans(self.pattern, stretch, bound, when, np.zeros(1, np.int64)).length
        left = [e for c, e in items if (stretch.earlier >> c) & 1]
        right = [e for c, e in items if (stretch.later >> c) & 1]
        ends = (max(left, default=-1), min(right, default=-1))
        rows = tuple(int(self.events.row[e]) if e >= 0 else -1 for e in ends)
        pattern = self.pattern
        block = (
            "unseen",
            pattern.query,
            pattern.missed & stretch.unseen,
            stretch.unseen,
            rows,
            int(length[0]),
        )
        self.chances.setdefault(block, {True: float(scores(stretch, length)[0])})
        return Is(block, True)

    def _exists(self, event: int) -> Formula:
        return self.formula_of(int(self.events.row[event]))

    def _is_passed_over(self, who: int, since: Sequence[int], items: Sequence[Item]) -> Formula:
        """Say that the event is absent, or could not have been taken."""
        parts = [self._exists(who)]
        for previous in since:
            if previous == layout.UNLESS_OUTSIDE:
                parts.append(self._is_within([*items, (-1, who)]))
            elif previous == layout.UNLESS_SKIPPED:
                parts += [negation(self._exists(e)) for e in self._skipped(who, items)]
            elif previous != layout.ALWAYS_ABSENT:
                inside = range(previous + 1, who)
                between = (e for e in inside if self._lies_between(previous, e, who))
                parts += [negation(self._exists(e)) for e in between]
        return negation(conjunction(parts))

    def _skipped(self, who: int, items: Sequence[Item]) -> Iterator[int]:
        """Yield what a contiguous run would have skipped after its last event by taking `who`.

        What it would have skipped before that must be absent anyway.
        """
        taken = [e for _, e in takewhile(lambda item: not self.is_before(who, item[1]), items)]
        time, key = self.events.time, self.events.key
        first = taken[-1]
        while first > 0 and time[first - 1] == time[taken[-1]]:
            first -= 1
        for e in range(first, who):
            apart = all(self.is_before(t, e) or self.is_before(e, t) for t in taken)
            follows = apart and any(self.is_before(t, e) for t in taken)
            counts = self.pattern.strategy != "PARTITION" or key[e] == key[who]
            if follows and counts and self.is_before(e, who):
                yield e

    def _is_within(self, items: Sequence[Item]) -> Formula:
        """Say that the window of events, if there is one, holds the items and what lies between."""
        if self.pattern.count_window is None:
            return TRUE
        others = [self._exists(e) for e in self._inner_events(items)]
        return at_most(self.pattern.count_window - len(items), others)

    def _slice(self, event: int) -> range:
        partition = self.events.partition
        sides = (np.searchsorted(partition, partition[event], side) for side in _SIDES)
        return range(*map(int, sides))

    def _lies_between(self, a: int, e: int, b: int) -> bool:
        key = self.events.key
        return key[e] == key[b] and self.is_before(a, e) and self.is_before(e, b)

    def is_before(self, a: int, b: int) -> bool:
        """Whether event a lies strictly before b."""
        events = self.events
        if events.time[a] != events.time[b]:
            return bool(events.time[a] < events.time[b])
        return bool(events.stream[a] == events.stream[b] and events.tie[a] < events.tie[b])

    def _inner_events(self, items: Sequence[Item]) -> Iterator[int]:
        """Yield the events outside the match that lie between two of its events."""
        taken = [event for _, event in items]
        for e in range(min(taken) + 1, max(taken)):
            follows = any(self.is_before(t, e) for t in taken)
            if e not in taken and follows and any(self.is_before(e, t) for t in taken):
                yield e

    # Negations of several components ----------------------------------------------------------

    def _is_free_of(self, guard: Guard, items: Sequence[Item]) -> Iterator[Formula]:
        """Yield, for each instance of a negated composite in its gap, that it did not happen."""
        if not any((guard.company >> component) & 1 for component, _ in items):
            return
        gap = [e for e in self._slice(items[0][1]) if self._is_in_gap(guard, items, e)]
        if gap:
            is_open = not all(
                any((side >> c) & 1 for c, _ in items) for side in (guard.earlier, guard.later)
            )
            for instance, formula in self._instances(guard, items, gap):
                inside = [self._is_within([*items, own]) for own in instance] if is_open else []
                yield negation(conjunction([formula, *inside]))

    def _is_in_gap(self, guard: Guard, items: Sequence[Item], event: int) -> bool:
        left = [e for c, e in items if (guard.earlier >> c) & 1]
        right = [e for c, e in items if (guard.later >> c) & 1]
        if not all(self.is_before(e, event) for e in left):
            return False
        if not all(self.is_before(event, e) for e in right):
            return False
        return bool(left and right) or self._is_in_window(items, event)

    def _is_in_window(self, items: Sequence[Item], event: int) -> bool:
        if self.pattern.window is None:
            return True
        times = [int(self.events.time[e]) for _, e in items] + [int(self.events.time[event])]
        return max(times) - min(times) <= self.pattern.window

    def _instances(
        self, guard: Guard, items: Sequence[Item], gap: Sequence[int]
    ) -> Iterator[tuple[list[Item], Formula]]:
        assert guard.inside is not None
        mask = np.zeros_like(self.events.mask)
        mask[gap] = self.events.mask[gap]
        events = replace(self.events, mask=mask)
        report = Report(-layout.FOREVER, layout.FOREVER, independent=False)
        everything = np.arange(len(events))
        found = find(guard.inside, events, everything, self.predicates, report, items)
        inner = replace(self, pattern=guard.inside, events=events)
        yield from inner._found(found, items)

    def _found(self, found: Found, outer: Sequence[Item]) -> Iterator[tuple[list[Item], Formula]]:
        for m in range(len(found)):
            own = found.items[found.first_item[m] : found.first_item[m + 1]]
            items = [(int(c), int(e)) for c, e in own]
            absents = found.absents[found.first_absent[m] : found.first_absent[m + 1]].tolist()
            parts = [self._exists(e) for _, e in items]
            parts += [self._is_passed_over(who, since, items) for who, since in _joined(absents)]
            for guard in self.pattern.guards:
                if guard.inside is not None:
                    parts += self._is_free_of(guard, [*outer, *items])
            yield items, conjunction(parts)


def _items(matches: Matches, m: int, place: dict[int, int]) -> list[Item]:
    rows = slice(int(matches.first_item[m]), int(matches.first_item[m + 1]))
    pairs = zip(matches.component[rows], matches.row[rows], strict=True)
    return [(int(c), place[int(row)]) for c, row in pairs]


def _absents(matches: Matches, m: int, place: dict[int, int]) -> list[tuple[int, list[int]]]:
    rows = slice(int(matches.first_absent[m]), int(matches.first_absent[m + 1]))
    pairs = zip(matches.absent_row[rows].tolist(), matches.absent_since[rows].tolist(), strict=True)
    return _joined((place[who], place[since] if since >= 0 else since) for who, since in pairs)


def _joined(absents: Iterable[tuple[int, int]]) -> list[tuple[int, list[int]]]:
    """Return each absent event with all that it would have been the neighbour of."""
    found: list[tuple[int, list[int]]] = []
    for who, since in absents:
        if since == layout.ALSO_SINCE:
            found[-1][1].append(who)
        elif since == layout.ALSO_SKIPPED:
            found[-1][1].append(layout.UNLESS_SKIPPED)
        else:
            found.append((who, [since]))
    return found

"""How likely a query holds, from sampled worlds: each is drawn, and the query is run on it.

For hard queries that are no chains, where a condition looks at several events. No possible match is
listed: in one world all events are certain, there are few matches or one is enough, and what a
world costs grows with its events. The number of worlds follows from the bound asked for
(`matching.sampled`). Every event is drawn by itself, alternatives together, and a Markovian object
as a path.

Oracle: tests/oracles/worlds.py, within the bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from augury.analysis.checked import CheckedQuery
from augury.evaluation.answers.match_answers import Inputs, gather
from augury.evaluation.answers.windows import windows_of
from augury.evaluation.enumeration import Enumeration, Kept
from augury.evaluation.probability.markov_objects import MarkovObject
from augury.language.expressions import Attribute
from augury.matching.backwards import reversed_pattern
from augury.matching.matcher import sort_order
from augury.planning.graph import is_by_time
from augury.planning.match_plan import MatchPlan
from augury.records import Events, Flags, Matches, Words

Row = tuple[tuple[Any, ...], int | None, float]
# Worlds whose paths are drawn together: their memory is bounded, and a step is one operation.
AT_ONCE = 256
# Of each Markovian stream: the number of its first row, and its objects.
Hidden = Sequence[tuple[int, Sequence[MarkovObject]]]


def sampled_worlds(
    evaluation: Enumeration, inputs: Inputs, hidden: Hidden, size: int, seed: int
) -> Iterator[Row]:
    """Yield P(the query holds) of each group and time or window, from `size` worlds."""
    events = evaluation.events
    sorted_once = replace(evaluation, events=events.take(sort_order(events)))
    draws = Draws.of(sorted_once.events, hidden, np.random.default_rng(seed))
    tally = _Tally.of(evaluation.plan.query, inputs)
    for world in draws.worlds(size):
        tally.add(replace(sorted_once, events=world))
    yield from tally.rows(size)


# Worlds -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Draws:
    """Which events happen in a world.

    Event e happens where the draw of its block `block[e]` falls between `low[e]` and `high[e]`;
    those of hidden objects where a path passes by their row.
    """

    events: Events
    hidden: Hidden
    block: Words
    low: np.ndarray
    high: np.ndarray
    rng: np.random.Generator

    @classmethod
    def of(cls, events: Events, hidden: Hidden, rng: np.random.Generator) -> Draws:
        """Return how worlds of the events are drawn."""
        n = len(events)
        alone = events.group < 0
        _, block = np.unique(np.where(alone, -1 - np.arange(n), events.group), return_inverse=True)
        p = np.where(_rows_of(hidden, events.row), 0.0, events.p)
        order = np.argsort(block, kind="stable")
        total = np.cumsum(p[order])
        first = np.concatenate([[True], np.diff(block[order]) > 0])[:n]
        before = np.repeat((total - p[order])[first], np.diff([*np.flatnonzero(first), n]))
        low = np.empty(n)
        low[order] = total - p[order] - before
        return cls(events, hidden, block.reshape(-1), low, low + p, rng)

    def worlds(self, size: int) -> Iterator[Events]:
        """Yield the events of each world, all certain."""
        n_blocks = int(self.block.max(initial=-1)) + 1
        for first in range(0, size, AT_ONCE):
            passed = self._passed(min(AT_ONCE, size - first))
            for k in range(min(AT_ONCE, size - first)):
                drawn = self.rng.random(n_blocks)[self.block]
                there = (drawn >= self.low) & (drawn < self.high)
                if passed is not None:
                    there |= np.isin(self.events.row, passed[:, k])
                yield _certain(self.events.take(there))

    def _passed(self, size: int) -> Words | None:
        """Return the rows (steps, worlds) that the paths of hidden objects pass by; -1: none."""
        found = [
            row
            for first, objects in self.hidden
            for own in objects
            for row in self._path(own, first, size)
        ]
        return np.stack(found) if found else None

    def _path(self, own: MarkovObject, first: int, size: int) -> Iterator[Words]:
        value = np.zeros(size, np.int64)
        for step in own.steps:
            edges = np.cumsum(step.table, axis=1)[value]
            value = (edges < self.rng.random((size, 1))).sum(axis=1)
            value = np.minimum(value, step.table.shape[1] - 1)
            rows = np.array([-1 if row is None else first + row for row in step.rows])
            yield rows[value]


def _rows_of(hidden: Hidden, rows: Words) -> Flags:
    """Return which rows are of hidden objects."""
    own = [
        first + row
        for first, objects in hidden
        for each in objects
        for step in each.steps
        for row in step.rows
        if row is not None
    ]
    return np.isin(rows, np.array(own, np.int64))


def _certain(events: Events) -> Events:
    n = len(events)
    return replace(events, p=np.ones(n), group=np.full(n, -1, np.int64))


# Answers ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tally:
    """In how many worlds the query holds, by group, at each of the labels."""

    query: CheckedQuery
    inputs: Inputs
    labels: Sequence[int | None]
    spans: Sequence[tuple[int, int] | None]
    codes: Sequence[tuple[int, Words]]
    values: Sequence[list[Any]]
    found: dict[tuple[Any, ...], Words]

    @classmethod
    def of(cls, query: CheckedQuery, inputs: Inputs) -> _Tally:
        if is_by_time(query):
            labels: list[int | None] = np.unique(inputs.time).tolist()
            spans: list[tuple[int, int] | None] = [None]
        else:
            windows = list(windows_of(query, inputs.time))
            labels, spans = [start for start, _ in windows], [span for _, span in windows]
        codes, values = [], []
        for node in query.group_by:
            component, own, known = _codes(query, node, inputs)
            codes.append((component, own))
            values.append(known)
        found = {} if query.group_by else {(): np.zeros(len(labels), np.int64)}
        return cls(query, inputs, labels, spans, codes, values, found)

    def add(self, world: Enumeration) -> None:
        """Count one world."""
        if is_by_time(self.query):
            matches = world.in_one_world("ends" if is_told_by("ends", world.plan) else "all")
            for group, own in self._by_group(matches):
                self._count(group, self._recent(_ends(matches, self.inputs)[own]))
            return
        keeps: Kept = "starts" if is_told_by("starts", world.plan) else "all"
        for k, span in enumerate(self.spans):
            inside = world
            if span is not None:
                time = world.events.time
                held = (time >= span[0]) & (time < span[1])
                inside = replace(world, events=world.events.take(held))
            for group, _ in self._by_group(inside.in_one_world(keeps)):
                self._count(group, np.array([k]))

    def rows(self, size: int) -> Iterator[Row]:
        """Yield the share of worlds in which the query holds."""
        named = {self._named(group): own for group, own in self.found.items()}
        for group in sorted(named, key=repr):
            for label, count in zip(self.labels, named[group].tolist(), strict=True):
                yield group, label, count / size

    def _named(self, group: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(values[code] for values, code in zip(self.values, group, strict=True))

    def _count(self, group: tuple[int, ...], places: Words) -> None:
        if group not in self.found:
            self.found[group] = np.zeros(len(self.labels), np.int64)
        self.found[group][places] += 1

    def _recent(self, ends: Words) -> Words:
        """Return the labels at which a match has ended, or not long before (OVER)."""
        times = np.array(self.labels, np.int64)
        held = np.zeros(len(times), np.int64)
        held[np.searchsorted(times, ends)] = 1
        before = np.concatenate([[0], np.cumsum(held)])
        first = np.searchsorted(times, times - (self.query.over or 1), "right")
        recent: Words = np.flatnonzero(before[1:] > before[first])
        return recent

    def _by_group(self, matches: Matches) -> Iterator[tuple[tuple[int, ...], Words]]:
        """Yield each group that has a match, and its matches."""
        if not len(matches):
            return
        if not self.codes:
            yield (), np.arange(len(matches))
            return
        owner = np.repeat(np.arange(len(matches)), np.diff(matches.first_item))
        own = np.full((len(matches), len(self.codes)), -1, np.int64)
        for g, (component, codes) in enumerate(self.codes):
            # The first event of a repetition names the group: the last one written stays.
            of_it = np.flatnonzero(matches.component == component)[::-1]
            own[owner[of_it], g] = codes[matches.row[of_it]]
        groups, number = np.unique(own, axis=0, return_inverse=True)
        for k, group in enumerate(groups.tolist()):
            yield tuple(group), np.flatnonzero(number.reshape(-1) == k)


def is_told_by(end: Literal["starts", "ends"], plan: MatchPlan) -> bool:
    """Return whether all matches that begin, or end, with one event are of one group."""
    query, edges = plan.query, plan.pattern.edges
    told = {
        member
        for equality in query.equalities
        if equality.covers_all
        for member in equality.members
    }
    outermost = None
    if reversed_pattern(plan.pattern) is not None:
        outermost = edges[0 if end == "starts" else -1].component
    components = [(_component(query, node), node) for node in query.group_by]
    return all(
        component == outermost or (component, node.name) in told
        for component, node in components
        if isinstance(node, Attribute)
    )


def _component(query: CheckedQuery, node: Any) -> int:
    return next(c.index for c in query.components if c.name == node.component)


def _codes(query: CheckedQuery, node: Any, inputs: Inputs) -> tuple[int, Words, list[Any]]:
    """Return the component of a GROUP BY attribute, a code for each row, and what codes mean."""
    component = _component(query, node)
    kind = query.type_of_attribute(component, node.name)
    rows = np.arange(len(inputs.time))
    values = gather(inputs, node.name, rows, kind).to_pylist()
    # The code -1 is of a match without the component.
    known = list(dict.fromkeys([*values, None]))
    known = [value for value in known if value is not None] + [None]
    numbers = {value: k for k, value in enumerate(known)}
    return component, np.array([numbers[value] for value in values], np.int64), known


def _ends(matches: Matches, inputs: Inputs) -> Words:
    if not len(matches):
        return np.zeros(0, np.int64)
    ends: Words = np.maximum.reduceat(inputs.time[matches.row], matches.first_item[:-1])
    return ends

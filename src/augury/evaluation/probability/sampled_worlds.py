"""How likely a query holds, from sampled worlds: each is drawn, and the query is run on it.

For hard queries that are no chains, where a condition looks at several events. No possible match is
listed: in one world all events are certain, there are few matches or one is enough, and what a
world costs grows with its events. The number of worlds follows from the bound asked for
(`matching.sampled`). Every event is drawn by itself, alternatives together, and a Markovian object
as a path. Small worlds are searched together, each in partitions of its own.

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
from augury.evaluation.encoding import keys_of
from augury.evaluation.enumeration import Enumeration, Kept, one_of_each
from augury.evaluation.probability.markov_objects import MarkovObject
from augury.language.expressions import Attribute, Expression
from augury.matching.backwards import reversed_pattern
from augury.matching.matcher import sort_order
from augury.planning.match_plan import MatchPlan
from augury.records import Events, Flags, Matches, Reals, Words

Row = tuple[tuple[Any, ...], int | None, float]
# Worlds whose paths are drawn together: their memory is bounded, and a step is one operation.
PATHS_AT_ONCE = 256
# Events of all worlds that are searched together, where no more matches are listed than events.
EVENTS_AT_ONCE = 50_000
# Of each Markovian stream: the number of its first row, and its objects.
Hidden = Sequence[tuple[int, Sequence[MarkovObject]]]


def sampled_worlds(
    evaluation: Enumeration, inputs: Inputs, hidden: Hidden, size: int, seed: int
) -> Iterator[Row]:
    """Yield P(the query holds) of each group and time or window, from `size` worlds."""
    events = evaluation.events
    events = events.take(sort_order(events))
    draws = Draws.of(events, hidden, len(inputs.time), np.random.default_rng(seed))
    tally = _Tally.of(evaluation.plan, inputs, evaluation.window)
    pattern = evaluation.plan.pattern
    # Under next-match no more than a few matches begin with one event.
    are_few = pattern.strategy != "ANY" or one_of_each(pattern, tally.keeps) is not None
    at_once = max(1, EVENTS_AT_ONCE // max(1, len(events))) if are_few else 1
    # What is known of base events is of no use in a world, where each has happened.
    alone = replace(evaluation, sources=[], chances={})
    for worlds, count in draws.worlds(size, at_once):
        tally.add(replace(alone, events=worlds, chances={}), count)
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
    n_rows: int
    block: Words
    low: Reals
    high: Reals
    rng: np.random.Generator

    @classmethod
    def of(cls, events: Events, hidden: Hidden, n_rows: int, rng: np.random.Generator) -> Draws:
        """Return how worlds of the events are drawn."""
        n = len(events)
        apart = np.where(events.group < 0, -1 - np.arange(n), events.group)
        block = np.unique(apart, return_inverse=True)[1].reshape(-1)
        p = np.where(_rows_of(hidden, events.row), 0.0, events.p)
        order = np.argsort(block, kind="stable")
        total = np.cumsum(p[order])
        first = np.concatenate([[True], np.diff(block[order]) > 0])[:n]
        before = np.repeat((total - p[order])[first], np.diff([*np.flatnonzero(first), n]))
        low = np.empty(n)
        low[order] = total - p[order] - before
        return cls(events, hidden, n_rows, block, low, low + p, rng)

    def worlds(self, size: int, at_once: int) -> Iterator[tuple[Events, int]]:
        """Yield the events of some worlds, all certain, and how many worlds they are of.

        Those of world k have rows from k * n_rows on, and partitions of their own.
        """
        for first in range(0, size, PATHS_AT_ONCE):
            many = min(PATHS_AT_ONCE, size - first)
            passed = self._passed(many)
            for k in range(0, many, at_once):
                count = min(at_once, many - k)
                own = None if passed is None else passed[:, k : k + count]
                yield self._drawn(count, own), count

    def _drawn(self, count: int, passed: Words | None) -> Events:
        n_blocks = int(self.block.max(initial=-1)) + 1
        drawn = self.rng.random((count, n_blocks))[:, self.block]
        there = (drawn >= self.low) & (drawn < self.high)
        if passed is not None:
            # The last place takes what passes by no row.
            flags = np.zeros((count, self.n_rows + 1), np.bool_)
            flags[np.arange(count), passed] = True
            there |= flags[:, self.events.row]
        world, event = np.nonzero(there)
        found, n = self.events.take(event), len(event)
        partitions = int(self.events.partition.max(initial=0)) + 1
        return replace(
            found,
            p=np.ones(n),
            group=np.full(n, -1, np.int64),
            partition=found.partition + world * partitions,
            row=found.row + world * self.n_rows,
        )

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


# Answers ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tally:
    """In how many worlds the query holds, by group, at each of the labels."""

    query: CheckedQuery
    inputs: Inputs
    keeps: Kept
    labels: Sequence[int | None]
    spans: Sequence[tuple[int, int] | None]
    codes: Sequence[list[tuple[int, Words]]]
    values: Sequence[list[Any]]
    found: dict[tuple[int, ...], Words]
    by_time: bool

    @classmethod
    def of(cls, plan: MatchPlan, inputs: Inputs, window: int | None) -> _Tally:
        query = plan.query
        by_time = plan.tells == "times"
        if by_time:
            keeps: Kept = "ends" if one_group_per("ends", plan) else "all"
            labels: list[int | None] = np.unique(inputs.time).tolist()
            spans: list[tuple[int, int] | None] = [None]
        else:
            keeps = "starts" if one_group_per("starts", plan) else "all"
            windows = list(windows_of(query, inputs.time, window))
            labels, spans = [start for start, _ in windows], [span for _, span in windows]
        codes, values = [], []
        for node in query.group_by:
            one_of, known = _codes(query, node, inputs)
            codes.append(one_of)
            values.append(known)
        found: dict[tuple[int, ...], Words] = {}
        if not query.group_by:
            found[()] = np.zeros(len(labels), np.int64)
        return cls(query, inputs, keeps, labels, spans, codes, values, found, by_time)

    def add(self, worlds: Enumeration, count: int) -> None:
        """Count some worlds."""
        for k, span in enumerate(self.spans):
            inside = worlds
            if span is not None:
                time = worlds.events.time
                held = (time >= span[0]) & (time < span[1])
                inside = replace(worlds, events=worlds.events.take(held))
            matches = inside.in_one_world(self.keeps)
            world = matches.row[matches.first_item[:-1]] // len(self.inputs.time)
            ends = self._ends(matches) if self.by_time else None
            for group, own in self._by_group(matches):
                if ends is None:
                    self._counts(group)[k] += len(np.unique(world[own]))
                else:
                    self._counts(group)[:] += self._recent(world[own], ends[own], count)

    def rows(self, size: int) -> Iterator[Row]:
        """Yield the share of worlds in which the query holds."""
        named = {self._named(group): own for group, own in self.found.items()}
        for group in sorted(named, key=repr):
            for label, count in zip(self.labels, named[group].tolist(), strict=True):
                yield group, label, count / size

    def _named(self, group: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(values[code] for values, code in zip(self.values, group, strict=True))

    def _counts(self, group: tuple[int, ...]) -> Words:
        return self.found.setdefault(group, np.zeros(len(self.labels), np.int64))

    def _recent(self, world: Words, ends: Words, count: int) -> Words:
        """Return in how many worlds a match has ended by each label, or not long before (OVER)."""
        times = np.array(self.labels, np.int64)
        before = np.zeros((count, len(times) + 1), np.int64)
        before[world, np.searchsorted(times, ends) + 1] = 1
        before = np.cumsum(before, axis=1)
        first = np.searchsorted(times, times - (self.query.over or 1), "right")
        recent: Words = (before[:, 1:] > before[:, first]).sum(axis=0)
        return recent

    def _ends(self, matches: Matches) -> Words:
        if not len(matches):
            return np.zeros(0, np.int64)
        time = self.inputs.time[matches.row % len(self.inputs.time)]
        ends: Words = np.maximum.reduceat(time, matches.first_item[:-1])
        return ends

    def _by_group(self, matches: Matches) -> Iterator[tuple[tuple[int, ...], Words]]:
        """Yield each group that has a match, and its matches."""
        if not len(matches):
            return
        if not self.codes:
            yield (), np.arange(len(matches))
            return
        owner = np.repeat(np.arange(len(matches)), np.diff(matches.first_item))
        own = np.full((len(matches), len(self.codes)), -1, np.int64)
        for g, one_of in enumerate(self.codes):
            for component, codes in reversed(one_of):
                # The first event of a repetition names the group: what is written last stays.
                of_it = np.flatnonzero(matches.component == component)[::-1]
                own[owner[of_it], g] = codes[matches.row[of_it] % len(self.inputs.time)]
        groups, number = np.unique(own, axis=0, return_inverse=True)
        for k, group in enumerate(groups.tolist()):
            yield tuple(group), np.flatnonzero(number.reshape(-1) == k)


def one_group_per(end: Literal["starts", "ends"], plan: MatchPlan) -> bool:
    """Return whether all matches that begin, or end, with one event are of one group."""
    query, edges = plan.query, plan.pattern.edges
    equated = {
        member
        for equality in query.equalities
        if equality.covers_all
        for member in equality.members
    }
    outermost = None
    if reversed_pattern(plan.pattern) is not None:
        outermost = edges[0 if end == "starts" else -1].component
    named = [attribute for node in query.group_by for attribute in _one_of(node)]
    return all(
        query.component_of(node) == outermost or (query.component_of(node), node.name) in equated
        for node in named
    )


def _one_of(node: Expression | None) -> Iterator[Attribute]:
    """Yield a GROUP BY attribute, and those that take its place where its component is absent."""
    while isinstance(node, Attribute):
        yield node
        node = node.default


def _codes(
    query: CheckedQuery, node: Expression, inputs: Inputs
) -> tuple[list[tuple[int, Words]], list[Any]]:
    """Return, by component, a code for each row, and what codes mean.

    The code -1, of a match without the component, means NULL.
    """
    found, numbers = list[tuple[int, Words]](), dict[Any, int]()
    rows = np.arange(len(inputs.time))
    for attribute in _one_of(node):
        component = query.component_of(attribute)
        kind = query.type_of_attribute(component, attribute.name)
        values = keys_of(gather(inputs, attribute.name, rows, kind))
        own = [-1 if v is None else numbers.setdefault(v, len(numbers)) for v in values]
        found.append((component, np.array(own, np.int64)))
    return found, [*numbers, None]

"""Many queries at once: predicates tested once, equal beginnings stored once, one pass.

A first pass over all events tells, for every query that is a plain sequence, in which stretches of
the stream a match can lie; only those are searched. All strategies share it, because their matches
are among those of SKIP TILL ANY MATCH, and what they skip lies between the events of a match.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from augury.kernels.search import layout
from augury.kernels.sequences import shared_queries as standing
from augury.matching.counting import is_adjacent
from augury.matching.pattern import Edge, Pattern
from augury.records import Events, Flags, Words

FIRST_ROOM = 4096


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a sequence: the predicate it satisfies, and whether it follows directly."""

    predicate: Hashable
    is_neighbour: bool


@dataclass(frozen=True, slots=True)
class Ranges:
    """Stretches `first[k]..last[k]` of the sorted events that can hold matches of `query[k]`."""

    query: Words
    first: Words
    last: Words

    def of(self, query: int) -> tuple[Words, Words]:
        """Return the positions in the stretches of one query, and the stretch of each."""
        mine = np.flatnonzero(self.query == query)
        pieces = [np.arange(self.first[k], self.last[k] + 1) for k in mine]
        if not pieces:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return np.concatenate(pieces), np.repeat(np.arange(len(mine)), [len(p) for p in pieces])


def sequence_of(pattern: Pattern) -> list[tuple[int, bool]] | None:
    """Return the components of a plain sequence, with whether each follows directly; None if not.

    Plain: one event per component, in one order, nothing negated, no window of events.
    """
    plain = not (pattern.guards or pattern.repeats or pattern.stretches or pattern.variants)
    if not plain or pattern.count_window is not None:
        return None
    steps, state, before = list[tuple[int, bool]](), 0, None
    while not pattern.accepting[state]:
        ways = [edge for edge in pattern.edges if edge.source == state]
        if len(ways) != 1:
            return None
        steps.append((ways[0].component, _follows_directly(before, ways[0])))
        state, before = ways[0].target, ways[0]
    return steps if all(edge.source != state for edge in pattern.edges) else None


def _follows_directly(before: Edge | None, edge: Edge) -> bool:
    return before is not None and is_adjacent(before, edge)


@dataclass
class StandingQueries:
    """The steps of queries as a trie; queries are numbered in the order of `add`."""

    predicates: dict[Hashable, int] = field(default_factory=dict)
    known: dict[tuple[int, int, bool], int] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)
    windows: list[int] = field(default_factory=list)

    def add(self, steps: Sequence[Step], window: int | None) -> None:
        """Add a query; None is a window without end."""
        node = -1
        for step in steps:
            predicate = self.predicates.setdefault(step.predicate, len(self.predicates))
            node = self.known.setdefault((node, predicate, step.is_neighbour), len(self.known))
        self.ends.append(node)
        self.windows.append(layout.FOREVER if window is None else window)

    def ranges(self, events: Events, order: Words, facts: Sequence[Flags]) -> Ranges:
        """Return where matches can lie; `facts[k]` tells which events satisfy predicate k."""
        trie, packed = self._trie(), _packed(facts, order)
        begins = _begins(events.partition[order])
        # Neighbours are of one key: where a partition has several, none is known to be between.
        certain = (events.p >= 1.0)[order] & _has_one_key(events)
        room = FIRST_ROOM
        while True:
            found, n = standing.find_ranges(trie, packed, events.time[order], certain, begins, room)
            if n <= room:
                return Ranges(found[:n, 0], found[:n, 1], found[:n, 2])
            room = 2 * n

    def _trie(self) -> standing.Trie:
        parent, predicate, neighbour = (list(column) for column in zip(*self.known, strict=True))
        by_predicate = np.argsort(np.array(predicate, np.int64), kind="stable")
        by_end = np.argsort(np.array(self.ends, np.int64), kind="stable")
        return standing.Trie(
            parent=np.array(parent, np.int64),
            is_neighbour=np.array(neighbour, np.bool_),
            reach=self._reach(parent),
            node_rows=_rows(predicate, len(self.predicates)),
            nodes=by_predicate.astype(np.int64),
            end_rows=_rows(self.ends, len(self.known)),
            queries=by_end.astype(np.int64),
            window=np.array(self.windows, np.int64),
        )

    def _reach(self, parent: Sequence[int]) -> Words:
        reach = np.zeros(len(self.known), np.int64)
        for end, window in zip(self.ends, self.windows, strict=True):
            node = end
            while node >= 0 and reach[node] < window:
                reach[node] = window
                node = parent[node]
        return reach


def _rows(groups: Sequence[int], n: int) -> Words:
    """Return where each group begins once its members are sorted by it."""
    counts = np.bincount(np.array(groups, np.int64), minlength=n)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _packed(facts: Sequence[Flags], order: Words) -> np.ndarray:
    """Return the facts of each sorted event as bits of words."""
    words = np.zeros((len(order), (len(facts) + 63) // 64), np.uint64)
    for k, fact in enumerate(facts):
        words[:, k // 64] |= fact[order].astype(np.uint64) << np.uint64(k % 64)
    return words


def _begins(partition: Words) -> Words:
    """Return, for sorted events, where the partition of each begins."""
    new = np.ones(len(partition), np.bool_)
    new[1:] = partition[1:] != partition[:-1]
    begins = np.maximum.accumulate(np.where(new, np.arange(len(partition)), 0))
    return begins.astype(np.int64)


def _has_one_key(events: Events) -> bool:
    """Whether all events of a partition have one key."""
    n = int(events.partition.max(initial=0)) + 1
    least, most = np.full(n, 2**62), np.full(n, -1)
    np.minimum.at(least, events.partition, events.key)
    np.maximum.at(most, events.partition, events.key)
    return bool((least >= most).all())

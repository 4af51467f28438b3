"""Events of equal time that no tie-breaker orders: how many of them a query would have ordered.

Such events are in no sequence, so a log of whole seconds loses matches, and it is said how many
events that may concern. An event is tied if another of its stream has its time, in the part of the
stream that its matches lie in, and the two could be items of one match, one after the other.
Streams with ORDER BY, alternatives and derived events are left out.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from augury.analysis.checked import CheckedQuery
from augury.analysis.clauses.shapes import operators
from augury.analysis.declarations.catalog import Catalog, StreamSchema
from augury.analysis.findings import counted, listing
from augury.evaluation.encoding import Codes, Tables, keys_of, kinds_of, who_plays, whole
from augury.evaluation.stream_rows import StreamRows, rows_of_equal_time
from augury.planning.match_plan import Play, plays_of
from augury.planning.physical import plan_query
from augury.records import Words


@dataclass(frozen=True)
class TieRule:
    """Which events of a query are tied; `repeated` are the bits of components that repeat."""

    query: CheckedQuery
    streams: tuple[StreamSchema, ...]
    plays: tuple[Play, ...]
    partition_by: dict[str, tuple[str, ...]]
    repeated: int

    def count(self, source: StreamRows, tables: Tables) -> int:
        """Return how many events of a stream are tied; all rows of a time are there."""
        stream = source.schema
        if stream.name not in {each.name for each in self.streams}:
            return 0
        tied = rows_of_equal_time(whole(source.table.column(stream.time)))
        if not len(tied):
            return 0
        table = source.table.take(tied)
        mask, part = self._masks(stream, table, tables), self._parts(stream, table)
        used = (mask != 0) & (part >= 0)
        return self._counted(whole(table.column(stream.time))[used], part[used], mask[used])

    def _masks(self, stream: StreamSchema, table: Any, tables: Tables) -> Words:
        kinds, mask = kinds_of(stream, table), np.zeros(table.num_rows, np.int64)
        for play in self.plays:
            if play.stream == stream.name:
                mask |= who_plays(play, kinds, table, tables).astype(np.int64) << play.component
        return mask

    def _parts(self, stream: StreamSchema, table: Any) -> Words:
        """Return the part of each row; -1 where NULL leaves it alone."""
        names = self.partition_by.get(stream.name, ())
        if not names:
            return np.zeros(table.num_rows, np.int64)
        if len(names) == 1:
            return Codes().encode(table.column(names[0]))
        codes, rows = Codes(), zip(*(keys_of(table.column(name)) for name in names), strict=True)
        return np.array([-1 if None in row else codes.code(row) for row in rows], np.int64)

    def _counted(self, time: Words, part: Words, mask: Words) -> int:
        if not len(time):
            return 0
        order = np.lexsort((part, time))
        time, part, mask = time[order], part[order], mask[order]
        begins = np.flatnonzero((np.diff(time) != 0) | (np.diff(part) != 0)) + 1
        begins = np.concatenate([[0], begins])
        size = np.diff(begins, append=len(time))
        found = np.bitwise_or.reduceat(mask, begins)
        return int(size[(size > 1) & self.is_ordered(found)].sum())

    def is_ordered(self, masks: Any) -> Any:
        """Return whether events that may play these components together could be in sequence."""
        return ((masks & (masks - 1)) != 0) | ((masks & self.repeated) != 0)


def tie_rule(query: CheckedQuery, catalog: Catalog) -> TieRule | None:
    """Return how the tied events of a query are told; None where it orders none."""
    streams = tuple(stream for stream in query.streams if _has_ties(stream))
    repeated = sum(1 << c.index for c in query.components if c.maximum != 1)
    if not streams or not (repeated or operators(query.shape) & {"SEQ", "NEXT"}):
        return None
    plan = plan_query(query, catalog)
    return TieRule(query, streams, plays_of(plan), dict(plan.partitioning.columns), repeated)


def _has_ties(stream: StreamSchema) -> bool:
    return stream.order_by is None and not stream.alternatives and stream.query is None


def tie_notice(query: CheckedQuery, count: int) -> str:
    """Return what is said of so many tied events of a query."""
    streams = [stream for stream in query.streams if _has_ties(stream)]
    names = listing([stream.name for stream in streams])
    return (
        f"query {query.name}: {counted(count, 'event')} of {names} share their time with "
        "another, and events of equal time are in no sequence; order them by a column: "
        f"TIME {streams[0].time} ORDER BY ..."
    )


class TieCounter:
    """Counts the tied events of one query that come one by one, in the order of time."""

    def __init__(self, rule: TieRule) -> None:
        self.rule = rule
        self._total = 0
        self._time: int | None = None
        self._first: tuple[Hashable, int] | None = None
        self._groups: dict[Hashable, tuple[int, int]] = {}

    def add(self, time: int, group: Hashable, mask: int) -> None:
        """Take an event in: its time, stream and part, and the components that it may play."""
        if time != self._time:
            # Most events have a time of their own, and are not looked at.
            self._end()
            self._time, self._first = time, (group, mask)
            return
        if self._first is not None:
            self._groups = {self._first[0]: (1, self._first[1])}
            self._first = None
        count, masks = self._groups.get(group, (0, 0))
        self._groups[group] = count + 1, masks | mask

    def _end(self) -> None:
        for count, masks in self._groups.values():
            if count > 1 and self.rule.is_ordered(masks):
                self._total += count
        self._groups = {}

    @property
    def total(self) -> int:
        """How many events were tied so far."""
        self._end()
        self._time = self._first = None
        return self._total

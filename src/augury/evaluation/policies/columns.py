"""The rows of a stream as the kernels of policies read them.

Types, equated values and conditions become numbers once per batch. Equated values keep their codes
as long as the columns live, so that events of different batches can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.catalog import StreamSchema
from augury.errors import DataError
from augury.evaluation.encoding import (
    Codes,
    chances_of,
    declaration_of,
    keys_of,
    kinds_of,
    passing,
    ties_of,
    whole,
)
from augury.evaluation.stream_rows import StreamRows, event_ids
from augury.kernels.privacy.layout import PLAY_WIDTH, Batch
from augury.planning.expressions.typed import Typed
from augury.planning.policy_plan import Played, PolicyPlan, Summable
from augury.records import Flags, Words
from augury.sources.rows import alternative_groups

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Ordered:
    """A batch; `rows` are those of its table, event by event, and `ids` those of its events."""

    batch: Batch
    rows: Words
    ids: Any
    types: Any

    def __len__(self) -> int:
        return len(self.batch.time)


class Columns:
    """What the patterns of a policy read of rows."""

    def __init__(self, plan: PolicyPlan) -> None:
        assert plan.summable is not None
        self.plan, self.patterns = plan, plan.summable
        self.equated = [pattern.equated for pattern in plan.policy.sequences]
        self.keys = list(dict.fromkeys(self.equated))
        self.known = [Codes() for _ in self.keys]
        self.conditions: dict[tuple[tuple[Typed, ...], ...], int] = {}
        self.kinds = sorted({each.type for pattern in self.patterns for each in _all(pattern)})
        self.plays = self._plays()

    def _plays(self) -> list[list[tuple[int, int, int, int]]]:
        """Return what events of each type may be; of other types, nothing."""
        found: list[list[tuple[int, int, int, int]]] = [[] for _ in (*self.kinds, None)]
        for number, pattern in enumerate(self.patterns):
            for place, step in enumerate(pattern.steps):
                own = (number, place, 0, self._condition((step,)))
                found[self.kinds.index(step.type)].append(own)
            for gap, forbidden in enumerate(pattern.forbidden):
                for kind in sorted({each.type for each in forbidden}):
                    # An event that is forbidden twice is so once.
                    same = tuple(each for each in forbidden if each.type == kind)
                    own = (number, gap, 1, self._condition(same))
                    found[self.kinds.index(kind)].append(own)
        return found

    def _condition(self, any_of: tuple[Played, ...]) -> int:
        """Return the number of a condition: that the filters of some of them hold; -1: none."""
        if any(not each.filters for each in any_of):
            return -1
        filters = tuple(each.filters for each in any_of)
        return self.conditions.setdefault(filters, len(self.conditions))

    @cached_property
    def play_arrays(self) -> tuple[Words, Words]:
        """The plays of all types, one after the other, and where those of each begin."""
        sizes = [len(own) for own in self.plays]
        rows = [each for own in self.plays for each in own]
        plays = np.array(rows, np.int64).reshape(len(rows), PLAY_WIDTH)
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), plays

    @property
    def key_count(self) -> int:
        """How many codes there are, of whatever is equated."""
        return max((len(own.known) for own in self.known), default=0)

    def values(self, number: int) -> list[Key]:
        """Return the equated values of a pattern by their code."""
        which = self.keys.index(self.equated[number])
        return [each if isinstance(each, tuple) else (each,) for each in self.known[which].known]

    # Rows -------------------------------------------------------------------------------------

    def ordered(self, source: StreamRows, order: int) -> Ordered:
        """Return the events of rows in the order of decisions, numbered after `order`."""
        schema, table = source.schema, source.table
        time = whole(table.column(schema.time))
        ids, tie = event_ids(source), _tie_ranks(schema, table)
        firsts, rows, begin = _grouped(source, time, tie)
        places = _in_order(time[firsts], tie[firsts], ids, firsts)
        if not _is_counting(places):
            firsts = firsts[places]
            rows, begin = _regrouped(rows, begin, places)
        own_time, own_tie = time[firsts], tie[firsts]
        moves = np.ones(len(firsts), np.int64)
        moves[1:] = (own_time[1:] != own_time[:-1]) | (own_tie[1:] != own_tie[:-1])
        in_order = _is_counting(rows)
        kinds = kinds_of(schema, table, self.kinds)[0]
        kinds = np.where(kinds < 0, len(self.kinds), kinds)
        key, passes = self._key(table), self._passes(table)
        batch = Batch(
            begin,
            own_time,
            order + np.cumsum(moves),
            kinds[firsts],
            chances_of(schema, table)[rows],
            key if in_order else np.ascontiguousarray(key[:, rows]),
            passes if in_order else np.ascontiguousarray(passes[:, rows]),
        )
        taken = pa.array(firsts)
        is_whole = _is_counting(firsts) and len(firsts) == table.num_rows
        types = table.column(schema.type)
        if not is_whole:
            ids, types = ids.take(taken), types.take(taken)
        return Ordered(batch, rows, ids, types)

    def _key(self, table: pa.Table) -> Words:
        found = np.zeros((len(self.keys), table.num_rows), np.int64)
        for number, columns in enumerate(self.keys):
            found[number] = _codes(self.known[number], [_plain(table, name) for name in columns])
        return found

    def _passes(self, table: pa.Table) -> Flags:
        found = np.zeros((len(self.conditions), table.num_rows), np.bool_)
        for any_of, number in self.conditions.items():
            for filters in any_of:
                own = np.ones(table.num_rows, np.bool_)
                for each in filters:
                    own &= passing(each, table, self.plan.tables)
                found[number] |= own
        return found


def _all(pattern: Summable) -> list[Played]:
    return [*pattern.steps, *(each for gap in pattern.forbidden for each in gap)]


def _plain(table: pa.Table, name: str) -> Any:
    """Return a column whose times are numbers."""
    column = table.column(name)
    if pa.types.is_temporal(column.type):
        return pa.array(whole(column), mask=np.asarray(column.is_null()))
    return column


def _codes(known: Codes, columns: list[Any]) -> Words | int:
    """Return one code for the values that rows have in some columns; -1 where one is NULL."""
    if not columns:
        return known.code(())
    if len(columns) == 1:
        return known.encode(columns[0])
    rows = zip(*map(keys_of, columns), strict=True)
    return np.array([-1 if None in row else known.code(row) for row in rows], np.int64)


def codes_of(known: Codes, table: pa.Table, column: str) -> Words:
    """Return one code for the value that rows have in a column; -1 where it is NULL."""
    return known.encode(_plain(table, column))


def _tie_ranks(schema: StreamSchema, table: pa.Table) -> Words:
    """Return numbers that order as the tie-breakers do; rows without one come first."""
    if schema.order_by is None:
        return np.zeros(table.num_rows, np.int64)
    ties = ties_of(schema, table, np.arange(table.num_rows))
    rank = {tie: k for k, tie in enumerate(sorted({tie for tie in ties if tie is not None}), 1)}
    return np.array([0 if tie is None else rank[tie] for tie in ties], np.int64)


def _grouped(source: StreamRows, time: Words, tie: Words) -> tuple[Words, Words, Words]:
    """Return the first row of each event, and the rows of all of them with where each begins."""
    count = source.table.num_rows
    if not source.schema.alternatives:
        rows = np.arange(count)
        return rows, rows, np.arange(count + 1)
    numbers = alternative_groups(source.table, declaration_of(source.schema))
    rows = np.argsort(numbers, kind="stable")
    numbers = numbers[rows]
    starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))[: count or 0]
    begin = np.concatenate([starts, [count]]).astype(np.int64)
    first = np.repeat(rows[starts], np.diff(begin))
    name = source.schema.name
    if ((time[rows] != time[first]) | (tie[rows] != tie[first])).any():
        raise DataError(
            f"alternatives of one event of stream {name} have different times; a policy "
            "keeps or drops them together"
        )
    types = Codes().encode(source.table.column(source.schema.type))
    if (types[rows] != types[first]).any():
        raise DataError(
            f"alternatives of one event of stream {name} have different types; a policy "
            "decides by type"
        )
    return rows[starts], rows, begin


def _in_order(time: Words, tie: Words, ids: Any, firsts: Words) -> Words:
    """Return the events by time, tie-breaker and id."""
    places = np.arange(len(time))
    if ((time[1:] < time[:-1]) | ((time[1:] == time[:-1]) & (tie[1:] < tie[:-1]))).any():
        places = np.lexsort((tie, time))
    time, tie = time[places], tie[places]
    same = (time[1:] == time[:-1]) & (tie[1:] == tie[:-1])
    if not same.any():
        return places
    tied = np.flatnonzero(np.concatenate([[False], same]) | np.concatenate([same, [False]]))
    names = ids.take(pa.array(firsts[places[tied]])).to_pylist()
    keys = [
        (t, i, name is not None, name)
        for t, i, name in zip(time[tied].tolist(), tie[tied].tolist(), names, strict=True)
    ]
    places[tied] = places[tied][np.array(_by_key(keys), np.int64)]
    return places


def _by_key(keys: Sequence[Any]) -> list[int]:
    return sorted(range(len(keys)), key=keys.__getitem__)


def _regrouped(rows: Words, begin: Words, places: Words) -> tuple[Words, Words]:
    """Return the rows of events in another order, and where each begins."""
    sizes = np.diff(begin)[places]
    found = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    shift = np.repeat(begin[places] - found[:-1], sizes)
    return rows[np.arange(len(rows)) + shift], found


def _is_counting(numbers: Words) -> bool:
    return bool((numbers == np.arange(len(numbers))).all())


def distinct(table: pa.Table, column: str) -> list[Any]:
    """Return the values of a column, but for NULL."""
    return [each for each in keys_of(pc.unique(_plain(table, column))) if each is not None]

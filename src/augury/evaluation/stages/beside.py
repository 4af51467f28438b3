"""The stage of what queries read outside their matches: PREV(b.price, 2), NEXT(b.price).

Each is a column that the events of a stream get before anything is matched. What comes before an
event is known with it; for what comes behind it rows wait, and with them all rows that are later.
Places are counted in the stream's order, of its KEY where it has one. Where several events at once
could stand at a place, it has a value if they all have the same, and NULL otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.catalog import Neighbour, StreamSchema
from augury.evaluation.codec import ipc_bytes
from augury.evaluation.encoding import Codes, Numbered, joint_codes, tie_ranks, whole
from augury.evaluation.stream_rows import StreamRows
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET
from augury.records import Flags, Words

Rows = Mapping[str, StreamRows]


@dataclass
class BesideState:
    """Up to when rows have gone on; rows that wait, and those that later ones look back to.

    `past` has the columns that are looked at, of all rows that stages may still need besides.
    """

    known: int = NEVER_YET
    waiting: dict[str, pa.Table] = field(default_factory=dict)
    past: dict[str, pa.Table] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        tables = (*self.waiting.values(), *self.past.values())
        return not any(table.num_rows for table in tables)


@dataclass(frozen=True)
class BesideStage:
    """Gives events the columns of their neighbours, by the lower-case name of their stream."""

    neighbours: Mapping[str, Sequence[Neighbour]]

    def advance(
        self, state: BesideState, fresh: Rows, horizon: int
    ) -> tuple[BesideState, dict[str, StreamRows]]:
        """Take in the rows before `horizon`; return those that go on, which are before `known`.

        The state that is given is used up.
        """
        joined = {name: self._with_waiting(state, name, rows) for name, rows in fresh.items()}
        placed = {
            name: self._placed(state, name, joined[name], horizon)
            for name in self.neighbours
            if name in joined
        }
        open_ones = [each.undecided(horizon) for each in placed.values()]
        state.known = min([horizon, *(each for each in open_ones if each is not None)])
        for name, each in placed.items():
            columns = each.columns()
            table = joined[name].table
            for neighbour, column in zip(self.neighbours[name], columns, strict=True):
                table = table.append_column(neighbour.column.name, column)
            joined[name] = replace(joined[name], table=table)
        return state, {name: self._let_go(state, name, rows) for name, rows in joined.items()}

    def _with_waiting(self, state: BesideState, name: str, rows: StreamRows) -> StreamRows:
        held = state.waiting.pop(name, None)
        return rows if held is None else replace(rows, table=pa.concat_tables([held, rows.table]))

    def _placed(self, state: BesideState, name: str, rows: StreamRows, horizon: int) -> Places:
        looked_at = rows.table.select(_looked_at(rows.schema, self.neighbours[name]))
        past = state.past.get(name, looked_at.slice(0, 0))
        table = pa.concat_tables([past, looked_at])
        state.past[name] = table  # those that wait leave it again, once it is known which do
        return Places(rows.schema, table, past.num_rows, self.neighbours[name])

    def _let_go(self, state: BesideState, name: str, rows: StreamRows) -> StreamRows:
        """Return the rows whose turn it is; the others wait, without what is found anew."""
        if state.known == ALWAYS:
            return rows
        goes = self._time(rows, rows.table) < state.known
        if not goes.all():
            added = {each.column.name for each in self.neighbours.get(name, ())}
            own = [column for column in rows.table.column_names if column not in added]
            state.waiting[name] = rows.table.filter(pa.array(~goes)).select(own)
            rows = replace(rows, table=rows.table.filter(pa.array(goes)))
            if name in state.past:
                past = state.past[name]
                state.past[name] = past.filter(pa.array(self._time(rows, past) < state.known))
        return rows

    @staticmethod
    def _time(rows: StreamRows, table: pa.Table) -> Words:
        return whole(table.column(rows.schema.time))

    def forget(self, state: BesideState, streams: Mapping[str, StreamSchema], oldest: int) -> None:
        """Forget rows before a time, but for the last ones of each key."""
        for name, rows in state.past.items():
            schema, neighbours = streams[name], self.neighbours[name]
            time = whole(rows.column(schema.time))
            gone = time < oldest
            places = Places(schema, rows.filter(pa.array(gone)), 0, neighbours)
            kept = ~gone
            kept[np.flatnonzero(gone)[places.are_last()]] = True
            state.past[name] = rows if kept.all() else rows.filter(pa.array(kept))

    def due(self, state: BesideState, streams: Mapping[str, StreamSchema]) -> int | None:
        """Return at which horizon a row that waits for the next of its key waits no longer."""
        for name, neighbours in self.neighbours.items():
            reaches = [each.reach for each in neighbours if each.places > 0]
            if name in state.waiting and reaches and None not in reaches:
                first = int(whole(state.waiting[name].column(streams[name].time)).min())
                if first == state.known:
                    return first + max(reach or 0 for reach in reaches) + 1
        return None

    def dump(self, state: BesideState, streams: Mapping[str, StreamSchema], oldest: int) -> bytes:
        """Return what later rows look back to, of rows before a time; the others are stored."""
        parts = []
        for name in sorted(self.neighbours):
            rows = state.past.get(name)
            if rows is not None:
                early = whole(rows.column(streams[name].time)) < oldest
                parts.append((name, ipc_bytes(rows.filter(pa.array(early)).combine_chunks())))
        names, tables = [name for name, _ in parts], [own for _, own in parts]
        return ipc_bytes(pa.table({"stream": names, "rows": tables}))

    def restore(
        self, data: bytes, fresh: Rows, horizon: int
    ) -> tuple[BesideState, dict[str, StreamRows]]:
        """Return the state that `dump` wrote, and the rows that went on before that."""
        table = pa.ipc.open_stream(data).read_all()
        past = {
            name: pa.ipc.open_stream(own).read_all()
            for name, own in zip(*(c.to_pylist() for c in table.columns), strict=True)
        }
        return self.advance(BesideState(past=past), fresh, horizon)


def _looked_at(schema: StreamSchema, neighbours: Sequence[Neighbour]) -> list[str]:
    """Return the columns that say where an event stands, and those that are read of neighbours."""
    where = [schema.time, schema.order_by, *schema.key]
    named = [*(name for name in where if name), *(each.of.name for each in neighbours)]
    columns = [column for name in named if (column := schema.column(name)) is not None]
    return list(dict.fromkeys(column.name for column in columns))


@dataclass(frozen=True)
class Places:
    """Where rows stand among those of their key; the first `past` of them are looked at only.

    In the sorted order, events of equal order are one group.
    """

    schema: StreamSchema
    rows: pa.Table
    past: int
    neighbours: Sequence[Neighbour]

    @cached_property
    def _time(self) -> Words:
        return whole(self.rows.column(self.schema.time))

    @cached_property
    def _sorted(self) -> tuple[Words, Flags, Flags]:
        """The rows in order, and at which of them a key, and a group of equal order, begins."""
        numbered = Numbered(self.rows)
        columns = [numbered[name] for name in self.schema.key]
        key = joint_codes(Codes(), columns, self.rows.num_rows)
        tie, known = tie_ranks(self.schema, self.rows)
        order = np.lexsort((tie, self._time, key))
        key, time, tie, known = key[order], self._time[order], tie[order], known[order]
        begins_key = _changes(key)
        begins_time = begins_key | _changes(time)
        if not known.all():
            # What has no tie-breaker is at once with all others of its time.
            first = np.flatnonzero(begins_time)
            tied = ~np.logical_and.reduceat(known, first)
            tie = np.where(np.repeat(tied, np.diff(first, append=len(tie))), 0, tie)
        return order, begins_key, begins_time | _changes(tie)

    @cached_property
    def _spans(self) -> tuple[Words, Words, Words, Words]:
        """The first and the last row, in order, of the group and of the key of each."""
        _, keys, groups = self._sorted
        return (*_ends(groups), *_ends(keys))

    def _target(self, neighbour: Neighbour) -> tuple[Words, Flags]:
        """Return which row, in order, stands at a place from each, and whether there is one."""
        first, last, key_first, key_last = self._spans
        if neighbour.places < 0:
            at = first + neighbour.places
            return np.maximum(at, 0), at >= key_first
        at = last + neighbour.places
        there = at <= key_last
        at = np.minimum(at, max(len(at) - 1, 0))
        if neighbour.reach is not None:
            time = self._time[self._sorted[0]]
            there &= time[at] - time <= neighbour.reach
        return at, there

    def undecided(self, horizon: int) -> int | None:
        """Return the time of the first row of which it may come yet what stands behind it."""
        found = list[int]()
        order, _, _ = self._sorted
        time = self._time[order]
        for each in self.neighbours if horizon != ALWAYS else ():
            if each.places > 0:
                waits = self._spans[1] + each.places > self._spans[3]
                waits &= order >= self.past
                if each.reach is not None:
                    waits &= time >= horizon - each.reach
                found += [int(time[waits].min())] if waits.any() else []
        return min(found, default=None)

    def columns(self) -> list[pa.Array]:
        """Return the values of each neighbour, for the rows that are not past."""
        return [self._column(each) for each in self.neighbours]

    def _column(self, neighbour: Neighbour) -> pa.Array:
        order, _, groups = self._sorted
        at, there = self._target(neighbour)
        values = self.rows.column(neighbour.of.name).combine_chunks()
        if len(order):
            there = there & self._agreed(values, order, groups)[at]
        found, missing = np.zeros(len(order), np.int64), np.ones(len(order), np.bool_)
        found[order], missing[order] = order[at] if len(order) else at, ~there
        return values.take(pa.array(found[self.past :], mask=missing[self.past :]))

    def _agreed(self, values: pa.Array, order: Words, groups: Flags) -> Flags:
        """Return whether all events of equal order with each have the same value."""
        if groups.all():
            return groups
        if pa.types.is_floating(values.type):
            values = pc.add(values, 0.0)  # both zeros are one
        codes = Codes().encode(values)[order]
        first = np.flatnonzero(groups)
        same = codes == codes[self._spans[0]]
        agreed: Flags = np.repeat(
            np.logical_and.reduceat(same, first), np.diff(first, append=len(same))
        )
        return agreed

    def are_last(self) -> Flags:
        """Return whether fewer events of its key come behind a row than are looked back."""
        back = max((-each.places for each in self.neighbours), default=0)
        order, _, _ = self._sorted
        _, last, _, key_last = self._spans
        found = np.zeros(len(order), np.bool_)
        found[order] = key_last - last < back
        return found


def _changes(values: Words) -> Flags:
    """Return at which values another begins than stood before."""
    found = np.ones(len(values), np.bool_)
    found[1:] = values[1:] != values[:-1]
    return found


def _ends(begins: Flags) -> tuple[Words, Words]:
    """Return the first and the last place of the stretch that each place lies in."""
    first = np.flatnonzero(begins)
    sizes = np.diff(first, append=len(begins))
    return np.repeat(first, sizes), np.repeat(first + sizes - 1, sizes)

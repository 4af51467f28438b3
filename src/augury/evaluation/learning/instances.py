"""Instances: the reads of a history, as runs in the order of a query's components.

Rows of a history play the query's components as those of its own streams would: by type and by the
conditions on single events. Within one value of what the query equates, an instance is a run of
reads in order; a read that does not go on begins the next one. Rows come sorted by that value and
by time, batch after batch, so no task of Spark has to hold a history: what is left of it is one row
of times per instance.

Shapes: C components of the longest list.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.catalog import Column, StreamSchema
from augury.errors import DataError
from augury.evaluation.encoding import Tables, chances_of, kinds_of, who_plays, whole
from augury.planning.expressions.typed import inputs_within
from augury.planning.match_plan import MatchPlan, Play
from augury.records import Words

LONGEST = 2.0**60
# What probably did not happen is no read; what probably did is one.
LEAST_PROBABILITY = 0.5
LIST, HASH = "list", "hash"


@dataclass(frozen=True)
class Lesson:
    """How the rows of a history become instances; it travels to Spark's workers.

    `lists` are components whose order makes an instance: each list is learned from by itself.
    `equated` are the columns that tell one object from another.
    """

    schema: StreamSchema
    plays: tuple[Play, ...]
    equated: tuple[str, ...]
    lists: tuple[tuple[int, ...], ...]
    window: float
    tables: Tables

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read: what is equated, time, and then the rest."""
        own = self.schema
        names = [*self.equated, own.time, own.order_by, own.type, own.probability]
        for play in self.plays:
            names += [i.column for each in play.filters for i in inputs_within(each)]
        found = [own.column(name) for name in names if name is not None]
        return tuple(dict.fromkeys(column.name for column in found if column is not None))

    @property
    def width(self) -> int:
        """How many components the longest list has."""
        return max(map(len, self.lists))

    @property
    def answer(self) -> pa.Schema:
        """The columns of an instance: its list, a hash, and a time per component."""
        times = [(f"t{k}", pa.float64()) for k in range(self.width)]
        return pa.schema([(LIST, pa.int64()), (HASH, pa.int64()), *times])

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the instances of rows that are sorted by `columns`."""
        runs = [Run(own, self.width, self.window) for own in self.lists]
        for batch in batches:
            reads = list(self._reads(pa.Table.from_batches([batch])))
            yield self._rows([(k, row) for k, run in enumerate(runs) for row in run.over(reads)])
        yield self._rows([(k, row) for k, run in enumerate(runs) for row in run.rest()])

    def _rows(self, found: list[tuple[int, Instance]]) -> pa.RecordBatch:
        numbers = [[k for k, _ in found], [row.hash for _, row in found]]
        times = np.array([row.times for _, row in found]).reshape(-1, self.width)
        arrays = [pa.array(own, pa.int64()) for own in numbers] + [pa.array(t) for t in times.T]
        return pa.RecordBatch.from_arrays(arrays, schema=self.answer)

    def _reads(self, rows: pa.Table) -> Iterator[Read]:
        """Yield the rows that play something: whose, when, and which components (bits)."""
        kinds = kinds_of(self.schema, rows)
        mask: Words = np.zeros(rows.num_rows, np.int64)
        for play in self.plays:
            mask |= who_plays(play, kinds, rows, self.tables).astype(np.int64) << play.component
        used = (mask != 0) & (chances_of(self.schema, rows) >= LEAST_PROBABILITY)
        for name in self.equated:
            used &= ~np.asarray(pc.is_null(rows.column(name)))
        rows, mask = rows.filter(pa.array(used)), mask[used]
        times = whole(rows.column(self.schema.time)).tolist()
        yield from zip(_texts(rows, self.equated), times, mask.tolist(), strict=True)


Read = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Instance:
    """The times of one run of reads since its first, NaN for what was not read.

    And a hash of whose and when.
    """

    hash: int
    times: list[float]


class Run:
    """The run of reads that is going on, of one list of components."""

    def __init__(self, components: tuple[int, ...], width: int, window: float) -> None:
        self.components, self.width, self.window = components, width, window
        self.times: list[float] | None = None
        self.owner, self.start, self.latest, self.last = "", 0, 0, -1

    def over(self, reads: Iterable[Read]) -> Iterator[Instance]:
        """Yield the instances that the reads complete."""
        for owner, at, mask in reads:
            plays = [k for k, c in enumerate(self.components) if (mask >> c) & 1]
            if not plays:
                continue
            place = self._following(owner, at, plays)
            if place is None:
                yield from self.rest()
                self.times = [float("nan")] * self.width
                self.owner, self.start, place = owner, at, plays[0]
            assert self.times is not None
            # A double has no room for every tick, but for how long a run goes on.
            self.times[place] = float(at - self.start)
            self.last, self.latest = place, at

    def rest(self) -> Iterator[Instance]:
        """Yield the instance that is not complete, if there is one."""
        if self.times is not None:
            whose = zlib.crc32(f"{self.owner}\x1f{self.start}".encode())
            yield Instance(whose, self.times)
            self.times = None

    def _following(self, owner: str, at: int, plays: list[int]) -> int | None:
        """Return the place in the run that the read takes; None where it begins another."""
        goes_on = (
            self.times is not None
            and owner == self.owner
            and at > self.latest
            and at - self.start <= self.window
        )
        return next((k for k in plays if k > self.last), None) if goes_on else None


def _texts(rows: pa.Table, names: tuple[str, ...]) -> list[str]:
    if not names:
        return [""] * rows.num_rows
    columns = [rows.column(name).cast(pa.string()) for name in names]
    found: list[str] = pc.binary_join_element_wise(*columns, "\x1f").to_pylist()
    return found


def lesson_of(
    plan: MatchPlan, schema: StreamSchema, lists: tuple[tuple[int, ...], ...], tables: Tables
) -> Lesson:
    """Return how a history of this schema teaches the query of a plan."""
    within = plan.query.within
    window = float(within.length) if within and not within.events else LONGEST
    equated = next(iter(plan.partition_by.values()), ())
    _refuse_other_columns(plan, schema, equated)
    _refuse_other_times(plan, schema)
    return Lesson(schema, plan.plays, equated, lists, window, tables)


def _refuse_other_columns(plan: MatchPlan, schema: StreamSchema, equated: tuple[str, ...]) -> None:
    filters = [each for play in plan.plays for each in play.filters]
    read = [i.column for each in filters for i in inputs_within(each) if i.column is not None]
    needed = dict.fromkeys([*equated, *read])
    lacks = [name for name in needed if schema.column(name) is None]
    if lacks:
        raise DataError(
            f"query {plan.query.name} learns its gaps from {schema.name}, which has no column "
            f"{', '.join(lacks)}; declare the history with the columns that the query reads"
        )
    others = [text for name in needed if (text := _other_type(plan, schema, name))]
    if others:
        raise DataError(
            f"query {plan.query.name} learns its gaps from {schema.name}, whose column "
            f"{', '.join(others)}; declare the history with the types of the query's streams"
        )
    if schema.type is None and any(play.type is not None for play in plan.plays):
        raise DataError(
            f"query {plan.query.name} learns its gaps from {schema.name}, which has no TYPE, so "
            "its reads name no component; add TYPE to the declaration of the history"
        )


def _other_type(plan: MatchPlan, schema: StreamSchema, name: str) -> str | None:
    """Return what is wrong with the type of a column; None where the query's streams have it."""
    own = schema.column(name)
    found = [column for each in plan.query.streams if (column := each.column(name)) is not None]
    if own is None or not found or any(_is_alike(own, each) for each in found):
        return None
    return f"{own.name} is a {own.type.value} (the query reads a {found[0].type.value})"


def _is_alike(one: Column, other: Column) -> bool:
    return one.type is other.type or (one.type.is_number and other.type.is_number)


def _refuse_other_times(plan: MatchPlan, schema: StreamSchema) -> None:
    read = [each for each in plan.query.streams if each.time is not None]
    if any(each.time_is_ticks != schema.time_is_ticks for each in read):
        units = ("ticks (LONG)", "a TIMESTAMP")
        own, needed = units if schema.time_is_ticks else units[::-1]
        raise DataError(
            f"query {plan.query.name} learns its gaps from {schema.name}, whose TIME is {own}, "
            f"but that of the query's streams is {needed}; declare the history with TIME in "
            "the unit of the query"
        )

"""Arrow rows to the arrays that the match stage reads.

Strings, keys and partitions become codes that stay the same as long as the encoder lives, so that
events of different batches can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.catalog import DataType, StreamSchema, TableSchema
from augury.kernels.rows import numbering
from augury.kernels.rows.texts import classify
from augury.planning.expressions.arrow import evaluate_column
from augury.planning.expressions.typed import Typed, inputs_within
from augury.planning.match_plan import MatchPlan, Play
from augury.records import Events, Flags, Reals, Words, as_key
from augury.sources.rows import Declaration, relation_rows

Tables = Mapping[str, Sequence[Sequence[Any]]]
NULL_CODE = -1
# Whole numbers within such a span are numbered by a table of it, which a cache holds.
CLOSE = 2**16


def keys_of(column: Any) -> list[Any]:
    """Return the values of a column as keys of a dictionary."""
    values: list[Any] = column.to_pylist()
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return [as_key(value) for value in values] if pa.types.is_floating(kind) else values


class Codes:
    """Numbers for values, given out in the order of their first appearance."""

    def __init__(self) -> None:
        self.known: dict[Any, int] = {}

    def encode(self, column: Any) -> Words:
        """Return the code of each value; NULL is -1."""
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if len(whole) == 0:
            return np.zeros(0, np.int64)
        encoded = whole if pa.types.is_dictionary(whole.type) else pc.dictionary_encode(whole)
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.unify_dictionaries().combine_chunks()
        indices, values = encoded.indices, keys_of(encoded.dictionary)
        places = _filled(indices, 0)
        if self._begins_with(values):
            found: Words = places.astype(np.int64)
        else:
            found = _translated(places, [self.code(value) for value in values] or [0])
        if indices.null_count:
            found[np.asarray(pc.is_null(indices))] = NULL_CODE
        return found

    def _begins_with(self, values: list[Any]) -> bool:
        """Return whether values became the first ones, numbered as they stand there, each once."""
        if self.known:
            return False
        first = {value: k for k, value in enumerate(values)}
        if len(first) == len(values):
            self.known.update(first)
        return bool(self.known)

    def code(self, value: Any) -> int:
        return self.known.setdefault(value, len(self.known))


def declaration_of(schema: StreamSchema) -> Declaration:
    """Return what a stream's schema says about its rows."""
    assert schema.time is not None
    return Declaration(
        f"stream {schema.name}",
        {column.name: column.type.value for column in schema.columns},
        id=schema.id,
        key=schema.key,
        time=schema.time,
        probability=schema.probability,
        has_alternatives=bool(schema.alternatives),
    )


def rows_of_table(schema: TableSchema, table: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows of a bound table, as its declaration says."""
    columns = {column.name: column.type.value for column in schema.columns}
    return relation_rows(table, f"table {schema.name}", columns)


# A tie-breaker as Python orders it: numbers, NaN last, then texts. Events of several streams may
# become events of one, so their tie-breakers travel as values; a rank says nothing elsewhere.
Tie = tuple[bool, bool, Any]


@dataclass(frozen=True, slots=True)
class DerivedPlaces:
    """Where derived events stand: the tie-breaker (None: none) and the key of what they are of."""

    ties: list[Tie | None]
    keys: list[Any]

    def only(self, used: Flags) -> DerivedPlaces:
        """Return the places of some of the events."""
        kept = np.flatnonzero(used).tolist()
        return DerivedPlaces([self.ties[k] for k in kept], [self.keys[k] for k in kept])

    def ranks(self) -> tuple[Words, Flags]:
        """Return the rank of each tie-breaker among all, and which events have one."""
        known = np.array([tie is not None for tie in self.ties], np.bool_)
        rank = {tie: k for k, tie in enumerate(sorted({t for t in self.ties if t is not None}))}
        ranks = [0 if tie is None else rank[tie] for tie in self.ties]
        # Where nothing breaks ties, all are alike, as in a stream without ORDER BY.
        return np.array(ranks, np.int64), known if rank else ~known


def ties_of(stream: StreamSchema, table: pa.Table, rows: Words) -> list[Tie | None]:
    """Return the tie-breakers of some of a stream's rows; None where there is none."""
    if stream.order_by is None:
        return [None] * len(rows)
    column = table.column(stream.order_by).take(pa.array(rows))
    is_text, is_real = pa.types.is_string(column.type), pa.types.is_floating(column.type)
    values = column.to_pylist() if is_text or is_real else whole(column).tolist()
    missing = pc.is_null(column).to_pylist()
    is_nan = [is_real and value is not None and math.isnan(value) for value in values]
    return [
        None if unknown else (is_text, odd, 0.0 if odd else value)
        for value, odd, unknown in zip(values, is_nan, missing, strict=True)
    ]


def tie_ranks(stream: StreamSchema, table: pa.Table) -> tuple[Words, Flags]:
    """Return numbers that are ordered as the tie-breakers of rows are, and which rows have one."""
    n = table.num_rows
    if stream.order_by is None:
        return np.zeros(n, np.int64), np.ones(n, np.bool_)
    column = table.column(stream.order_by)
    known = ~np.asarray(pc.is_null(column))
    if pa.types.is_floating(column.type):
        ranks = np.unique(np.asarray(pc.fill_null(column, 0.0)), return_inverse=True)[1]
        return ranks.astype(np.int64), known
    if pa.types.is_string(column.type):
        ranks = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
        return np.asarray(ranks, np.int64), known
    return whole(column), known


class Numbered:
    """The columns of a table as codes into the values they have, each made once."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            column = self.table.column(name).combine_chunks()
            close = _numbered_by_place(column) if column.type == pa.int64() else None
            self._made[name] = pc.dictionary_encode(column) if close is None else close
        return self._made[name]


def _numbered_by_place(column: Any) -> Any:
    """Return whole numbers as codes where they lie close together; None where they do not."""
    words = whole(column)
    if column.null_count or not len(words):
        return None
    lowest, highest = int(words.min()), int(words.max())
    if highest - lowest >= max(CLOSE, len(words)):
        return None
    known = np.full(highest - lowest + 1, -1, np.int32)
    values, found = np.empty(len(known), np.int64), np.empty(len(words), np.int32)
    count = numbering.number(words, lowest, known, values, found)
    return pa.DictionaryArray.from_arrays(pa.array(found), pa.array(values[:count]))


class Encoder:
    """Turns the rows of a query's streams into events; keeps its codes between batches."""

    def __init__(self, plan: MatchPlan, tables: Tables) -> None:
        self.plan = plan
        self.tables = tables
        self.strings = Codes()
        self.keys = Codes()
        self.partitions = Codes()
        self.alone = 0
        for value in (*plan.programs.strings, *plan.programs.texts_of(tables)):
            self.strings.code(value)

    @property
    def is_float(self) -> tuple[bool, ...]:
        return tuple(column.type is DataType.DOUBLE for column in self.plan.programs.columns)

    def encode(
        self,
        stream: StreamSchema,
        table: pa.Table,
        first_row: int,
        groups: Words,
        place: DerivedPlaces | None = None,
    ) -> Events:
        """Return the events of one stream's good rows, numbered from `first_row`.

        `groups` has, for alternatives, the row of the first of those that exclude each other (-1:
        none). Derived events have the `place` of the events they came from.
        """
        mask = self.mask(stream, table)
        row = np.arange(first_row, first_row + table.num_rows, dtype=np.int64)
        used = mask != 0
        if self.plan.drops_others and not used.all():
            table, mask, row = table.filter(pa.array(used)), mask[used], row[used]
            groups = groups[used]
            place = place.only(used) if place else None
        number = [s.name for s in self.plan.query.streams].index(stream.name)
        tie, known = place.ranks() if place else tie_ranks(stream, table)
        values, nulls = self._attributes(table)
        # The key mostly is what partitions, too.
        numbered = Numbered(table)
        key = self._key(stream, numbered, place)
        return Events(
            time=whole(table.column(stream.time)),
            tie=tie,
            # An event without a tie-breaker has equal order with all others of its time.
            stream=np.full(len(row), number) if known.all() else np.where(known, number, -2 - row),
            key=key,
            partition=self._partition(stream, numbered, key),
            mask=mask,
            p=chances_of(stream, table),
            group=np.where(groups < 0, -1, groups + first_row) if stream.alternatives else groups,
            row=row,
            values=values,
            nulls=nulls,
            is_float=self.is_float,
        )

    def _key(self, stream: StreamSchema, numbered: Numbered, place: DerivedPlaces | None) -> Words:
        if place:
            return np.array([self.keys.code(key) for key in place.keys], np.int64)
        columns = [numbered[name] for name in stream.key]
        return joint_codes(self.keys, columns, numbered.table.num_rows)

    def _partition(self, stream: StreamSchema, numbered: Numbered, key: Words) -> Words:
        names = self.plan.partition_by.get(stream.name)
        n = numbered.table.num_rows
        if self.plan.pattern.stays_in_a_key and not names:
            # Here NULL is a key like others, whose code is -1.
            return key + 1
        if not names:
            return np.zeros(n, np.int64)
        columns = [numbered[name] for name in names]
        codes = joint_codes(self.partitions, columns, n)
        missing = np.zeros(n, np.bool_)
        for column in columns:
            if column.null_count:
                missing |= np.asarray(pc.is_null(column))
        # NULL equals nothing, so such an event is alone in its partition.
        for k in np.flatnonzero(missing):
            codes[k] = self.partitions.code(("alone", self.alone))
            self.alone += 1
        return codes

    def mask(self, stream: StreamSchema, table: pa.Table) -> Words:
        """Return the components that each row fits by itself, as bits."""
        plays = [play for play in self.plan.plays if play.stream == stream.name]
        kinds = codes, known = kinds_of(stream, table, [play.type for play in plays])
        # What a row may play by its type alone; the last entry is for types that nobody names.
        by_type = np.zeros(len(known) + 1, np.int64)
        for play in plays:
            if not play.filters:
                of = slice(None) if play.type is None else known[play.type]
                by_type[of] |= 1 << play.component
        mask = by_type[codes] if len(codes) else np.full(table.num_rows, by_type[-1])
        for play in plays:
            if play.filters:
                own = who_plays(play, kinds, table, self.tables)
                mask |= own.astype(np.int64) << play.component
        return mask

    def _attributes(self, table: pa.Table) -> tuple[Words, Flags]:
        columns = self.plan.programs.columns
        values = np.zeros((len(columns), table.num_rows), np.int64)
        nulls = np.zeros((len(columns), table.num_rows), np.bool_)
        for k, column in enumerate(columns):
            # Of several streams, one may not have the column: there it is NULL.
            if any(i.column not in table.column_names for i in inputs_within(column.expression)):
                nulls[k] = True
                continue
            found = evaluate_column(column.expression, table, self.tables)
            nulls[k] = np.asarray(pc.is_null(found))
            values[k] = self.words(found, column.type)
        return values, nulls

    def words(self, column: Any, kind: DataType) -> Words:
        """Return values as the search reads them."""
        if kind is DataType.STRING:
            return self.strings.encode(column)
        if kind is DataType.DOUBLE:
            reals = np.asarray(pc.fill_null(column, 0.0), np.float64)
            return reals.view(np.int64)
        return whole(column)


def joint_codes(codes: Codes, columns: list[Any], n: int) -> Words:
    """Return one code for the values that rows have in some columns."""
    if not columns:
        return np.full(n, codes.code(()), np.int64)
    if len(columns) == 1:
        return codes.encode(columns[0])
    rows = zip(*(keys_of(column) for column in columns), strict=True)
    return np.array([codes.code(row) for row in rows], np.int64)


def kinds_of(
    stream: StreamSchema, table: pa.Table, names: Iterable[str | None] = ()
) -> tuple[Words, dict[str, int]]:
    """Return the type of each row as a number, and the numbers of the types.

    Where the types that matter are named, all others are -1, as NULL is.
    """
    if stream.type is None:
        return np.zeros(0, np.int64), {}
    column = table.column(stream.type)
    known = {name: k for k, name in enumerate(dict.fromkeys(n for n in names if n is not None))}
    if known:
        parts = [_named(part, known) for part in column.chunks] or [np.zeros(0, np.int64)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts), known
    codes = Codes()
    return codes.encode(column), codes.known


def _named(texts: Any, known: Mapping[str, int]) -> Words:
    """Return the number of each text of an Arrow array; -1 for one that is not known."""
    if pa.types.is_dictionary(texts.type):
        own = [known.get(text, NULL_CODE) for text in texts.dictionary.to_pylist()]
        return _translated(_filled(texts.indices, len(own)), [*own, NULL_CODE])
    found = np.empty(len(texts), np.int64)
    classify(*text_buffers(texts), *text_buffers(pa.array(known, pa.string())), found)
    if texts.null_count:
        found[np.asarray(pc.is_null(texts))] = NULL_CODE
    return found


def _filled(indices: Any, instead: int) -> np.ndarray:
    """Return the indices of a dictionary, with one for what is NULL."""
    return np.asarray(indices.fill_null(instead) if indices.null_count else indices)


def _translated(places: np.ndarray, table: list[int]) -> Words:
    """Return what a table holds at each place."""
    found = np.empty(len(places), np.int64)
    # Places of one type: a kernel is compiled for every other.
    numbering.translate(places.astype(np.int32, copy=False), np.array(table, np.int64), found)
    return found


def text_buffers(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return where each text of an Arrow array begins, with the end of the last, and the bytes."""
    _, offsets, data = column.buffers()
    if not len(column):
        return np.zeros(1, np.int32), np.zeros(0, np.uint8)
    starts = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return starts, np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)


def who_plays(
    play: Play, kinds: tuple[Words, dict[str, int]], table: pa.Table, tables: Tables
) -> Flags:
    """Return which rows may play a component."""
    plays = np.ones(table.num_rows, np.bool_)
    if play.type is not None:
        codes, known = kinds
        plays &= codes == known.get(play.type, -2)
    for expression in play.filters:
        plays &= passing(expression, table, tables)
    return plays


def passing(condition: Typed, table: pa.Table, tables: Tables) -> Flags:
    """Return for which rows a condition is true; unknown is not true."""
    outcome = evaluate_column(condition, table, tables)
    return np.asarray(pc.fill_null(outcome, False), np.bool_)


def chances_of(stream: StreamSchema, table: pa.Table) -> Reals:
    """Return the probability of each row's event."""
    if stream.probability is None:
        return np.ones(table.num_rows)
    p = np.asarray(table.column(stream.probability), np.float64)
    # The column keeps what it has; the event is as likely as that means.
    found: Reals = np.clip(p, 0.0, 1.0)
    return found


def whole(column: Any) -> Words:
    """Return a column of numbers, times, dates or booleans as 64-bit integers; NULL as 0."""
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        column = column.cast(
            pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) else pa.duration("us")
        )
        column = column.cast(pa.int64())
    elif pa.types.is_date(kind):
        column = column.cast(pa.int32()).cast(pa.int64())
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    filled = pc.fill_null(column, 0) if column.null_count else column
    return np.asarray(filled, np.int64)

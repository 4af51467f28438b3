"""The rows of a stream, loaded: checked, and with what they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.catalog import StreamSchema
from augury.evaluation.answers.match_answers import (
    Inputs,
    column_hashes,
    hexadecimal_texts,
    joined_ids,
    stream_word,
    text_hashes,
    word_hashes,
)
from augury.evaluation.encoding import DerivedPlaces, chances_of, declaration_of, whole
from augury.kernels.rows.identity import mix_hashes
from augury.kernels.rows.numbering import count_equals
from augury.matching.lineage import Formula
from augury.records import Places, Words
from augury.sources.rows import alternative_groups

# The column of rows that bring the hash of the whole row along.
EVENT_ID = "augury id"
# The column of rows that bring the id of their event along: the hash, and the number among equals.
NUMBERED = "augury event"


@dataclass
class StreamRows:
    """The rows of a stream that a query can read, and what they are made of.

    `formulas` is None for a declared stream: its rows are base events.
    """

    schema: StreamSchema
    table: pa.Table
    rejected: pa.Table
    formulas: list[Formula] | None = None
    place: DerivedPlaces | None = None

    @cached_property
    def times(self) -> Words:
        """The time of each row."""
        return whole(self.table.column(self.schema.time))

    @cached_property
    def places(self) -> Words:
        """The place of each row, and that of the end."""
        return np.arange(self.table.num_rows + 1)

    @cached_property
    def is_in_strict_order(self) -> bool:
        """Whether each row is later than the one before."""
        return bool((self.times[1:] > self.times[:-1]).all())

    @cached_property
    def is_certain(self) -> bool:
        """Whether every row has happened."""
        return self.schema.probability is None or bool(
            (chances_of(self.schema, self.table) >= 1.0).all()
        )

    @cached_property
    def coded_types(self) -> tuple[list[str | None], Places]:
        """The types that rows have, and the place of each row's among them."""
        if self.schema.type is None:
            return [None], np.zeros(self.table.num_rows, np.int32)
        column = self.table.column(self.schema.type).combine_chunks()
        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        kinds: list[str | None] = [*coded.dictionary.to_pylist(), None]
        codes = np.asarray(coded.indices.fill_null(len(kinds) - 1), np.int32)
        return kinds, codes

    def groups(self) -> Words:
        """Return, for alternatives, the row of the first that excludes it; -1 where none does."""
        if not self.schema.alternatives:
            return np.full(self.table.num_rows, -1, np.int64)
        group = alternative_groups(self.table, declaration_of(self.schema))
        firsts = np.unique(group, return_index=True)[1]
        first: Words = firsts[group]
        return first


def event_ids(source: StreamRows) -> Any:
    """Return the ids of a stream's events: its ID column, or hashes, each event's its own.

    All rows of a time must be there that may be, which are those that become good together.
    """
    schema, table = source.schema, source.table
    if schema.id is not None:
        return table.column(schema.id)
    if NUMBERED in table.column_names:
        return table.column(NUMBERED)
    brought = EVENT_ID in table.column_names
    hashes = table.column(EVENT_ID) if brought else row_hashes(schema, table)
    return _numbered(hashes, whole(table.column(schema.time)))


def with_event_ids(stream: StreamSchema, table: pa.Table) -> pa.Table:
    """Return rows without an ID that know the ids of their events, whichever of them are taken.

    All rows of a time must be there that may be.
    """
    if stream.id is not None:
        return table
    known = event_ids(StreamRows(stream, table, table.slice(0, 0)))
    return table.append_column(NUMBERED, known)


def row_hashes(stream: StreamSchema, table: pa.Table) -> Any:
    """Return a hash of each row of a stream, and of the stream; equal rows have equal ones."""
    total = np.full(table.num_rows, stream_word(stream.name, 0), np.uint64)
    for seed, column in enumerate(stream.columns, 1):
        mix_hashes(column_hashes(table.column(column.name), seed), total)
    return hexadecimal_texts(total)


def _numbered(hashes: Any, time: Words) -> Any:
    """Return the hashes of rows, in which those of equal rows are told apart by their number.

    The first of them keeps the plain hash: the first in the order in which a search takes them, for
    it may take the first and leave the others. Equal rows have equal times, and most rows have a
    time of their own.
    """
    tied = rows_of_equal_time(time)
    if not len(tied):
        return hashes
    flat = hashes.combine_chunks() if isinstance(hashes, pa.ChunkedArray) else hashes
    numbers = np.zeros(len(flat), np.int64)
    words = text_hashes(flat.take(pa.array(tied)), 0)
    numbers[tied] = _numbers_among_equals(words, time[tied])
    again = np.flatnonzero(numbers)
    if not len(again):
        return flat
    words = text_hashes(flat.take(pa.array(again)), 0)
    return pc.replace_with_mask(flat, pa.array(numbers > 0), _with_number(words, numbers[again]))


def numbered_id(plain: str, number: int) -> str:
    """Return the id of one row that has a number among rows equal to it, by their plain hash."""
    if not number:
        return plain
    words = text_hashes(pa.array([plain], pa.string()), 0)
    return str(_with_number(words, np.array([number]))[0].as_py())


def _with_number(words: np.ndarray, numbers: Words) -> Any:
    return hexadecimal_texts(word_hashes(words.view(np.int64) + numbers, 0))


def rows_of_equal_time(time: Words) -> Words:
    """Return the rows that share their time with another, in the order of time."""
    order = None
    if (time[1:] < time[:-1]).any():
        order = np.argsort(time, kind="stable")
        time = time[order]
    same = time[1:] == time[:-1]
    tied = np.zeros(len(time), np.bool_)
    tied[1:] = same
    tied[:-1] |= same
    return np.flatnonzero(tied) if order is None else order[tied]


def _numbers_among_equals(words: np.ndarray, time: Words) -> Words:
    """Return how many words of its time before each are equal to it; times are in order."""
    begins = np.flatnonzero(np.concatenate([[True], time[1:] != time[:-1]]))
    longest = int(np.diff(begins, append=len(time)).max())
    table = np.full(2 << longest.bit_length(), -1)
    numbers = np.empty(len(words), np.int64)
    count_equals(words, time, table, numbers)
    return numbers


def inputs_of(sources: Sequence[StreamRows]) -> Inputs:
    """Return the rows of all sources, numbered one after the other."""
    sizes = [source.table.num_rows for source in sources]
    firsts = tuple(sum(sizes[:k]) for k in range(len(sizes)))
    tables = tuple(source.table for source in sources)
    ids = joined_ids([event_ids(source) for source in sources])
    chances = np.concatenate([chances_of(s.schema, s.table) for s in sources])
    return Inputs(tables, firsts, ids, all_times(sources), chances)


def all_times(sources: Sequence[StreamRows]) -> Words:
    """Return the times of the rows of all sources, one after the other."""
    return np.concatenate([whole(s.table.column(s.schema.time)) for s in sources])

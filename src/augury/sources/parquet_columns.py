"""Columns of a group of rows of a Parquet file, batch by batch.

Most are decoded by kernels of ours (`parquet_pages`), and what is unusual by Arrow, also from the
middle of a column on. So those that tell which rows are wanted can come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from augury.sources.parquet_pages import DecodedColumn, decoded


@dataclass(frozen=True)
class Choice:
    """Which rows of a batch are wanted: the columns that tell, and the rising places they tell."""

    columns: tuple[str, ...]
    places: Callable[[pa.RecordBatch], np.ndarray]


@dataclass(frozen=True)
class RowGroup:
    """A group of rows of an open file: its bytes, a reader that has texts as codes, a number."""

    source: pa.NativeFile
    file: pq.ParquetFile
    number: int

    @cached_property
    def schema(self) -> pa.Schema:
        """What Arrow makes of all columns."""
        return self.file.schema_arrow


class Columns:
    """Some columns of a group of rows, read from its beginning to its end; texts are codes."""

    def __init__(self, group: RowGroup, names: Sequence[str]) -> None:
        self._group, self._done = group, 0
        self._columns = {name: _decoded(group, name) or _ByArrow(group, name) for name in names}

    def take(self, n: int, choice: Choice | None = None) -> pa.RecordBatch:
        """Return the next `n` rows, or those of them that are chosen."""
        arrays, places = dict[str, Any](), None
        if choice is not None:
            first = self._batch({name: self._take(name, n) for name in choice.columns})
            places = choice.places(first)
            arrays = {name: first.column(name).take(pa.array(places)) for name in choice.columns}
        rest = [name for name in self._columns if name not in arrays]
        arrays |= {name: self._take(name, n, places) for name in rest}
        self._done += n
        return self._batch(arrays)

    @property
    def by_arrow(self) -> set[str]:
        """The columns that Arrow decodes by now."""
        return {name for name, each in self._columns.items() if isinstance(each, _ByArrow)}

    def _take(self, name: str, n: int, places: np.ndarray | None = None) -> pa.Array:
        found = self._columns[name].take(n, places)
        if found is None:
            self._columns[name] = _ByArrow(self._group, name, self._done)
            found = self._columns[name].take(n, places)
        return found

    def _batch(self, arrays: Mapping[str, Any]) -> pa.RecordBatch:
        schema = pa.schema([self._group.schema.field(name) for name in arrays])
        return pa.RecordBatch.from_arrays(list(arrays.values()), schema=schema)


def _decoded(group: RowGroup, name: str) -> DecodedColumn | None:
    footer, kind = group.file.metadata, group.schema.field(name).type
    paths = [footer.schema.column(k).path for k in range(footer.num_columns)]
    # Of a nested column there are parts, and what is named a.b may be one of them.
    if paths.count(name) != 1:
        return None
    k = paths.index(name)
    return decoded(
        group.source, footer.schema.column(k), footer.row_group(group.number).column(k), kind
    )


class _ByArrow:
    """One column of a group of rows from some row on, as Arrow reads it."""

    def __init__(self, group: RowGroup, name: str, first: int = 0) -> None:
        self._group, self._name, self._first = group, name, first
        self._values: Iterator[pa.Array] | None = None
        self._rest: pa.Array | None = None

    def take(self, n: int, places: np.ndarray | None = None) -> pa.Array:
        """Return the next `n` values, or those at some places among them."""
        pieces = list(self._pieces(n))
        values = pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)
        return values if places is None else values.take(pa.array(places))

    def _pieces(self, n: int) -> Iterator[pa.Array]:
        # In pieces of what is asked for first, so that most need not be put together.
        self._values = self._values or _read(self._group, self._name, self._first, n)
        while n:
            if self._rest is None or not len(self._rest):
                self._rest = next(self._values, None)
            if self._rest is None:
                raise pa.ArrowInvalid(f"{self._name} has fewer values than the footer says")
            piece, self._rest = self._rest[:n], self._rest[n:]
            n -= len(piece)
            yield piece


def _read(group: RowGroup, name: str, first: int, size: int) -> Iterator[pa.Array]:
    """Yield the values of a column from one on, in pieces of about some size."""
    done = first
    try:
        for values in _read_by(group.file, group.number, name, first, size):
            yield values
            done += len(values)
        return
    except OSError:
        if not pa.types.is_dictionary(group.schema.field(name).type):
            raise
    # Texts of some encodings Arrow reads as texts only, and not as codes.
    plain = pq.ParquetFile(group.source, metadata=group.file.metadata)
    for values in _read_by(plain, group.number, name, done, size):
        yield values.dictionary_encode()


def _read_by(
    file: pq.ParquetFile, group: int, name: str, first: int, size: int
) -> Iterator[pa.Array]:
    for batch in file.iter_batches(size, [group], [name], use_threads=False):
        values = batch.column(name)
        if first < len(values):
            yield values[first:]
        first = max(0, first - len(values))

"""Columns of a group of rows of a Parquet file, batch by batch.

Most are decoded by kernels of ours (`parquet_pages`), and what is unusual by Arrow, also from the
middle of a column on. So those that tell which rows are wanted can come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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


class Columns:
    """Some columns of a group of rows, read from its beginning to its end; texts are codes."""

    def __init__(self, path: str, file: pq.ParquetFile, group: int, names: Sequence[str]) -> None:
        self._file, self._group, self._done = file, group, 0
        self._columns = self._opened(path, names)

    def take(self, n: int, choice: Choice | None = None) -> pa.RecordBatch:
        """Return the next `n` rows, or those of them that are chosen."""
        arrays, places = dict[str, Any](), None
        if choice is not None:
            first = self._batch({name: self._take(name, n) for name in choice.columns})
            places = choice.places(first.select(choice.columns))
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
            self._columns[name] = _ByArrow(self._file, self._group, name, self._done)
            found = self._columns[name].take(n, places)
        return found

    def _batch(self, arrays: Mapping[str, Any]) -> pa.RecordBatch:
        names = [name for name in self._columns if name in arrays]
        schema = pa.schema([self._file.schema_arrow.field(name) for name in names])
        return pa.RecordBatch.from_arrays([arrays[name] for name in names], schema=schema)

    def _opened(self, path: str, names: Sequence[str]) -> dict[str, DecodedColumn | _ByArrow]:
        footer, kinds = self._file.metadata, self._file.schema_arrow
        schema, told = footer.schema, footer.row_group(self._group)
        paths = [schema.column(k).path for k in range(footer.num_columns)]
        found = dict[str, DecodedColumn | _ByArrow]()
        with open(path, "rb", buffering=0) as file:
            for name in names:
                own = None
                # Of a nested column there are parts, and what is named a.b may be one of them.
                if paths.count(name) == 1:
                    k, kind = paths.index(name), kinds.field(name).type
                    own = decoded(file, schema.column(k), told.column(k), kind)
                found[name] = own or _ByArrow(self._file, self._group, name, 0)
        return found


class _ByArrow:
    """One column of a group of rows from some row on, as Arrow reads it."""

    def __init__(self, file: pq.ParquetFile, group: int, name: str, first: int) -> None:
        self._file, self._group, self._name, self._passed = file, group, name, first
        self._batches: Iterator[pa.RecordBatch] | None = None
        self._rest: pa.Array | None = None

    def take(self, n: int, places: np.ndarray | None = None) -> pa.Array:
        """Return the next `n` values, or those at some places among them."""
        if self._batches is None:
            # In pieces of what is asked for, so that most need not be put together.
            self._batches = self._file.iter_batches(
                n, [self._group], [self._name], use_threads=False
            )
            for _ in self._pieces(self._passed):
                pass
        pieces = list(self._pieces(n))
        values = pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)
        return values if places is None else values.take(pa.array(places))

    def _pieces(self, n: int) -> Iterator[pa.Array]:
        """Yield the next `n` values."""
        assert self._batches is not None
        while n:
            if self._rest is None or not len(self._rest):
                batch = next(self._batches, None)
                if batch is None:
                    raise pa.ArrowInvalid(f"{self._name} has fewer values than the footer says")
                self._rest = batch.column(self._name)
            piece, self._rest = self._rest[:n], self._rest[n:]
            n -= len(piece)
            yield piece

"""Columns of Parquet files whose pages are decoded here, and not by Arrow.

Arrow takes eleven nanoseconds for each number of a column that grows and is packed by Snappy, as
ids and times are, and reading is most of what a plain sequence costs (docs/decisions/0017). What is
not decoded here is left to Arrow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from augury.kernels.parquet.memory import SLACK
from augury.kernels.parquet.pages import (
    CURSOR,
    KNOWN,
    KNOWN_UNPACKED,
    REST,
    cut_texts,
    read_codes,
    read_words,
)

_PACKED = {"SNAPPY": True, "UNCOMPRESSED": False}
_WORDS = ("INT64", "DOUBLE")
_CODES = pa.dictionary(pa.int32(), pa.string())
_EVERY = np.empty(0, np.int32)


@dataclass(frozen=True)
class Choice:
    """Which rows of a batch are wanted: the columns that tell, and the rising places they tell."""

    columns: tuple[str, ...]
    places: Callable[[pa.RecordBatch], np.ndarray]

    def of(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch that are wanted."""
        return batch.take(pa.array(self.places(batch.select(self.columns))))


class Columns:
    """Some columns of a group of rows, read from its beginning to its end.

    They are decoded here only if all of them are of a known kind; then `are_known`.
    """

    def __init__(
        self, path: str, footer: pq.FileMetaData, group: int, names: Sequence[str]
    ) -> None:
        found = _columns(path, footer, group, names) if sys.byteorder == "little" else None
        self.are_known = found is not None
        self._columns = found or {}

    def take(self, n: int, choice: Choice | None = None) -> pa.RecordBatch | None:
        """Return the next `n` rows, or those of them that are chosen.

        None where a page is to be left to Arrow; then nothing more can be taken.
        """
        arrays, places = dict[str, Any](), None
        if choice is not None:
            first = self._batch({name: self._columns[name].take(n) for name in choice.columns})
            if first is None:
                return None
            places = choice.places(first)
            arrays = {name: first.column(name).take(pa.array(places)) for name in choice.columns}
        rest = {name: each for name, each in self._columns.items() if name not in arrays}
        return self._batch(arrays | {name: each.take(n, places) for name, each in rest.items()})

    def _batch(self, arrays: Mapping[str, Any]) -> pa.RecordBatch | None:
        if any(array is None for array in arrays.values()):
            return None
        named = {name: each for name, each in self._columns.items() if name in arrays}
        schema = pa.schema([each.field for each in named.values()])
        return pa.RecordBatch.from_arrays([arrays[name] for name in named], schema=schema)


class _Column:
    """One column of a group of rows."""

    def __init__(
        self, bytes_: Any, chunk: pq.ColumnChunkMetaData, field: pa.Field, *, has_levels: bool
    ) -> None:
        self.is_text = pa.types.is_string(field.type)
        self.field = field.with_type(_CODES) if self.is_text else field
        self.texts: pa.Array | None = None
        self.cursor = np.zeros(CURSOR, np.int64)
        self.cursor[REST] = chunk.num_values
        # Of buffers only what is written takes memory: a page is a small part of all.
        page, known = (np.empty(chunk.total_uncompressed_size + SLACK, np.uint8) for _ in range(2))
        codes = np.empty(chunk.num_values, np.int32)
        packed = _PACKED[chunk.compression]
        self.pages = (bytes_, packed, has_levels, self.cursor, page, codes, known)

    def take(self, n: int, places: np.ndarray | None = None) -> pa.Array | None:
        """Return the next values, or those at some places."""
        if self.is_text:
            texts = self._take_texts(n)
            return texts if texts is None or places is None else texts.take(pa.array(places))
        words = np.empty(n if places is None else len(places), np.int64)
        if not read_words(
            *self.pages, n, _EVERY if places is None else places, places is None, words
        ):
            return None
        return pa.Array.from_buffers(self.field.type, len(words), [None, pa.py_buffer(words)])

    def _take_texts(self, n: int) -> pa.Array | None:
        codes = np.empty(n, np.int32)
        if not read_codes(*self.pages, codes):
            return None
        self.texts = self.texts if self.texts is not None else self._dictionary()
        if self.texts is None:
            return None
        return pa.DictionaryArray.from_arrays(pa.array(codes), self.texts, safe=False)

    def _dictionary(self) -> pa.Array | None:
        known, size = self.pages[-1], int(self.cursor[KNOWN_UNPACKED])
        offsets = np.empty(int(self.cursor[KNOWN]) + 1, np.int32)
        texts = np.empty(size, np.uint8)
        if not cut_texts(known, size, offsets, texts):
            return None
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(texts)]
        found = pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)
        try:
            found.validate(full=True)
        except pa.ArrowInvalid:
            return None
        return found


def _columns(
    path: str, footer: pq.FileMetaData, group: int, names: Sequence[str]
) -> dict[str, _Column] | None:
    """Return columns of a group, at their beginnings; None unless all are of a known kind."""
    kinds, told = footer.schema.to_arrow_schema(), footer.row_group(group)
    places = {footer.schema.column(k).path: k for k in range(footer.num_columns)}
    found = dict[str, _Column]()
    with open(path, "rb", buffering=0) as file:
        for name in names:
            if name not in places:
                return None
            column, chunk = footer.schema.column(places[name]), told.column(places[name])
            if not _is_known(column, chunk, kinds.field(name)):
                return None
            bytes_ = _read(file, chunk)
            if bytes_ is None:
                return None
            has_levels = column.max_definition_level > 0
            found[name] = _Column(bytes_, chunk, kinds.field(name), has_levels=has_levels)
    return found


def _is_known(column: Any, chunk: pq.ColumnChunkMetaData, field: pa.Field) -> bool:
    is_flat = column.max_repetition_level == 0 and column.max_definition_level <= 1
    is_word = chunk.physical_type in _WORDS and (
        field.type in (pa.int64(), pa.float64()) or pa.types.is_timestamp(field.type)
    )
    is_text = chunk.physical_type == "BYTE_ARRAY" and pa.types.is_string(field.type)
    is_here = chunk.compression in _PACKED and not chunk.file_path
    return is_flat and is_here and (is_word or is_text)


def _read(file: Any, chunk: pq.ColumnChunkMetaData) -> Any:
    """Return the bytes of a column of a group, and slack; None where a file is too short."""
    starts = [chunk.data_page_offset, chunk.dictionary_page_offset]
    size = chunk.total_compressed_size
    bytes_ = np.empty(size + SLACK, np.uint8)
    bytes_[size:] = 0
    file.seek(min(start for start in starts if start))
    return bytes_ if file.readinto(bytes_[:size]) == size else None

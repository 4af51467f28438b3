"""Columns of Parquet files whose pages are decoded here, and not by Arrow.

Arrow takes eleven nanoseconds for each number of a column that grows and is packed by Snappy, as
ids and times are, and reading is most of what a plain sequence costs (docs/decisions/0021).
"""

from __future__ import annotations

import sys
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
from augury.sources.rows import CODES

_PACKED = {"SNAPPY": True, "UNCOMPRESSED": False}
# Bytes of a value, by its type in files, and the types of Arrow that they are read as.
_WIDTHS = {"INT32": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}
_INTEGERS = {4: (pa.int8(), pa.int16(), pa.int32(), pa.date32()), 8: (pa.int64(),), 12: ()}
# Sizes in a footer that are no sizes.
_MOST = 2**31
# What is written in another way than plain or as codes.
_OTHERWISE = ("DELTA", "BYTE_STREAM")
_EVERY = np.empty(0, np.int32)


class DecodedColumn:
    """One column of a group of rows, read from its beginning to its end."""

    def __init__(
        self, bytes_: Any, chunk: pq.ColumnChunkMetaData, kind: pa.DataType, *, has_levels: bool
    ) -> None:
        self._kind, self._width = kind, _WIDTHS.get(chunk.physical_type)
        self._texts: pa.Array | None = None
        self._cursor = np.zeros(CURSOR, np.int64)
        self._cursor[REST] = chunk.num_values
        # Of buffers only what is written takes memory: a page is a small part of all.
        page, known = (np.empty(chunk.total_uncompressed_size + SLACK, np.uint8) for _ in range(2))
        codes = np.empty(chunk.num_values, np.int32)
        packed = _PACKED[chunk.compression]
        self._pages = (bytes_, packed, has_levels, self._cursor, page, codes, known)

    def take(self, n: int, places: np.ndarray | None = None) -> pa.Array | None:
        """Return the next `n` values, or those at some rising places among them.

        None where a page is to be left to Arrow; then nothing more can be taken.
        """
        if self._width is None:
            texts = self._take_texts(n)
            return texts if texts is None or places is None else texts.take(pa.array(places))
        is_all = places is None
        words = np.empty(n if places is None else len(places), np.int64)
        wanted = _EVERY if places is None else places
        if not read_words(*self._pages, self._width, n, wanted, is_all, words):
            return None
        values = words if self._width > 4 else words.astype(f"i{self._kind.bit_width // 8}")
        return pa.Array.from_buffers(self._kind, len(values), [None, pa.py_buffer(values)])

    def _take_texts(self, n: int) -> pa.Array | None:
        codes = np.empty(n, np.int32)
        if not read_codes(*self._pages, codes):
            return None
        self._texts = self._texts if self._texts is not None else self._dictionary()
        if self._texts is None:
            return None
        return pa.DictionaryArray.from_arrays(pa.array(codes), self._texts, safe=False)

    def _dictionary(self) -> pa.Array | None:
        known, size = self._pages[-1], int(self._cursor[KNOWN_UNPACKED])
        if not 0 <= 4 * self._cursor[KNOWN] <= size:
            # Each text has a length of four bytes.
            return None
        offsets = np.empty(int(self._cursor[KNOWN]) + 1, np.int32)
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


def decoded(
    source: pa.NativeFile, column: Any, chunk: pq.ColumnChunkMetaData, kind: pa.DataType
) -> DecodedColumn | None:
    """Return a column of a group of rows, at its beginning; None if it is of no known kind.

    `kind` is what Arrow would make of it, texts being codes.
    """
    if sys.byteorder != "little" or not _is_known(column, chunk, kind):
        return None
    bytes_ = _read(source, chunk)
    has_levels = column.max_definition_level > 0
    return None if bytes_ is None else DecodedColumn(bytes_, chunk, kind, has_levels=has_levels)


def _is_known(column: Any, chunk: pq.ColumnChunkMetaData, kind: pa.DataType) -> bool:
    is_flat = column.max_repetition_level == 0 and column.max_definition_level <= 1
    is_here = chunk.compression in _PACKED and not chunk.file_path
    is_usual = not any(way.startswith(_OTHERWISE) for way in chunk.encodings)
    told, is_text = chunk.statistics, chunk.physical_type == "BYTE_ARRAY"
    has_all = told is None or not told.has_null_count or not told.null_count
    # Pages would tell all of this, too, and be read twice.
    is_usual &= has_all and (chunk.has_dictionary_page or not is_text)
    return is_flat and is_here and is_usual and _is_known_kind(chunk.physical_type, kind)


def _is_known_kind(stored: str, kind: pa.DataType) -> bool:
    if stored == "BYTE_ARRAY":
        return bool(kind == CODES)
    if stored == "DOUBLE":
        return bool(kind == pa.float64())
    width = _WIDTHS.get(stored)
    if pa.types.is_timestamp(kind):
        return width == 8 or (width == 12 and kind.unit == "us")
    return width is not None and kind in _INTEGERS[width]


def _read(source: pa.NativeFile, chunk: pq.ColumnChunkMetaData) -> Any:
    """Return the bytes of a column of a group, and slack; None where a file is too short."""
    starts = [chunk.data_page_offset, chunk.dictionary_page_offset]
    start, size = min(filter(None, starts), default=-1), chunk.total_compressed_size
    sizes = (size, chunk.total_uncompressed_size, chunk.num_values)
    if start < 0 or not all(0 <= each < _MOST for each in sizes):
        return None
    bytes_ = np.empty(size + SLACK, np.uint8)
    bytes_[size:] = 0
    source.seek(start)
    return bytes_ if source.readinto(bytes_[:size]) == size else None

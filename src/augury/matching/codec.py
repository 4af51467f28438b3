"""Match state as bytes: a header that says what it is, then the events as Arrow.

Magic, format version, fingerprint of the query, checksum, Arrow IPC. Codes (of strings, keys,
partitions) mean nothing without the values they stand for, so those travel along as a `Codebook`,
but only the ones that a live event uses: what a stream has forgotten, its state forgets too. Every
version that was ever written can be read; `tests/state` keeps a sample of each.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa

from augury.errors import StateError
from augury.records import Events, Words

_HEADER = struct.Struct("<8sH32sI")
_PLAIN = ("time", "tie", "stream", "key", "partition", "mask", "p", "group", "row")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Codebook:
    """What codes stand for: code k of strings is `strings[k]`, and so on.

    `text_columns` are the attributes that are codes of strings; `alone` counts the partitions of
    single events (NULL equals nothing) that were given out.
    """

    strings: tuple[str, ...] = ()
    keys: tuple[Hashable, ...] = ()
    partitions: tuple[Hashable, ...] = ()
    text_columns: tuple[int, ...] = ()
    alone: int = 0


@dataclass(frozen=True, slots=True)
class Stored:
    """A state as it is stored: live events, the horizon reported, and what codes stand for."""

    events: Events
    reported: int
    codebook: Codebook = Codebook()


def fingerprint(*parts: object) -> bytes:
    """Return 32 bytes that tell the state of one query from that of another."""
    return sha256("\n".join(map(repr, parts)).encode()).digest()


# Bytes ---------------------------------------------------------------------------------------


def dump(stored: Stored, query: str, mark: bytes) -> bytes:
    """Return the state of a query as bytes; `mark` is its fingerprint."""
    compact = _compacted(stored)
    about = {
        "query": query,
        "reported": compact.reported,
        "is_float": list(compact.events.is_float),
        "codebook": _as_plain(compact.codebook),
    }
    table = _table(compact.events).replace_schema_metadata({"augury": json.dumps(about)})
    return FORMAT.seal(ipc_bytes(table), mark)


def load(data: bytes, query: str, mark: bytes) -> Stored:
    """Return the state that `dump` wrote for the same query."""
    version, body = FORMAT.unseal(data, f"query {query}", mark)
    table, about = _READERS[version](body)
    return Stored(
        _events(table, tuple(about["is_float"])), about["reported"], _from_plain(about["codebook"])
    )


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of stored bytes: its magic, and the version that is written.

    All versions from 1 on can be read.
    """

    magic: bytes
    version: int

    def seal(self, body: bytes, mark: bytes) -> bytes:
        """Return the body behind a header that tells what it is."""
        return _HEADER.pack(self.magic, self.version, mark, zlib.crc32(body)) + body

    def unseal(self, data: bytes, owner: str, mark: bytes) -> tuple[int, bytes]:
        """Return version and body of bytes that were stored for `owner`."""
        if len(data) < _HEADER.size or not data.startswith(self.magic):
            raise StateError(
                f"what was stored for {owner} is no such state; "
                "give the bytes that were saved, or start without them"
            )
        _, version, found, checksum = _HEADER.unpack_from(data)
        if not 1 <= version <= self.version:
            raise StateError(
                f"the state of {owner} has format version {version}, and this release reads "
                f"versions up to {self.version}; use the release that wrote it, or start without it"
            )
        body = data[_HEADER.size :]
        if zlib.crc32(body) != checksum:
            raise StateError(
                f"the state of {owner} is damaged: its checksum does not fit its "
                f"{len(body)} bytes; restore an older copy, or start without it"
            )
        if found != mark:
            raise StateError(
                f"the state belongs to other declarations than {owner} has now; "
                "declare what was declared then, or start without the state"
            )
        return version, body


FORMAT = Format(b"AUGURYMS", 1)


def ipc_bytes(table: pa.Table) -> bytes:
    """Return a table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    body: bytes = sink.getvalue().to_pybytes()
    return body


def _read_1(body: bytes) -> tuple[pa.Table, dict[str, Any]]:
    table = pa.ipc.open_stream(body).read_all()
    return table, json.loads(table.schema.metadata[b"augury"])


_READERS: Mapping[int, Callable[[bytes], tuple[pa.Table, dict[str, Any]]]] = {1: _read_1}


def _table(events: Events) -> pa.Table:
    columns: dict[str, Any] = {name: getattr(events, name) for name in _PLAIN}
    for k in range(len(events.values)):
        columns[f"value_{k}"] = events.values[k]
        columns[f"null_{k}"] = events.nulls[k]
    return pa.table({name: pa.array(column) for name, column in columns.items()})


def _events(table: pa.Table, is_float: tuple[bool, ...]) -> Events:
    def column(name: str) -> Any:
        return table.column(name).to_numpy().copy()

    n, attributes = table.num_rows, range(len(is_float))
    values, nulls = np.zeros((len(is_float), n), np.int64), np.zeros((len(is_float), n), np.bool_)
    for k in attributes:
        values[k], nulls[k] = column(f"value_{k}"), column(f"null_{k}")
    plain = {name: column(name) for name in _PLAIN}
    return Events(**plain, values=values, nulls=nulls, is_float=is_float)


# Codes: only those in use are stored, numbered anew -----------------------------------------------


def _compacted(stored: Stored) -> Stored:
    book, events = stored.codebook, stored.events
    if not (book.strings or book.keys or book.partitions):
        return stored
    values = events.values.copy()
    text = list(book.text_columns)
    strings, values[text] = _renumbered(book.strings, values[text])
    keys, key = _renumbered(book.keys, events.key)
    partitions, partition = _renumbered(book.partitions, events.partition)
    book = replace(book, strings=strings, keys=keys, partitions=partitions)
    return Stored(
        replace(events, values=values, key=key, partition=partition), stored.reported, book
    )


def _renumbered(meanings: tuple[Any, ...], codes: Words) -> tuple[tuple[Any, ...], Words]:
    """Return the meanings in use, and the codes numbered accordingly; negative codes stay."""
    if not meanings:
        return meanings, codes
    used = np.unique(codes[codes >= 0])
    fresh = np.searchsorted(used, codes)
    return tuple(meanings[k] for k in used), np.where(codes < 0, codes, fresh).astype(np.int64)


def _as_plain(book: Codebook) -> dict[str, Any]:
    return {
        "strings": list(book.strings),
        "keys": [plain(value) for value in book.keys],
        "partitions": [plain(value) for value in book.partitions],
        "text_columns": list(book.text_columns),
        "alone": book.alone,
    }


def _from_plain(written: dict[str, Any]) -> Codebook:
    return Codebook(
        tuple(written["strings"]),
        tuple(value_of(each) for each in written["keys"]),
        tuple(value_of(each) for each in written["partitions"]),
        tuple(written["text_columns"]),
        written["alone"],
    )


def plain(value: Any) -> Any:
    """Return a value as JSON has it; what JSON lacks is a list that begins with its name."""
    if isinstance(value, tuple):
        return ["row", *map(plain, value)]
    if isinstance(value, datetime):
        return ["time", (value - _EPOCH) // timedelta(microseconds=1)]
    return ["day", value.toordinal()] if isinstance(value, date) else value


def value_of(written: Any) -> Any:
    """Return the value that `plain` wrote."""
    if not isinstance(written, list):
        return written
    kind, *parts = written
    if kind == "time":
        return _EPOCH + timedelta(microseconds=parts[0])
    return date.fromordinal(parts[0]) if kind == "day" else tuple(map(value_of, parts))

"""Stored bytes: a header that says what they are, whose, and whether they are whole.

Magic, format version, fingerprint of the owner, checksum, body. Every version that was ever
released can be read; `tests/state` keeps a sample of each.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from typing import Any

import pyarrow as pa

from augury.errors import StateError
from augury.records import as_key

_HEADER = struct.Struct("<8sH32sI")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def fingerprint(*parts: object) -> bytes:
    """Return 32 bytes that tell the state of one query from that of another."""
    return sha256("\n".join(map(repr, parts)).encode()).digest()


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
        is_stored = isinstance(data, bytes | bytearray) and len(data) >= _HEADER.size
        if not (is_stored and data.startswith(self.magic)):
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


def ipc_bytes(table: pa.Table) -> bytes:
    """Return a table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    body: bytes = sink.getvalue().to_pybytes()
    return body


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
        return as_key(written)
    kind, *parts = written
    if kind == "time":
        return _EPOCH + timedelta(microseconds=parts[0])
    return date.fromordinal(parts[0]) if kind == "day" else tuple(map(value_of, parts))

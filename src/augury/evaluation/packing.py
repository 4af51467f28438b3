"""Rows packed by shard: what Spark shuffles and keeps is a few blobs, not many rows.

Spark moves rows one by one: it copies, hashes, sorts and converts each. Packed, a few thousand rows
of one shard are one binary value, the body of one Arrow batch. So packing costs one pass in Arrow,
and what follows costs next to nothing (docs/decisions/0009). Everything here is Arrow: it runs in
Spark's Python workers, and in tests without Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.catalog import StreamSchema
from augury.evaluation.encoding import whole
from augury.evaluation.stream_rows import EVENT_ID, row_hashes
from augury.sources.columns import ARROW_TYPES

# Names of columns beside the declared ones, which cannot have them: a space needs backquotes.
SHARD, FAULT, ROW_TEXT = "augury shard", "augury fault", "augury row text"
# Rows that are packed at a time; and bytes of a blob, about. To the JVM's collector an object of
# half a region is humongous, and a region of a small heap is one megabyte.
ROWS = 2**18
BLOB_BYTES = 2**17
BLOBS = pa.schema(
    [
        ("shard", pa.int64()),
        ("stream", pa.string()),
        ("kind", pa.string()),
        ("first", pa.int64()),
        ("n", pa.int64()),
        ("blob", pa.binary()),
    ]
)
REJECTED = pa.schema([(ROW_TEXT, pa.string()), (FAULT, pa.string())])


@dataclass(frozen=True)
class Packer:
    """Packs the rows of one stream, which come with their shard; for `mapInArrow`.

    `schema` has the columns that travel. A row with a fault is not packed with the others: it goes
    on as the text of the whole row, with the fault.
    """

    stream: StreamSchema
    schema: pa.Schema

    @property
    def columns(self) -> list[str]:
        """The declared columns that rows must come with: a row without ID is hashed whole."""
        own = [column.name for column in self.stream.columns]
        return own if self.stream.id is None else [n for n in self.schema.names if n in own]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield blobs for batches of rows."""
        held, rows = list[pa.RecordBatch](), 0
        for batch in batches:
            held.append(batch)
            rows += batch.num_rows
            if rows >= ROWS:
                yield from self._packed(pa.Table.from_batches(held))
                held, rows = [], 0
        if held:
            yield from self._packed(pa.Table.from_batches(held))

    def _packed(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        if FAULT in rows.column_names:
            bad = pc.is_valid(rows.column(FAULT))
            faulty = rows.filter(bad)
            if faulty.num_rows:
                yield blobs_batch(self.stream.name, "rejected", [_rejected(faulty)])
                rows = rows.filter(pc.invert(bad))
        if rows.num_rows:
            yield from self._by_shard(rows)

    def _by_shard(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        shards = whole(rows.column(SHARD))
        table = self.travelling(rows)
        if (shards == shards[0]).all():
            pieces = [(int(shards[0]), table)]
        else:
            order = np.argsort(shards, kind="stable")
            table, shards = table.take(pa.array(order)), shards[order]
            starts = np.flatnonzero(np.concatenate([[True], shards[1:] != shards[:-1]]))
            ends = [*starts[1:].tolist(), len(shards)]
            pieces = [
                (int(shards[a]), table.slice(a, b - a))
                for a, b in zip(starts.tolist(), ends, strict=True)
            ]
        small = [self._piece(shard, part) for shard, piece in pieces for part in cut(piece)]
        yield blobs_batch(self.stream.name, "rows", small)

    def _piece(self, shard: int, rows: pa.Table) -> tuple[int, int, int, bytes]:
        assert self.stream.time is not None
        first = int(whole(rows.column(self.stream.time)).min())
        return shard, first, rows.num_rows, blob_of(rows)

    def travelling(self, rows: pa.Table) -> pa.Table:
        """Return the columns that go on, in the declared types, in one piece; codes stay codes."""
        kinds = {c.name: ARROW_TYPES[c.type.value] for c in self.stream.columns}
        known = {n: _cast(rows.column(n), kinds[n]) for n in rows.column_names if n in kinds}
        if EVENT_ID in self.schema.names:
            # Equal rows are numbered where all of them are, after the shuffle.
            known[EVENT_ID] = row_hashes(self.stream, pa.table(known))
        return pa.table(
            [known[name] for name in self.schema.names], self.schema.names
        ).combine_chunks()


def _cast(column: Any, kind: Any) -> Any:
    # What workers read themselves has its type already, or is a code.
    return column if pa.types.is_dictionary(column.type) else column.cast(kind)


def _rejected(faulty: pa.Table) -> tuple[int, int, int, bytes]:
    texts = faulty.select(REJECTED.names).cast(REJECTED)
    return whole(faulty.column(SHARD))[0], 0, faulty.num_rows, blob_of(texts)


def blobs_batch(
    stream: str, kind: str, pieces: list[tuple[int, int, int, bytes]]
) -> pa.RecordBatch:
    """Return (shard, first, number of rows, blob) of one stream and kind as Spark moves them."""
    shards, firsts, sizes, blobs = zip(*pieces, strict=True)
    n = len(pieces)
    columns = [shards, [stream] * n, [kind] * n, firsts, sizes, blobs]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, BLOBS, strict=True)]
    return pa.record_batch(arrays, schema=BLOBS)


def cut(rows: pa.Table) -> Iterator[pa.Table]:
    """Yield the rows in parts, each good for a blob."""
    each = max(1, BLOB_BYTES * rows.num_rows // max(1, rows.nbytes))
    for start in range(0, rows.num_rows, each):
        yield rows.slice(start, each)


def blob_of(rows: pa.Table) -> bytes:
    """Return the body of an Arrow batch: its schema is known to who reads it."""
    (batch,) = rows.combine_chunks().to_batches() or [_no_rows(rows.schema)]
    body: bytes = batch.serialize().to_pybytes()
    return body


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)


def rows_of(blobs: Iterable[bytes | pa.Buffer], schema: pa.Schema) -> pa.Table:
    """Return the rows of blobs, one after the other."""
    read = [pa.ipc.read_record_batch(pa.py_buffer(blob), schema) for blob in blobs]
    return pa.Table.from_batches(read, schema)

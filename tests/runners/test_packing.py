"""Rows travel in blobs that are small, however wide the rows are, and in their order."""

import numpy as np
import pyarrow as pa
import pytest

from augury.analysis.declarations.catalog import StreamSchema
from augury.analysis.script import check_text
from augury.evaluation.packing import BLOB_BYTES, SHARD, Packer, rows_of
from augury.runners.spark.tasks import Blob, blobs_of

ROWS = 40_000


def stream_of(width: int) -> StreamSchema:
    columns = ", ".join(f"c{k} DOUBLE" for k in range(width))
    text = f"CREATE STREAM s (id LONG, t LONG, {columns}) ID id TIME t;"
    return check_text(text).catalog.streams["s"]


def rows_like(width: int) -> pa.Table:
    number = np.arange(ROWS)
    columns = {f"c{k}": number * 1.0 for k in range(width)}
    return pa.table({"id": number, "t": number, **columns, SHARD: number % 3})


def blobs(width: int) -> list[Blob]:
    rows = rows_like(width)
    schema = rows.drop_columns([SHARD]).schema
    return list(blobs_of(Packer(stream_of(width), schema)(rows.to_batches(10_000))))


@pytest.mark.parametrize("width", [1, 60])
def test_no_blob_is_large(width: int) -> None:
    found = blobs(width)
    sizes = [len(blob.data) for blob in found]
    # The header of a blob names every column.
    assert max(sizes) < BLOB_BYTES + 200 * (width + 2)
    # Not smaller than need be, either: only the last one of each shard may be.
    assert sum(size > BLOB_BYTES * 0.9 for size in sizes) >= len(sizes) - 3


@pytest.mark.parametrize("width", [1, 60])
def test_every_row_travels_once_in_its_order(width: int) -> None:
    schema = rows_like(width).drop_columns([SHARD]).schema
    ids = [rows_of([blob.data], schema).column("id").to_pylist() for blob in blobs(width)]
    assert [len(own) for own in ids] == [blob.n for blob in blobs(width)]
    assert [own[0] for own in ids] == [blob.first for blob in blobs(width)]
    flat = [number for own in ids for number in own]
    assert flat == sorted(range(ROWS), key=lambda number: number % 3)

"""Rows of plain values as Arrow tables, and single values as kernel words."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from augury.analysis.declarations.catalog import DataType
from planning.plain import Days, Length, Moment
from planning.scalars import COLUMNS

ARROW = {
    DataType.BOOLEAN: pa.bool_(),
    DataType.LONG: pa.int64(),
    DataType.DOUBLE: pa.float64(),
    DataType.STRING: pa.string(),
    DataType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    DataType.DATE: pa.date32(),
    DataType.INTERVAL: pa.duration("us"),
}


def bare(value: Any) -> Any:
    """Return the number inside a value of time."""
    if isinstance(value, Moment | Length):
        return value.microseconds
    return value.number if isinstance(value, Days) else value


def column_of(kind: DataType, values: Sequence[Any]) -> pa.Array:
    plain = [bare(v) for v in values]
    if kind in (DataType.TIMESTAMP, DataType.INTERVAL):
        return pa.array(plain, pa.int64()).cast(ARROW[kind])
    if kind is DataType.DATE:
        return pa.array(plain, pa.int32()).cast(ARROW[kind])
    return pa.array(plain, ARROW[kind])


def table_of(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.table({n: column_of(t, [row[n] for row in rows]) for n, t in COLUMNS.items()})


def numbers_of(column: pa.Array) -> list[Any]:
    """Return a column's values, with times as bare numbers."""
    if pa.types.is_timestamp(column.type) or pa.types.is_duration(column.type):
        return column.cast(pa.int64()).to_pylist()
    if pa.types.is_date(column.type):
        return column.cast(pa.int32()).to_pylist()
    return column.to_pylist()


def word(kind: DataType, value: Any, codes: Mapping[str, int]) -> int:
    """Return the kernel's word for a value."""
    if value is None:
        return 0
    if isinstance(value, str):
        return codes[value]
    if kind is DataType.DOUBLE:
        return int(struct.unpack("<q", struct.pack("<d", value))[0])
    return int(value)

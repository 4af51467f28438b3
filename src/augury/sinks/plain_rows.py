"""Rows of Arrow as the texts that Spark writes: JSON lines, CSV, and values for people."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from datetime import date
from typing import Any, TextIO

import numpy as np
import pyarrow as pa

from augury.sinks.moments import moment_text
from augury.sinks.plain_json import as_json, finite

_WORDS = (pa.types.is_timestamp, pa.types.is_duration)
_SECOND = 1_000_000


def plain_rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield rows whose moments are texts in UTC; Python's own have no year 10,000."""
    for batch in table.to_batches(max_chunksize=10_000):
        columns = [_plain(batch.column(k), field.type) for k, field in enumerate(batch.schema)]
        names = batch.schema.names
        for values in zip(*columns, strict=True):
            yield dict(zip(names, values, strict=True))


def _plain(column: Any, kind: Any) -> list[Any]:
    if any(is_word(kind) for is_word in _WORDS):
        words = column.cast(pa.int64()).to_pylist()
        written = moment_text if pa.types.is_timestamp(kind) else interval_text
        return [None if word is None else written(word) for word in words]
    if pa.types.is_list(kind):
        return _lists(column)
    if pa.types.is_struct(kind):
        names = [field.name for field in kind]
        parts = [_plain(column.field(k), kind.field(k).type) for k in range(len(names))]
        given = column.is_valid().to_pylist()
        rows = zip(*parts, strict=True)
        found = (dict(zip(names, row, strict=True)) for row in rows)
        return [row if there else None for row, there in zip(found, given, strict=True)]
    values: list[Any] = column.to_pylist()
    return [value.isoformat() if isinstance(value, date) else value for value in values]


def _lists(column: Any) -> list[Any]:
    column = pa.concat_arrays([column])
    items = _plain(column.flatten(), column.type.value_type)
    lengths = np.asarray(column.value_lengths().fill_null(0)).tolist()
    found, at = list[Any](), 0
    for length, there in zip(lengths, column.is_valid().to_pylist(), strict=True):
        found.append(items[at : at + length] if there else None)
        at += length
    return found


def interval_text(microseconds: int) -> str:
    """Return a length of time as Spark writes one.

    >>> interval_text(90_061_500_000)
    "INTERVAL '1 01:01:01.5' DAY TO SECOND"
    """
    sign, rest = "-" if microseconds < 0 else "", abs(microseconds)
    seconds, micros = divmod(rest, _SECOND)
    days, seconds = divmod(seconds, 86_400)
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}"
    return f"INTERVAL '{sign}{days} {clock}' DAY TO SECOND"


def write_json(table: pa.Table, out: TextIO) -> None:
    """Write rows as JSON, one object a line."""
    for row in plain_rows(table):
        out.write(f"{as_json(row)}\n")


def write_csv(table: pa.Table, out: TextIO) -> None:
    """Write rows as CSV, with quotes doubled; what has structure is one field of JSON."""
    writer = csv.writer(out, lineterminator="\n")
    for row in plain_rows(table):
        writer.writerow([_field(value) for value in row.values()])


def _field(value: Any) -> Any:
    if isinstance(value, list | dict):
        return as_json(_without_nulls(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return finite(value) if not math.isfinite(value) else repr(value)
    return value


def _without_nulls(value: Any) -> Any:
    """Return a value as Spark writes it into a field: what is NULL is left out."""
    if isinstance(value, dict):
        return {n: _without_nulls(each) for n, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value

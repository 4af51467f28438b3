"""Columns of bound data in their declared types, by the rule of `sources.values`.

A column whose type has no value of the declared one (texts for a LONG, numbers for a TIMESTAMP) is
an error. In any other each cell is judged: one that does not fit becomes NULL, and has a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.sources.values import (
    ISO_MOMENT,
    ISO_ZONE,
    READERS,
    UNFIT,
    is_missing,
    unfit,
)

ARROW_TYPES: dict[str, Any] = {
    "BOOLEAN": pa.bool_(),
    "LONG": pa.int64(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "TIMESTAMP": pa.timestamp("us", tz="UTC"),
    "DATE": pa.date32(),
}
# Words that hold values inside, where they are not the type itself.
_WORDS = {"TIMESTAMP": pa.int64(), "DATE": pa.int32()}

Faults = dict[int, str]


@dataclass(frozen=True)
class Fitted:
    """A column in its declared type, and why some of its cells are none, by row."""

    column: Any
    faults: Faults = field(default_factory=dict)


def can_hold(kind: str, type_: Any) -> bool:
    """Whether a column of this type may have values of the declared one."""
    return pa.types.is_null(type_) or any(is_such(type_) for is_such in _HOLDERS[kind])


def _is_text(type_: Any) -> bool:
    t = pa.types
    return bool(t.is_string(type_) or t.is_large_string(type_) or t.is_string_view(type_))


def _is_bytes(type_: Any) -> bool:
    t = pa.types
    return bool(t.is_binary(type_) or t.is_large_binary(type_) or t.is_fixed_size_binary(type_))


_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
_TIMES = (pa.types.is_timestamp, pa.types.is_date, _is_text)
_HOLDERS: dict[str, tuple[Callable[[Any], bool], ...]] = {
    "LONG": _NUMBERS,
    "DOUBLE": _NUMBERS,
    "STRING": (_is_text, _is_bytes, pa.types.is_integer),
    "BOOLEAN": (pa.types.is_boolean, *_NUMBERS),
    "TIMESTAMP": _TIMES,
    "DATE": _TIMES,
}


def fit(column: Any, name: str, kind: str) -> Fitted:
    """Return a column that can hold values of a declared type, in that type."""
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        column = _in_microseconds(column)
    try:
        whole = _as_a_whole(column, kind)
    except pa.ArrowInvalid:
        whole = None
    return fit_values(_values(column), name, kind) if whole is None else Fitted(whole)


def _as_a_whole(column: Any, kind: str) -> Any | None:
    """Return a column as Arrow casts it; None, or an error, where cells have to be looked at."""
    own, t = column.type, pa.types
    if kind == "TIMESTAMP" and _is_text(own):
        return _moments_of_texts(column)
    # Arrow would drop the time of a day; it takes all but 0 for true.
    judged = {"DATE": not t.is_date(own), "BOOLEAN": not t.is_boolean(own)}
    if judged.get(kind) and not t.is_null(own):
        return None
    # As a LONG it takes 1.0, and neither 1.5 nor NaN; as a DOUBLE a large number is rounded.
    return column.cast(ARROW_TYPES[kind], safe=kind != "DOUBLE")


def _values(column: Any) -> list[Any]:
    """Return cells as Python has them; a time that Python lacks stays what it is, and fits none."""
    try:
        found: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        found = [_value(cell) for cell in column]
    return found


def _value(cell: Any) -> Any:
    try:
        return cell.as_py()
    except (OverflowError, ValueError):
        return cell


def _in_microseconds(column: Any) -> Any:
    """Return moments of nanoseconds in microseconds; what is finer is dropped."""
    words = np.asarray(pc.fill_null(column.cast(pa.int64()), 0)) // 1000
    nulls = np.asarray(pc.is_null(column))
    return pa.chunked_array([pa.array(words, mask=nulls).cast(ARROW_TYPES["TIMESTAMP"])])


def _moments_of_texts(column: Any) -> Any | None:
    """Return ISO texts as moments where all have a zone or none has; None of others."""
    shaped = pc.match_substring_regex(column, ISO_MOMENT)
    zoned = pc.match_substring_regex(column, rf"[T ].*{ISO_ZONE}$")
    if pc.all(shaped).as_py() is False:
        return None
    if pc.all(zoned).as_py():
        return column.cast(ARROW_TYPES["TIMESTAMP"])
    if not pc.any(zoned).as_py():
        return column.cast(pa.timestamp("us")).cast(ARROW_TYPES["TIMESTAMP"])
    return None


def fit_values(values: Sequence[Any], name: str, kind: str) -> Fitted:
    """Return values of Python in a declared type, each as it is by itself."""
    read, found, faults = READERS[kind], list[Any](), Faults()
    for k, value in enumerate(values):
        inside = None
        if value is not None:
            try:
                inside = read(value)
            except UNFIT:
                if not is_missing(value):
                    faults[k] = unfit(name, kind, value)
        found.append(inside)
    words = pa.array(found, _WORDS.get(kind, ARROW_TYPES[kind]))
    return Fitted(pa.chunked_array([words.cast(ARROW_TYPES[kind])]), faults)


def python_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows as Python has them: a time before year 1, or after 9999, is NULL there."""
    try:
        rows: list[dict[str, Any]] = table.to_pylist()
    except (OverflowError, ValueError):
        columns = [_within_years(table.column(k)) for k in range(table.num_columns)]
        rows = pa.table(columns, names=table.column_names).to_pylist()
    return rows


def _within_years(column: Any) -> Any:
    if not (pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)):
        return column
    years = pc.year(column)
    return pc.if_else(pc.and_(pc.greater(years, 0), pc.less(years, 10_000)), column, None)

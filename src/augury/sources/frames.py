"""Columns of bound DataFrames of Spark in their declared types, by the rule of `sources.values`.

A column whose type has no value of the declared one is refused by whoever asks; in any other each
cell is judged by Catalyst: one that does not fit is NULL, and has a fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from augury.sources.texts import SPARK_TYPES, day_of, value_of
from augury.sources.values import DAY_LENGTH

if TYPE_CHECKING:
    from pyspark.sql import Column

_WHOLE = ("tinyint", "smallint", "int", "bigint")
_BROKEN = ("float", "double", "decimal")
_TEXTS = ("string", "varchar", "char")
# What Spark casts as a whole, by the types that the data have.
_PLAIN: dict[str, tuple[str, ...]] = {
    "BOOLEAN": ("boolean",),
    "LONG": _WHOLE,
    "DOUBLE": (*_WHOLE, *_BROKEN),
    "STRING": _TEXTS,
    "TIMESTAMP": ("timestamp", "timestamp_ntz"),
    "DATE": ("date",),
}


def is_plain(kind: str, found: str) -> bool:
    """Whether every value of a type of Spark is one of the declared type."""
    return found.partition("(")[0] in (*_PLAIN[kind], "void")


def can_hold(kind: str, found: str) -> bool:
    """Whether a column of a type of Spark may have values of the declared type."""
    return is_plain(kind, found) or found.partition("(")[0] in _JUDGED[kind]


def fitted(column: Column, kind: str, found: str) -> Column:
    """Return a column in the declared type; a cell that does not fit is NULL."""
    if found == "timestamp_ntz":
        # A time without a zone is in UTC, whatever the session's zone is.
        column = moment_in_utc(column)
    if is_plain(kind, found):
        return column.cast(SPARK_TYPES[kind])
    return _JUDGED[kind][found.partition("(")[0]](column)


def moment_in_utc(column: Column) -> Column:
    """Return a time without a zone as a moment; a cast would take the zone of the session."""
    since = (column - f.expr("TIMESTAMP_NTZ '1970-01-01 00:00:00'")).cast("interval second")
    return f.timestamp_micros((since.cast("decimal(38, 6)") * 1_000_000).cast("bigint"))


def _whole(column: Column) -> Column:
    number = column.try_cast("bigint")
    return f.when(number.cast("double") == column.cast("double"), number)


def _whole_decimal(column: Column) -> Column:
    number = column.try_cast("bigint")
    return f.when(column == number, number)


def _truth(column: Column) -> Column:
    return f.when(column == 0, f.lit(False)).when(column == 1, f.lit(True))


def _midnight(column: Column) -> Column:
    return f.timestamp_micros(f.unix_date(column).cast("bigint") * DAY_LENGTH)


def _day(column: Column) -> Column:
    is_midnight = f.pmod(f.unix_micros(column), f.lit(DAY_LENGTH)) == 0
    return f.when(is_midnight, day_of(column))


Judged = dict[str, Callable[["Column"], "Column"]]
_JUDGED: dict[str, Judged] = {
    "BOOLEAN": dict.fromkeys((*_WHOLE, *_BROKEN), _truth),
    "LONG": {"float": _whole, "double": _whole, "decimal": _whole_decimal},
    "DOUBLE": {},
    "STRING": dict.fromkeys(_WHOLE, lambda column: column.cast("string")),
    "TIMESTAMP": {"date": _midnight}
    | dict.fromkeys(_TEXTS, lambda column: value_of(column, "TIMESTAMP")),
    "DATE": {"timestamp": _day, "timestamp_ntz": _day}
    | dict.fromkeys(_TEXTS, lambda column: value_of(column, "DATE")),
}

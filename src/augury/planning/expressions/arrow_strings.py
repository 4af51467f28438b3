"""String functions of Arrow columns, by code point, as Spark's binary collation has them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from augury.analysis.declarations.catalog import DataType
from augury.planning.expressions.arrow_api import Column, pa, pc

# What a text must look like to be read as a number; spaces around it are passed over.
WHOLE_NUMBER = r" *[+-]?[0-9]+ *"
_FINITE = r"([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
# The texts that CAST writes for what is not finite are read again, in any case, as by Spark SQL.
REAL_NUMBER = rf" *([+-]?({_FINITE}|[iI][nN][fF]([iI][nN][iI][tT][yY])?)|[nN][aA][nN]) *"
DAY = r" *[0-9]{4}-[0-9]{2}-[0-9]{2} *"
MOMENT = r" *[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)? *"
TRUE_TEXTS = ("true", "t", "yes", "y", "1")
FALSE_TEXTS = ("false", "f", "no", "n", "0")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def like(column: Column, pattern: str) -> Column:
    """Return column LIKE pattern; a backslash makes the next character itself."""
    expression = rf"(?s)\A{like_regex(pattern)}\z"
    return pc.match_substring_regex(column, expression)


def like_regex(pattern: str) -> str:
    """Return the regular expression for a LIKE pattern, without anchors."""
    pieces: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == "%":
            pieces.append(".*")
        elif character == "_":
            pieces.append(".")
        else:
            literal = next(characters, "\\") if character == "\\" else character
            pieces.append(re.sub(r"([\\.^$*+?{}\[\]|()])", r"\\\1", literal))
    return "".join(pieces)


def by_value(column: Column, function: Callable[[Any], Any], kind: Any) -> Column:
    """Apply a function of Python to the distinct values of a column."""
    encoded = pc.dictionary_encode(column)
    answers = [None if v is None else function(v) for v in encoded.dictionary.to_pylist()]
    return pa.array(answers, kind).take(encoded.indices)


def _lower(column: Column) -> Column:
    # Full case mapping, as Spark has it; Arrow's own is one code point for one.
    return by_value(column, str.lower, pa.string())


def _upper(column: Column) -> Column:
    return by_value(column, str.upper, pa.string())


def _trim(column: Column) -> Column:
    return pc.utf8_trim(column, characters=" ")


def _length(column: Column) -> Column:
    return pc.cast(pc.utf8_length(column), pa.int64())


def _concat(*columns: Column) -> Column:
    return pc.binary_join_element_wise(*columns, "", null_handling="emit_null")


def _substring(column: Column, position: Column, length: Column | None = None) -> Column:
    lengths = [2**31] * len(column) if length is None else length.to_pylist()
    rows = zip(column.to_pylist(), position.to_pylist(), lengths, strict=True)
    return pa.array([None if None in row else _piece(*row) for row in rows], pa.string())


def _piece(text: str, position: int, length: int) -> str:
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = start + length
    return text[max(start, 0) : end] if end > max(start, 0) else ""


FUNCTIONS: dict[str, Callable[..., Column]] = {
    "lower": _lower,
    "upper": _upper,
    "trim": _trim,
    "length": _length,
    "concat": _concat,
    "substring": _substring,
}


def cast(column: Column, before: DataType, after: DataType) -> Column:
    """Return the column to or from STRING.

    A text that is no such value is NULL, as is the text of a time before year 1 or after 9999.
    """
    if before is not DataType.STRING:
        return by_value(column, _WRITE[before], pa.string())
    kinds = {DataType.DOUBLE: pa.float64(), DataType.BOOLEAN: pa.bool_()}
    return by_value(column, _READ[after], kinds.get(after, pa.int64()))


def _write_date(days: int) -> str | None:
    try:
        return str(date(1970, 1, 1) + timedelta(days=days))
    except OverflowError:
        return None


def _write_moment(microseconds: int) -> str | None:
    try:
        moment = _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return None
    text = moment.strftime("%H:%M:%S")
    fraction = f".{moment.microsecond:06}".rstrip("0").rstrip(".")
    return f"{moment.date()} {text}{fraction}"


def _write_double(value: float) -> str:
    """Return a number as Java writes it: 0.001 to 10 million in full, others as 1.5E10."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return format(Decimal(repr(value)), "f")
    digits, exponent = f"{Decimal(repr(value)).normalize():e}".split("e")
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def _read_date(text: str) -> int | None:
    if not re.fullmatch(DAY, text):
        return None
    try:
        return (date.fromisoformat(text.strip(" ")) - _EPOCH.date()).days
    except ValueError:
        return None


def _read_moment(text: str) -> int | None:
    """Return the microseconds of a time in UTC; a date alone is its midnight."""
    if not re.fullmatch(MOMENT, text):
        return None
    try:
        moment = datetime.fromisoformat(text.strip(" ")).replace(tzinfo=UTC)
    except ValueError:
        return None
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _read_long(text: str) -> int | None:
    if not re.fullmatch(WHOLE_NUMBER, text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def _read_double(text: str) -> float | None:
    return float(text) if re.fullmatch(REAL_NUMBER, text) else None


def _read_boolean(text: str) -> bool | None:
    word = text.strip(" ").lower()
    return True if word in TRUE_TEXTS else False if word in FALSE_TEXTS else None


_WRITE: dict[DataType, Callable[[Any], str | None]] = {
    DataType.LONG: str,
    DataType.BOOLEAN: lambda truth: "true" if truth else "false",
    DataType.DATE: _write_date,
    DataType.TIMESTAMP: _write_moment,
    DataType.DOUBLE: _write_double,
}
_READ: dict[DataType, Callable[[str], Any]] = {
    DataType.LONG: _read_long,
    DataType.DOUBLE: _read_double,
    DataType.BOOLEAN: _read_boolean,
    DataType.DATE: _read_date,
    DataType.TIMESTAMP: _read_moment,
}

"""What the cells of rows may be: one rule, for rows that are pushed, bound, or read from files.

| declared  | taken                                                                                |
|-----------|--------------------------------------------------------------------------------------|
| LONG      | whole numbers, 1.0 too                                                               |
| DOUBLE    | numbers                                                                              |
| STRING    | texts, bytes that are UTF-8, and whole numbers, as their digits                      |
| BOOLEAN   | truth values, 0 and 1                                                                |
| TIMESTAMP | moments, days (their midnight), ISO texts of either; without a zone they are in UTC  |
| DATE      | days, moments at midnight UTC, ISO texts of days                                     |

A number is no moment, because it may count seconds or microseconds; a text is no number, and a
truth value neither number nor moment. Moments are held to the microsecond, and what is finer is
dropped.

Here the rule is that of Python's values; `sources.columns` has it for columns of Arrow, and
`sources.texts` and `sources.frames` for those of Spark. Inside, times are microseconds and dates
days.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from numbers import Integral, Number
from typing import Any

import numpy as np

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1).toordinal()
_MICROSECOND = timedelta(microseconds=1)
DAY_LENGTH = 86_400_000_000
_NAN = float("nan")
_LEAST, _MOST = -(2**63), 2**63 - 1

# As Python and Java read them.
ISO_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
ISO_ZONE = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
_CLOCK = rf"([T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,9}})?)?{ISO_ZONE}?)?"
ISO_MOMENT = rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}{_CLOCK}$"
_IS_DAY, _IS_MOMENT = re.compile(ISO_DAY), re.compile(ISO_MOMENT)
EXPECTED = {
    "TIMESTAMP": "; expected ISO text such as 2026-01-31T12:00:00Z",
    "DATE": "; expected ISO text such as 2026-01-31",
}


def unfit(name: str, kind: str, value: Any) -> str:
    """Return why a row with this value is of no use."""
    return f"{name} is declared {kind}, but is {_shown(value)}{EXPECTED.get(kind, '')}"


def _shown(value: Any) -> str:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 200 else f"{text[:200]}..."


def is_missing(value: Any) -> bool:
    """Whether a value stands for none, as None and what pandas has for it do; NaN is a number."""
    if value is None or type(value).__name__ in ("NaTType", "NAType"):
        return True
    return isinstance(value, np.datetime64) and bool(np.isnat(value))


def _long(value: Any) -> int:
    if type(value) is not int:
        _expect_number(value)
    number = int(value)
    if number != value or not _LEAST <= number <= _MOST:
        raise ValueError
    return number


def _double(value: Any) -> float:
    if type(value) is not float:
        _expect_number(value)
    number = float(value)
    # One NaN for all, because dicts know it by identity, and here NaN equals NaN.
    return _NAN if number != number else number  # noqa: PLR0124


def _expect_number(value: Any) -> None:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Number):
        raise TypeError


def _string(value: Any) -> str:
    if isinstance(value, str):
        if not value.isascii():
            # Half of a pair, as JSON's escapes may have it, is no text that can be kept.
            value.encode()
        return value
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(int(value))
    raise TypeError


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        _expect_number(value)
    truth = bool(value)
    if truth != value:
        raise ValueError
    return truth


def _moment(value: Any) -> int:
    if isinstance(value, str):
        if not _IS_MOMENT.fullmatch(value):
            raise ValueError
        value = datetime.fromisoformat(value)
    elif isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if not isinstance(value, datetime):
        return _day(value) * DAY_LENGTH
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    return int((value - _EPOCH) // _MICROSECOND)


def _day(value: Any) -> int:
    if isinstance(value, str):
        if not _IS_DAY.fullmatch(value):
            raise ValueError
        value = date.fromisoformat(value)
    if isinstance(value, datetime | np.datetime64):
        days, rest = divmod(_moment(value), DAY_LENGTH)
        if rest:
            raise ValueError
        return days
    if not isinstance(value, date):
        raise TypeError
    return value.toordinal() - _FIRST_DAY


# By the name of a type: from a value outside to one inside; what does not fit raises one of UNFIT.
READERS: dict[str, Callable[[Any], Any]] = {
    "LONG": _long,
    "DOUBLE": _double,
    "STRING": _string,
    "BOOLEAN": _boolean,
    "TIMESTAMP": _moment,
    "DATE": _day,
}
UNFIT = (ValueError, TypeError, OverflowError)


def stored(value: Any, kind: str) -> Any:
    """Return a value from inside as people and Arrow have it."""
    if value is None:
        return None
    if kind == "TIMESTAMP":
        return _EPOCH + value * _MICROSECOND
    return date.fromordinal(value + _FIRST_DAY) if kind == "DATE" else value


def written(value: int, kind: str) -> str:
    """Return a time as text."""
    try:
        return str(stored(value, kind))
    except OverflowError:
        return str(value)

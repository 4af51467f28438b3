"""Times that are written by a pattern, as in `timestampFormat = 'dd/MM/yyyy HH:mm'`, without Spark.

The letters are those of Java's patterns, as Spark reads them: a letter twice wants two digits, once
one or two; a fraction may be shorter than its pattern. A pattern with letters that are not read
here is for Spark, and said to be so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

from augury.errors import DataError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_LONG = ["january", "february", "march", "april", "may", "june", "july", "august", "september"]
_LONG += ["october", "november", "december"]
_DAYS = r"(?:[A-Za-z]+)"
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|.", re.DOTALL)
_ZONE = r"(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)"
_PARTS = {"y": "year", "u": "year", "M": "month", "L": "month", "d": "day", "H": "hour"}
_PARTS |= {"h": "half", "m": "minute", "s": "second"}


@dataclass(frozen=True, slots=True)
class Forms:
    """How times are written: patterns of Java's, as Spark has them, or None for ISO text."""

    timestamp: str | None = None
    date: str | None = None

    def of(self, kind: str) -> str | None:
        """Return the pattern for a type."""
        return {"TIMESTAMP": self.timestamp, "DATE": self.date}.get(kind)

    def refuse_unread(self, name: str) -> None:
        """Raise for a pattern that only Spark can read."""
        for form in (self.timestamp, self.date):
            if form is not None and form_of(form) is None:
                raise DataError(
                    f"{name} has times in the form {form!r}, which is read on Spark only; use "
                    "--engine spark"
                )


@cache
def form_of(pattern: str) -> re.Pattern[str] | None:
    """Return the texts that a pattern describes; None for one that only Spark can read."""
    found, seen = "", set[str]()
    for token in _TOKEN.finditer(pattern):
        letter, text = token[2], token[0]
        part = re.escape(token[1].replace("''", "'") or "'") if token[1] is not None else ""
        if letter is not None:
            own = _part(letter, len(text))
            if own is None or letter in seen:
                return None
            seen.add(letter)
            part = own
        found += part or re.escape(text)
    try:
        return re.compile(found, re.IGNORECASE)
    except re.error:
        # Two letters for the same part, as y and u.
        return None


def _part(letter: str, count: int) -> str | None:
    name = _PARTS.get(letter)
    if letter in "ML" and count >= 3:
        words = _MONTHS if count == 3 else _LONG
        return f"(?P<word>{'|'.join(words)})"
    if name == "year":
        return r"(?P<short>\d{2})" if count == 2 else r"(?P<year>\d{4})"
    if name is not None:
        return rf"(?P<{name}>\d{{{count}}})" if count > 1 else rf"(?P<{name}>\d{{1,2}})"
    others = {
        "S": rf"(?P<fraction>\d{{1,{count}}})",
        "a": "(?P<noon>AM|PM)",
        "E": _DAYS,
        "X": _ZONE,
        "x": _ZONE,
        "Z": _ZONE,
    }
    return others.get(letter)


def moment_of(text: str, form: re.Pattern[str]) -> int | None:
    """Return the moment of a text in microseconds; None where it has another form.

    >>> moment_of("31/01/2026 9:30 PM", form_of("dd/MM/yyyy h:mm a"))
    1769895000000000
    """
    found = form.fullmatch(text)
    if found is None:
        return None
    own = {name: value for name, value in found.groupdict().items() if value is not None}
    try:
        moment = datetime(_year(own), _month(own), int(own.get("day", 1)), tzinfo=UTC)
        hour = _hour(own)
        clock = timedelta(
            hours=hour, minutes=int(own.get("minute", 0)), seconds=int(own.get("second", 0))
        )
    except ValueError:
        return None
    if int(own.get("minute", 0)) > 59 or int(own.get("second", 0)) > 59 or hour > 23:
        return None
    micros = int(own.get("fraction", "0").ljust(6, "0")[:6])
    return (moment + clock - _EPOCH) // timedelta(microseconds=1) + micros - _offset(own)


def _year(own: dict[str, str]) -> int:
    return 2000 + int(own["short"]) if "short" in own else int(own.get("year", 1970))


def _month(own: dict[str, str]) -> int:
    if "word" in own:
        return _MONTHS.index(own["word"][:3].lower()) + 1
    return int(own.get("month", 1))


def _hour(own: dict[str, str]) -> int:
    if "half" not in own:
        return int(own.get("hour", 0))
    half = int(own["half"])
    if not 1 <= half <= 12:
        raise ValueError
    return half % 12 + (12 if own.get("noon", "am").lower() == "pm" else 0)


def _offset(own: dict[str, str]) -> int:
    zone = own.get("zone", "Z")
    if zone in ("Z", "z"):
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return (minutes if zone[0] == "+" else -minutes) * 60_000_000

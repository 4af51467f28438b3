"""Texts of JSON as rows of a stream, without Spark, by the rules that Spark's reader has.

A text is one object, or a list of them. What is wrong becomes the fault of the row: no object, a
value of another type, a column that an event cannot do without.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from augury.sources.columns import ARROW_TYPES
from augury.sources.csv_lines import NOT_UTF8
from augury.sources.declared import FAULT, RAW
from augury.sources.text_columns import unfit_text, values_of
from augury.sources.time_forms import Forms

_LIST, _BEGINS = re.compile(r"\s*\[\s*\{"), re.compile(r"\s*[\[{]\s*$")
_NO_OBJECT = "the text is not a JSON object"
_SEVERAL = f"{_NO_OBJECT}; for one of several lines write OPTIONS (multiLine = 'true')"
_MORE = "the text goes on after its JSON object"
_LEAST, _MOST = -(2**63), 2**63 - 1
_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "INF": math.inf, "+INF": math.inf}
_NUMBERS |= {"+Infinity": math.inf, "-Infinity": -math.inf, "-INF": -math.inf}
# A name or text with half of a pair of UTF-16 is no text that can be kept or written.
_HALVES = re.compile(r"[\ud800-\udfff]")
# What parsing raises of texts that are no JSON, or lists in lists in lists.
_UNREAD = (ValueError, RecursionError)
_MISSING = object()
Row = tuple[dict[str, Any], str | None, str]


def read_texts(
    texts: Iterable[bytes], columns: Mapping[str, str], must_have: Sequence[str], forms: Forms
) -> pa.Table:
    """Return the declared columns of texts, with the text and the fault of each row."""
    reader = _Reader(dict(columns), must_have)
    rows = [row for text in texts for row in reader.rows(text)]
    reasons = [reason for _, reason, _ in rows]
    found = {}
    for name, kind in columns.items():
        values = [row.get(name) for row, _, _ in rows]
        if kind not in ("TIMESTAMP", "DATE"):
            found[name] = pa.array(values, ARROW_TYPES[kind])
            continue
        given = pa.array(values, pa.string())
        found[name] = values_of(given, kind, forms)
        for k, read in enumerate(found[name].is_valid().to_pylist()):
            if values[k] is not None and not read and _comes_first(reasons[k], name, columns):
                reasons[k] = unfit_text(name, kind, str(values[k]), forms)
    raw = pa.array([text for _, _, text in rows], pa.string())
    return pa.table({**found, RAW: raw, FAULT: pa.array(reasons, pa.string())})


def _comes_first(reason: str | None, name: str, columns: Mapping[str, str]) -> bool:
    """Whether what is wrong with a column is told before a reason: in the order of declaration."""
    if reason is None or " is missing" in reason:
        return True
    names = list(columns)
    named = next((each for each in names if reason.startswith(f"{each} is declared ")), None)
    return named is not None and names.index(named) > names.index(name)


class _Reader:
    """Reads texts into rows of values; times stay texts."""

    def __init__(self, columns: dict[str, str], must_have: Sequence[str]) -> None:
        self.columns, self.must_have = columns, must_have

    def rows(self, text: bytes) -> Iterator[Row]:
        """Yield the rows of a text: one, or those of a list."""
        try:
            whole = text.decode()
        except UnicodeDecodeError:
            yield {}, NOT_UTF8, text.decode(errors="replace")
            return
        if _LIST.match(whole):
            try:
                several = json.loads(whole)
                rows = [self._row(x, json.dumps(x, separators=(",", ":"))) for x in several]
            except _UNREAD:
                rows = [({}, _NO_OBJECT, whole)]
            yield from rows
            return
        try:
            found, end = _DECODER.raw_decode(whole.lstrip())
            row, reason, shown = self._row(found, whole)
        except _UNREAD:
            yield {}, _SEVERAL if _BEGINS.match(whole) else _NO_OBJECT, whole
            return
        if isinstance(found, dict) and whole.lstrip()[end:].strip():
            reason = _MORE
        yield row, reason, shown

    def _row(self, found: Any, text: str) -> Row:
        if not isinstance(found, dict):
            return {}, _NO_OBJECT, text
        row, reason = dict[str, Any](), None
        for name, kind in self.columns.items():
            given = found.get(name)
            if given is None:
                continue
            value = _value(given, kind)
            if value is _MISSING:
                reason = reason or unfit_text(name, kind, _as_text(given), Forms())
            else:
                row[name] = value
        for name in self.must_have:
            if reason is None and name not in found:
                reason = f"column {name} is missing"
        return row, reason, text


_DECODER = json.JSONDecoder()


def _value(given: Any, kind: str) -> Any:
    """Return a value in a declared type, or `_MISSING` where it is none."""
    if kind in ("STRING", "TIMESTAMP", "DATE"):
        return _as_text(given)
    if kind == "BOOLEAN":
        return given if isinstance(given, bool) else _MISSING
    return _number(given) if kind == "DOUBLE" else _whole(given)


def _number(given: Any) -> Any:
    if isinstance(given, str):
        return _NUMBERS.get(given, _MISSING)
    if isinstance(given, bool) or not isinstance(given, int | float):
        return _MISSING
    try:
        return float(given)
    except OverflowError:
        return math.inf if given > 0 else -math.inf


def _whole(given: Any) -> Any:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return _MISSING
    # The range first: a number of 400 digits is no float that could be asked for more.
    if not _LEAST <= given <= _MOST or given != int(given):
        return _MISSING
    return int(given)


def _as_text(given: Any) -> str:
    if not isinstance(given, str):
        given = json.dumps(given, separators=(",", ":"), ensure_ascii=False)
    return _HALVES.sub("?", given)

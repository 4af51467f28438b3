"""Lines of CSV as rows of a stream, without Spark, by the rules that Spark's reader has.

A line is a row: a quote that is not closed spoils its own line and no other. Plain lines, where
quotes stand around whole fields or nowhere, are parsed by Arrow at once; any other is parsed by
itself, as Spark would (behind an unescaped quote inside of a quoted field nothing is quoted).
Empty fields are NULL. A line of another length, a field that is none of its type, and bytes that
are no UTF-8 become the fault of their row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from augury.sources.declared import FAULT, RAW
from augury.sources.text_columns import unfit_text, values_of, with_reasons
from augury.sources.time_forms import Forms

NOT_UTF8 = "the text is not UTF-8"
UNEVEN = "the line has too many or too few fields"
_REPLACED = "\ufffd"
_NEWLINE, _RETURN = 10, 13
_AT_ONCE = 2**20


@dataclass(frozen=True)
class CsvForm:
    """How fields are told apart; `names` are the columns of the file, in order."""

    names: tuple[str, ...]
    sep: str = ","
    quote: str = '"'
    escape: str = "\\"
    null: str = ""
    forms: Forms = field(default_factory=Forms)
    is_utf8: bool = True


def read_lines(block: bytes, form: CsvForm, columns: dict[str, str]) -> pa.Table:
    """Return the declared columns of whole lines, with the text and the fault of bad ones."""
    block = _as_utf8(block)
    lines = _Lines(block, form)
    texts = lines.table()
    own = {name.lower(): name for name in reversed(form.names)}
    given = {name: _array(texts.column(own[name.lower()])) for name in columns}
    reasons: list[str | None] = [None] * texts.num_rows
    with_reasons(reasons, lines.uneven, [UNEVEN] * int(lines.uneven.sum()))
    if form.is_utf8 and _REPLACED.encode() in block:
        for column in given.values():
            odd = pc.fill_null(pc.match_substring(column, _REPLACED), False)
            with_reasons(reasons, odd, [NOT_UTF8] * pc.sum(odd).as_py())
    found = {}
    for name, kind in columns.items():
        found[name] = values_of(given[name], kind, form.forms)
        if kind == "STRING":
            continue
        odd = pc.and_(pc.is_valid(given[name]), pc.is_null(found[name]))
        if pc.any(odd).as_py():
            said = given[name].filter(odd).to_pylist()
            with_reasons(reasons, odd, [unfit_text(name, kind, t, form.forms) for t in said])
    raw: list[str | None] = [None] * texts.num_rows
    for k in [k for k, reason in enumerate(reasons) if reason is not None]:
        whole = lines.uneven[k]
        raw[k] = lines.text(k) if whole else _written(texts.slice(k, 1).to_pylist()[0], form)
    texts_of = {RAW: pa.array(raw, pa.string()), FAULT: pa.array(reasons, pa.string())}
    return pa.table({**found, **texts_of})


def _array(column: Any) -> Any:
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


def header_of(line: bytes, form: CsvForm) -> tuple[str, ...]:
    """Return the names in the first line of a file; a field without one is called by its place."""
    text = _as_utf8(line).decode().rstrip("\r\n")
    return tuple(name or f"_c{k}" for k, name in enumerate(_fields(text, form)))


def _as_utf8(block: bytes) -> bytes:
    try:
        block.decode()
    except UnicodeDecodeError:
        return block.decode(errors="replace").encode()
    return block


class _Lines:
    """The lines of a block: plain ones, and those that are parsed by themselves."""

    def __init__(self, block: bytes, form: CsvForm) -> None:
        self.block, self.form = block, form
        data = np.frombuffer(block, np.uint8)
        # Either ends a line, for Spark and for Arrow; between the two of a pair is an empty one.
        ends = np.flatnonzero((data == _NEWLINE) | (data == _RETURN))
        if len(data) and data[-1] not in (_NEWLINE, _RETURN):
            ends = np.append(ends, len(data))
        starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)
        there = ends > starts
        self.starts, self.stops = starts[there], ends[there]
        self.plain = self._plain(data)
        self.uneven = np.zeros(len(self.starts), np.bool_)

    def _counts(self, marks: np.ndarray) -> np.ndarray:
        """Return how many of some places lie in each line."""
        found: np.ndarray = np.searchsorted(marks, self.stops) - np.searchsorted(marks, self.starts)
        return found

    def _plain(self, data: np.ndarray) -> np.ndarray:
        """Return which lines have as many fields as they should, and no quote to think about."""
        form = self.form
        seps = data == ord(form.sep)
        quotes = np.flatnonzero(data == ord(form.quote)) if form.quote else np.zeros(0, np.int64)
        if not len(quotes):
            even: np.ndarray = self._counts(np.flatnonzero(seps)) == len(form.names) - 1
            return even
        odd = self._counts(quotes) % 2 == 1
        for mark in filter(None, {form.escape} - {form.quote}):
            odd |= (self._counts(np.flatnonzero(data == ord(mark))) > 0) & (
                self._counts(quotes) > 0
            )
        # Only where all lines are even do quotes open and close in turn.
        line = np.searchsorted(self.starts, quotes, side="right") - 1
        first = np.searchsorted(quotes, self.starts)
        opens = (np.arange(len(quotes)) - first[line]) % 2 == 0
        before = data[np.maximum(quotes - 1, 0)]
        after = np.append(data, _NEWLINE)[quotes + 1]
        starts = (quotes == self.starts[line]) | (before == ord(form.sep))
        ends = (quotes + 1 == self.stops[line]) | (after == ord(form.sep))
        wrong = np.where(opens, ~starts, ~ends)
        odd[line[wrong]] = True
        inside = np.zeros(len(data) + 1, np.int8)
        inside[quotes] = np.where(opens, 1, -1)
        outside = seps & (np.cumsum(inside[:-1]) == 0)
        good: np.ndarray = ~odd & (self._counts(np.flatnonzero(outside)) == len(form.names) - 1)
        return good

    def text(self, k: int) -> str:
        """Return a line as it was written."""
        return self.block[self.starts[k] : self.stops[k]].decode()

    def table(self) -> pa.Table:
        """Return all lines as columns of texts, in order."""
        if self.plain.all():
            return self._parsed(self.block)
        alone = np.flatnonzero(~self.plain)
        rows = [self._row(int(k)) for k in alone]
        names = list(self.form.names)
        columns = [pa.array([row[k] for row in rows], pa.string()) for k in range(len(names))]
        others = np.flatnonzero(self.plain)
        rest = b"".join(self.block[self.starts[k] : self.stops[k]] + b"\n" for k in others.tolist())
        parts = [self._parsed(rest), pa.table(columns, names)]
        order = np.argsort(np.concatenate([others, alone]), kind="stable")
        return pa.concat_tables(parts).combine_chunks().take(pa.array(order))

    def _block_size(self) -> int:
        """Return how much Arrow looks at together: no line may be longer."""
        return max(_AT_ONCE, int((self.stops - self.starts).max(initial=0)) + 2)

    def _row(self, k: int) -> list[str | None]:
        found = _fields(self.text(k), self.form)
        width = len(self.form.names)
        self.uneven[k] = len(found) != width
        return [*found, *([None] * width)][:width]

    def _parsed(self, block: bytes) -> pa.Table:
        names, form = list(self.form.names), self.form
        if not block.strip(b"\r\n"):
            return pa.table([pa.array([], pa.string()) for _ in names], names)
        # Two columns of a file may have one name; Arrow wants their own.
        places = [str(k) for k in range(len(names))]
        found = csv.read_csv(
            BytesIO(block),
            read_options=csv.ReadOptions(column_names=places, block_size=self._block_size()),
            parse_options=csv.ParseOptions(
                delimiter=form.sep,
                quote_char=form.quote or False,
                double_quote=False,
                newlines_in_values=False,
            ),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(places, pa.string()),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
                null_values=list({"", form.null}),
            ),
        )
        return found.rename_columns(names)


def _fields(line: str, form: CsvForm) -> list[str | None]:
    """Return the fields of one line as Spark's reader takes them.

    >>> _fields('1,"a, b",,"c"', CsvForm(("w", "x", "y", "z")))
    ['1', 'a, b', None, 'c']
    """
    found, at = list[str | None](), 0
    while True:
        text, at = _field(line, at, form)
        found.append(None if text in ("", form.null) else text)
        if at >= len(line):
            return found
        at += 1
        if at == len(line):
            return [*found, None]


def _field(line: str, at: int, form: CsvForm) -> tuple[str, int]:
    """Return the field that begins at a place, and where it ends."""
    if form.quote and line[at : at + 1] == form.quote:
        quoted = _quoted(line, at + 1, form)
        if quoted is not None:
            return quoted
    end = line.find(form.sep, at)
    end = len(line) if end < 0 else end
    return line[at:end], end


def _quoted(line: str, at: int, form: CsvForm) -> tuple[str, int] | None:
    """Return a quoted field; None where a quote is closed elsewhere than before a separator.

    One that is not closed goes to the end of the line.
    """
    found = ""
    while at < len(line):
        one, two = line[at], line[at + 1 : at + 2]
        if one == form.escape and two == form.quote:
            found, at = found + two, at + 2
        elif one == form.quote:
            return (found, at + 1) if two in ("", form.sep) else None
        else:
            found, at = found + one, at + 1
    return found, at


def _written(row: dict[str, Any], form: CsvForm) -> str:
    """Return a row as a line again, as Spark writes one."""
    return ",".join(_written_field(value) for value in row.values())


def _written_field(value: str | None) -> str:
    if value is None:
        return ""
    text = value.strip()
    if any(mark in text for mark in ',"\n\r') or not text:
        escaped = text.replace('"', '\\"')
        return f'"{escaped}"'
    return text

"""Answers as people read them: a table of what was asked for, its keys, its times, how sure it is.

What tools need (ids, revisions, the events of a match) is left out, unless all is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from augury.sinks.plain_json import as_json

_FOR_TOOLS = {"query", "rule", "match_id", "firing_id", "revision", "n_missed", "events"}
_LAST = ("confidence", "probability")
_MOMENT = re.compile(r"(\d{4,}-\d\d-\d\d)T(\d\d:\d\d:\d\d(?:\.\d+)?)Z")
_MOST = 48


class Tables:
    """Rows that wait to be shown, by what they answer."""

    def __init__(self) -> None:
        self.held: dict[str, list[dict[str, Any]]] = {}

    def add(self, name: str, row: Mapping[str, Any]) -> None:
        """Take in a row."""
        self.held.setdefault(name, []).append(dict(row))

    def texts(self, *, wide: bool = False) -> Iterator[str]:
        """Yield a table for each query, and let the rows go."""
        held, self.held = self.held, {}
        for name, rows in held.items():
            count = "1 row" if len(rows) == 1 else f"{len(rows):,} rows"
            yield f"{name} ({count})\n{table(rows, wide=wide)}\n"


def table(rows: Sequence[Mapping[str, Any]], *, wide: bool = False) -> str:
    """Return rows as a table.

    >>> print(table([{"match_id": "f3", "tag": "t1", "end_ts": "2026-01-01T12:00:00Z",
    ...               "confidence": 0.54, "gone": 3}]))
    tag  end_ts               gone  confidence
    t1   2026-01-01 12:00:00     3        0.54
    """
    names = list(rows[0]) if wide else _shown(rows)
    cells = [[_cell(row[name]) for name in names] for row in rows]
    widths = [max(len(name), *(len(row[k]) for row in cells)) for k, name in enumerate(names)]
    is_number = [all(_is_number(row[name]) for row in rows) for name in names]
    lines = [_line(names, widths, is_number)]
    lines += [_line(row, widths, is_number) for row in cells]
    return "\n".join(lines)


def _shown(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns that people want, how sure it is last; what was revised or missed, too."""
    plain = {"revision": 0, "n_missed": 0}
    odd = {name for name, usual in plain.items() if any(r.get(name, usual) != usual for r in rows)}
    names = [name for name in rows[0] if name not in _FOR_TOOLS - odd]
    return [*(n for n in names if n not in _LAST), *(n for n in names if n in _LAST)]


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else as_json(value)
    moment = _MOMENT.fullmatch(text)
    if moment is not None:
        return f"{moment[1]} {moment[2]}"
    # One row is one line, whatever its texts are.
    text = " ".join(text.split())
    return text if len(text) <= _MOST else f"{text[: _MOST - 3]}..."


def _line(cells: Sequence[str], widths: Sequence[int], is_number: Sequence[bool]) -> str:
    parts = zip(cells, widths, is_number, strict=True)
    found = (cell.rjust(width) if right else cell.ljust(width) for cell, width, right in parts)
    return "  ".join(found).rstrip()

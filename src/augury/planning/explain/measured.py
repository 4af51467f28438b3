"""EXPLAIN ANALYZE: what the stages of a query did in a run, below how they were planned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

COLUMNS = ("rows_in", "rows_out", "milliseconds", "state_bytes")
_TITLES = ("rows in", "rows out", "milliseconds", "bytes of state")
Measures = Sequence[Mapping[str, Any]]


def with_measures(shown: str, shape: str, measures: Measures) -> str:
    """Return an explanation, as text or JSON, with what was measured."""
    if shape == "json":
        facts = json.loads(shown) | {"measured": [dict(each) for each in measures]}
        return json.dumps(facts, indent=2, ensure_ascii=False)
    return f"{shown}\nMeasured\n" + "".join(f"  {line}\n" for line in _table(measures))


def _table(measures: Measures) -> list[str]:
    cells: list[tuple[str, ...]] = [("stage", *_TITLES)]
    cells += [(str(each["stage"]), *(_number(each[c]) for c in COLUMNS)) for each in measures]
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    return [
        "  ".join(
            text.ljust(width) if k == 0 else text.rjust(width)
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]


def _number(value: float) -> str:
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"

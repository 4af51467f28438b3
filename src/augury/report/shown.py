"""Answers for a notebook: a table with bars of confidence, and EXPLAIN with its picture."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any

MOST_ROWS = 50
_SHARES = ("confidence", "probability", "forecast")
_HIDDEN = ("query", "match_id", "revision", "events", "changes", "n_missed")


@dataclass(frozen=True)
class Shown:
    """Something for a notebook: HTML there, text elsewhere."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


def display(ag: Any, name: str) -> Shown:
    """Return the answer of a query as a table, its surest rows first, with bars for confidences."""
    table = ag.table(name)
    if not hasattr(table, "to_pylist"):
        table = table.limit(MOST_ROWS).toArrow()
    share = next((each for each in _SHARES if each in table.column_names), None)
    if share is not None:
        table = table.sort_by([(share, "descending")])
    columns = [each for each in table.column_names if each not in _HIDDEN]
    rows = table.select(columns).slice(0, MOST_ROWS).to_pylist()
    heads = "".join(f"<th>{escape(each)}</th>" for each in columns)
    body = "".join(
        f"<tr>{''.join(_cell(row[each], is_share=each == share) for each in columns)}</tr>"
        for row in rows
    )
    counted = f"{name}: {table.num_rows:,} row{'' if table.num_rows == 1 else 's'}"
    counted += f", the first {MOST_ROWS}" if table.num_rows > MOST_ROWS else ""
    html = (
        f"<table><caption>{escape(counted)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )
    lines = ["  ".join(columns), *("  ".join(_text(row[c]) for c in columns) for row in rows)]
    return Shown(html, "\n".join([counted, *lines]))


def explained(ag: Any, query: str) -> Shown:
    """Return how a query will be evaluated, with the picture of its automaton."""
    text = ag.explain(query)
    return Shown(f"{ag.explain(query, 'svg')}<pre>{escape(text)}</pre>", text)


def _cell(value: Any, *, is_share: bool) -> str:
    text = escape(_text(value))
    if not is_share or value is None:
        return f"<td>{text}</td>"
    width = 100 * min(1.0, max(0.0, float(value)))
    return (
        f'<td style="background:linear-gradient(90deg,#8d92ec88 {width:.1f}%,transparent 0)">'
        f"{text}</td>"
    )


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ", timespec="seconds")
    return f"{value:.4g}" if isinstance(value, float) else str(value)

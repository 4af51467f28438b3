"""Scores as the terminal and `--json` show them."""

from __future__ import annotations

from typing import Any

from augury.report.scores import Score


def percent(share: float | None) -> str:
    """Return a share as text; a dash where there is none."""
    return "-" if share is None else f"{share:.1%}"


def score_row(name: str, found: Score, width: int = 28) -> str:
    """Return a line of a table: accused, right, precision and recall."""
    numbers = f"{found.accused:>6,} {found.right:>6,}"
    shares = f"{percent(found.precision):>10} {percent(found.recall):>7}"
    return f"  {name:<{width}} {numbers} {shares}"


def score_facts(found: Score) -> dict[str, Any]:
    """Return the numbers of a line by their names."""
    return {
        "accused": found.accused,
        "right": found.right,
        "precision": found.precision,
        "recall": found.recall,
    }

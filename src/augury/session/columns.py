"""Some columns of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def some_columns(
    answer: Any, columns: Sequence[str] | None, name: str = "what was asked for"
) -> Any:
    """Return some columns of an Arrow table; all, where none are named."""
    if columns is None:
        return answer
    from augury.evaluation.answers.schemas import chosen

    return answer.select(chosen(name, columns, answer.column_names))

"""Membership of Arrow columns in a table: true, false, or NULL where only a NULL leaves it open."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from augury.planning.expressions.arrow_api import Column, pa

Row = tuple[Any, ...]


def is_member(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> Column:
    """Return whether each row of `columns` is among `rows`, by SQL's rule for rows with NULLs."""
    reals = [pa.types.is_floating(column.type) for column in columns]
    table = _Table({_settled(row, reals) for row in rows})
    asked = zip(*(column.to_pylist() for column in columns), strict=True)
    return pa.array([table.has(_settled(row, reals)) for row in asked], pa.bool_())


class _Table:
    """The rows, with answers remembered: streams ask for few distinct rows many times."""

    def __init__(self, rows: set[Row]) -> None:
        self.rows = rows
        self.holed = [row for row in rows if None in row]
        self.answers: dict[Row, bool | None] = {}

    def has(self, row: Row) -> bool | None:
        if row not in self.answers:
            self.answers[row] = self._look(row)
        return self.answers[row]

    def _look(self, row: Row) -> bool | None:
        complete = None not in row
        if complete and row in self.rows:
            return True
        candidates = self.holed if complete else self.rows
        return None if any(_is_open(row, other) for other in candidates) else False


def _is_open(row: Row, other: Row) -> bool:
    pairs = zip(row, other, strict=True)
    return all(a is None or b is None or a == b for a, b in pairs)


def _settled(row: Sequence[Any], reals: Sequence[bool]) -> Row:
    # NaN is not equal to itself in Python, and a LONG column may meet a table of whole floats.
    return tuple(
        _settled_real(value) if real and value is not None else value
        for value, real in zip(row, reals, strict=True)
    )


def _settled_real(value: float) -> Any:
    return "NaN" if math.isnan(value) else float(value)

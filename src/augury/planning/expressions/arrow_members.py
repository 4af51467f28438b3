"""Membership of Arrow columns in a table: true, false, or NULL where only a NULL leaves it open."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from augury.planning.expressions.arrow_api import Column, pa

Row = tuple[Any, ...]
MOST_REMEMBERED = 100_000


def is_member(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> Column:
    """Return whether each row of `columns` is among `rows`, by SQL's rule for rows with NULLs."""
    reals = [pa.types.is_floating(column.type) for column in columns]
    table = Membership(rows, reals)
    asked = zip(*(column.to_pylist() for column in columns), strict=True)
    return pa.array([table.has(row) for row in asked], pa.bool_())


class Membership:
    """A table's rows; `reals` tells which columns are compared as doubles.

    Answers are remembered, because streams ask for few distinct rows many times.
    """

    def __init__(self, rows: Sequence[Sequence[Any]], reals: Sequence[bool]) -> None:
        self.reals = reals
        self.rows = {_settled(row, reals) for row in rows}
        self.holed = [row for row in self.rows if None in row]
        self.answers: dict[Row, bool | None] = {}

    def has(self, values: Sequence[Any]) -> bool | None:
        row = _settled(values, self.reals)
        if row not in self.answers:
            if len(self.answers) >= MOST_REMEMBERED:
                self.answers.clear()
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

"""Subqueries of tables that stay as they are: looked up, or written out row by row.

Over one event, or none, a subquery is looked up, and its answer remembered. The predicate machine
knows no tables but sets of rows, so what several events ask together is written out for it: the
condition once for each row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from augury.analysis.declarations.catalog import DataType
from augury.errors import DataError
from augury.planning.expressions.typed import (
    OF_READER,
    OF_ROW,
    Apply,
    Asked,
    Constant,
    Input,
    Typed,
    with_operands,
)
from augury.rules.contents import Contents, RefusedKeyError
from augury.rules.reading import Subquery

Row = tuple[Any, ...]
Tables = Mapping[str, Sequence[Sequence[Any]]]
MOST_REMEMBERED = 100_000


def rows_of(asked: Asked, tables: Tables) -> list[Row]:
    """Return the rows of the table that is asked; a repeated or NULL key is refused."""
    rows = tables.get(asked.table.lower())
    if rows is None:
        raise DataError(f"table {asked.table} has no rows bound; bind it before the query runs")
    try:
        return [row for _, row in Contents.of(asked.table, asked.key, map(tuple, rows)).rows()]
    except RefusedKeyError as error:
        raise DataError(f"table {asked.table} cannot begin so: {error}") from error


# Which of some rows, given what the reader gives, the condition is true for.
Keeps = Callable[[list[Row], Row], list[Row]]


class Answers:
    """The answers of a subquery, by what its reader gives it.

    Rows are found by the columns that its condition sets equal to that, and then tried by `keeps`.
    Answers are remembered, because streams ask for few of them many times.
    """

    def __init__(self, asked: Asked, tables: Tables, keeps: Keeps) -> None:
        place = None if asked.column is None else asked.columns.index(asked.column)
        function = None if asked.column is None else asked.function
        self.keeps, self.value = keeps, Subquery(asked.table, place, function).value
        self.by = list(_equated(asked.condition, asked))
        self.rows: dict[Row, list[Row]] = {}
        for row in rows_of(asked, tables):
            self.rows.setdefault(tuple([_settled(row[at]) for at, _ in self.by]), []).append(row)
        self.known: dict[Row, Any] = {}

    def of(self, given: Row) -> Any:
        """Return the value for what the reader gives."""
        asked = tuple(map(_settled, given))
        if asked not in self.known:
            if len(self.known) >= MOST_REMEMBERED:
                self.known.clear()
            found = self.rows.get(tuple([asked[k] for _, k in self.by]), [])
            self.known[asked] = self.value(self.keeps(found, given))
        return self.known[asked]


def _equated(condition: Typed | None, asked: Asked) -> Iterator[tuple[int, int]]:
    """Yield the columns that must equal what the reader gives, and the numbers of that."""
    if not isinstance(condition, Apply):
        return
    if condition.operator == "and":
        for part in condition.operands:
            yield from _equated(part, asked)
    elif condition.operator == "equal":
        for one, other in (condition.operands, condition.operands[::-1]):
            if not (isinstance(one, Input) and isinstance(other, Input)):
                continue
            if (one.component, other.component) == (OF_ROW, OF_READER):
                yield asked.columns.index(one.column), int(other.column)


def _settled(value: Any) -> Any:
    # NaN is not equal to itself in Python.
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


# Written out --------------------------------------------------------------------------------------


def written_out(node: Apply, tables: Tables | None, made: dict[str, list[Row]]) -> Typed:
    """Return a subquery as an expression without look-ups; None stands for some row of NULLs.

    What is found by the whole KEY alone is searched for, by membership in sets of keys, which are
    `made` as tables.
    """
    asked = node.asked
    assert asked is not None
    if tables is not None and _is_by_key_alone(asked):
        return _searched(node, asked, rows_of(asked, tables), made)
    rows = [(None,) * len(asked.columns)] if tables is None else rows_of(asked, tables)
    holds = [_at(asked, row, node.operands) for row in rows]
    if asked.column is None:
        return _sum(DataType.LONG, holds, [1] * len(rows))
    place = asked.columns.index(asked.column)
    values = [row[place] for row in rows]
    if asked.function is None:
        chosen = [(h, Constant(node.type, value)) for h, value in zip(holds, values, strict=True)]
        parts = (part for pair in chosen for part in pair)
        return Apply(node.type, "case", (*parts, Constant(node.type, None)))
    known = [k for k, value in enumerate(values) if tables is None or value is not None]
    return _of_function(asked, node.type, [holds[k] for k in known], [values[k] for k in known])


def _is_by_key_alone(asked: Asked) -> bool:
    """Return whether a row is asked for by its whole KEY, and by nothing else."""
    if asked.function is not None or not asked.key or asked.condition is None:
        return False
    parts = asked.condition.operands if isinstance(asked.condition, Apply) else ()
    is_and = isinstance(asked.condition, Apply) and asked.condition.operator == "and"
    count = len(parts) if is_and else 1
    places = [place for place, _ in _equated(asked.condition, asked)]
    return len(places) == count == len(asked.key) and set(places) == set(asked.key)


def _searched(node: Apply, asked: Asked, rows: list[Row], made: dict[str, list[Row]]) -> Typed:
    """Return the value under a key as a search: half of the values that are left, at each step."""
    assert asked.column is not None
    place = asked.columns.index(asked.column)
    by = list(_equated(asked.condition, asked))
    keys: dict[Any, list[Row]] = {}
    for row in rows:
        if row[place] is not None:
            keys.setdefault(row[place], []).append(tuple([row[at] for at, _ in by]))
    operands = tuple(node.operands[number] for _, number in by)

    def among(values: list[Any]) -> Typed:
        name = f"\0{asked.table} {len(made)}"
        made[name.lower()] = [key for value in values for key in keys[value]]
        return Apply(DataType.BOOLEAN, "member", operands, name)

    def search(values: list[Any]) -> Typed:
        if len(values) == 1:
            return Constant(node.type, values[0])
        half = len(values) // 2
        branches = (among(values[:half]), search(values[:half]), search(values[half:]))
        return Apply(node.type, "case", branches)

    values, nothing = list(keys), Constant(node.type, None)
    if not values:
        return nothing
    return Apply(node.type, "case", (among(values), search(values), nothing))


def _of_function(asked: Asked, kind: DataType, holds: list[Typed], values: list[Any]) -> Typed:
    """Return a function of the values for which a condition holds; without any it is NULL."""
    nothing = Constant(kind, None)
    if not values:
        return nothing
    if asked.function in ("MIN", "MAX"):
        pairs = zip(holds, values, strict=True)
        parts = (Apply(kind, "case", (h, Constant(kind, v), nothing)) for h, v in pairs)
        return Apply(kind, "least" if asked.function == "MIN" else "greatest", (nothing, *parts))
    if kind is DataType.LONG and sum(abs(value or 0) for value in values) >= 2**63:
        raise DataError(f"SUM of {asked.column} in table {asked.table} may not fit into a LONG")
    if kind is DataType.DOUBLE:
        values = [None if value is None else float(value) for value in values]
    total = _sum(kind, holds, values)
    if asked.function == "SUM":
        return Apply(kind, "case", (Apply(DataType.BOOLEAN, "or", tuple(holds)), total, nothing))
    # Without a row, 0 is divided by 0, which is NULL.
    return Apply(kind, "divide", (total, _sum(kind, holds, [1.0] * len(values))))


def _sum(kind: DataType, holds: list[Typed], values: list[Any]) -> Typed:
    zero = Constant(kind, 0.0 if kind is DataType.DOUBLE else 0)
    pairs = zip(holds, values, strict=True)
    parts = (Apply(kind, "case", (h, Constant(kind, value), zero)) for h, value in pairs)
    return Apply(kind, "add", (zero, *parts))


def _at(asked: Asked, row: Sequence[Any], operands: tuple[Typed, ...]) -> Typed:
    """Return the condition at a row."""

    def at(node: Typed) -> Typed:
        if isinstance(node, Input) and node.component == OF_ROW:
            return Constant(node.type, row[asked.columns.index(node.column)])
        if isinstance(node, Input) and node.component == OF_READER:
            return operands[int(node.column)]
        return with_operands(node, at) if isinstance(node, Apply) else node

    held = Constant(DataType.BOOLEAN, True) if asked.condition is None else asked.condition
    return at(held)

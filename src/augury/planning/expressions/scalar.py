"""Typed expressions as closures over one row: for events that come one at a time.

A row maps column names to values as they are inside: times are microseconds, dates days. Closures
are made once per plan, so that an event costs a few calls and no Arrow. What is rare in a filter
(text functions, casts, roots) goes through `arrow` with columns of one value, so that there is one
definition of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from augury.analysis.declarations.catalog import DataType
from augury.errors import DataError
from augury.planning.expressions.arrow import apply_operator
from augury.planning.expressions.arrow_members import Membership
from augury.planning.expressions.lookups import Answers
from augury.planning.expressions.typed import (
    OF_READER,
    Aggregated,
    Apply,
    Asked,
    Constant,
    Input,
    Typed,
)

# Whatever holds the values: a row of an event, or a match.
Row = Any
Scalar = Callable[[Row], Any]
Read = Callable[[Input | Aggregated], Scalar]
Tables = Mapping[str, Sequence[Sequence[Any]]]

_LEAST, _MOST = -(2**63), 2**63 - 1


def of_event(node: Input | Aggregated) -> Scalar:
    """Return how an input is read from a row, by column name whatever the component."""
    if isinstance(node, Aggregated):
        raise DataError(f"{node.function} needs a whole match, not one event")
    column = node.column
    return lambda row: row[column]


def scalar(expression: Typed, tables: Tables, read: Read = of_event) -> Scalar:
    """Return the expression as a function of what `read` reads its inputs from."""
    if isinstance(expression, Constant):
        value = expression.value
        return lambda _: value
    if isinstance(expression, Input | Aggregated):
        return read(expression)
    operands = [scalar(operand, tables, read) for operand in expression.operands]
    if expression.operator == "member":
        return _member(operands, expression, tables)
    if expression.operator == "lookup":
        return _lookup(operands, expression, tables)
    make = _MAKERS.get(expression.operator)
    return make(operands, expression) if make else _by_arrow(operands, expression)


def _by_arrow(operands: list[Scalar], node: Apply) -> Scalar:
    return lambda row: apply_operator(node, [operand(row) for operand in operands])


def _member(operands: list[Scalar], node: Apply, tables: Tables) -> Scalar:
    rows = tables.get(node.detail.lower())
    if rows is None:
        raise DataError(f"table {node.detail} has no rows bound; bind it before the query runs")
    reals = [operand.type is DataType.DOUBLE for operand in node.operands]
    members = Membership(rows, reals)
    return lambda row: members.has([operand(row) for operand in operands])


def _lookup(operands: list[Scalar], node: Apply, tables: Tables) -> Scalar:
    asked = node.asked
    assert asked is not None
    holds = None if asked.condition is None else scalar(asked.condition, tables, _of_row(asked))

    def keeps(rows: list[Any], given: Any) -> list[Any]:
        return rows if holds is None else [row for row in rows if holds((row, given)) is True]

    answers = Answers(asked, tables, keeps)
    return lambda row: answers.of(tuple([operand(row) for operand in operands]))


def _of_row(asked: Asked) -> Read:
    """Return how an input is read of a row of a table, beside what is given."""

    def read(node: Input | Aggregated) -> Scalar:
        assert isinstance(node, Input)
        if node.component == OF_READER:
            number = int(node.column)
            return lambda place: place[1][number]
        at = asked.columns.index(node.column)
        return lambda place: place[0][at]

    return read


# Logic: three-valued ----------------------------------------------------------------------------


def _not(operands: list[Scalar], node: Apply) -> Scalar:
    (part,) = operands

    def negated(row: Row) -> bool | None:
        value = part(row)
        return None if value is None else not value

    return negated


def _connective(operands: list[Scalar], node: Apply) -> Scalar:
    decisive = node.operator == "or"

    def connected(row: Row) -> bool | None:
        answer: bool | None = not decisive
        for operand in operands:
            value = operand(row)
            if value is None:
                answer = None
            elif value == decisive:
                return decisive
        return answer

    return connected


def _is_null(operands: list[Scalar], node: Apply) -> Scalar:
    (part,) = operands
    return lambda row: part(row) is None


def _case(operands: list[Scalar], node: Apply) -> Scalar:
    pairs = list(zip(operands[:-1:2], operands[1:-1:2], strict=True))
    otherwise = operands[-1]

    def chosen(row: Row) -> Any:
        for condition, value in pairs:
            if condition(row):
                return value(row)
        return otherwise(row)

    return chosen


def _coalesce(operands: list[Scalar], node: Apply) -> Scalar:
    def first(row: Row) -> Any:
        for operand in operands:
            value = operand(row)
            if value is not None:
                return value
        return None

    return first


# Comparison: NaN equals NaN and is larger than every number ---------------------------------------


def _sort_form(node: Apply) -> Callable[[Any], Any]:
    """Return how values become such that Python compares them as SQL does."""
    kind = node.operands[0].type
    if kind is DataType.DOUBLE:
        return lambda x: (True, 0.0) if math.isnan(x) else (False, x)
    if kind is DataType.STRING:
        return lambda x: x.encode()
    return lambda x: x


def _comparison(operands: list[Scalar], node: Apply) -> Scalar:
    left, right = operands
    form, how = _sort_form(node), _COMPARE[node.operator]
    plain = node.operator == "equal" and node.operands[0].type is not DataType.DOUBLE

    def compared(row: Row) -> bool | None:
        a, b = left(row), right(row)
        if a is None or b is None:
            return None
        return a == b if plain else how(form(a), form(b))

    return compared


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "equal": lambda a, b: a == b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
}


def _in_list(operands: list[Scalar], node: Apply) -> Scalar:
    value, *items = operands
    first = node.operands[0]
    tests = [
        _comparison([value, item], Apply(DataType.BOOLEAN, "equal", (first, other)))
        for item, other in zip(items, node.operands[1:], strict=True)
    ]
    return _connective(tests, Apply(DataType.BOOLEAN, "or", ()))


# Arithmetic: NULL on overflow ------------------------------------------------------------------


def _arithmetic(operands: list[Scalar], node: Apply) -> Scalar:
    left, right = operands
    how, real = _ARITHMETIC[node.operator], node.type is DataType.DOUBLE

    def computed(row: Row) -> Any:
        a, b = left(row), right(row)
        if a is None or b is None:
            return None
        result = how(a, b)
        return result if real or _LEAST <= result <= _MOST else None

    return computed


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
}

_MAKERS: dict[str, Callable[[list[Scalar], Apply], Scalar]] = {
    "not": _not,
    "and": _connective,
    "or": _connective,
    "is_null": _is_null,
    "case": _case,
    "coalesce": _coalesce,
    "in_list": _in_list,
    **dict.fromkeys(_COMPARE, _comparison),
    **dict.fromkeys(_ARITHMETIC, _arithmetic),
}

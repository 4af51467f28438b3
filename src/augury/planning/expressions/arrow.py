"""Evaluate typed expressions over Arrow columns, a whole column at a time.

Used for what string functions programs need beforehand, for predicates that Spark was not given,
and for RETURN. Inside, times are int64 columns; they become Arrow's own types on the way out.
Arithmetic goes through numpy, because overflow must become NULL and Arrow can only raise or wrap.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from augury.analysis.declarations.catalog import DataType
from augury.errors import DataError
from augury.planning.expressions import arrow_numbers as numbers
from augury.planning.expressions import arrow_strings as texts
from augury.planning.expressions.arrow_api import Column, pa, pc
from augury.planning.expressions.arrow_members import is_member
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

Read = Callable[[Input | Aggregated], Column]
Rows = Sequence[Sequence[Any]]
_NO_TABLES: Mapping[str, Rows] = MappingProxyType({})

# Inside, a time is a number.
_INSIDE = {
    DataType.BOOLEAN: pa.bool_(),
    DataType.LONG: pa.int64(),
    DataType.DOUBLE: pa.float64(),
    DataType.STRING: pa.string(),
    DataType.TIMESTAMP: pa.int64(),
    DataType.DATE: pa.int64(),
    DataType.INTERVAL: pa.int64(),
    DataType.NULL: pa.null(),
}
_OUTSIDE = _INSIDE | {
    DataType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    DataType.DATE: pa.date32(),
    DataType.INTERVAL: pa.duration("us"),
}


def evaluate_column(
    expression: Typed, table: Any, tables: Mapping[str, Rows] = _NO_TABLES
) -> Column:
    """Return the expression over each row of `table`, by column name whatever the component."""

    def read(node: Input | Aggregated) -> Column:
        if isinstance(node, Aggregated) or node.column not in table.column_names:
            raise DataError(f"the events have no column {node.column}")
        return table.column(node.column)

    return evaluate(expression, Source(read, table.num_rows, tables))


@dataclass(frozen=True, slots=True)
class Source:
    """Where values come from: `read` gives a column for each input, `rows` says how long it is.

    `tables` has the rows of each table by its name in lower case; times in them are numbers.
    """

    read: Read
    rows: int
    tables: Mapping[str, Rows] = field(default_factory=lambda: _NO_TABLES)


def evaluate(expression: Typed, source: Source) -> Column:
    """Return the expression as one Arrow array of its own type."""
    inside = _evaluate(expression, source)
    target = _OUTSIDE[expression.type]
    if inside.type == target:
        return inside
    if pa.types.is_date32(target):
        inside = pc.cast(inside, pa.int32(), safe=False)
    return pc.cast(inside, target, safe=False)


def fold(expression: Typed, tables: Mapping[str, Rows] = _NO_TABLES) -> Constant:
    """Return the value of an expression that reads nothing but tables."""
    nothing = Source(_read_nothing, 1, tables)
    return Constant(expression.type, _evaluate(expression, nothing)[0].as_py())


def apply_operator(node: Apply, values: Sequence[Any]) -> Any:
    """Return an operator over single values, which are as they are inside."""
    columns = [
        pa.array([value], _INSIDE[operand.type])
        for value, operand in zip(values, node.operands, strict=True)
    ]
    return _OPERATORS[node.operator](columns, node)[0].as_py()


def _read_nothing(node: Input | Aggregated) -> Column:
    raise DataError(f"{node.column} is not a constant")


def _evaluate(node: Typed, source: Source) -> Column:
    if isinstance(node, Constant):
        return pa.repeat(pa.scalar(node.value, _INSIDE[node.type]), source.rows)
    if isinstance(node, Input | Aggregated):
        return inside(source.read(node), node.type)
    if node.operator == "member":
        return _member(node, source)
    if node.operator == "lookup":
        return _lookup(node, source)
    operands = [_evaluate(operand, source) for operand in node.operands]
    return _OPERATORS[node.operator](operands, node)


def inside(column: Any, kind: DataType) -> Column:
    """Return a column of the stream in the type it has inside."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks)
    if pa.types.is_timestamp(whole.type):
        whole = pc.cast(whole, pa.timestamp("us", tz=whole.type.tz), safe=False)
    elif pa.types.is_duration(whole.type):
        whole = pc.cast(whole, pa.duration("us"), safe=False)
    elif pa.types.is_date(whole.type):
        whole = pc.cast(pc.cast(whole, pa.date32()), pa.int32())
    return whole if whole.type == _INSIDE[kind] else pc.cast(whole, _INSIDE[kind], safe=False)


def _member(node: Apply, source: Source) -> Column:
    rows = source.tables.get(node.detail.lower())
    if rows is None:
        raise DataError(f"table {node.detail} has no rows bound; bind it before the query runs")
    operands = [_evaluate(operand, source) for operand in node.operands]
    return is_member(operands, rows)


def _lookup(node: Apply, source: Source) -> Column:
    asked = node.asked
    assert asked is not None

    def keeps(rows: list[Any], given: Any) -> list[Any]:
        return rows if asked.condition is None else _kept(asked, rows, given, source.tables)

    answers = Answers(asked, source.tables, keeps)
    if not node.operands:
        return pa.repeat(pa.scalar(answers.of(()), _INSIDE[node.type]), source.rows)
    columns = [_evaluate(operand, source).to_pylist() for operand in node.operands]
    found = [answers.of(values) for values in zip(*columns, strict=True)]
    return pa.array(found, _INSIDE[node.type])


def _kept(
    asked: Asked, rows: list[Any], given: Sequence[Any], tables: Mapping[str, Rows]
) -> list[Any]:
    """Return the rows of a table for which a condition is true, beside what is given."""
    assert asked.condition is not None

    def read(node: Input | Aggregated) -> Column:
        assert isinstance(node, Input)
        if node.component == OF_READER:
            return pa.repeat(pa.scalar(given[int(node.column)], _INSIDE[node.type]), len(rows))
        at = asked.columns.index(node.column)
        return pa.array([row[at] for row in rows], _INSIDE[node.type])

    holds = _evaluate(asked.condition, Source(read, len(rows), tables)).to_pylist()
    return [row for row, held in zip(rows, holds, strict=True) if held]


# Operators over columns ------------------------------------------------------------------------

Operands = list[Column]


def _not(operands: Operands, node: Apply) -> Column:
    return pc.invert(operands[0])


def _and(operands: Operands, node: Apply) -> Column:
    found = operands[0]
    for operand in operands[1:]:
        found = pc.and_kleene(found, operand)
    return found


def _or(operands: Operands, node: Apply) -> Column:
    found = operands[0]
    for operand in operands[1:]:
        found = pc.or_kleene(found, operand)
    return found


def _is_null(operands: Operands, node: Apply) -> Column:
    # NaN is a value here, as everywhere.
    return pc.is_null(operands[0], nan_is_null=False)


def _equal(operands: Operands, node: Apply) -> Column:
    return numbers.equal(operands[0], operands[1])


def _less(operands: Operands, node: Apply) -> Column:
    return numbers.less(operands[0], operands[1])


def _less_equal(operands: Operands, node: Apply) -> Column:
    return pc.invert(numbers.less(operands[1], operands[0]))


def _in_list(operands: Operands, node: Apply) -> Column:
    return _or([numbers.equal(operands[0], item) for item in operands[1:]], node)


def _case(operands: Operands, node: Apply) -> Column:
    found = operands[-1]
    pairs = list(zip(operands[:-1:2], operands[1:-1:2], strict=True))
    for condition, value in reversed(pairs):
        found = pc.if_else(pc.fill_null(condition, False), value, found)
    return found


def _coalesce(operands: Operands, node: Apply) -> Column:
    return pc.coalesce(*operands)


def _extreme(operands: Operands, node: Apply) -> Column:
    found = operands[0]
    for other in operands[1:]:
        pair = (other, found) if node.operator == "least" else (found, other)
        better = pc.fill_null(numbers.less(*pair), False)
        better = pc.and_(pc.or_(better, pc.is_null(found)), pc.is_valid(other))
        found = pc.if_else(better, other, found)
    return found


def _cast(operands: Operands, node: Apply) -> Column:
    before, after = node.operands[0].type, node.type
    if DataType.STRING in (before, after):
        return texts.cast(operands[0], before, after)
    return numbers.cast(operands[0], before, after)


def _arithmetic(operands: Operands, node: Apply) -> Column:
    return numbers.ARITHMETIC[node.operator](*operands)


def _text(operands: Operands, node: Apply) -> Column:
    return texts.FUNCTIONS[node.operator](*operands)


def _like(operands: Operands, node: Apply) -> Column:
    return texts.like(operands[0], node.detail)


def _round(operands: Operands, node: Apply) -> Column:
    return numbers.round_half_up(operands[0], int(node.detail))


_OPERATORS: dict[str, Callable[[Operands, Apply], Column]] = {
    "and": _and,
    "or": _or,
    "not": _not,
    "is_null": _is_null,
    "equal": _equal,
    "less": _less,
    "less_equal": _less_equal,
    "in_list": _in_list,
    "case": _case,
    "coalesce": _coalesce,
    "least": _extreme,
    "greatest": _extreme,
    "cast": _cast,
    "like": _like,
    "round": _round,
    **dict.fromkeys(numbers.ARITHMETIC, _arithmetic),
    **dict.fromkeys(texts.FUNCTIONS, _text),
}

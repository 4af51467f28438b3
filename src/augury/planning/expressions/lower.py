"""Lower a checked expression to a typed one.

The checker has found every name and refused every clash of types; what is refused here is only what
no compiler could carry out, and it is refused as a `PlanError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import singledispatch
from types import MappingProxyType
from typing import Protocol

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Column, DataType, TableSchema
from augury.analysis.declarations.durations import microseconds
from augury.errors import Span
from augury.language import expressions as syntax
from augury.planning.expressions.functions import lower_call
from augury.planning.expressions.typed import (
    END_OPEN,
    END_TIME,
    MATCH_NUMBER,
    OF_END,
    OF_EVENT,
    OF_MATCH,
    OF_READER,
    OF_ROW,
    STREAM_OF,
    THE_END,
    Aggregated,
    Apply,
    Asked,
    Constant,
    Input,
    Typed,
    nodes_within,
    with_operands,
)
from augury.planning.expressions.types import (
    cast,
    common_type,
    is_of,
    refuse,
    to_common_type,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NO_TABLES: Mapping[str, TableSchema] = MappingProxyType({})


class Names(Protocol):
    """What names mean: who has a name has a number, and columns; and the tables there are."""

    @property
    def tables(self) -> Mapping[str, TableSchema]: ...
    def component(self, name: str | None, span: Span) -> int: ...
    def column_of(self, component: int, attribute: str) -> Column | None: ...


@dataclass(frozen=True)
class Scope:
    """What names mean: the query's components and columns, and the tables of the catalog."""

    query: CheckedQuery
    tables: Mapping[str, TableSchema] = field(default_factory=lambda: _NO_TABLES)
    numbers: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        names = {c.name: c.index for c in self.query.components}
        if self.query.each_event:
            names[""] = OF_EVENT
        names[THE_END] = OF_END
        object.__setattr__(self, "numbers", MappingProxyType(names))

    def component(self, name: str | None, span: Span) -> int:
        if name is None or name not in self.numbers:
            raise refuse(f"{name or 'a bare column'} is not a component of {self.query.name}", span)
        return self.numbers[name]

    def column_of(self, component: int, attribute: str) -> Column | None:
        """Return the column that an attribute of a component is."""
        if component == OF_END:
            found = (stream.column(attribute) for stream in self.query.streams)
            return next((column for column in found if column is not None), None)
        if component == OF_EVENT:
            # What every positive component has, and of one type.
            component = next(c.index for c in self.query.components if not c.negated)
        return self.query.column_of(component, attribute)


def lower(expression: syntax.Expression, scope: Names) -> Typed:
    """Return the typed form of a checked expression."""
    return _lower(expression, scope)


@singledispatch
def _lower(expression: object, scope: Names) -> Typed:
    span = getattr(expression, "span", Span(0, 0))
    raise refuse(f"{type(expression).__name__} has no value of its own here", span)


@_lower.register
def _(expression: syntax.Literal, scope: Names) -> Typed:
    value = expression.value
    if value is None:
        return Constant(DataType.NULL, None)
    if isinstance(value, bool):
        return Constant(DataType.BOOLEAN, value)
    if isinstance(value, int):
        return _whole_number(value, expression.span)
    return Constant(DataType.DOUBLE if isinstance(value, float) else DataType.STRING, value)


def _whole_number(value: int, span: Span) -> Constant:
    if not -(2**63) <= value < 2**63:
        raise refuse(f"{value} is larger than a LONG can hold; write it as a decimal number", span)
    return Constant(DataType.LONG, value)


@_lower.register
def _(expression: syntax.Duration, scope: Names) -> Typed:
    return Constant(DataType.INTERVAL, microseconds(expression))


@_lower.register
def _(expression: syntax.TypedLiteral, scope: Names) -> Typed:
    try:
        if expression.type == "DATE":
            days = (date.fromisoformat(expression.text) - _EPOCH.date()).days
            return Constant(DataType.DATE, days)
        moment = datetime.fromisoformat(expression.text)
    except ValueError:
        raise refuse(f"'{expression.text}' is not a {expression.type}", expression.span) from None
    # A literal without a zone is UTC, whatever the machine's own zone is.
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return Constant(DataType.TIMESTAMP, (aware - _EPOCH) // timedelta(microseconds=1))


@_lower.register
def _(expression: syntax.Attribute, scope: Names) -> Typed:
    component = scope.component(expression.component, expression.span)
    column = scope.column_of(component, expression.name)
    if expression.name in (STREAM_OF, END_TIME, END_OPEN):
        column = Column(expression.name, DataType.LONG)
    if column is None:
        raise refuse(f"{expression.component} has no attribute {expression.name}", expression.span)
    default = None if expression.default is None else _lower(expression.default, scope)
    if default is not None:
        default = cast(default, column.type)
    kind = expression.index.kind if expression.index else "each"
    number = expression.index.number if expression.index else 0
    return Input(column.type, component, column.name, kind, number, default, expression.group)


@_lower.register
def _(expression: syntax.Aggregate, scope: Names) -> Typed:
    component = scope.component(expression.component, expression.span)
    running, group = expression.running, expression.group
    if expression.attribute is None:
        return Aggregated(DataType.LONG, "COUNT", component, None, running, group)
    column = scope.column_of(component, expression.attribute)
    if column is None:
        raise refuse(
            f"{expression.component} has no attribute {expression.attribute}", expression.span
        )
    result = DataType.DOUBLE if expression.function == "AVG" else column.type
    if expression.function == "COUNT":
        result = DataType.LONG
    return Aggregated(result, expression.function, component, column.name, running, group)


@_lower.register
def _(expression: syntax.Unary, scope: Names) -> Typed:
    inner = expression.operand
    if expression.operator == "NOT":
        return _not(cast(_lower(inner, scope), DataType.BOOLEAN))
    # -9223372036854775808 is a LONG, while 9223372036854775808 is not.
    if isinstance(inner, syntax.Literal) and type(inner.value) is int:
        return _whole_number(-inner.value, expression.span)
    if isinstance(inner, syntax.Literal) and isinstance(inner.value, float):
        return Constant(DataType.DOUBLE, -inner.value)
    operand = _lower(inner, scope)
    if operand.type is DataType.NULL:
        return cast(operand, DataType.DOUBLE)
    return Apply(operand.type, "negate", (operand,))


@_lower.register
def _(expression: syntax.Binary, scope: Names) -> Typed:
    left, right = _lower(expression.left, scope), _lower(expression.right, scope)
    operator = expression.operator
    if operator in _COMPARISONS:
        return _compare(operator, left, right, expression.span)
    if operator == "||":
        return Apply(
            DataType.STRING, "concat", (cast(left, DataType.STRING), cast(right, DataType.STRING))
        )
    return _arithmetic(_ARITHMETIC[operator], left, right, expression.span)


_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_ARITHMETIC = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "modulo"}


def _compare(operator: str, left: Typed, right: Typed, span: Span) -> Typed:
    left, right = to_common_type((left, right), span)
    if operator in ("=", "<>"):
        same = Apply(DataType.BOOLEAN, "equal", (left, right))
        return same if operator == "=" else _not(same)
    if operator in (">", ">="):
        left, right = right, left
    name = "less" if operator in ("<", ">") else "less_equal"
    return Apply(DataType.BOOLEAN, name, (left, right))


def _not(operand: Typed) -> Typed:
    return Apply(DataType.BOOLEAN, "not", (operand,))


def _arithmetic(name: str, left: Typed, right: Typed, span: Span) -> Typed:
    if is_of((left, right), DataType.TIMESTAMP, DataType.DATE, DataType.INTERVAL):
        return _time_arithmetic(name, left, right, span)
    left, right = to_common_type((left, right), span)
    if left.type is DataType.NULL:
        left, right = cast(left, DataType.DOUBLE), cast(right, DataType.DOUBLE)
    if not left.type.is_number:
        raise refuse(f"{name} needs numbers, not {left.type.value}", span)
    if name == "divide":
        left, right = cast(left, DataType.DOUBLE), cast(right, DataType.DOUBLE)
    return Apply(left.type, name, (left, right))


def _time_arithmetic(name: str, left: Typed, right: Typed, span: Span) -> Typed:
    left, right = _as_moment(left), _as_moment(right)
    result = _TIME_RESULTS.get((left.type, name, right.type))
    if result is None:
        raise refuse(f"cannot {name} {left.type.value} and {right.type.value}", span)
    if name == "divide" or DataType.DOUBLE in (left.type, right.type):
        return _scaled(name, left, right)
    return Apply(result, name, (left, right))


def _scaled(name: str, left: Typed, right: Typed) -> Typed:
    # An interval times a fraction is computed in DOUBLE and cut off to whole microseconds.
    operands = (cast(left, DataType.DOUBLE), cast(right, DataType.DOUBLE))
    return cast(Apply(DataType.DOUBLE, name, operands), DataType.INTERVAL)


def _as_moment(operand: Typed) -> Typed:
    if operand.type is DataType.NULL:
        return cast(operand, DataType.INTERVAL)
    return cast(operand, DataType.TIMESTAMP) if operand.type is DataType.DATE else operand


_T, _I, _L, _D = DataType.TIMESTAMP, DataType.INTERVAL, DataType.LONG, DataType.DOUBLE
_TIME_RESULTS = {
    (_T, "subtract", _T): _I,
    (_T, "add", _I): _T,
    (_I, "add", _T): _T,
    (_T, "subtract", _I): _T,
    (_I, "add", _I): _I,
    (_I, "subtract", _I): _I,
    (_I, "multiply", _L): _I,
    (_L, "multiply", _I): _I,
    (_I, "multiply", _D): _I,
    (_D, "multiply", _I): _I,
    (_I, "divide", _L): _I,
    (_I, "divide", _D): _I,
}


@_lower.register
def _(expression: syntax.Logic, scope: Names) -> Typed:
    operands = tuple(cast(_lower(o, scope), DataType.BOOLEAN) for o in expression.operands)
    return Apply(DataType.BOOLEAN, expression.operator.lower(), operands)


@_lower.register
def _(expression: syntax.IsNull, scope: Names) -> Typed:
    test = Apply(DataType.BOOLEAN, "is_null", (_lower(expression.operand, scope),))
    return _not(test) if expression.negated else test


@_lower.register
def _(expression: syntax.InList, scope: Names) -> Typed:
    operands = (expression.operand, *expression.items)
    values = to_common_type(tuple(_lower(o, scope) for o in operands), expression.span)
    test = Apply(DataType.BOOLEAN, "in_list", values)
    return _not(test) if expression.negated else test


@_lower.register
def _(expression: syntax.InTable, scope: Names) -> Typed:
    operands = tuple(_lower(o, scope) for o in expression.operands)
    table = scope.tables.get(expression.table.lower())
    if table is not None:
        operands = tuple(
            _as_member(operand, column.type)
            for operand, column in zip(operands, table.columns, strict=False)
        )
    test = Apply(DataType.BOOLEAN, "member", operands, expression.table)
    return _not(test) if expression.negated else test


@_lower.register
def _(expression: syntax.Lookup, scope: Names) -> Typed:
    table = scope.tables.get(expression.table.lower())
    if table is None:
        raise refuse(f"table {expression.table} is not known here", expression.span)
    operands: dict[Typed, int] = {}
    condition: Typed | None = None
    if expression.condition is not None:
        asked = _lower(expression.condition, _RowNames(scope, table))
        condition = _as_asked(cast(asked, DataType.BOOLEAN), operands)
    names = tuple(column.name for column in table.columns)
    key = tuple(names.index(name) for name in table.key)
    asks = Asked(table.name, names, key, expression.column, expression.function, condition)
    column = None if expression.column is None else table.column(expression.column)
    kind = DataType.LONG if column is None else column.type
    if expression.function == "AVG":
        kind = DataType.DOUBLE
    return Apply(kind, "lookup", tuple(operands), asked=asks)


@dataclass(frozen=True)
class _RowNames:
    """What names mean in a subquery: a name alone is a column of its table."""

    outer: Names
    table: TableSchema

    @property
    def tables(self) -> Mapping[str, TableSchema]:
        return self.outer.tables

    def component(self, name: str | None, span: Span) -> int:
        return OF_ROW if name is None else self.outer.component(name, span)

    def column_of(self, component: int, attribute: str) -> Column | None:
        """Return the column that a name is."""
        if component == OF_ROW:
            return self.table.column(attribute)
        return self.outer.column_of(component, attribute)


def _as_asked(node: Typed, operands: dict[Typed, int]) -> Typed:
    """Return a condition on rows in which what is of no row is an operand, by its number."""
    inputs = [n for n in nodes_within(node) if isinstance(n, Input | Aggregated)]
    if any(each.component == OF_ROW for each in inputs):
        if isinstance(node, Apply):
            return with_operands(node, lambda part: _as_asked(part, operands))
        return node
    if not inputs:
        return node
    return Input(node.type, OF_READER, str(operands.setdefault(node, len(operands))))


def _as_member(operand: Typed, column: DataType) -> Typed:
    """Return a value as it is looked up; a fraction stays one, and meets whole numbers so."""
    is_fraction = operand.type is DataType.DOUBLE and column is DataType.LONG
    return operand if is_fraction else cast(operand, column)


@_lower.register
def _(expression: syntax.Between, scope: Names) -> Typed:
    value = _lower(expression.operand, scope)
    low, high = _lower(expression.low, scope), _lower(expression.high, scope)
    test = Apply(
        DataType.BOOLEAN,
        "and",
        (
            _compare(">=", value, low, expression.span),
            _compare("<=", value, high, expression.span),
        ),
    )
    return _not(test) if expression.negated else test


@_lower.register
def _(expression: syntax.Like, scope: Names) -> Typed:
    operand = cast(_lower(expression.operand, scope), DataType.STRING)
    test = Apply(DataType.BOOLEAN, "like", (operand,), expression.pattern)
    return _not(test) if expression.negated else test


@_lower.register
def _(expression: syntax.Case, scope: Names) -> Typed:
    conditions = [
        cast(_lower(condition, scope), DataType.BOOLEAN) for condition, _ in expression.branches
    ]
    otherwise = expression.otherwise or syntax.Literal(None)
    values = to_common_type(
        (*(_lower(value, scope) for _, value in expression.branches), _lower(otherwise, scope)),
        expression.span,
    )
    pairs = zip(conditions, values[:-1], strict=True)
    operands = (*(node for pair in pairs for node in pair), values[-1])
    return Apply(common_type(values) or DataType.NULL, "case", operands)


@_lower.register
def _(expression: syntax.Call, scope: Names) -> Typed:
    if expression.function == MATCH_NUMBER.upper():
        return Input(DataType.LONG, OF_MATCH, MATCH_NUMBER)
    arguments = tuple(_lower(argument, scope) for argument in expression.arguments)
    return lower_call(expression.function, arguments, expression.span)


@_lower.register
def _(expression: syntax.Cast, scope: Names) -> Typed:
    try:
        target = DataType(expression.type.upper())
    except ValueError:
        raise refuse(f"{expression.type} is not a type", expression.span) from None
    return cast(_lower(expression.operand, scope), target, expression.span)

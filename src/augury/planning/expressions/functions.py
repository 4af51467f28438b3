"""Scalar functions: how many arguments each takes, in which type, and which operator it becomes.

The table is the whole of it: a new function is one row here and one case in each compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from augury.analysis.declarations.catalog import DataType
from augury.errors import Span
from augury.planning.expressions.typed import Apply, Constant, Typed
from augury.planning.expressions.types import cast, common_type, refuse, to_common_type

Build = Callable[[str, tuple[Typed, ...], Span], Typed]


@dataclass(frozen=True, slots=True)
class Function:
    """One function: its operator, its least and most arguments (None: any number), its rule."""

    operator: str
    least: int
    most: int | None
    build: Build


def lower_call(name: str, arguments: tuple[Typed, ...], span: Span) -> Typed:
    """Return a call as an operator over converted arguments."""
    function = FUNCTIONS.get(name.upper())
    if function is None:
        raise refuse(f"there is no function {name}", span)
    if len(arguments) < function.least or len(arguments) > (function.most or len(arguments)):
        raise refuse(f"{name} does not take {len(arguments)} arguments", span)
    return function.build(function.operator, arguments, span)


def _number(operator: str, arguments: tuple[Typed, ...], span: Span) -> Typed:
    (value,) = arguments
    value = cast(value, DataType.DOUBLE) if value.type is DataType.NULL else value
    if value.type not in (DataType.LONG, DataType.DOUBLE, DataType.INTERVAL):
        raise refuse(f"{operator} needs a number, not {value.type.value}", span)
    return Apply(value.type, operator, (value,))


def _whole(operator: str, arguments: tuple[Typed, ...], span: Span) -> Typed:
    (value,) = arguments
    if value.type is DataType.LONG:
        return value
    return Apply(DataType.LONG, operator, (cast(value, DataType.DOUBLE, span),))


def _real(operator: str, arguments: tuple[Typed, ...], span: Span) -> Typed:
    return Apply(
        DataType.DOUBLE, operator, tuple(cast(a, DataType.DOUBLE, span) for a in arguments)
    )


def _rounded(operator: str, arguments: tuple[Typed, ...], span: Span) -> Typed:
    value, *digits = arguments
    places = digits[0] if digits else Constant(DataType.LONG, 0)
    if not isinstance(places, Constant) or not isinstance(places.value, int):
        raise refuse("the second argument of ROUND is a whole number", span)
    if value.type is DataType.LONG and places.value >= 0:
        return value
    real = cast(value, DataType.DOUBLE, span)
    rounded = Apply(DataType.DOUBLE, operator, (real,), str(places.value))
    return cast(rounded, DataType.LONG) if value.type is DataType.LONG else rounded


def _alike(operator: str, arguments: tuple[Typed, ...], span: Span) -> Typed:
    values = to_common_type(arguments, span)
    return Apply(common_type(values) or DataType.NULL, operator, values)


def _nullif(operator: str, arguments: tuple[Typed, ...], span: Span) -> Typed:
    # The value keeps its own type; only the comparison is made in the common one.
    same = Apply(DataType.BOOLEAN, "equal", to_common_type(arguments, span))
    value = arguments[0]
    return Apply(value.type, "case", (same, Constant(value.type, None), value))


def _text(operator: str, arguments: tuple[Typed, ...], span: Span) -> Typed:
    return Apply(
        DataType.STRING, operator, tuple(cast(a, DataType.STRING, span) for a in arguments)
    )


def _length(operator: str, arguments: tuple[Typed, ...], span: Span) -> Typed:
    return Apply(DataType.LONG, operator, (cast(arguments[0], DataType.STRING, span),))


def _substring(operator: str, arguments: tuple[Typed, ...], span: Span) -> Typed:
    numbers = tuple(cast(a, DataType.LONG, span) for a in arguments[1:])
    return Apply(DataType.STRING, operator, (cast(arguments[0], DataType.STRING, span), *numbers))


FUNCTIONS: dict[str, Function] = {
    "ABS": Function("abs", 1, 1, _number),
    "FLOOR": Function("floor", 1, 1, _whole),
    "CEIL": Function("ceil", 1, 1, _whole),
    "CEILING": Function("ceil", 1, 1, _whole),
    "ROUND": Function("round", 1, 2, _rounded),
    "SQRT": Function("sqrt", 1, 1, _real),
    "EXP": Function("exp", 1, 1, _real),
    "LN": Function("ln", 1, 1, _real),
    "POWER": Function("power", 2, 2, _real),
    "POW": Function("power", 2, 2, _real),
    "COALESCE": Function("coalesce", 1, None, _alike),
    "NULLIF": Function("case", 2, 2, _nullif),
    "LEAST": Function("least", 2, None, _alike),
    "GREATEST": Function("greatest", 2, None, _alike),
    "LOWER": Function("lower", 1, 1, _text),
    "UPPER": Function("upper", 1, 1, _text),
    "TRIM": Function("trim", 1, 1, _text),
    "CONCAT": Function("concat", 1, None, _text),
    "LENGTH": Function("length", 1, 1, _length),
    "SUBSTRING": Function("substring", 2, 3, _substring),
    "SUBSTR": Function("substring", 2, 3, _substring),
}

"""Scalar expressions in plain Python, straight from the syntax tree: slow, obvious, the oracle.

Values are None, bool, int, float, str, and the three kinds of time below. A DOUBLE is a float and a
LONG an int, so operands of mixed type meet as floats.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from augury.language import expressions as syntax

DAY = 86_400_000_000
UNITS = {"MILLISECOND": 10**3, "SECOND": 10**6, "MINUTE": 6 * 10**7, "HOUR": 36 * 10**8}


@dataclass(frozen=True, order=True)
class Moment:
    """A TIMESTAMP."""

    microseconds: int


@dataclass(frozen=True, order=True)
class Days:
    """A DATE."""

    number: int


@dataclass(frozen=True, order=True)
class Length:
    """An INTERVAL."""

    microseconds: int


Row = Mapping[str, Any]
Read = Callable[[syntax.Attribute | syntax.Aggregate], Any]


class Plain:
    """Evaluates; `read` gives attributes and aggregates, `tables` the rows of tables."""

    def __init__(self, read: Read, tables: Mapping[str, Sequence[tuple[Any, ...]]]) -> None:
        self.read, self.tables = read, tables

    def __call__(self, node: syntax.Expression) -> Any:
        return getattr(self, "_" + type(node).__name__.lower())(node)

    def _literal(self, node: syntax.Literal) -> Any:
        return node.value

    def _duration(self, node: syntax.Duration) -> Any:
        return Length(round(node.amount * UNITS[node.unit]))

    def _attribute(self, node: syntax.Attribute) -> Any:
        return self.read(node)

    _aggregate = _attribute

    def _unary(self, node: syntax.Unary) -> Any:
        if node.operator == "NOT":
            return not_(self(node.operand))
        return negate(self(node.operand))

    def _binary(self, node: syntax.Binary) -> Any:
        left, right = self(node.left), self(node.right)
        if node.operator in COMPARISONS:
            return compare(node.operator, left, right)
        if left is None or right is None:
            return None
        if node.operator == "||":
            return left + right
        return arithmetic(node.operator, left, right)

    def _logic(self, node: syntax.Logic) -> Any:
        values = [self(o) for o in node.operands]
        decisive = node.operator == "OR"
        if decisive in values:
            return decisive
        return None if None in values else not decisive

    def _isnull(self, node: syntax.IsNull) -> Any:
        return (self(node.operand) is None) != node.negated

    def _inlist(self, node: syntax.InList) -> Any:
        value = self(node.operand)
        found = any_of([compare("=", value, self(item)) for item in node.items])
        return not_(found) if node.negated else found

    def _intable(self, node: syntax.InTable) -> Any:
        values = [self(o) for o in node.operands]
        rows = self.tables[node.table]
        found = any_of(
            [all_of([compare("=", v, w) for v, w in zip(values, row, strict=True)]) for row in rows]
        )
        return not_(found) if node.negated else found

    def _between(self, node: syntax.Between) -> Any:
        value, low, high = self(node.operand), self(node.low), self(node.high)
        inside = all_of([compare(">=", value, low), compare("<=", value, high)])
        return not_(inside) if node.negated else inside

    def _like(self, node: syntax.Like) -> Any:
        value = self(node.operand)
        if value is None:
            return None
        return bool(re.fullmatch(like_regex(node.pattern), value, re.DOTALL)) != node.negated

    def _case(self, node: syntax.Case) -> Any:
        for condition, value in node.branches:
            if self(condition) is True:
                return self(value)
        return None if node.otherwise is None else self(node.otherwise)

    def _call(self, node: syntax.Call) -> Any:
        values = [self(a) for a in node.arguments]
        if node.function == "COALESCE":
            return next((v for v in values if v is not None), None)
        if node.function == "NULLIF":
            return None if compare("=", *values) is True else values[0]
        if node.function in ("LEAST", "GREATEST"):
            return extreme(node.function, values)
        return None if None in values else FUNCTIONS[node.function](*values)

    def _cast(self, node: syntax.Cast) -> Any:
        value = self(node.operand)
        return None if value is None else cast(value, node.type)


COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


def not_(value: bool | None) -> bool | None:
    return None if value is None else not value


def any_of(values: list[bool | None]) -> bool | None:
    return True if True in values else None if None in values else False


def all_of(values: list[bool | None]) -> bool | None:
    return False if False in values else None if None in values else True


def rank(value: Any) -> Any:
    """Return what orders a value: NaN is equal to itself and above all numbers."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value


def meet(left: Any, right: Any) -> tuple[Any, Any]:
    if isinstance(left, Days) and isinstance(right, Moment):
        return cast(left, "TIMESTAMP"), right
    if isinstance(left, Moment) and isinstance(right, Days):
        return left, cast(right, "TIMESTAMP")
    if isinstance(left, float) or isinstance(right, float):
        return float(left), float(right)
    return left, right


def compare(operator: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    a, b = (rank(v) for v in meet(left, right))
    return {
        "=": a == b,
        "<>": a != b,
        "<": a < b,
        "<=": a <= b,
        ">": a > b,
        ">=": a >= b,
    }[operator]


def extreme(function: str, values: list[Any]) -> Any:
    known = [v for v in values if v is not None]
    if not known:
        return None
    return (min if function == "LEAST" else max)(known, key=rank)


def fits(value: int) -> int | None:
    return value if -(2**63) <= value < 2**63 else None


def wrap(kind: Callable[[int], Any], value: int | None) -> Any:
    return None if value is None or fits(value) is None else kind(value)


def negate(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, Length):
        return wrap(Length, -value.microseconds)
    return -value if isinstance(value, float) else fits(-value)


def arithmetic(operator: str, left: Any, right: Any) -> Any:
    if isinstance(left, Moment | Days | Length) or isinstance(right, Moment | Days | Length):
        return time_arithmetic(operator, left, right)
    if operator == "/":
        return None if right == 0 else float(left) / float(right)
    left, right = meet(left, right)
    if operator == "%":
        return None if right == 0 else remainder(left, right)
    result = {"+": left + right, "-": left - right, "*": left * right}[operator]
    return result if isinstance(result, float) else fits(result)


def remainder(left: Any, right: Any) -> Any:
    if isinstance(left, float):
        return math.nan if math.isinf(left) else math.fmod(left, right)
    return left - right * (abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1))


def time_arithmetic(operator: str, left: Any, right: Any) -> Any:
    left = cast(left, "TIMESTAMP") if isinstance(left, Days) else left
    right = cast(right, "TIMESTAMP") if isinstance(right, Days) else right
    if operator in ("*", "/"):
        return scaled(operator, left, right)
    sign = -1 if operator == "-" else 1
    total = left.microseconds + sign * right.microseconds
    moments = isinstance(left, Moment) + isinstance(right, Moment)
    return wrap(Moment if moments == 1 else Length, total)


def scaled(operator: str, left: Any, right: Any) -> Any:
    a, b = (v.microseconds if isinstance(v, Length) else v for v in (left, right))
    if operator == "*" and isinstance(a, int) and isinstance(b, int):
        return wrap(Length, a * b)
    if operator == "/" and b == 0:
        return None
    product = float(a) * float(b) if operator == "*" else float(a) / float(b)
    return wrap(Length, whole(product))


def whole(value: float) -> int | None:
    return int(value) if -(2.0**63) <= value < 2.0**63 else None


NUMBER = re.compile(r" *[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)? *\Z")
INTEGER = re.compile(r" *[+-]?[0-9]+ *\Z")
TRUTH = {"true": True, "t": True, "yes": True, "y": True, "1": True} | {
    "false": False,
    "f": False,
    "no": False,
    "n": False,
    "0": False,
}


def cast(value: Any, kind: str) -> Any:
    if isinstance(value, Days):
        return cast_days(value, kind)
    if isinstance(value, Moment):
        return Days(value.microseconds // DAY) if kind == "DATE" else value
    return cast_text(value, kind) if isinstance(value, str) else cast_number(value, kind)


def cast_days(value: Days, kind: str) -> Any:
    if kind == "TIMESTAMP":
        return wrap(Moment, value.number * DAY)
    return str(date(1970, 1, 1) + timedelta(days=value.number)) if kind == "STRING" else value


def cast_number(value: bool | int | float, kind: str) -> Any:
    if kind == "STRING":
        return str(value).lower()
    if kind == "BOOLEAN":
        return value != 0
    if kind == "DOUBLE":
        return float(value)
    return whole(value) if isinstance(value, float) else int(value)


def cast_text(value: str, kind: str) -> Any:
    if kind == "LONG":
        return fits(int(value)) if INTEGER.match(value) else None
    if kind == "DOUBLE":
        word = value.strip(" ").lower()
        no_digits = re.fullmatch("[+-]?inf(inity)?|nan", word)
        return float(value) if NUMBER.match(value) or no_digits else None
    return TRUTH.get(value.strip(" ").lower()) if kind == "BOOLEAN" else value


def like_regex(pattern: str) -> str:
    pieces, escaped = [], False
    for char in pattern:
        if escaped or char not in "\\%_":
            pieces.append(re.escape(char))
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            pieces.append(".*" if char == "%" else ".")
    return "".join(pieces)


def substring(text: str, position: int, length: int = 2**31) -> str:
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = start + length
    return text[max(start, 0) : end] if end > max(start, 0) else ""


def rounded(function: Callable[[float], int]) -> Callable[[Any], int | None]:
    def apply(value: Any) -> int | None:
        if isinstance(value, int):
            return value
        return function(value) if -(2.0**63) <= value < 2.0**63 else None

    return apply


def absolute(value: Any) -> Any:
    return abs(value) if isinstance(value, float) else fits(abs(value))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ABS": absolute,
    "FLOOR": rounded(math.floor),
    "CEIL": rounded(math.ceil),
    "SQRT": lambda v: math.sqrt(v) if v >= 0 else math.nan,
    "LOWER": str.lower,
    "UPPER": str.upper,
    "TRIM": lambda v: v.strip(" "),
    "LENGTH": len,
    "CONCAT": lambda *parts: "".join(parts),
    "SUBSTRING": substring,
}

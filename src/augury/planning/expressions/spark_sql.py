"""Render typed expressions as Spark SQL, for Catalyst to evaluate before anything is moved.

The text means the same whatever the session's settings are: nothing throws under ANSI rules,
timestamps are literals in microseconds so that no time zone has a say, and every name is quoted.
Comparisons of plain columns with constants stay plain, so that they reach Parquet's own filters;
but not those that NaN passes, since the statistics of a file may leave it out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from augury.analysis.declarations.catalog import DataType
from augury.planning.expressions.arrow_strings import (
    FALSE_TEXTS,
    REAL_NUMBER,
    TRUE_TEXTS,
    WHOLE_NUMBER,
)
from augury.planning.expressions.typed import (
    Aggregated,
    Apply,
    Constant,
    Input,
    Typed,
    Value,
    nodes_within,
)
from augury.planning.expressions.types import refuse

Rows = Sequence[Sequence[Value]]
_DAY = "86400000000L"
_COMPARISONS = ("equal", "less", "less_equal", "in_list")
_B, _L, _D, _S = DataType.BOOLEAN, DataType.LONG, DataType.DOUBLE, DataType.STRING
_T, _G, _I = DataType.TIMESTAMP, DataType.DATE, DataType.INTERVAL
_NAMES = {_B: "BOOLEAN", _L: "BIGINT", _D: "DOUBLE", _S: "STRING", _T: "TIMESTAMP", _G: "DATE"}


def to_spark_sql(expression: Typed, tables: Mapping[str, Rows] | None = None) -> str:
    """Return the expression over the columns of one stream.

    Tables whose rows are given (by name in lower case) are written out; others are subqueries,
    which Spark takes in a filter only. INTERVAL is a BIGINT of microseconds.
    """
    return _Renderer(tables).text(expression)


def can_be_pushed(expression: Typed) -> bool:
    """Return whether Spark gives the same answer in any session.

    How Spark writes times and fractions depends on its zone and on Java's version, so those casts
    stay here; and so do subqueries, whose tables are here.
    """
    nodes = [node for node in nodes_within(expression) if isinstance(node, Apply)]
    if any(node.operator == "lookup" for node in nodes):
        return False
    casts = ((n.operands[0].type, n.type) for n in nodes if n.operator == "cast")
    return all(pair in _CASTS for pair in casts)


def quoted(name: str) -> str:
    """Return a column's name in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def string_literal(text: str) -> str:
    """Return a string literal; Spark reads backslashes as escapes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def constant_sql(kind: DataType, value: Value) -> str:
    """Return a machine value as a literal of its type."""
    if value is None:
        return f"CAST(NULL AS {_NAMES.get(kind, 'BIGINT')})"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return string_literal(value)
    if isinstance(value, float) or kind is _D:
        return _double_literal(float(value))
    # The smallest LONG has no literal: its digits alone are one too large.
    number = f"{value}L" if value > -(2**63) else f"CAST('{value}' AS BIGINT)"
    if kind is _T:
        return f"timestamp_micros({number})"
    return f"date_from_unix_date({value})" if kind is _G else number


def _double_literal(value: float) -> str:
    return f"{value!r}D" if math.isfinite(value) else f"CAST('{value}' AS DOUBLE)"


@dataclass(frozen=True, slots=True)
class _Renderer:
    tables: Mapping[str, Rows] | None

    def text(self, node: Typed, *, negated: bool = False) -> str:
        """Return the text of a node; `negated` tells that it stands below a NOT."""
        if isinstance(node, Constant):
            return constant_sql(node.type, node.value)
        if isinstance(node, Input):
            return quoted(node.column)
        if isinstance(node, Aggregated):
            raise refuse("an aggregate over a repetition cannot be pushed to Spark")
        if node.operator == "member":
            return self._member(node, negated=negated)
        if node.operator == "cast":
            return self._cast(node)
        if node.type in (_T, _I) or any(o.type in (_T, _G) for o in node.operands):
            return self._with_times(node)
        inside = negated or node.operator == "not"
        texts = [self.text(operand, negated=inside) for operand in node.operands]
        if node.operator in _COMPARISONS:
            # Only what is on the right of < may be NaN where that is true.
            reached = range(1, 2) if node.operator in ("less", "less_equal") else range(0)
            for k in range(len(texts)) if negated else reached:
                texts[k] = _unseen(node.operands[k], texts[k])
        return _apply(node, texts)

    def _cast(self, node: Apply) -> str:
        if not can_be_pushed(node):
            raise refuse(f"CAST to {node.type.value} is not left to Spark")
        return _CASTS[node.operands[0].type, node.type](self.text(node.operands[0]))

    def _with_times(self, node: Apply) -> str:
        if node.operator not in ("add", "subtract", "multiply", "negate", "abs"):
            return _apply(node, [self.text(operand) for operand in node.operands])
        numbers = [
            f"unix_micros({self.text(o)})" if o.type is _T else self.text(o) for o in node.operands
        ]
        result = _LONG[node.operator](*numbers)
        return f"timestamp_micros({result})" if node.type is _T else result

    def _member(self, node: Apply, *, negated: bool) -> str:
        values = [self.text(operand) for operand in node.operands]
        if negated:
            values = [_unseen(*each) for each in zip(node.operands, values, strict=True)]
        rows = None if self.tables is None else self.tables.get(node.detail.lower())
        if rows is None:
            listed = values[0] if len(values) == 1 else f"({', '.join(values)})"
            return f"({listed} IN (SELECT * FROM {quoted(node.detail)}))"
        kinds = [operand.type for operand in node.operands]
        tests = [_row_test(values, kinds, row) for row in dict.fromkeys(map(tuple, rows))]
        return f"({' OR '.join(tests)})" if tests else "false"


def _unseen(operand: Typed, text: str) -> str:
    """Return a fraction in a form that no filter of Parquet takes: it is the same number."""
    is_column = isinstance(operand, Input) and operand.type is _D
    return f"nanvl({text}, CAST('NaN' AS DOUBLE))" if is_column else text


def _row_test(values: list[str], kinds: list[DataType], row: Sequence[Value]) -> str:
    pairs = zip(values, kinds, row, strict=True)
    return "(" + " AND ".join(f"{v} = {constant_sql(k, w)}" for v, k, w in pairs) + ")"


def _apply(node: Apply, operands: list[str]) -> str:
    if node.operator == "like":
        return f"({operands[0]} LIKE {string_literal(_settled_pattern(node.detail))})"
    if node.operator == "round":
        return f"round({operands[0]}, {node.detail})"
    if node.operands and node.operands[0].type in (_L, _I) and node.operator in _LONG:
        return _LONG[node.operator](*operands)
    if node.operator == "in_list" and node.operands[0].type is _D:
        return "(" + " OR ".join(f"{operands[0]} = {item}" for item in operands[1:]) + ")"
    return _PLAIN[node.operator](*operands)


def _settled_pattern(pattern: str) -> str:
    """Return a LIKE pattern in which only what must be escaped is; Spark refuses any other."""
    pieces: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character != "\\":
            pieces.append(character)
            continue
        literal = next(characters, "\\")
        pieces.append("\\" + literal if literal in "\\%_" else literal)
    return "".join(pieces)


def _infix(operator: str) -> Callable[..., str]:
    return lambda *operands: "(" + f" {operator} ".join(operands) + ")"


def _called(function: str) -> Callable[..., str]:
    return lambda *operands: f"{function}({', '.join(operands)})"


def _case(*operands: str) -> str:
    branches = zip(operands[:-1:2], operands[1:-1:2], strict=True)
    whens = " ".join(f"WHEN {condition} THEN {value}" for condition, value in branches)
    return f"CASE {whens} ELSE {operands[-1]} END"


def _in_list(value: str, *items: str) -> str:
    return f"({value} IN ({', '.join(items)}))"


def _substring(text: str, *numbers: str) -> str:
    clamped = [f"CAST(greatest(least({n}, 2147483647L), -2147483647L) AS INT)" for n in numbers]
    return f"substring({', '.join([text, *clamped])})"


def _whole(function: str) -> Callable[[str], str]:
    return lambda x: f"CASE WHEN {_fits_long(x)} THEN {function.format(x)} END"


def _fits_long(x: str) -> str:
    return f"{x} >= -9.223372036854775808E18D AND {x} < 9.223372036854775808E18D"


_PLAIN: dict[str, Callable[..., str]] = {
    "add": _infix("+"),
    "subtract": _infix("-"),
    "multiply": _infix("*"),
    "divide": _called("try_divide"),
    "modulo": _called("try_mod"),
    "negate": lambda x: f"(- {x})",
    "abs": _called("abs"),
    "equal": _infix("="),
    "less": _infix("<"),
    "less_equal": _infix("<="),
    "and": _infix("AND"),
    "or": _infix("OR"),
    "not": lambda x: f"(NOT {x})",
    "is_null": lambda x: f"({x} IS NULL)",
    "in_list": _in_list,
    "case": _case,
    "coalesce": _called("coalesce"),
    "least": _called("least"),
    "greatest": _called("greatest"),
    "floor": _whole("floor({})"),
    "ceil": _whole("ceil({})"),
    "sqrt": _called("sqrt"),
    "exp": _called("exp"),
    "ln": _called("ln"),
    "power": _called("power"),
    "lower": _called("lower"),
    "upper": _called("upper"),
    "trim": _called("trim"),
    "length": lambda x: f"CAST(length({x}) AS BIGINT)",
    "substring": _substring,
    "concat": _called("concat"),
}
_LONG: dict[str, Callable[..., str]] = {
    "add": _called("try_add"),
    "subtract": _called("try_subtract"),
    "multiply": _called("try_multiply"),
    "modulo": _called("try_mod"),
    "negate": lambda x: f"try_subtract(0L, {x})",
    "abs": lambda x: f"CASE WHEN {x} < 0L THEN try_subtract(0L, {x}) ELSE {x} END",
}


def _matched(pattern: str, kind: str) -> Callable[[str], str]:
    shape = string_literal(rf"\A{pattern}\z")
    return lambda x: f"CASE WHEN {x} RLIKE {shape} THEN try_cast(trim({x}) AS {kind}) END"


def _truth(x: str) -> str:
    true, false = (
        ", ".join(string_literal(t) for t in texts) for texts in (TRUE_TEXTS, FALSE_TEXTS)
    )
    word = f"lower(trim({x}))"
    return f"CASE WHEN {word} IN ({true}) THEN true WHEN {word} IN ({false}) THEN false END"


def _date_of_moment(x: str) -> str:
    micros = f"unix_micros({x})"
    return f"date_from_unix_date(CAST(({micros} - pmod({micros}, {_DAY})) div {_DAY} AS INT))"


def _to(kind: str) -> Callable[[str], str]:
    return lambda x: f"CAST({x} AS {kind})"


_CASTS: dict[tuple[DataType, DataType], Callable[[Any], str]] = {
    (_L, _D): _to("DOUBLE"),
    (_B, _D): _to("DOUBLE"),
    (_I, _D): _to("DOUBLE"),
    (_B, _L): _to("BIGINT"),
    (_D, _L): _whole("CAST({} AS BIGINT)"),
    (_D, _I): _whole("CAST({} AS BIGINT)"),
    (_L, _B): lambda x: f"({x} <> 0L)",
    (_D, _B): lambda x: f"({x} <> 0D)",
    (_L, _S): _to("STRING"),
    (_B, _S): _to("STRING"),
    (_G, _S): lambda x: f"CASE WHEN year({x}) BETWEEN 1 AND 9999 THEN CAST({x} AS STRING) END",
    (_S, _L): _matched(WHOLE_NUMBER, "BIGINT"),
    (_S, _D): _matched(REAL_NUMBER, "DOUBLE"),
    (_S, _B): _truth,
    (_G, _T): lambda x: f"timestamp_micros(try_multiply(CAST(unix_date({x}) AS BIGINT), {_DAY}))",
    (_T, _G): _date_of_moment,
}

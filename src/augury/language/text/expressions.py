"""Expressions in canonical spelling, with as few parentheses as precedence allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from augury.language.expressions import (
    Aggregate,
    Attribute,
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Duration,
    Equate,
    Expression,
    Index,
    InList,
    InTable,
    IsNull,
    Like,
    Literal,
    Logic,
    Lookup,
    TypedLiteral,
    Unary,
)
from augury.language.keywords import AGGREGATES
from augury.language.text.words import (
    called_text,
    length_text,
    member_text,
    name_text,
    names_text,
    string_text,
    value_text,
)

# How tightly each form binds; an operand that binds less tightly than its place asks for goes in
# parentheses.
_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _UNARY, _PRIMARY = range(8)

_BINARY = {
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), _COMPARISON),
    **dict.fromkeys(("+", "-", "||"), _SUM),
    **dict.fromkeys(("*", "/", "%"), _PRODUCT),
}


def expression_text(node: Expression) -> str:
    """Return the canonical text of an expression."""
    return _TEXTS[type(node)](node)


def _at(node: Expression, level: int) -> str:
    text = expression_text(node)
    return text if _level(node) >= level else f"({text})"


def _level(node: Expression) -> int:
    if isinstance(node, Logic):
        return _AND if node.operator == "AND" else _OR
    if isinstance(node, Unary):
        return _NOT if node.operator == "NOT" else _UNARY
    if isinstance(node, Binary):
        return _BINARY[node.operator]
    return _COMPARISON if isinstance(node, IsNull | InList | InTable | Between | Like) else _PRIMARY


def _logic(node: Logic) -> str:
    tighter = _level(node) + 1
    return f" {node.operator} ".join(_at(operand, tighter) for operand in node.operands)


def _unary(node: Unary) -> str:
    if node.operator == "NOT":
        return f"NOT {_at(node.operand, _NOT)}"
    operand = _at(node.operand, _UNARY)
    # Two minus signs in a row would begin a comment.
    return f"-({operand})" if operand.startswith("-") else f"-{operand}"


def _binary(node: Binary) -> str:
    level = _BINARY[node.operator]
    left = _at(node.left, _SUM if level == _COMPARISON else level)
    return f"{left} {node.operator} {_at(node.right, level + 1)}"


def _negation(node: IsNull | InList | InTable | Between | Like) -> str:
    return "NOT " if node.negated else ""


def _is_null(node: IsNull) -> str:
    return f"{_at(node.operand, _SUM)} IS {_negation(node)}NULL"


def _in_list(node: InList) -> str:
    return f"{_at(node.operand, _SUM)} {_negation(node)}IN ({_list(node.items)})"


def _in_table(node: InTable) -> str:
    alone = len(node.operands) == 1
    operand = _at(node.operands[0], _SUM) if alone else f"({_list(node.operands)})"
    return f"{operand} {_negation(node)}IN {name_text(node.table)}"


def _between(node: Between) -> str:
    low, high = _at(node.low, _SUM), _at(node.high, _SUM)
    return f"{_at(node.operand, _SUM)} {_negation(node)}BETWEEN {low} AND {high}"


def _like(node: Like) -> str:
    return f"{_at(node.operand, _SUM)} {_negation(node)}LIKE {string_text(node.pattern)}"


def _list(items: tuple[Expression, ...]) -> str:
    return ", ".join(map(expression_text, items))


def _attribute(node: Attribute) -> str:
    if node.places:
        # PREV(price, 2) is the column that PREV(b.price, 2) is read as.
        word, rest = node.name[:5], node.name[5 : node.name.rindex(")") + 1]
        return f"{word}{_owner(node.component or '', node.index)}.{rest}"
    default = "" if node.default is None else f"[{expression_text(node.default)}]"
    if node.component is None:
        return name_text(node.name) + default
    inside = "" if node.group is None else f".{member_text(node.component)}"
    owner = _owner(node.group or node.component, node.index)
    return f"{owner}{inside}.{member_text(node.name)}{default}"


def _owner(component: str, index: Index | None) -> str:
    if index is None:
        return member_text(component)
    if index.kind == "last":
        return f"LAST({name_text(component)})"
    number = str(index.number)
    place = {"number": number, "each": "i", "previous": "i-1", "running": "..i"}[index.kind]
    return f"{name_text(component)}[{place}]"


def _aggregate(node: Aggregate) -> str:
    index = Index("running") if node.running else None
    if node.attribute is None:
        owner = name_text(node.component) if index is None else _owner(node.component, index)
        return f"{node.function}({owner})"
    inside = "" if node.group is None else f".{member_text(node.component)}"
    owner = _owner(node.group or node.component, index)
    return f"{node.function}({owner}{inside}.{member_text(node.attribute)})"


def _case(node: Case) -> str:
    branches = "".join(
        f" WHEN {expression_text(condition)} THEN {expression_text(value)}"
        for condition, value in node.branches
    )
    otherwise = "" if node.otherwise is None else f" ELSE {expression_text(node.otherwise)}"
    return f"CASE{branches}{otherwise} END"


def _call(node: Call) -> str:
    name = f"`{node.function}`" if node.function in AGGREGATES else called_text(node.function)
    return f"{name}({_list(node.arguments)})"


def _lookup(node: Lookup) -> str:
    where = "" if node.condition is None else f" WHERE {expression_text(node.condition)}"
    column = "*" if node.column is None else name_text(node.column)
    selected = column if node.function is None else f"{node.function}({column})"
    return f"(SELECT {selected} FROM {name_text(node.table)}{where})"


def _literal(node: Literal) -> str:
    return value_text(node.value)


def _duration(node: Duration) -> str:
    return f"INTERVAL {length_text(node)}"


def _typed(node: TypedLiteral) -> str:
    return f"{node.type} {string_text(node.text)}"


def _cast(node: Cast) -> str:
    return f"CAST({expression_text(node.operand)} AS {node.type})"


def _equate(node: Equate) -> str:
    return f"[{names_text(node.attributes)}]"


_TEXTS: dict[type, Callable[[Any], str]] = {
    Literal: _literal,
    Duration: _duration,
    TypedLiteral: _typed,
    Attribute: _attribute,
    Aggregate: _aggregate,
    Unary: _unary,
    Binary: _binary,
    Logic: _logic,
    IsNull: _is_null,
    InList: _in_list,
    InTable: _in_table,
    Between: _between,
    Like: _like,
    Case: _case,
    Call: _call,
    Cast: _cast,
    Equate: _equate,
    Lookup: _lookup,
}

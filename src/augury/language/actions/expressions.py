"""Actions of scalar expressions: from parts to the nodes of `augury.language.expressions`."""

from __future__ import annotations

from typing import Any
from typing import Literal as Choice

from augury.errors import Span
from augury.language import codes
from augury.language.actions.words import Parts
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
from augury.language.findings import Findings
from augury.language.keywords import AGGREGATES, UNITS
from augury.language.machine import Action

# Logic and comparison ----------------------------------------------------------------------------


def _chain(operator: Choice["AND", "OR"]) -> Action:
    """Return the action that joins operands, taking nested chains of the same operator apart."""

    def action(parts: Parts, span: Span, findings: Findings) -> Logic:
        operands: list[Expression] = []
        for part in parts:
            same = isinstance(part, Logic) and part.operator == operator
            operands.extend(part.operands if same else (part,))
        return Logic(operator, tuple(operands), span=span)

    return action


def _negated(parts: Parts, span: Span, findings: Findings) -> Unary:
    return Unary("NOT", parts[0], span=span)


def _compare(parts: Parts, span: Span, findings: Findings) -> Binary:
    left, operator, right = parts
    return Binary(operator, left, right, span=span)


def _is_null(negated: bool) -> Action:
    return lambda parts, span, findings: IsNull(parts[0], negated, span=span)


def _in_list(negated: bool) -> Action:
    return lambda parts, span, findings: InList(parts[0], tuple(parts[1:]), negated, span=span)


def _in_table(negated: bool) -> Action:
    def action(parts: Parts, span: Span, findings: Findings) -> InTable:
        operand, table = parts
        operands = operand if isinstance(operand, tuple) else (operand,)
        return InTable(operands, table.text, negated, span=span)

    return action


def _row(parts: Parts, span: Span, findings: Findings) -> tuple[Expression, ...]:
    return tuple(parts)


def _between(negated: bool) -> Action:
    def action(parts: Parts, span: Span, findings: Findings) -> Between:
        operand, low, high = parts
        return Between(operand, low, high, negated, span=span)

    return action


def _like(negated: bool) -> Action:
    return lambda parts, span, findings: Like(parts[0], parts[1].text, negated, span=span)


# Arithmetic --------------------------------------------------------------------------------------


def _binary(operator: Choice["+", "-", "*", "/", "%", "||"]) -> Action:
    def action(parts: Parts, span: Span, findings: Findings) -> Binary:
        return Binary(operator, parts[0], parts[-1], span=span)

    return action


def _subtract(parts: Parts, span: Span, findings: Findings) -> Binary:
    """Build `left - right`; refuse `ENTER.HCW-ID`, which may be one name or a subtraction."""
    left, right = parts
    touching = left.span.end + 1 == right.span.start
    if touching and _plain(left) and _plain(right) and right.component is None:
        _refuse_hyphen(left, right, span, findings)
    return Binary("-", left, right, span=span)


def _plain(node: Expression) -> bool:
    return isinstance(node, Attribute) and node.index is None and node.default is None


def _refuse_hyphen(left: Attribute, right: Attribute, span: Span, findings: Findings) -> None:
    owner = f"{left.component}." if left.component else ""
    name = f"{left.name}-{right.name}"
    message = f"{owner}{name} may be one name or a subtraction"
    findings.refuse(
        codes.SPELLING, span, message, f"write {owner}`{name}`, or put spaces around the minus"
    )


def _minus(parts: Parts, span: Span, findings: Findings) -> Expression:
    """Build `-x`; the minus of a number becomes part of the number."""
    operand = parts[0]
    if _is_unsigned(operand):
        return Literal(-operand.value, span=span)
    return Unary("-", operand, span=span)


def _is_unsigned(node: Expression) -> bool:
    if not isinstance(node, Literal) or not isinstance(node.value, int | float):
        return False
    return not isinstance(node.value, bool) and not str(node.value).startswith("-")


# Constants ---------------------------------------------------------------------------------------


def _literal(parts: Parts, span: Span, findings: Findings) -> Literal:
    return Literal(parts[0], span=span)


def _text(parts: Parts, span: Span, findings: Findings) -> Literal:
    return Literal(parts[0].text, span=span)


def _constant(value: bool | None) -> Action:
    return lambda parts, span, findings: Literal(value, span=span)


def _typed(name: Choice["TIMESTAMP", "DATE"]) -> Action:
    return lambda parts, span, findings: TypedLiteral(name, parts[0].text, span=span)


def _interval_text(parts: Parts, span: Span, findings: Findings) -> Duration:
    """Build `INTERVAL '5' MINUTE` or `INTERVAL '5 minutes'`."""
    words = [*parts[0].text.split(), *(token.text for token in parts[1:])]
    amount = _amount(words[0]) if words else None
    if len(words) == 2 and amount is not None and words[1].upper() in UNITS:
        return Duration(amount, UNITS[words[1].upper()], span=span)
    message = "the interval is not a number and one unit of time"
    findings.refuse(codes.FORM, span, message, "for example INTERVAL 5 MINUTES")
    return Duration(0, "SECOND", span=span)


def _amount(word: str) -> int | float | None:
    whole_part, _, fraction = word.partition(".")
    if not (whole_part + fraction).isdecimal() or len(word) > 18:
        return None
    return float(word) if "." in word else int(word)


# Names -------------------------------------------------------------------------------------------


def _bare_column(parts: Parts, span: Span, findings: Findings) -> Attribute:
    return Attribute(None, parts[0].text, span=span)


def _attribute(parts: Parts, span: Span, findings: Findings) -> Attribute:
    component, name, *default = parts
    return Attribute(component.text, name.text, None, _first(default), span=span)


def _indexed(parts: Parts, span: Span, findings: Findings) -> Attribute:
    component, index, name, *default = parts
    return Attribute(component.text, name.text, index, _first(default), span=span)


def _in_group(parts: Parts, span: Span, findings: Findings) -> Attribute:
    group, component, name = (part.text for part in parts)
    return Attribute(component, name, group=group, span=span)


def _indexed_in_group(parts: Parts, span: Span, findings: Findings) -> Attribute:
    group, index, component, name = parts
    return Attribute(component.text, name.text, index, group=group.text, span=span)


def _edge_in_group(index: Index) -> Action:
    """Return the action of `LAST(g).b.price` or `FIRST(g).b.price`."""

    def action(parts: Parts, span: Span, findings: Findings) -> Attribute:
        group, component, name = (part.text for part in parts)
        return Attribute(component, name, index, group=group, span=span)

    return action


def _edge_of(index: Index) -> Action:
    """Return the action of `LAST(b).price` or `FIRST(b).price`."""

    def action(parts: Parts, span: Span, findings: Findings) -> Attribute:
        component, name, *default = parts
        return Attribute(component.text, name.text, index, _first(default), span=span)

    return action


def _first(parts: Parts) -> Any:
    return parts[0] if parts else None


def _index_number(parts: Parts, span: Span, findings: Findings) -> Index:
    digits = parts[0].text
    number = int(digits) if len(digits) < 10 else 0
    if number < 1:
        _refuse_index(digits, span, findings)
    return Index("number", max(number, 1), span=span)


def _index_each(parts: Parts, span: Span, findings: Findings) -> Index:
    if parts[0].text.lower() != "i":
        _refuse_index(parts[0].text, span, findings)
    return Index("each", span=span)


def _index_previous(parts: Parts, span: Span, findings: Findings) -> Index:
    word, number = parts
    if word.text.lower() != "i" or number.text != "1":
        _refuse_index(f"{word.text}-{number.text}", span, findings)
    return Index("previous", span=span)


def _index_running(parts: Parts, span: Span, findings: Findings) -> Index:
    if parts[-1].text.lower() != "i":
        _refuse_index(f"..{parts[-1].text}", span, findings)
    return Index("running", span=span)


def _refuse_index(text: str, span: Span, findings: Findings) -> None:
    message = f"[{text}] does not say which events of the repetition are meant"
    hint = "write [1], [i] or [i-1], or [..i] in SUM, AVG, MIN, MAX or COUNT"
    findings.refuse(codes.FORM, span, message, hint)


# Functions and the rest --------------------------------------------------------------------------


def _call(parts: Parts, span: Span, findings: Findings) -> Expression:
    function, *arguments = parts
    name = function.text.upper()
    if name in AGGREGATES and function.kind == "WORD":
        return _aggregate(name, arguments, span, findings)
    return Call(name, tuple(arguments), span=span)


def _aggregate(name: Any, arguments: Parts, span: Span, findings: Findings) -> Aggregate:
    argument = arguments[0] if len(arguments) == 1 else None
    if isinstance(argument, Attribute) and argument.default is None:
        if name == "COUNT" and argument.component is None:
            return Aggregate("COUNT", argument.name, span=span)
        kind = "each" if argument.index is None else argument.index.kind
        if name != "COUNT" and argument.component is not None and kind in ("each", "running"):
            own, group = argument.component, argument.group
            return Aggregate(name, own, argument.name, kind == "running", group, span=span)
    _refuse_aggregate(name, arguments, span, findings)
    # What is named is a component, so that no second finding says that there is none.
    named = argument.component or argument.name if isinstance(argument, Attribute) else "_"
    return Aggregate("COUNT", named, span=span)


def _running_count(parts: Parts, span: Span, findings: Findings) -> Aggregate:
    function, component, index = parts
    if function.text.upper() != "COUNT" or index.kind != "running":
        _refuse_aggregate(function.text.upper(), [], span, findings)
    return Aggregate("COUNT", component.text, None, running=True, span=span)


def _refuse_aggregate(name: str, arguments: Parts, span: Span, findings: Findings) -> None:
    argument = arguments[0] if len(arguments) == 1 else None
    if name == "COUNT":
        message, hint = "COUNT counts the events of one repetition", "for example COUNT(b)"
        if isinstance(argument, Attribute) and argument.component is not None:
            message += f", and not values of {argument.name}"
            hint = (
                f"write COUNT({argument.component}) for its events; those whose {argument.name} is "
                "NULL can be left out by a condition"
            )
    else:
        message = f"{name} is over one attribute of one repetition"
        other = {"MIN": "; of several values: LEAST", "MAX": "; of several values: GREATEST"}
        hint = f"for example {name}(b.price)" + (other.get(name, "") if len(arguments) > 1 else "")
    findings.refuse(codes.FORM, span, message, hint)


def _call_star(parts: Parts, span: Span, findings: Findings) -> Call:
    message = f"{parts[0].text.upper()}(*) is not a value of one match"
    hint = "name a repetition, as in COUNT(b); RETURN COUNT counts matches, RETURN TOTAL COUNT all"
    findings.refuse(codes.FORM, span, message, hint)
    return Call(parts[0].text.upper(), (), span=span)


def _cast(parts: Parts, span: Span, findings: Findings) -> Cast:
    return Cast(parts[0], parts[1], span=span)


def _when(parts: Parts, span: Span, findings: Findings) -> tuple[Expression, Expression]:
    return parts[0], parts[1]


def _case(parts: Parts, span: Span, findings: Findings) -> Case:
    return Case(tuple(parts), span=span)


def _case_else(parts: Parts, span: Span, findings: Findings) -> Case:
    return Case(tuple(parts[:-1]), parts[-1], span=span)


def _equate(parts: Parts, span: Span, findings: Findings) -> Equate:
    return Equate(parts[0], span=span)


def _lookup(parts: Parts, span: Span, findings: Findings) -> Lookup:
    (column, function), table, *condition = parts
    return Lookup(column, table.text, _first(condition), function, span=span)


def _selected_column(parts: Parts, span: Span, findings: Findings) -> tuple[str | None, Any]:
    return parts[0].text, None


def _selected_over(parts: Parts, span: Span, findings: Findings) -> tuple[str | None, Any]:
    function, column = parts[0].text.upper(), parts[1].text
    if function not in AGGREGATES[1:]:
        message = f"{function} of a column is not what a SELECT gives"
        findings.refuse(codes.FORM, span, message, "write a column, COUNT(*), SUM, AVG, MIN or MAX")
        return column, None
    return column, function


def _selected_count(parts: Parts, span: Span, findings: Findings) -> tuple[str | None, Any]:
    function = parts[0].text.upper()
    if function != "COUNT":
        findings.refuse(
            codes.FORM,
            span,
            f"{function}(*) counts nothing",
            f"write COUNT(*) or {function}(column)",
        )
    return None, "COUNT"


ACTIONS: dict[str, Action] = {
    "or_chain": _chain("OR"),
    "and_chain": _chain("AND"),
    "negated": _negated,
    "compare": _compare,
    "is_null": _is_null(negated=False),
    "is_not_null": _is_null(negated=True),
    "in_list": _in_list(negated=False),
    "not_in_list": _in_list(negated=True),
    "in_table": _in_table(negated=False),
    "not_in_table": _in_table(negated=True),
    "row": _row,
    "between": _between(negated=False),
    "not_between": _between(negated=True),
    "like": _like(negated=False),
    "not_like": _like(negated=True),
    "add": _binary("+"),
    "subtract": _subtract,
    "concatenate": _binary("||"),
    "multiply": _binary("*"),
    "divide": _binary("/"),
    "remainder": _binary("%"),
    "minus": _minus,
    "literal": _literal,
    "text": _text,
    "null": _constant(None),
    "true": _constant(True),
    "false": _constant(False),
    "timestamp": _typed("TIMESTAMP"),
    "date": _typed("DATE"),
    "interval_text": _interval_text,
    "bare_column": _bare_column,
    "attribute": _attribute,
    "indexed": _indexed,
    "last_of": _edge_of(Index("last")),
    "first_of": _edge_of(Index("number", 1)),
    "attribute_in_group": _in_group,
    "indexed_in_group": _indexed_in_group,
    "last_in_group": _edge_in_group(Index("last")),
    "first_in_group": _edge_in_group(Index("number", 1)),
    "running_count": _running_count,
    "index_running": _index_running,
    "index_number": _index_number,
    "index_each": _index_each,
    "index_previous": _index_previous,
    "call": _call,
    "call_star": _call_star,
    "cast": _cast,
    "when": _when,
    "case": _case,
    "case_else": _case_else,
    "equate": _equate,
    "lookup": _lookup,
    "selected_column": _selected_column,
    "selected_over": _selected_over,
    "selected_count": _selected_count,
}

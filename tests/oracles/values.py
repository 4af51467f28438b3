"""SQL values for the oracle: expressions over bound events, in three-valued logic.

None is NULL and also the truth value "unknown". Division and remainder are Spark's: `/` is true
division, `%` takes the sign of the dividend, and both give NULL for a divisor of 0. So is the order
of numbers: NaN equals NaN and is larger than any other, and a whole number meets a fraction as one.

`bound` maps a component to the tuple of events it has taken; `at` maps a repetition to the
i (from 1) at which b[i] is read.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from oracles.model import Event, Expr

Bound = Mapping[str, tuple[Event, ...]]


def evaluate(expr: Expr, bound: Bound, at: Mapping[str, int]) -> Any:
    """Return the value of `expr`.

    >>> evaluate(("or", ("=", ("lit", None), ("lit", 1)), ("<", ("lit", 1), ("lit", 2))), {}, {})
    True
    >>> evaluate(("%", ("lit", -7), ("lit", 3)), {}, {})
    -1
    """
    return _MEANING[expr[0]](expr[1:], bound, at)


def references(expr: Expr) -> Iterator[tuple[str, str, bool]]:  # noqa: PLR0912 - one form each
    """Yield (component, how it is read, whether a default stands by) for each mention in `expr`.

    How: "i", "i-1", "first" (one event each), "whole" (needs all its events) or "count".
    """
    match expr:
        case ("lit", _):
            return
        case ("attr", name, _, *index):
            yield name, _reading(index[0] if index else "i"), False
        case ("default", (_, name, *_) as read, other):
            yield from ((name, how, True) for _, how, _ in references(read))
            yield from references(other)
        case ("count", name):
            yield name, "count", False
        case ("agg", _, name, _):
            yield name, "whole", False
        case ("running", _, name, _):
            yield name, "i", False
        case ("round", _, read):
            yield from references(read)
        case ("in", value, members):
            for part in (value, *(m for m in members if isinstance(m, tuple))):
                yield from references(part)
        case ("in table", columns, _):
            for part in columns:
                yield from references(part)
        case ("column", _):
            return
        case ("select", _, _, _, condition):
            yield from references(condition)
        case (_, *parts):
            for part in parts:
                yield from references(part)


def rename(expr: Any, old: str, new: str) -> Any:  # noqa: PLR0911 - one form each
    """Return `expr` with component `new` in the place of `old`."""
    match expr:
        case ("lit", _):
            return expr
        case ("attr" | "count", name, *rest) if name == old:
            return (expr[0], new, *rest)
        case ("agg", function, name, attribute) if name == old:
            return ("agg", function, new, attribute)
        case ("in table", columns, table):
            return ("in table", tuple(rename(c, old, new) for c in columns), table)
        case ("select", function, column, table, condition):
            return ("select", function, column, table, rename(condition, old, new))
        case tuple() | list():
            return type(expr)(rename(part, old, new) for part in expr)
        case _:
            return expr


def equal(left: Any, right: Any) -> bool | None:
    """Return SQL's `left = right`."""
    return None if left is None or right is None else rank(left, right) == rank(right, left)


def rank(value: Any, other: Any) -> Any:
    """Return what orders a value beside the other one.

    >>> rank(2**53 + 1, 2.0**53) == rank(2.0**53, 2**53 + 1)
    True
    >>> rank(float("inf"), math.nan) < rank(math.nan, float("inf"))
    True
    """
    if not isinstance(value, float) and not isinstance(other, float):
        return value
    return (True, 0.0) if math.isnan(value) else (False, float(value))


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: compare(rank(left, right), rank(right, left))


def _rank_alone(value: Any) -> Any:
    return rank(value, value)


def both(truths: list[bool | None]) -> bool | None:
    """Return the three-valued AND."""
    if any(t is False for t in truths):
        return False
    return None if any(t is None for t in truths) else True


def either(truths: list[bool | None]) -> bool | None:
    """Return the three-valued OR."""
    if any(t is True for t in truths):
        return True
    return None if any(t is None for t in truths) else False


def _reading(index: Any) -> str:
    if index in ("i", "i-1"):
        return str(index)
    return "first" if index == 1 else "whole"


def _attribute(args: Expr, bound: Bound, at: Mapping[str, int]) -> Any:
    name, attribute, *index = args
    event = _pick(name, bound.get(name, ()), index[0] if index else "i", at.get(name))
    return None if event is None else event.attrs.get(attribute)


def _pick(name: str, events: tuple[Event, ...], index: Any, i: int | None) -> Event | None:
    if not events:
        return None
    if index == "last":
        return events[-1]
    if isinstance(index, int):
        return events[index - 1] if index <= len(events) else None
    if i is None and len(events) > 1:
        raise ValueError(f"{name} has several events here; write {name}[1] or LAST({name})")
    return events[(i or 1) - (1 if index == "i" else 2)]


def _default(args: Expr, bound: Bound, at: Mapping[str, int]) -> Any:
    read, other = args
    return evaluate(read if bound.get(read[1]) else other, bound, at)


def _aggregate(args: Expr, bound: Bound, _: Mapping[str, int]) -> Any:
    function, name, attribute = args
    values = [e.attrs.get(attribute) for e in bound.get(name, ())]
    values = [v for v in values if v is not None]
    if function == "COUNT":
        return len(values)
    return _AGGREGATE[function](values) if values else None


def _running(args: Expr, bound: Bound, at: Mapping[str, int]) -> Any:
    _, name, _ = args
    return _aggregate(args, {name: bound.get(name, ())[: at.get(name, 0)]}, at)


def _strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """Lift `function` so that a NULL argument makes it NULL."""

    def meaning(args: Expr, bound: Bound, at: Mapping[str, int]) -> Any:
        values = [evaluate(arg, bound, at) for arg in args]
        return None if any(v is None for v in values) else function(*values)

    return meaning


def _logic(function: Callable[[list[bool | None]], bool | None]) -> Callable[..., Any]:
    return lambda args, bound, at: function([evaluate(arg, bound, at) for arg in args])


def _member(args: Expr, bound: Bound, at: Mapping[str, int]) -> bool | None:
    value = evaluate(args[0], bound, at)
    members = [evaluate(m, bound, at) if isinstance(m, tuple) else m for m in args[1]]
    return either([equal(value, m) for m in members])


def _row_member(args: Expr, bound: Bound, at: Mapping[str, int]) -> bool | None:
    row = [evaluate(column, bound, at) for column in args[0]]
    return either([both([equal(a, b) for a, b in zip(row, r, strict=True)]) for r in args[1]])


def _select(args: Expr, bound: Bound, at: Mapping[str, int]) -> Any:
    function, column, (rows, _), condition = args
    kept = [row for row in rows if evaluate(_at_row(condition, row), bound, at) is True]
    if column is None:
        return len(kept)
    values = [row[column] for row in kept]
    if function is None:
        assert len(values) < 2, "two rows where one was asked for"
        return values[0] if values else None
    known = [value for value in values if value is not None]
    return _AGGREGATE[function](known) if known else None


def _at_row(expr: Any, row: tuple[Any, ...]) -> Any:
    """Return a condition in which the columns are those of a row."""
    match expr:
        case ("column", number):
            return ("lit", row[number])
        case ("lit", _):
            return expr
        case tuple() | list():
            return type(expr)(_at_row(part, row) for part in expr)
        case _:
            return expr


def _divide(a: Any, b: Any) -> Any:
    return None if b == 0 else a / b


def _remainder(a: Any, b: Any) -> Any:
    if b == 0:
        return None
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) % abs(b) * (1 if a >= 0 else -1)
    return math.fmod(a, b)


_AGGREGATE: dict[str, Callable[[list[Any]], Any]] = {
    "SUM": sum,
    "AVG": lambda values: sum(values) / len(values),
    "MIN": lambda values: min(values, key=_rank_alone),
    "MAX": lambda values: max(values, key=_rank_alone),
}

_MEANING: dict[str, Callable[..., Any]] = {
    "lit": lambda args, bound, at: args[0],
    "attr": _attribute,
    "default": _default,
    "count": lambda args, bound, at: len(bound.get(args[0], ())),
    "agg": _aggregate,
    "running": _running,
    "round": lambda args, bound, at: evaluate(args[1], bound, at),
    "=": _strict(_ordered(operator.eq)),
    "<>": _strict(_ordered(operator.ne)),
    "<": _strict(_ordered(operator.lt)),
    "<=": _strict(_ordered(operator.le)),
    ">": _strict(_ordered(operator.gt)),
    ">=": _strict(_ordered(operator.ge)),
    "+": _strict(operator.add),
    "-": _strict(operator.sub),
    "*": _strict(operator.mul),
    "/": _strict(_divide),
    "%": _strict(_remainder),
    "neg": _strict(operator.neg),
    "and": _logic(both),
    "or": _logic(either),
    "not": _strict(operator.not_),
    "is null": lambda args, bound, at: evaluate(args[0], bound, at) is None,
    "is not null": lambda args, bound, at: evaluate(args[0], bound, at) is not None,
    "in": _member,
    "in table": _row_member,
    "select": _select,
}

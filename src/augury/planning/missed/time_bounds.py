"""Bounds that WHERE puts on the time between two components, for when one of them was missed.

`z.at - y.at < INTERVAL 5 MINUTES` cannot be tested where y was missed; it bounds the integral over
the time at which y may have happened. Bounds are closed: a strict one lies just beside its length,
which matters where an EMPIRICAL gap has that very length.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from augury.analysis.checked import CheckedQuery, Conjunct
from augury.analysis.declarations.durations import microseconds
from augury.analysis.expressions.walk import attributes_into
from augury.gaps.law import BESIDE
from augury.language import expressions as ex

Bounds = tuple[float, float]
# Times that are added, by component, and a constant.
Sum = tuple[dict[str, int], float]
FREE: Bounds = (0.0, math.inf)
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def bounds_between(query: CheckedQuery, earlier: int | None, later: int | None) -> Bounds:
    """Return the least and the most time between two components, as far as WHERE says."""
    low, high = FREE
    if earlier is None or later is None:
        return low, high
    for conjunct in query.conjuncts:
        if set(conjunct.components) != {earlier, later} or conjunct.derived:
            continue
        for operator, length in _comparisons(query, conjunct.expression, (earlier, later)):
            if operator in (">", ">=", "="):
                low = max(low, length * (1.0 + BESIDE) if operator == ">" else length)
            if operator in ("<", "<=", "="):
                high = min(high, length * (1.0 - 2.0 * BESIDE) if operator == "<" else length)
    return low, high


def is_bound(query: CheckedQuery, conjunct: Conjunct) -> bool:
    """Return whether a condition bounds the time between two components."""
    pair = tuple(conjunct.components)
    if len(pair) != 2 or conjunct.derived:
        return False
    return any(True for _ in _comparisons(query, conjunct.expression, (pair[0], pair[1])))


def reads_time_of(query: CheckedQuery, component: int) -> bool:
    """Return whether a condition of WHERE reads the time of a component."""
    own = query.components[component].name
    return any(
        node.component == own and _is_time(query, node)
        for conjunct in query.conjuncts
        if component in conjunct.components and not conjunct.derived
        for node in attributes_into(conjunct.expression)
    )


def _comparisons(
    query: CheckedQuery, node: ex.Expression, pair: tuple[int, int]
) -> Iterator[tuple[str, float]]:
    """Yield `later - earlier <operator> length` for each comparison that the node is."""
    match node:
        case ex.Between(negated=False):
            yield from _compared(query, (node.operand, ">=", node.low), pair)
            yield from _compared(query, (node.operand, "<=", node.high), pair)
        case ex.Binary(operator="<" | "<=" | ">" | ">=" | "="):
            yield from _compared(query, (node.left, node.operator, node.right), pair)


def _compared(
    query: CheckedQuery, sides: tuple[ex.Expression, str, ex.Expression], pair: tuple[int, int]
) -> Iterator[tuple[str, float]]:
    left, operator, right = sides
    one, other = _sum(query, left), _sum(query, right)
    if one is None or other is None:
        return
    times, constant = _plus(one, other, -1)
    earlier, later = (query.components[c].name for c in pair)
    if (times.get(later, 0), times.get(earlier, 0)) == (1, -1):
        yield operator, -constant
    elif (times.get(later, 0), times.get(earlier, 0)) == (-1, 1):
        yield _FLIPPED[operator], constant


def _plus(one: Sum, other: Sum, sign: int) -> Sum:
    times = dict(one[0])
    for name, count in other[0].items():
        times[name] = times.get(name, 0) + sign * count
    return times, one[1] + sign * other[1]


def _sum(query: CheckedQuery, node: ex.Expression) -> Sum | None:
    match node:
        case ex.Attribute():
            return ({node.component or "": 1}, 0.0) if _is_time(query, node) else None
        case ex.Duration():
            return {}, float(microseconds(node))
        case ex.Literal() if isinstance(node.value, int | float):
            return {}, float(node.value)
        case ex.Unary(operator="-"):
            return _joined(({}, 0.0), _sum(query, node.operand), -1)
        case ex.Binary(operator="+" | "-"):
            sign = 1 if node.operator == "+" else -1
            return _joined(_sum(query, node.left), _sum(query, node.right), sign)
    return None


def _joined(one: Sum | None, other: Sum | None, sign: int) -> Sum | None:
    return None if one is None or other is None else _plus(one, other, sign)


def _is_time(query: CheckedQuery, node: ex.Attribute) -> bool:
    own = {c.name: c for c in query.components}.get(node.component or "")
    streams = {by.stream for by in own.played_by} if own else set()
    times = {(s.time or "").lower() for s in query.streams if s.name in streams}
    return node.name.lower() in times

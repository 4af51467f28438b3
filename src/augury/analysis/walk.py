"""Walking expressions: every node below a node, in the order of the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from augury.language import expressions as ex

N = TypeVar("N", bound=ex.Node)


def children(node: ex.Expression) -> tuple[ex.Expression, ...]:
    """Return the operands of a node."""
    match node:
        case ex.Binary(left=left, right=right):
            return (left, right)
        case ex.Logic(operands=operands) | ex.InTable(operands=operands):
            return operands
        case ex.Unary(operand=o) | ex.IsNull(operand=o) | ex.Like(operand=o) | ex.Cast(operand=o):
            return (o,)
        case ex.Attribute(default=default):
            return () if default is None else (default,)
        case ex.InList(operand=operand, items=items):
            return (operand, *items)
        case ex.Between(operand=operand, low=low, high=high):
            return (operand, low, high)
        case ex.Call(arguments=arguments):
            return arguments
        case ex.Case():
            return _case_parts(node)
        case _:
            return ()


def _case_parts(node: ex.Case) -> tuple[ex.Expression, ...]:
    parts = [part for branch in node.branches for part in branch]
    return (*parts, node.otherwise) if node.otherwise is not None else tuple(parts)


def walk(node: ex.Expression) -> Iterator[ex.Expression]:
    """Yield the node and everything below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def attributes(node: ex.Expression) -> Iterator[ex.Attribute]:
    """Yield the attributes below a node, defaults included."""
    return (n for n in walk(node) if isinstance(n, ex.Attribute))


def renamed(node: N, old: str, new: str) -> N:
    """Return the node with every reference to component `old` made one to `new`."""
    values = {f.name: _renamed_value(getattr(node, f.name), old, new) for f in fields(node)}
    if isinstance(node, ex.Attribute | ex.Aggregate) and node.component == old:
        values["component"] = new
    return replace(node, **values)


def _renamed_value(value: Any, old: str, new: str) -> Any:
    if isinstance(value, ex.Node):
        return renamed(value, old, new)
    if isinstance(value, tuple):
        return tuple(_renamed_value(v, old, new) for v in value)
    return value

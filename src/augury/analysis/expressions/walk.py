"""Walking expressions: every node below a node, in the order of the text.

What stands inside a subquery is about rows of its table, and is not walked into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from augury.language import expressions as ex

N = TypeVar("N", bound=ex.Node)


def children(node: ex.Expression) -> tuple[ex.Expression, ...]:
    """Return the operands of a node."""
    parts = _CHILDREN.get(type(node))
    return parts(node) if parts else ()


def _case_parts(node: ex.Case) -> tuple[ex.Expression, ...]:
    parts = [part for branch in node.branches for part in branch]
    return (*parts, node.otherwise) if node.otherwise is not None else tuple(parts)


_CHILDREN: dict[type, Callable[[Any], tuple[ex.Expression, ...]]] = {
    ex.Binary: lambda n: (n.left, n.right),
    ex.Logic: lambda n: n.operands,
    ex.InTable: lambda n: n.operands,
    ex.Unary: lambda n: (n.operand,),
    ex.IsNull: lambda n: (n.operand,),
    ex.Like: lambda n: (n.operand,),
    ex.Cast: lambda n: (n.operand,),
    ex.Attribute: lambda n: () if n.default is None else (n.default,),
    ex.InList: lambda n: (n.operand, *n.items),
    ex.Between: lambda n: (n.operand, n.low, n.high),
    ex.Call: lambda n: n.arguments,
    ex.Case: _case_parts,
}


def walk(node: ex.Expression) -> Iterator[ex.Expression]:
    """Yield the node and everything below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def walk_into(node: ex.Expression) -> Iterator[ex.Expression]:
    """Yield the node and everything below it, conditions of subqueries included."""
    for each in walk(node):
        yield each
        if isinstance(each, ex.Lookup) and each.condition is not None:
            yield from walk_into(each.condition)


def tables_read(node: ex.Expression) -> Iterator[str]:
    """Yield the tables that an expression looks into."""
    return (n.table for n in walk_into(node) if isinstance(n, ex.Lookup | ex.InTable))


def has_lookup(node: ex.Expression) -> bool:
    """Return whether a subquery stands in an expression."""
    return any(isinstance(each, ex.Lookup) for each in walk(node))


def attributes(node: ex.Expression) -> Iterator[ex.Attribute]:
    """Yield the attributes below a node, defaults included."""
    return (n for n in walk(node) if isinstance(n, ex.Attribute))


def attributes_into(node: ex.Expression) -> Iterator[ex.Attribute]:
    """Yield the attributes of components below a node, those that subqueries name included."""
    found = (n for n in walk_into(node) if isinstance(n, ex.Attribute))
    return (each for each in found if each.component is not None)


def rewritten(node: N, change: Callable[[ex.Node], ex.Node | None]) -> N:
    """Return the node with parts changed: what `change` returns stands, None is looked into."""
    made = change(node)
    if made is not None:
        return made  # type: ignore[return-value]
    parts = {f.name: _rewritten_value(getattr(node, f.name), change) for f in fields(node)}
    return replace(node, **parts)


def _rewritten_value(value: Any, change: Callable[[ex.Node], ex.Node | None]) -> Any:
    if isinstance(value, ex.Node):
        return rewritten(value, change)
    return tuple(_rewritten_value(v, change) for v in value) if isinstance(value, tuple) else value


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

"""Which attributes of which components expressions read."""

from __future__ import annotations

from collections.abc import Iterable

from augury.analysis.checked import CheckedQuery
from augury.analysis.expressions.walk import attributes
from augury.planning.expressions.typed import (
    OF_MATCH,
    OF_NO_ROW,
    Aggregated,
    Input,
    Typed,
    nodes_within,
)

Read = tuple[tuple[int, str], ...]


def columns_read(expressions: Iterable[Typed]) -> Read:
    """Return (component, column) of every attribute read, each once, in the order met."""
    found: dict[tuple[int, str], None] = {}
    for expression in expressions:
        for node in nodes_within(expression):
            if not isinstance(node, Input | Aggregated) or node.column in OF_NO_ROW:
                continue
            # What is of the match as a whole is read from no event.
            if node.component != OF_MATCH and node.column is not None:
                found[max(node.component, 0), node.column] = None
    return tuple(found)


def group_columns(query: CheckedQuery) -> Read:
    """Return (component, column) of every attribute that GROUP BY reads."""
    numbers = {c.name: c.index for c in query.components}
    found = (node for e in query.group_by for node in attributes(e))
    return tuple((numbers.get(node.component or "", 0), node.name) for node in found)

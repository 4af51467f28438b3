"""Find the key that cuts the stream, and take the equalities it makes true out of the search.

An equality with a default, `x.id[y.id] = y.id`, says more than that the two are equal: where x is
not bound it is `y.id = y.id`, which is not true of NULL. It stays where NULL can be.
"""

from __future__ import annotations

from dataclasses import replace

from augury.analysis.checked import CheckedQuery, EqualityClass
from augury.planning.distribution.partitioning import choose_partitioning
from augury.planning.expressions.lower import Scope
from augury.planning.expressions.typed import Apply, Input, Typed
from augury.planning.logical import Node, Partition, replaced, search_of


def find_equality_key(plan: Node, scope: Scope) -> Node:
    """Return the plan with its partitioning below the search."""
    search = search_of(plan)
    cut = choose_partitioning(scope.query, search.automaton)
    left = tuple(
        p
        for p in search.predicates
        if not any(_says_no_more(p.expression, c, scope.query) for c in cut.classes)
    )
    return replaced(
        plan, search, replace(search, source=Partition(search.source, cut), predicates=left)
    )


def _says_no_more(expression: Typed, equality: EqualityClass, query: CheckedQuery) -> bool:
    """Return whether a predicate only equates two members of the class."""
    if not isinstance(expression, Apply) or expression.operator != "equal":
        return False
    return all(
        # An item picked from a repetition is a member as well: all items are in one part.
        isinstance(side, Input)
        and (side.component, side.column) in equality.members
        and (side.default is None or not _may_be_null(side.default, query))
        for side in expression.operands
    )


def _may_be_null(default: Typed, query: CheckedQuery) -> bool:
    """Return whether a default can be NULL; a key cannot, such rows are put aside."""
    if not isinstance(default, Input):
        return True
    streams = {by.stream for by in query.components[default.component].played_by}
    keys = [{k.lower() for k in s.key} for s in query.streams if s.name in streams]
    return not all(default.column.lower() in key for key in keys)

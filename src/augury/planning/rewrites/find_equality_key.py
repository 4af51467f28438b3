"""Find the key that cuts the stream, and take the equalities it makes true out of the search."""

from __future__ import annotations

from dataclasses import replace

from augury.analysis.checked import EqualityClass
from augury.planning.expressions.lower import Scope
from augury.planning.expressions.typed import Apply, Input, Typed
from augury.planning.logical import Node, Partition, replaced, search_of
from augury.planning.partitioning import choose_partitioning


def find_equality_key(plan: Node, scope: Scope) -> Node:
    """Return the plan with its partitioning below the search."""
    search = search_of(plan)
    cut = choose_partitioning(scope.query, search.automaton)
    left = tuple(
        p for p in search.predicates if not any(_says_no_more(p.expression, c) for c in cut.classes)
    )
    return replaced(
        plan, search, replace(search, source=Partition(search.source, cut), predicates=left)
    )


def _says_no_more(expression: Typed, equality: EqualityClass) -> bool:
    """Return whether a predicate only equates two members of the class."""
    if not isinstance(expression, Apply) or expression.operator != "equal":
        return False
    return all(_is_member(side, equality) for side in expression.operands)


def _is_member(side: Typed, equality: EqualityClass) -> bool:
    # An item picked from a repetition is a member as well: all items are in one part.
    return isinstance(side, Input) and (side.component, side.column) in equality.members

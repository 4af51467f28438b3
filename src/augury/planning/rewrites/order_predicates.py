"""Put what the search tests in order: each predicate where it is first bound, cheap ones first.

Among predicates that become testable together, the one that rejects most per unit of cost comes
first: rank = cost / (1 - selectivity).
"""

from __future__ import annotations

from dataclasses import replace

from augury.planning.expressions.lower import Scope
from augury.planning.logical import Node, replaced, search_of
from augury.planning.predicates import Predicate, bound_with


def order_predicates(plan: Node, scope: Scope) -> Node:
    """Return the plan with the predicates of its search in order."""
    search, last = search_of(plan), len(scope.query.components)

    def place(predicate: Predicate) -> tuple[int, float]:
        bound = bound_with(predicate, scope.query)
        return last if bound is None else bound, _rank(predicate)

    ordered = tuple(sorted(search.predicates, key=place))
    return replaced(plan, search, replace(search, predicates=ordered))


def _rank(predicate: Predicate) -> float:
    rejects = 1.0 - predicate.selectivity
    return predicate.cost / rejects if rejects > 0.0 else float("inf")

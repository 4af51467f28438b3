"""Rewrites of the logical plan: an ordered tuple of functions, each from plan to plan.

None changes what a query means. The order matters: predicates on single events leave the search
before the key is looked for, and what is left is put in order.
"""

from __future__ import annotations

from collections.abc import Callable

from augury.planning.expressions.lower import Scope
from augury.planning.logical import Node
from augury.planning.rewrites.drop_edges_below_threshold import drop_edges_below_threshold
from augury.planning.rewrites.find_equality_key import find_equality_key
from augury.planning.rewrites.keep_needed_columns import keep_needed_columns
from augury.planning.rewrites.order_predicates import order_predicates
from augury.planning.rewrites.push_down_single_component_predicates import (
    push_down_single_component_predicates,
)

Rewrite = Callable[[Node, Scope], Node]

REWRITES: tuple[Rewrite, ...] = (
    push_down_single_component_predicates,
    find_equality_key,
    order_predicates,
    drop_edges_below_threshold,
    keep_needed_columns,
)


def rewrite(plan: Node, scope: Scope) -> Node:
    """Return the plan after every rewrite, in order."""
    for step in REWRITES:
        plan = step(plan, scope)
    return plan

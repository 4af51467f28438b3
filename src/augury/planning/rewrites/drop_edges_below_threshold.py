"""Mark the edges over missed components that cannot reach the threshold within the window.

Only what can be computed exactly is: one missed component with no negation beside it, between seen
neighbours (see `gap_models`). A component without a gap or a miss rate cannot be missed at all.
Edges with no known best score stay.
"""

from __future__ import annotations

from dataclasses import replace

from augury.analysis.checked import CheckedGap, CheckedQuery
from augury.planning.automaton import Automaton, Skip
from augury.planning.expressions.lower import Scope
from augury.planning.gap_models import best_score
from augury.planning.logical import Match, Node, replaced, search_of

TOLERANCE = 1e-9


def drop_edges_below_threshold(plan: Node, scope: Scope) -> Node:
    """Return the plan with each skip's best score, where it is known."""
    search = search_of(plan)
    if not search.automaton.skips:
        return plan
    threshold = search.threshold if isinstance(search, Match) else None
    scored = tuple(
        _scored(s, search.automaton, scope.query, threshold) for s in search.automaton.skips
    )
    automaton = replace(search.automaton, skips=scored)
    return replaced(plan, search, replace(search, automaton=automaton))


def _scored(skip: Skip, automaton: Automaton, query: CheckedQuery, threshold: float | None) -> Skip:
    best = best_of(skip, automaton, query)
    hopeless = best is not None and (best <= 0.0 or best < (threshold or 0.0) - TOLERANCE)
    return replace(skip, best=best, removed=hopeless)


def best_of(skip: Skip, automaton: Automaton, query: CheckedQuery) -> float | None:
    """Return the highest score of an edge within the window; None where it is not known."""
    if query.learn_gaps_from is not None:
        return None
    if any(not can_be_missed(query, c) for c in skip.components):
        return 0.0
    if len(skip.components) > 1 or (query.within is not None and query.within.events):
        return None
    (component,) = skip.components
    if any(_is_beside(component, guard.earlier + guard.later) for guard in automaton.guards):
        return None
    window = float("inf") if query.within is None else float(query.within.length)
    rate = query.miss_rates[component]
    gap = gap_of(query, component)
    assert rate is not None
    assert gap is not None
    return best_score(gap, rate, window, ayac=query.scoring == "AYAC")


def can_be_missed(query: CheckedQuery, component: int) -> bool:
    """Return whether a component has both a gap and a miss rate."""
    return gap_of(query, component) is not None and bool(query.miss_rates[component])


def gap_of(query: CheckedQuery, component: int) -> CheckedGap | None:
    """Return the gap that times a component: from the one before it, or back from the next."""
    forward = (g for g in query.gaps if not g.backward and g.later == component)
    backward = (g for g in query.gaps if g.backward and g.earlier == component)
    return next(forward, None) or next(backward, None)


def _is_beside(component: int, neighbours: tuple[tuple[int, ...], ...]) -> bool:
    return any(component in part for part in neighbours)

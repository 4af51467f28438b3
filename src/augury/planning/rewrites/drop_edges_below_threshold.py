"""Mark the edges over missed components that cannot reach the threshold within the window.

An edge scores what its stretch scores: the missed components and the negated ones between the same
seen neighbours. A component without a gap or a miss rate cannot be missed at all. Before gaps are
learned nothing is known, and edges stay.
"""

from __future__ import annotations

from dataclasses import replace

from augury.analysis.checked import CheckedQuery
from augury.analysis.unread import can_be_missed
from augury.planning.expressions.lower import Scope
from augury.planning.logical import Match, Node, replaced, search_of
from augury.planning.missed.missed_variants import best_score, can_pass
from augury.planning.missed.unseen import missed_in, stretches_of
from augury.planning.pattern.automaton import Skip
from augury.planning.refusal import PlanError


def drop_edges_below_threshold(plan: Node, scope: Scope) -> Node:
    """Return the plan with each skip's best score, where it is known."""
    search = search_of(plan)
    if not search.automaton.skips:
        return plan
    is_match = isinstance(search, Match)
    scored = tuple(_scored(s, scope.query, is_match=is_match) for s in search.automaton.skips)
    automaton = replace(search.automaton, skips=scored)
    return replaced(plan, search, replace(search, automaton=automaton))


def _scored(skip: Skip, query: CheckedQuery, *, is_match: bool) -> Skip:
    best = best_of(skip, query)
    hopeless = best is not None and (best <= 0.0 or (is_match and not can_pass(query, best)))
    return replace(skip, best=best, removed=hopeless)


def best_of(skip: Skip, query: CheckedQuery) -> float | None:
    """Return the highest score of an edge within the window; None where it is not known."""
    if query.learn_gaps_from is not None:
        return None
    if any(not can_be_missed(query, c) for c in skip.components):
        return 0.0
    if query.within is not None and query.within.events:
        return None
    missed = frozenset(skip.components)
    try:
        placed = stretches_of(query, missed)
    except PlanError:
        return None
    if placed is None:
        return 0.0
    own = (each.stretch for each in placed if any(c in missed for c in missed_in(each.stretch)))
    return best_score(query, next(own))

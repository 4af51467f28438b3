"""Move predicates that one event decides from the search to the mask, below any shuffle.

They then drop events that no component can use before anything is moved, and are evaluated once per
event instead of once per combination. One with a default stays in the search as well where its
component may be missed: then the default decides.
"""

from __future__ import annotations

from dataclasses import replace

from augury.planning.distribution.partitioning import counts_every_event, has_neighbours
from augury.planning.expressions.lower import Scope
from augury.planning.logical import Mask, Node, Play, replaced, search_of


def push_down_single_component_predicates(plan: Node, scope: Scope) -> Node:
    """Return the plan with a mask below the search that holds the pushed predicates."""
    search, query = search_of(plan), scope.query
    pushed = [p.for_a_read_event for p in search.predicates if p.reads_one_event]
    plays = tuple(
        Play(c.index, c.played_by, tuple(p for p in pushed if p.components == (c.index,)))
        for c in query.components
    )
    # One row per time of the stream, and a chain's hidden values, need every event.
    hidden = query.returns == "PROBABILITY BY TIME" or any(s.markov for s in query.streams)
    drops = not (counts_every_event(query) or has_neighbours(search.automaton) or hidden)
    left = tuple(
        p for p in search.predicates if not p.reads_one_event or p.is_for_absent_ones(query)
    )
    mask = Mask(search.source, plays, drops)
    return replaced(plan, search, replace(search, source=mask, predicates=left))

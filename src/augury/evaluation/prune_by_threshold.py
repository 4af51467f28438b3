"""Events that a threshold leaves without hope are not searched.

Under any-match a confidence is at most the product of the probabilities of its events. So an event
plays a component in vain where its own probability, times the best that every other component can
have, is below the threshold. In a wide window most events are like that, and the search would pass
over each of them again and again.

Only a whole evaluation may ask: what comes later could be better. Oracle: tests/oracles/worlds.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from augury.planning.match_plan import MatchPlan
from augury.planning.pattern.residual import components_always_bound
from augury.records import Events

TOLERANCE = 1e-9


def prune_by_threshold(plan: MatchPlan, events: Events) -> Events:
    """Return the events that some match above the threshold, or some negation, may need."""
    if not _is_a_product(plan) or not len(events):
        return events
    required = components_always_bound(plan.query.shape, plan.query.components)
    positive = [c for c in range(len(plan.query.components)) if plan.pattern.positive >> c & 1]
    plays = {c: (events.mask >> c & 1).astype(np.bool_) for c in positive}
    best = {c: float(events.p[own].max(initial=0.0)) for c, own in plays.items()}
    mask = events.mask.copy()
    for component, own in plays.items():
        others = np.prod([best[c] for c in required if c != component and c in best])
        vain = own & (events.p * others < plan.pattern.threshold - TOLERANCE)
        mask[vain] &= ~np.int64(1 << component)
    needed = mask != 0
    return events if needed.all() else replace(events, mask=mask).take(needed)


def _is_a_product(plan: MatchPlan) -> bool:
    """Return whether events that play nothing do not matter, and others only multiply."""
    pattern = plan.pattern
    plain = pattern.strategy == "ANY" and plan.drops_others
    return plain and pattern.threshold > 0.0 and not pattern.variants and not pattern.stretches

"""Which events can be part of a match that reaches the threshold: decided before they are moved.

A match is there only if each of its events happened, so its confidence is at most the probability
of any of them. Below the threshold an event enters no queue. That holds where an event that is not
taken changes nothing: under SKIP TILL ANY MATCH, and for components that are not negated.
"""

from __future__ import annotations

from augury.analysis.checked import CheckedQuery

# Sums of rounding in the search, which keeps what is this little below the threshold.
TOLERANCE = 1e-6


def least_chance(query: CheckedQuery, component: int) -> float | None:
    """Return below which probability an event need not be taken for a component; None: take all."""
    having = query.having
    plain = query.scoring == "LAW" and not query.allow and query.correlated_by is None
    if having is None or having.measure != "CONFIDENCE" or query.returns != "MATCHES":
        return None
    if query.strategy != "ANY" or not plain or query.components[component].negated:
        return None
    least = having.threshold - TOLERANCE
    return least if least > 0 and query.match_limit is None else None

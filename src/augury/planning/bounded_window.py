"""A bound that WHERE puts on the time from first to last event is a window, and searched as one.

`d.ts - a.ts <= INTERVAL 60 SECONDS` is tested when d is taken, and until then every d of the future
is a candidate. Where a is always the first event of a match and d always the last, the search can
stop at the bound. Only under any-match, and where nothing is negated at an end: elsewhere a window
says more than how far a match may reach.
"""

from __future__ import annotations

import math
from dataclasses import replace

from augury.analysis.checked import CheckedQuery
from augury.matching.ends import ends_late, looks_back
from augury.matching.pattern import Pattern
from augury.planning.missed.time_bounds import bounds_between


def bounded(query: CheckedQuery, pattern: Pattern) -> Pattern:
    """Return the pattern with the window that WHERE implies, if it is narrower than its own."""
    window = _window(query, pattern)
    if window is None or (pattern.window is not None and pattern.window <= window):
        return pattern
    return replace(pattern, window=window)


def _window(query: CheckedQuery, pattern: Pattern) -> int | None:
    unsuited = pattern.strategy != "ANY" or pattern.count_window is not None
    if unsuited or pattern.stretches or pattern.variants or len(pattern.ways) > 1:
        return None
    if looks_back(pattern) or ends_late(pattern) or any(s.query for s in query.streams):
        return None
    ends = _ends(query, pattern)
    most = math.inf if ends is None else bounds_between(query, *ends)[1]
    return max(0, math.ceil(most)) if math.isfinite(most) else None


def _ends(query: CheckedQuery, pattern: Pattern) -> tuple[int, int] | None:
    """Return the components that every match begins and ends with, if there are such."""
    positive = {c for c in range(len(pattern.components)) if (pattern.positive >> c) & 1}
    sure = {c for c in positive if (query.components[c].minimum, _most(query, c)) == (1, 1)}
    before = {c: {b for b in positive - {c} if (pattern.before[c] >> b) & 1} for c in positive}
    first = [c for c in sure if all(c in before[other] for other in positive - {c})]
    last = [c for c in sure if before[c] == positive - {c}]
    return (first[0], last[0]) if first and last and first != last else None


def _most(query: CheckedQuery, component: int) -> int | None:
    return query.components[component].maximum

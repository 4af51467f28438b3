"""Which events a later match can still need: what bounds the state of the match stage.

A window of time bounds it by the clock. A window of n events bounds it by counting: between the
first event of a match and its last lies all that exists in between, so once n certain events have
come, or so many uncertain ones that n of them almost surely exist, an event begins no match.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.search.layout import FOREVER, TOLERANCE
from augury.matching.pattern import Pattern
from augury.operator import NEVER_YET
from augury.records import Reals, Words


def looks_back(pattern: Pattern) -> bool:
    """Whether a negation, with nothing taken before it, can forbid events before the match."""
    return any(can_lack(way, guard.earlier) for way in pattern.ways for guard in way.guards)


def ends_late(pattern: Pattern) -> bool:
    """Whether a match may be known only at the end of its window, not at its last event."""
    return any(_ends_late(way) for way in pattern.ways)


def ends_with_any_event(pattern: Pattern) -> bool:
    """Whether an event that plays nothing may let a match be known: it ends a contiguous run."""
    return pattern.is_contiguous and any(_goes_on(way) for way in pattern.ways)


def _ends_late(pattern: Pattern) -> bool:
    waits = pattern.waits or any(can_lack(pattern, guard.later) for guard in pattern.guards)
    return waits or (pattern.strategy != "ANY" and _goes_on(pattern))


def _goes_on(pattern: Pattern) -> bool:
    """Whether a complete match may take further events."""
    left = {edge.source for edge in pattern.edges}
    return any(ends and state in left for state, ends in enumerate(pattern.accepting))


def can_lack(pattern: Pattern, components: int) -> bool:
    """Whether a match can do without any of the components (bits)."""
    reached, fresh = {0}, [0]
    while fresh:
        state = fresh.pop()
        for edge in pattern.edges:
            taken = edge.source == state and not (components >> edge.component) & 1
            if taken and edge.target not in reached:
                reached.add(edge.target)
                fresh.append(edge.target)
    return any(pattern.accepting[state] for state in reached)


def oldest_needed(pattern: Pattern, horizon: int) -> int:
    """Return the time before which the clock lets every event go, once `horizon` is reported."""
    if horizon == FOREVER:
        return FOREVER
    if pattern.window is None:
        return NEVER_YET
    return horizon - pattern.window * (2 if looks_back(pattern) else 1)


def oldest_counted(pattern: Pattern, time: Words, p: Reals) -> int:
    """Return the time before which counting lets every event go; `time` is sorted.

    `p` is 0 for alternatives: as they exclude each other, they are left out of the count.
    """
    if pattern.count_window is None or looks_back(pattern) or ends_late(pattern):
        return NEVER_YET
    room = pattern.count_window - 1
    chances = np.zeros(room + 1)
    chances[0] = 1.0
    oldest = NEVER_YET
    for k in range(len(time) - 1, -1, -1):
        # `chances` counts what lies after event k; what has the same time does not.
        if k + 1 == len(time) or time[k] != time[k + 1]:
            within = float(chances[:room].sum())
            if within <= 0.0 or within < pattern.threshold - TOLERANCE:
                return oldest
        oldest = int(time[k])
        chances[1:] = chances[1:] * (1.0 - p[k]) + chances[:-1] * p[k]
        chances[0] *= 1.0 - p[k]
    return NEVER_YET

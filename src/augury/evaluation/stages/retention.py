"""Which events a later match can still need: what bounds the state of the match stage.

A window of time bounds it by the clock. A window of n events bounds it by counting: between the
first event of a match and its last lies all that exists in between, so once n certain events have
come, or so many uncertain ones that n of them almost surely exist, an event begins no match.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.search.layout import FOREVER, TOLERANCE
from augury.matching.ends import ends_late, looks_back
from augury.matching.pattern import Pattern
from augury.operator import NEVER_YET
from augury.records import Reals, Words


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

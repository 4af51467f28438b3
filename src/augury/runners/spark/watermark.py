"""Event time as Spark's watermark counts it: in milliseconds, as 64 bits of microseconds allow.

Microseconds lose their last three digits. A tick is a millisecond, so that LATENESS and the order
of ticks are exact; but milliseconds end at 9.2e15, and ticks that are nanoseconds of today are at
1.8e18. So ticks above `EXACT` count by `STEP`: the watermark of such ticks is a little behind,
never ahead, and no row is late that would not be late by the tick.
"""

from __future__ import annotations

from augury.operator import NEVER_YET
from augury.sources.rows import MOST_TICKS

# Microseconds since 1970 stay below it for another eighty years.
EXACT = 4_500_000_000_000_000
# The least round one by which all ticks up to MOST_TICKS fit into milliseconds.
STEP = 1_000


def moment_of_tick(tick: str, lateness: int) -> str:
    """Return the watermark that a tick stands for, less LATENESS, in milliseconds, in SQL.

    What the watermark cannot count says 0, which is where Spark begins.
    """
    counted = f"IF({tick} BETWEEN 0 AND {MOST_TICKS}L, {tick}, 0L)"
    behind = f"GREATEST({counted} - {lateness}L, 0L)"
    return f"LEAST({behind}, {EXACT}L) + GREATEST({behind} - {EXACT}L, 0L) DIV {STEP}"


def horizon_of(moment: int, *, ticks: bool) -> int:
    """Return a watermark in the units of event time; Spark's first one, 0, says nothing.

    >>> horizon_of(EXACT, ticks=True) == EXACT, horizon_of(EXACT + 2, ticks=True) == EXACT + 2000
    (True, True)
    """
    if moment <= 0:
        return NEVER_YET
    if not ticks:
        return moment * 1000
    return min(moment, EXACT) + max(moment - EXACT, 0) * STEP


def moment_of(time: int, *, ticks: bool) -> int:
    """Return the least watermark, in milliseconds, that has reached a time.

    >>> moment_of(EXACT, ticks=True) == EXACT, moment_of(EXACT + 1, ticks=True) == EXACT + 1
    (True, True)
    """
    if not ticks:
        return time // 1000 + 1
    return min(time, EXACT) - (-max(time - EXACT, 0) // STEP)

"""Units of time: every length becomes whole microseconds, or ticks where TIME is a LONG."""

from __future__ import annotations

from augury.language.expressions import Duration

MICROSECONDS: dict[str, int] = {
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}

LONGEST = 2**62


def microseconds(duration: Duration) -> int:
    """Return the length of a duration in microseconds; beyond LONGEST it stays just beyond.

    >>> microseconds(Duration(1.5, "SECOND"))
    1500000
    """
    if duration.amount != duration.amount or abs(duration.amount) > LONGEST:
        return LONGEST + 1
    return round(duration.amount * MICROSECONDS[duration.unit])

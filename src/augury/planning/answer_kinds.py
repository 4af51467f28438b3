"""What the answer of a query tells: the one place that says it of what is written after RETURN.

Plans and stages have it from here; whoever runs them asks these, and no query.
"""

from __future__ import annotations

from typing import Literal

from augury.analysis.checked import CheckedQuery

# Each match; how many there are; whether there is any, at all, in each window or at each time.
Tells = Literal["matches", "totals", "whether", "windows", "times"]
LIKELY = ("whether", "windows", "times")


def tells(query: CheckedQuery) -> Tells:
    """Return what the answer of a query tells."""
    if query.returns == "PROBABILITY BY TIME":
        return "times"
    if query.returns == "PROBABILITY":
        within = query.within
        return "windows" if within is not None and not within.events else "whether"
    return "totals" if query.returns == "COUNT" else "matches"

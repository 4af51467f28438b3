"""The gaps of a query as a statement that can be written down, learned ones included.

A run that learns its gaps learns them again when its history has grown. Written down, they stay.
"""

from __future__ import annotations

from augury.analysis.checked import CheckedGap, CheckedQuery
from augury.analysis.declarations.durations import MICROSECONDS
from augury.language.expressions import Duration
from augury.language.printer import to_text
from augury.language.tree import CreateGaps, Gap

# Parameters that are lengths of time, by family; EMPIRICAL has nothing else.
_LENGTHS = {"EXPONENTIAL": 1, "GAMMA": 1, "LOGNORMAL": 1, "UNIFORM": 2}


def gaps_text(query: CheckedQuery) -> str:
    """Return CREATE GAPS for a query, with the miss rates that go with it as a comment."""
    if not query.gaps:
        return f"-- query {query.name} has no gaps"
    statement = CreateGaps(f"{query.name}_gaps", query.name, gaps=_gaps(query))
    rates = zip(query.components, query.miss_rates, strict=True)
    known = ", ".join(f"{part.name} {rate:.4g}" for part, rate in rates if rate is not None)
    return f"{to_text(statement)}\n-- MISS RATE ({known})"


def _gaps(query: CheckedQuery) -> tuple[Gap, ...]:
    ordered = sorted(query.gaps, key=lambda gap: (gap.later, gap.earlier, gap.backward))
    return tuple(_written(query, gap) for gap in ordered)


def _written(query: CheckedQuery, gap: CheckedGap) -> Gap:
    earlier, later = (query.components[c].name for c in (gap.earlier, gap.later))
    ticks = query.streams[0].time_is_ticks
    lengths = _LENGTHS.get(gap.family, len(gap.parameters))
    parameters = tuple(
        _shown(value) if k >= lengths or ticks else _duration(value)
        for k, value in enumerate(gap.parameters)
    )
    reaches = None if gap.reaches == 1.0 else _shown(gap.reaches)
    return Gap(earlier, later, gap.backward, gap.family, parameters, reaches)


def _duration(microseconds: float) -> Duration:
    return Duration(_shown(microseconds / MICROSECONDS["SECOND"]), "SECOND")


def _shown(value: float) -> float:
    return float(f"{value:.6g}")

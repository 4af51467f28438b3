"""Missed components that cannot matter: no score reaches the threshold, or no gap fits the window.

What a stretch scores at best follows from gaps and miss rates, so the checker, which does not know
scores, cannot tell. These are warnings: matches whose components were all read may still pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from augury.analysis import places
from augury.analysis.checked import CheckedQuery
from augury.analysis.unread import can_be_missed, gap_of
from augury.errors import Diagnostic, Source, Span
from augury.gaps.families import Gap, chance
from augury.planning.evaluated import unevaluated
from augury.planning.missed.missed_variants import Variant, can_pass, missing, window_of
from augury.planning.refusal import OUT_OF_REACH, UNREACHABLE, PlanError

Warned = tuple[str, str, str]
MOST_VARIANTS = 50


def unreachable(query: CheckedQuery) -> list[Warned]:
    """Return code, message and hint of what ALLOW asks for in vain."""
    if not query.allow or query.learn_gaps_from is not None or unevaluated(query) is not None:
        return []
    # Where gaps are beyond the window, that is why nothing scores.
    return [*_gaps_beyond_the_window(query)] or [*_threshold_above_all(query)]


def _gaps_beyond_the_window(query: CheckedQuery) -> Iterator[Warned]:
    window = window_of(query)
    for component in query.may_miss:
        gap = gap_of(query, component)
        if gap is None or not can_be_missed(query, component):
            continue
        if chance(Gap(gap.family, gap.parameters), window) <= 0.0:
            name = query.components[component].name
            yield (
                OUT_OF_REACH,
                f"the gap of {name} is always longer than the window, so {name} must be seen",
                "widen the window, or give a shorter gap",
            )


def _threshold_above_all(query: CheckedQuery) -> Iterator[Warned]:
    having = query.having
    if having is None or having.measure != "CONFIDENCE":
        return
    best = _best(query)
    if best is None:
        return
    names = ", ".join(query.components[c].name for c in sorted(best.missed))
    yield (
        UNREACHABLE,
        f"no match with a missed component can reach {having.threshold:g}: the best, without "
        f"{names}, scores {best.best:.3g}, so ALLOW adds no match",
        "lower the threshold, or widen the window, or leave out ALLOW",
    )


def _best(query: CheckedQuery) -> Variant | None:
    """Return what scores best; None where it passes, or where looking at all would take long."""
    best: Variant | None = None
    try:
        for number, variant in enumerate(missing(query)):
            if number > MOST_VARIANTS or can_pass(query, variant.best):
                return None
            best = variant if best is None or variant.best > best.best else best
    except PlanError:
        return None
    return best


def warnings_of(query: CheckedQuery, source: Source) -> tuple[Diagnostic, ...]:
    """Return what is unreachable as findings in the query's text, if it says ALLOW itself."""
    if places.word(source, query.span, "ALLOW") == query.span:
        return ()
    return tuple(
        Diagnostic(code, message, _place(query, source, code), source, hint, "warning")
        for code, message, hint in unreachable(query)
    )


_KEYWORDS = {UNREACHABLE: ("HAVING", "THRESHOLD"), OUT_OF_REACH: ("WITHIN",)}


def _place(query: CheckedQuery, source: Source, code: str) -> Span:
    found = (places.word(source, query.span, keyword) for keyword in _KEYWORDS[code])
    return next((span for span in found if span != query.span), query.span)

"""A threshold that no match with a missed component can reach: ALLOW is then without effect.

What a stretch scores at best follows from gaps and miss rates, so the checker, which does not know
scores, cannot tell. It is a warning: matches whose components were all read may still pass.
"""

from __future__ import annotations

from augury.analysis import places
from augury.analysis.checked import CheckedQuery
from augury.errors import Diagnostic, Source
from augury.planning.evaluated import unevaluated
from augury.planning.missed_variants import can_pass, missing
from augury.planning.refusal import UNREACHABLE, PlanError


def unreachable(query: CheckedQuery) -> tuple[str, str] | None:
    """Return what to say of a threshold above all that missed components can score, or None."""
    having = query.having
    is_known = query.allow and query.learn_gaps_from is None and unevaluated(query) is None
    if not is_known or having is None or having.measure != "CONFIDENCE":
        return None
    try:
        variants = list(missing(query))
    except PlanError:
        return None
    if not variants or any(can_pass(query, variant.best) for variant in variants):
        return None
    best = max(variants, key=lambda variant: variant.best)
    names = ", ".join(query.components[c].name for c in sorted(best.missed))
    return (
        f"no match with a missed component can reach {having.threshold:g}: the best, without "
        f"{names}, scores {best.best:.3g}, so ALLOW adds no match",
        "lower the threshold, or widen the window, or leave out ALLOW",
    )


def threshold_warning(query: CheckedQuery, source: Source) -> Diagnostic | None:
    """Return the same as a finding in the text of the query."""
    found = unreachable(query)
    if found is None:
        return None
    message, hint = found
    span = places.word(source, query.span, "HAVING")
    if span == query.span:
        span = places.word(source, query.span, "THRESHOLD")
    return Diagnostic(UNREACHABLE, message, span, source, hint, "warning")

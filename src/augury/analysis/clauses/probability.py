"""RETURN PROBABILITY, thresholds and approximation."""

from __future__ import annotations

from augury.analysis.draft import Draft


def having_fits_what_returns(draft: Draft) -> None:
    """CONFIDENCE is of matches, PROBABILITY of queries."""
    having = draft.statement.having
    if having is None:
        return
    if having.measure == "CONFIDENCE" and draft.returns_probability:
        clause = _threshold_clause(draft)
        written = clause if clause == "THRESHOLD" else "HAVING CONFIDENCE"
        message = f"{written} judges matches, but the query returns a probability"
        hint = f"write HAVING PROBABILITY >= {having.threshold:g}"
        draft.findings.error("A056", message, draft.clause(clause), hint)
    elif having.measure == "PROBABILITY" and not draft.returns_probability:
        message = "HAVING PROBABILITY judges a probability, but the query returns matches"
        hint = f"write HAVING CONFIDENCE >= {having.threshold:g}, or RETURN PROBABILITY"
        draft.findings.error("A056", message, draft.clause("HAVING"), hint)


def threshold_is_a_probability(draft: Draft) -> None:
    """Thresholds lie in [0, 1], and something can pass them."""
    having = draft.statement.having
    if having is not None and not 0 <= having.threshold <= 1:
        message = f"the threshold {having.threshold:g} is outside [0, 1]"
        span = draft.clause(_threshold_clause(draft))
        draft.findings.error("A057", message, span, "write a probability, such as 0.8")
    elif having is not None and having.strict and having.threshold == 1:
        span = draft.clause(_threshold_clause(draft))
        draft.findings.error("A057", "nothing is above the threshold 1", span, "write >= 1")


def _threshold_clause(draft: Draft) -> str:
    return "THRESHOLD" if draft.wrote("THRESHOLD") else "HAVING"


def groups_need_a_probability(draft: Draft) -> None:
    """GROUP BY says per what a probability is asked."""
    if draft.statement.group_by and not draft.returns_probability:
        message = "GROUP BY groups probabilities, but the query does not return one"
        hint = "add RETURN PROBABILITY, or put the attribute into RETURN"
        draft.findings.error("A058", message, draft.clause("GROUP BY"), hint)


def approximation_has_bounds(draft: Draft) -> None:
    """APPROXIMATE (error, risk) has both in (0, 1) and a probability to approximate."""
    approximate = draft.statement.approximate
    if approximate is None:
        return
    if not draft.returns_probability:
        message = "APPROXIMATE samples a probability, but the query does not return one"
        hint = "remove APPROXIMATE, or add RETURN PROBABILITY"
        draft.findings.error("A059", message, draft.clause("APPROXIMATE"), hint)
    for what, value in (("error", approximate.error), ("risk", approximate.risk)):
        if not 0 < value < 1:
            message = f"the {what} of APPROXIMATE is {value:g}; it lies between 0 and 1"
            hint = "for example APPROXIMATE (0.01, 0.05)"
            draft.findings.error("A059", message, draft.clause("APPROXIMATE"), hint)

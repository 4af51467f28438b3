"""What is checked and explained, but not evaluated yet: EXPLAIN says it, engines refuse it."""

from __future__ import annotations

from augury.analysis.catalog import Catalog
from augury.analysis.checked import CheckedQuery
from augury.matching.pattern import MOST_COMPONENTS
from augury.planning.refusal import NOT_EVALUATED, PlanError
from augury.planning.sequence import unsuited
from augury.planning.unseen import scores_unseen


def unevaluated(query: CheckedQuery) -> str | None:
    """Return what a query uses that no engine evaluates yet, or None."""
    asks_whether = query.returns in ("PROBABILITY", "PROBABILITY BY TIME")
    return None if asks_whether and unsuited(query) is None else unmatched(query)


def unmatched(query: CheckedQuery) -> str | None:
    """Return what a query uses that cannot be evaluated by listing its matches, or None."""
    asks_whether = query.returns in ("PROBABILITY", "PROBABILITY BY TIME")
    if asks_whether and query.strategy != "ANY" and any(c.repeats for c in query.components):
        return f"RETURN {query.returns} of a repetition under next-match selection"
    if any(stream.markov for stream in query.streams):
        return "a MARKOV stream"
    if len(query.components) > MOST_COMPONENTS:
        return f"a pattern of more than {MOST_COMPONENTS} components"
    return _unevaluated_unseen(query) if scores_unseen(query) else None


def _unevaluated_unseen(query: CheckedQuery) -> str | None:
    """Return what keeps a query from scoring what was not read, or None."""
    if query.allow and query.strategy != "ANY":
        return "ALLOW ... MISSED with a selection other than SKIP TILL ANY MATCH"
    if query.allow and query.within is not None and query.within.events:
        return "ALLOW ... MISSED in a window of events"
    if query.correlated_by is not None:
        return "missed events with CORRELATED BY"
    if query.returns not in ("MATCHES", "COUNT"):
        return f"RETURN {query.returns} with a negation that may have been missed"
    return None


def unevaluated_note(query: CheckedQuery) -> str | None:
    """Return the same as a sentence, with its code."""
    what = unevaluated(query)
    return what and f"not evaluated yet: it uses {what} ({NOT_EVALUATED})"


def refuse_inferred(query: CheckedQuery, catalog: Catalog) -> None:
    """Raise where a query reads an inferred stream: only the local engine infers as yet."""
    for stream in query.streams:
        if stream.name.lower() in catalog.inferred:
            message = f"query {query.name} reads stream {stream.name}, which is inferred"
            hint = "bind its readings, and ask for its table with the local engine"
            raise PlanError(NOT_EVALUATED, message, hint)


def refuse_unevaluated(query: CheckedQuery) -> None:
    """Raise where a query's matches cannot be listed yet."""
    what = unmatched(query)
    if what is not None:
        message = (
            f"query {query.name} uses {what}, which is checked and explained, but not evaluated"
        )
        raise PlanError(NOT_EVALUATED, message, "docs/status.md lists what can be evaluated")

"""Which probability queries can be answered over rows that have no end, and why others cannot.

A chain has constant state, so it is carried along. A window, and a time under WITHIN, need the rows
that lie so far back. What needs all rows at once is for bounded runs.
"""

from __future__ import annotations

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, StreamSchema
from augury.language.tree import InferStream
from augury.matching.marginal import MOST_STATES, waiting_sets
from augury.planning.answer_kinds import tells
from augury.planning.chain_plan import ChainPlan, Obstacle, is_plain, plan_chain
from augury.planning.refusal import NOT_EVALUATED, PlanError

EXACT = ("deterministic", "regular", "extended regular")


def refuse_unstreamable(query: CheckedQuery, catalog: Catalog) -> None:
    """Raise where a query's probabilities cannot be told as rows come."""
    reason = why_not_streamable(query, catalog)
    if reason is not None:
        message = f"query {query.name} {reason}, so it cannot be answered as rows come"
        raise PlanError(NOT_EVALUATED, message, "ask for it over bounded rows")


def why_not_streamable(query: CheckedQuery, catalog: Catalog) -> str | None:
    """Return why a query's probabilities cannot be told as rows come, or None."""
    if is_carried(query, catalog):
        return None
    if any(stream.name.lower() in catalog.inferred for stream in query.streams):
        return why_not_carried(query, catalog)
    if tells(query) != "times":
        never = "asks whether anything ever matches, which is known at the end (add WITHIN)"
        return None if tells(query) == "windows" else never
    if query.approximate is not None and query.verdict.kind not in EXACT:
        return "samples worlds of the whole stream (ask for windows: WITHIN ... EVERY)"
    by_rows = query.within is not None and not query.within.events
    return None if by_rows else why_not_carried(query, catalog)


def is_carried(query: CheckedQuery, catalog: Catalog) -> bool:
    """Return whether the distribution of a query's chains says all that later rows need."""
    return tells(query) == "times" and why_not_carried(query, catalog) is None


def why_not_carried(query: CheckedQuery, catalog: Catalog) -> str | None:
    """Return why a query's probabilities are not carried along chains, or None."""
    if tells(query) != "times":
        return "returns no probabilities by time, and reads what is inferred as readings come"
    plan = plan_chain(query, catalog)
    if isinstance(plan, Obstacle):
        return plan.reason
    if plan.over is not None and plan.over.unit is None:
        return "looks back OVER a while from timestamps that follow no model's step"
    if query.verdict.kind not in EXACT or not is_plain(plan):
        return "has more than a chain per key (a window, a value to meet again or a tie-breaker)"
    if plan.over is not None:
        most = MOST_STATES // waiting_sets(plan.line) - 1
        if plan.over.steps > most:
            return f"looks back OVER {plan.over.steps} steps, of which at most {most} are carried"
    reasons = (_of_stream(plan, stream, catalog) for stream in query.streams)
    return next((reason for reason in reasons if reason is not None), None)


def _of_stream(plan: ChainPlan, stream: StreamSchema, catalog: Catalog) -> str | None:
    how = catalog.inferred.get(stream.name.lower())
    if how is not None:
        if len(plan.query.streams) > 1:
            return f"reads stream {stream.name} beside others, and an inferred key is known later"
        if _looks_at_the_end(how.statement):
            return f"reads stream {stream.name}, which needs all readings (FILTER and LAG do not)"
        if catalog.models[how.statement.model.lower()].statement.learn_from is not None:
            return f"reads stream {stream.name}, whose model is learned from other rows"
        if not set(stream.key) <= {name for _, name in plan.groups}:
            return f"reads stream {stream.name} without GROUP BY its key, and keys differ in delay"
    if stream.alternatives and stream.id is not None:
        return f"reads stream {stream.name}, whose alternatives share an ID across times"
    return None


def _looks_at_the_end(statement: InferStream) -> bool:
    """Whether what is told of a step hangs on all later readings."""
    is_smoothed = statement.method == "SMOOTH" and statement.lag is None
    return is_smoothed or statement.smoothed or statement.method == "VITERBI"

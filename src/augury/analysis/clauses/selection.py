"""Selection and what follows from it: AFTER WHERE, contiguity, tie-breakers, MATCH LIMIT."""

from __future__ import annotations

from augury.analysis.clauses.shapes import operators
from augury.analysis.draft import Draft
from augury.analysis.expressions.attributes import find_component
from augury.analysis.expressions.walk import attributes
from augury.analysis.findings import listing
from augury.language import expressions as ex


def after_where_follows_a_choice(draft: Draft) -> None:
    """AFTER WHERE is applied to a chosen candidate, so something must choose one."""
    if draft.statement.after_where is None:
        return
    if (draft.statement.strategy or "ANY") == "ANY":
        draft.findings.error(
            "A055",
            "AFTER WHERE judges the event that NEXT-match selection chose, "
            "but SKIP TILL ANY MATCH chooses none",
            draft.clause("AFTER WHERE"),
            "add USING SKIP TILL NEXT MATCH, or move the condition to WHERE",
        )
    for conjunct in draft.conjuncts:
        negated = [draft.components[c] for c in conjunct.components if draft.components[c].negated]
        if conjunct.after and negated:
            message = f"AFTER WHERE names {negated[0].name}, which is negated and never chosen"
            draft.findings.error("A055", message, conjunct.span, "move the condition to WHERE")


def strategy_is_over_components(draft: Draft) -> None:
    """Names in `skip_till_next_match(x, y) {...}` are components."""
    for name in draft.statement.strategy_over:
        find_component(draft, name, draft.word("WHERE", name))


def contiguity_has_a_key(draft: Draft) -> None:
    """PARTITION CONTIGUITY and NEXT(...) without KEY mean the whole stream: say so."""
    keyless = [s.name for s in draft.streams if not s.key]
    if not keyless or draft.shape is None:
        return
    if draft.statement.strategy == "PARTITION":
        message = (
            f"stream {keyless[0]} has no KEY, so PARTITION CONTIGUITY is over the whole stream"
        )
        hint = "declare KEY on the stream, or write STRICT"
        draft.findings.warning("W007", message, draft.clause("USING"), hint)
    elif "NEXT" in operators(draft.shape):
        message = (
            f"stream {keyless[0]} has no KEY, so NEXT(...) needs neighbours in the whole stream"
        )
        hint = "declare KEY on the stream if objects are meant"
        draft.findings.warning("W007", message, draft.statement.pattern.span, hint)


def tie_breakers_are_of_one_stream(draft: Draft) -> None:
    """Tie-breakers compare within one stream only."""
    if sum(s.order_by is not None for s in draft.streams) < 2:
        return
    for conjunct in draft.conjuncts:
        node = conjunct.expression
        if isinstance(node, ex.Binary) and len(conjunct.components) > 1 and not conjunct.derived:
            owners = {s for a in attributes(node) for s in _orders(draft, a)}
            if len(owners) > 1:
                names = listing(sorted(owners))
                message = f"the tie-breakers of {names} are compared, but they count separately"
                draft.findings.warning("W009", message, conjunct.span, "compare times instead")


def _orders(draft: Draft, attribute: ex.Attribute) -> list[str]:
    component = draft.component_named(attribute.component or "")
    streams = draft.streams_of(component.index) if component else ()
    return [s.name for s in streams if s.order_by == attribute.name]


def match_limit_is_positive(draft: Draft) -> None:
    """MATCH LIMIT leaves room for a match."""
    limit = draft.statement.match_limit
    if limit is not None and limit < 1:
        message = f"MATCH LIMIT {limit} leaves room for no match"
        draft.findings.error("A060", message, draft.clause("MATCH LIMIT"), "write at least 1")

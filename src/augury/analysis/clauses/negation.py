"""What follows from negation and repetition once the pattern is read."""

from __future__ import annotations

from augury.analysis.clauses.pattern import LARGEST_PATTERN
from augury.analysis.clauses.shapes import can_be_empty, pattern_text
from augury.analysis.draft import Draft


def some_event_must_happen(draft: Draft) -> None:
    """Patterns that can match without an event have no time at which they matched."""
    if draft.shape is None or not draft.positive:
        return
    if can_be_empty(draft.shape, draft.components):
        text = pattern_text(draft.shape, draft.components)
        message = f"{text} can match without any event"
        hint = "make one component occur at least once"
        draft.findings.error("A037", message, draft.statement.pattern.span, hint)


def pattern_is_not_too_large(draft: Draft) -> None:
    """Components of an event are kept as bits of one number."""
    if len(draft.components) > LARGEST_PATTERN:
        message = (
            f"the pattern has {len(draft.components)} components; at most {LARGEST_PATTERN} fit"
        )
        hint = "split it: name a part as a query of its own and read that in ON"
        draft.findings.error("A077", message, draft.statement.pattern.span, hint)


def conditions_name_one_negated_component(draft: Draft) -> None:
    """Negated components have no events to compare with each other."""
    for conjunct in draft.conjuncts:
        negated = [
            draft.components[c].name for c in conjunct.components if draft.components[c].negated
        ]
        if len(negated) > 1:
            draft.findings.error(
                "A051",
                f"the condition names {negated[0]} and {negated[1]}, which are both negated",
                conjunct.span,
                "compare each with a positive component",
            )

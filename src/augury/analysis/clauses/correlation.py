"""CORRELATED BY: conditional probabilities between neighbours of a match (DPCEP definition 4.1)."""

from __future__ import annotations

from collections.abc import Iterator

from augury.analysis.checked import Branch, Negated, Shape
from augury.analysis.draft import Draft


def correlation_applies(draft: Draft) -> None:
    """CORRELATED BY needs any-match, tuple probabilities, no negation and no repetition."""
    if draft.statement.correlated_by is None:
        return
    for message, hint in _obstacles(draft):
        draft.findings.error(
            "A065", f"CORRELATED BY {message}", draft.clause("CORRELATED BY"), hint
        )


def _obstacles(draft: Draft) -> Iterator[tuple[str, str]]:
    yield from beyond_products(draft)
    if draft.returns_probability:
        yield "weighs matches, but the query returns a probability", "return the matches"
    for stream in draft.streams:
        if not (stream.is_uncertain or stream.alternatives or stream.markov):
            yield (
                f"needs probabilities, but stream {stream.name} has none",
                f"declare PROBABILITY on {stream.name}",
            )


def beyond_products(draft: Draft) -> Iterator[tuple[str, str]]:
    """Yield what of a query no product over the events of a match tells, and what to do."""
    if (draft.statement.strategy or "ANY") != "ANY":
        yield "needs every combination of events", "write USING SKIP TILL ANY MATCH"
    negated = next((c.name for c in draft.components if c.negated), None)
    if negated is not None:
        yield f"says nothing of the absence of {negated}", f"remove !{negated}"
    repeated = next((c.name for c in draft.positive if c.repeats), None)
    if repeated is not None:
        yield f"does not apply to the repetition {repeated}", "remove the repetition"
    if draft.shape is not None and _has_neighbours(draft.shape):
        yield "says nothing of what lies between neighbours", "write SEQ in place of NEXT"
    if draft.within is not None and draft.within.events:
        yield "says nothing of the events in a window", "give WITHIN as a time"
    if draft.allow:
        hint = "remove ALLOW" if draft.wrote("ALLOW") else "write PATTERN SEQ(...)"
        yield "says nothing of events that were missed", hint
    for stream in draft.streams:
        if stream.alternatives or stream.markov:
            yield (
                f"needs tuple probabilities, but stream {stream.name} has alternatives",
                "use MARKOV on the stream",
            )


def _has_neighbours(shape: Shape) -> bool:
    if isinstance(shape, Branch):
        return shape.operator == "NEXT" or any(map(_has_neighbours, shape.parts))
    return isinstance(shape, Negated) and _has_neighbours(shape.part)

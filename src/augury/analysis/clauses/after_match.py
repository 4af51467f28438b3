"""AFTER MATCH SKIP, and what goes with it: MATCH_NUMBER() and ALL EVENTS PER MATCH."""

from __future__ import annotations

from collections.abc import Iterator

from augury.analysis.checked import Component, Skip
from augury.analysis.clauses.shapes import always_present, at_an_end
from augury.analysis.draft import Draft
from augury.analysis.expressions.attributes import find_component
from augury.language import tree

CODE = "A084"


def skip_goes_to_an_event(draft: Draft) -> None:
    """Fill where the search goes on after a match: behind its start, at an event that is there."""
    written = draft.statement.after_match
    if written is None or draft.shape is None:
        return
    for why, hint in _obstacles(draft):
        draft.findings.error(CODE, f"AFTER MATCH SKIP {why}", draft.clause("AFTER MATCH"), hint)
    component = None
    if written.component is not None:
        component = _target(draft, written.component, written)
        if component is None:
            return
    draft.after_match = Skip(written.to, component, draft.statement.having)


def _obstacles(draft: Draft) -> Iterator[tuple[str, str]]:
    returns = draft.statement.returns
    if returns is not None and returns.kind not in ("COLUMNS", "STAR"):
        yield (
            f"takes matches one after the other, but the query returns {returns.kind}",
            "return the matches, or remove AFTER MATCH",
        )
    if draft.statement.correlated_by is not None:
        yield (
            "decides in each world which matches are taken, and CORRELATED BY has no worlds",
            "remove one of the two",
        )
    if draft.allow:
        hint = "remove ALLOW" if draft.wrote("ALLOW") else "write PATTERN SEQ(...)"
        yield "needs to know where matches begin, and a component may be missed", hint


def _target(draft: Draft, name: str, written: tree.Skip) -> int | None:
    """Return the component that is gone on with; None where it cannot be."""
    found = find_component(draft, name, draft.word("AFTER MATCH", name))
    if found is None:
        return None
    why = _unfit(draft, found, written)
    if why:
        message = f"AFTER MATCH SKIP goes on at {found.name}, {why}"
        hint = "name a component behind the first that every match has, or write TO NEXT EVENT"
        draft.findings.error(CODE, message, draft.word("AFTER MATCH", name), hint)
    return found.index


def _unfit(draft: Draft, found: Component, written: tree.Skip) -> str:
    """Return why a component is no place to go on; nothing where it is one."""
    assert draft.shape is not None
    if found.negated:
        return "which is negated and has no event"
    if found.index not in always_present(draft.shape, draft.components):
        return "which a match may lack"
    starts = at_an_end(draft.shape, draft.components, last=False)
    single = found.maximum == 1 or written.to == "FIRST"
    return "with which every match begins" if starts == {found.index} and single else ""


def events_are_of_matches(draft: Draft) -> None:
    """ALL EVENTS PER MATCH asks for the events of matches."""
    returns = draft.statement.returns
    if draft.statement.each_event and returns and returns.kind not in ("COLUMNS", "STAR"):
        draft.findings.error(
            CODE,
            f"ALL EVENTS PER MATCH lists the events of matches, but RETURN {returns.kind} has none",
            draft.clause("ALL EVENTS PER MATCH"),
            "return columns or *, or remove ALL EVENTS PER MATCH",
        )

"""PREV(b.price, 2) and NEXT(b.price): an attribute of an event beside one of the match.

It becomes a column of the events of its stream, which the executor fills in before they are
matched.
"""

from __future__ import annotations

from dataclasses import replace

from augury.analysis.checked import Component
from augury.analysis.declarations.catalog import Neighbour, StreamSchema
from augury.analysis.declarations.columns import names_of
from augury.analysis.declarations.durations import microseconds
from augury.analysis.draft import Draft
from augury.analysis.expressions.attributes import Resolved, resolve
from augury.language import expressions as ex

CODE = "A087"


def read_neighbour(draft: Draft, node: ex.Call, own: int | None) -> Resolved | None:
    """Return the attribute that stands for a neighbour's; None where it is reported, or unknown."""
    places = _places(node)
    if places is None or not isinstance(node.arguments[0], ex.Attribute):
        example = f"{node.function}(b.price) or {node.function}(b.price, 2)"
        message = f"{node.function} takes an attribute, and how many places further it is read"
        draft.findings.error(CODE, message, node.span, f"write {example}")
        return None
    found = resolve(draft, node.arguments[0], own)
    if found is None or found.type is None:
        return None
    component = draft.components[found.component]
    column = draft.column_of(found.component, found.attribute.name)
    assert column is not None
    neighbour = Neighbour(column, places, _reach(draft) if places > 0 else None)
    for stream in draft.streams_of(found.component):
        why, hint = _unfit(draft, stream, neighbour, component)
        if why:
            text = draft.findings.text_of(node) or node.function
            draft.findings.error(CODE, f"{text} {why}", node.span, hint)
            return None
    _add(draft, component, neighbour)
    name = neighbour.column.name
    attribute = replace(found.attribute, name=name, default=None, places=places, span=node.span)
    return Resolved(attribute, found.component, found.type)


def _places(node: ex.Call) -> int | None:
    """Return how many places behind the event is that is read, below 0 before; None if unclear."""
    if len(node.arguments) not in (1, 2):
        return None
    literal = ex.Literal(1) if len(node.arguments) == 1 else node.arguments[1]
    number = literal.value if isinstance(literal, ex.Literal) else None
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 2**31:
        return None
    return -number if node.function == "PREV" else number


def _reach(draft: Draft) -> int | None:
    """Return how far ahead NEXT looks: a window in time, since a stream could wait for ever."""
    window = draft.statement.within
    if window is None or window.events:
        return None
    length = window.length
    return microseconds(length) if isinstance(length, ex.Duration) else int(length)


def _unfit(
    draft: Draft, stream: StreamSchema, neighbour: Neighbour, component: Component
) -> tuple[str, str]:
    """Return why a stream's events have no neighbours to read, and what to do; else nothing."""
    b, between = component.name, ["_"] * min(abs(neighbour.places) - 1, 3)
    places = ["_ p", *between, b] if neighbour.places < 0 else [b, *between, "_ p"]
    around = f"NEXT({', '.join(places)})"
    into = f"take it into the pattern: {around} is weighed in every world"
    before = "before" if neighbour.places < 0 else "behind"
    if stream.query is not None:
        hint = f"WRITE the matches of {stream.name}, and declare what is written as a stream"
        return f"reads a match beside a match of {stream.name}: they come in no order", hint
    if stream.is_uncertain or stream.markov is not None or stream.is_identified:
        why = f"hangs on which of the events {before} {b} happened, and {stream.name} is uncertain"
        return why, into
    if draft.returns_probability:
        return "reads certain events, and the query asks how likely it holds", into
    if draft.statement.allow is not None:
        return "would skip the events that were missed", "remove ALLOW ... MISSED"
    if neighbour.column.name.lower() in map(str.lower, names_of(stream.columns)):
        return f"is the name of a column of {stream.name}, too", "rename the column"
    return "", ""


def _add(draft: Draft, component: Component, neighbour: Neighbour) -> None:
    """Let the streams of a component have the column."""
    played = {by.stream for by in component.played_by}
    draft.streams = tuple(
        replace(stream, neighbours=tuple(dict.fromkeys((*stream.neighbours, neighbour))))
        if stream.name in played
        else stream
        for stream in draft.streams
    )
    draft.forget_streams()

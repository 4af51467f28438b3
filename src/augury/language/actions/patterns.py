"""Actions of patterns: groups, negation, components and how often they repeat."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from typing import Literal as Choice

from augury.errors import Span
from augury.language import codes
from augury.language.actions.words import Parts, whole
from augury.language.expressions import Node
from augury.language.findings import Findings
from augury.language.machine import Action
from augury.language.tree import Component, Edge, Group, Not, Pattern, Repetition


@dataclass(frozen=True, slots=True)
class Neighbour(Node):
    """`NEXT B b` in a SEQ, until it is joined to the part before it."""

    component: Component


def _group(operator: Choice["SEQ", "NEXT", "AND", "OR"]) -> Action:
    def action(parts: Parts, span: Span, findings: Findings) -> Group:
        own = _joined(parts, findings) if operator == "SEQ" else parts
        return Group(operator, tuple(alone(part, findings) for part in own), span=span)

    return action


def _joined(parts: Parts, findings: Findings) -> list[Any]:
    """Return the parts of a SEQ, in which neighbours are a NEXT(...) of their own."""
    found: list[Any] = []
    joins = False
    for part in parts:
        before = found[-1] if found else None
        if not isinstance(part, Neighbour):
            found.append(part)
            joins = False
        elif before is None or isinstance(before, Not) or _repeats(before):
            found.append(part)
        else:
            span = Span(before.span.start, part.span.end)
            own = before.parts if joins else (before,)
            found[-1] = Group("NEXT", (*own, part.component), span=span)
            joins = True
    return found


def _repeats(part: Any) -> bool:
    return isinstance(part, Component | Group) and part.repetition is not None


def alone(part: Any, findings: Findings) -> Any:
    """Return a part of a pattern; a neighbour that stands beside nothing is refused."""
    if not isinstance(part, Neighbour):
        return part
    message = "NEXT joins a component to the one before it in a SEQ, and here there is none"
    hint = "write SEQ(A a, NEXT B b), or NEXT(B+ b, C c) where a repetition stands before it"
    findings.refuse(codes.FORM, part.span, message, hint)
    return part.component


def _neighbour(parts: Parts, span: Span, findings: Findings) -> Neighbour | Component:
    word, component = parts
    if component == Component(component.word):
        # Two words are a type and a name, whatever they are.
        return Component(word, component.word, span=span)
    return Neighbour(component, span=span)


def _negation(parts: Parts, span: Span, findings: Findings) -> Not:
    if isinstance(parts[0], Neighbour):
        return Not(parts[0].component, neighbour=True, span=span)
    return Not(alone(parts[0], findings), span=span)


def _reluctant(parts: Parts, span: Span, findings: Findings) -> Repetition:
    times: Repetition = parts[0]
    return replace(times, reluctant=True, span=span)


def _repeated_group(parts: Parts, span: Span, findings: Findings) -> Pattern:
    inner: Pattern = alone(parts[0], findings)
    name = parts[2].text if len(parts) > 2 else None
    if not isinstance(inner, Group | Component):
        message = f"a group that repeats takes components, not {_kind(inner)}"
        hint = "write (SEQ(A a, B b))+, or say with ! beside it what must not come between"
        findings.refuse(codes.FORM, span, message, hint)
        return inner
    if isinstance(inner, Component) or inner.repetition is not None:
        inner = Group("SEQ", (inner,))
    return replace(inner, repetition=parts[1], name=name, span=span)


def _edge(which: Choice["FIRST", "LAST"]) -> Action:
    side = "before" if which == "FIRST" else "after"

    def action(parts: Parts, span: Span, findings: Findings) -> Pattern:
        inner: Pattern = alone(parts[0], findings)
        if isinstance(inner, Component):
            return Edge(which, inner, span=span)
        message = f"{which} takes one component, not {_kind(inner)}"
        hint = f"write {which}(A a), or say with ! in a SEQ what must not come {side}"
        findings.refuse(codes.FORM, span, message, hint)
        return inner

    return action


def _kind(pattern: Pattern) -> str:
    """Return what stands where a component should."""
    if isinstance(pattern, Group):
        return f"{pattern.operator}(...)"
    return "a negation" if isinstance(pattern, Not) else "another FIRST or LAST"


def _component(*fields: str) -> Action:
    """Return the action of a component whose parts after the word are `fields`."""

    def action(parts: Parts, span: Span, findings: Findings) -> Component:
        values: dict[str, Any] = dict(zip(fields, parts[1:], strict=True))
        if "name" in values:
            values["name"] = values["name"].text
        return Component(parts[0].text, **values, span=span)

    return action


def _repetition(minimum: int, maximum: int | None) -> Action:
    return lambda parts, span, findings: Repetition(minimum, maximum, span=span)


def _exactly(parts: Parts, span: Span, findings: Findings) -> Repetition:
    times = whole(parts[0], findings)
    return _bounded(times, times, span, findings)


def _at_least_times(parts: Parts, span: Span, findings: Findings) -> Repetition:
    return Repetition(whole(parts[0], findings), None, span=span)


def _at_most_times(parts: Parts, span: Span, findings: Findings) -> Repetition:
    return _bounded(0, whole(parts[0], findings), span, findings)


def _between_times(parts: Parts, span: Span, findings: Findings) -> Repetition:
    low, high = (whole(part, findings) for part in parts)
    return _bounded(low, high, span, findings)


def _bounded(low: int, high: int, span: Span, findings: Findings) -> Repetition:
    if high < max(low, 1):
        message = f"a repetition between {low} and {high} times takes no event"
        findings.refuse(codes.FORM, span, message, "write the smaller number first, as in {2,5}")
    return Repetition(low, max(low, high, 1), span=span)


ACTIONS: dict[str, Action] = {
    "seq": _group("SEQ"),
    "next": _group("NEXT"),
    "and": _group("AND"),
    "or": _group("OR"),
    "first": _edge("FIRST"),
    "last": _edge("LAST"),
    "repeated_group": _repeated_group,
    "named_group": _repeated_group,
    "not": _negation,
    "component": _component(),
    "filtered": _component("filter"),
    "typed": _component("name"),
    "typed_filtered": _component("name", "filter"),
    "repeated": _component("repetition"),
    "repeated_filtered": _component("repetition", "filter"),
    "repeated_typed": _component("repetition", "name"),
    "repeated_typed_filtered": _component("repetition", "name", "filter"),
    "repeated_typed_until": _component("repetition", "name", "until"),
    "repeated_typed_filtered_until": _component("repetition", "name", "filter", "until"),
    "neighbour": _neighbour,
    "next_to": lambda parts, span, findings: parts[0].text,
    "reluctant": _reluctant,
    "one_or_more": _repetition(1, None),
    "any_number": _repetition(0, None),
    "optional": _repetition(0, 1),
    "exactly": _exactly,
    "at_least_times": _at_least_times,
    "at_most_times": _at_most_times,
    "between_times": _between_times,
}

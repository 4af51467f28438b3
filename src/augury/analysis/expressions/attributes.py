"""Attributes: which component and column a reference means, and whether its index fits.

`x.price` is looked up by component name (as written, else without regard to case) and by column.
A bare `price` is allowed inside a component's own filter and where the pattern has one component.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from augury.analysis.checked import Component
from augury.analysis.declarations.catalog import DataType
from augury.analysis.declarations.columns import names_of
from augury.analysis.draft import Draft
from augury.analysis.findings import listing, suggest
from augury.errors import Span
from augury.language.expressions import Attribute, Index


@dataclass(frozen=True, slots=True)
class Resolved:
    """An attribute with its component and column found; the type is None where one is unknown."""

    attribute: Attribute
    component: int
    type: DataType | None


def resolve(draft: Draft, attribute: Attribute, own: int | None = None) -> Resolved | None:
    """Return what an attribute means, or None (reported, or not to be judged)."""
    component = _component_of(draft, attribute, own)
    if component is None:
        return None
    index_is_fine(draft, component, attribute.index, attribute.span)
    if attribute.group is not None:
        component_in_group(draft, attribute.group, component, attribute.span)
    name, type_ = column_of(draft, component, attribute.name, _name_span(attribute))
    if name is None:
        return None
    if component.name != attribute.component or name != attribute.name:
        attribute = replace(attribute, component=component.name, name=name)
    return Resolved(attribute, component.index, type_)


def _name_span(attribute: Attribute) -> Span:
    """Return the span of the column's name: the last word before a default's bracket."""
    span = attribute.span
    if attribute.default is not None:
        end = attribute.default.span.start - 1
        return Span(end - len(attribute.name), end) if end > span.start else span
    return Span(max(span.start, span.end - len(attribute.name)), span.end)


def _component_of(draft: Draft, attribute: Attribute, own: int | None) -> Component | None:
    if attribute.component is not None:
        return find_component(draft, attribute.component, attribute.span)
    if own is not None:
        return draft.components[own]
    if len(draft.components) == 1:
        return draft.components[0]
    report_bare(draft, attribute)
    return None


def find_component(draft: Draft, name: str, span: Span) -> Component | None:
    """Return the component of that name; report it where there is none."""
    component = draft.component_named(name)
    if component is not None:
        return component
    here = Span(span.start, min(span.start + len(name), span.end))
    if name in draft.repeated_words:
        message = f"{name} occurs more than once in the pattern, so {name} alone is ambiguous"
        hint = f"name each of them, for example {name} {name.lower()}1"
        draft.findings.error("A033", message, here, hint)
    else:
        known = [c.name for c in draft.components if c.named]
        hint = suggest(name, known, f"the components are {listing(known)}" if known else "")
        draft.findings.error("A032", f"{name} is not a component of the pattern", here, hint)
    return None


def component_in_group(draft: Draft, name: str, component: Component, span: Span) -> None:
    """Report a group that is none, or a component that has no event in each of its rounds."""
    group = draft.group_named(name)
    if group is None or component.index not in group.components:
        message = f"{component.name} is in no group {name} that repeats"
        known = [g.name for g in draft.groups]
        hint = suggest(name, known, f"write (SEQ(...))+ {name} in the pattern")
        if group is not None:
            inside = [draft.components[c].name for c in group.components]
            hint = f"the components of {group.name} are {listing(inside)}"
        draft.findings.error("A032", message, span, hint)
    elif component.index not in group.sure:
        message = f"{component.name} stands in an OR, so a round of {group.name} may have none"
        hint = f"write {component.name}[i], which counts the events of {component.name}"
        draft.findings.error("A039", message, span, hint)


def report_bare(draft: Draft, attribute: Attribute) -> None:
    """Report a column that stands alone, with the components that have it."""
    known = [c for c in draft.components if draft.column_of(c.index, attribute.name)]
    holders = [c.name for c in sorted(known, key=lambda c: (c.negated, c.repeats))]
    if draft.component_named(attribute.name) is not None:
        hint = (
            f"name one of its attributes, for example {attribute.name}.{_example(draft, attribute)}"
        )
        message = f"{attribute.name} is a component, not a value"
    elif holders:
        hint = f"write {holders[0]}.{attribute.name}"
        message = f"column {attribute.name} does not say which component it is of"
    else:
        message = f"{attribute.name} is neither a component nor a column"
        hint = "write component.attribute, or quote a text constant"
    draft.findings.error("A034", message, attribute.span, hint)


def _example(draft: Draft, attribute: Attribute) -> str:
    component = draft.component_named(attribute.name)
    streams = draft.streams_of(component.index) if component else ()
    return streams[0].columns[0].name if streams and streams[0].columns else "attribute"


def column_of(
    draft: Draft, component: Component, name: str, span: Span
) -> tuple[str | None, DataType | None]:
    """Return the declared name and type of a component's column; all its streams must have it."""
    streams = draft.streams_of(component.index)
    if not streams:
        return None, None
    columns = [(s, s.column(name)) for s in streams]
    for stream, column in columns:
        if column is None:
            draft.findings.error(
                "A012",
                f"component {component.name} uses attribute {name}, "
                f"which {_kind(stream.query)} {stream.name} does not have",
                span,
                suggest(name, names_of(stream.columns), _columns_hint(names_of(stream.columns))),
            )
            return None, None
    found = [(s, c) for s, c in columns if c is not None]
    if len({c.type for _, c in found}) > 1:
        kinds = listing([f"{c.type.value} in {_kind(s.query)} {s.name}" for s, c in found])
        draft.findings.error(
            "A081",
            f"{component.name} may be an event of several streams, and {name} is {kinds}",
            span,
            "declare it alike, or say by the stream's name in PATTERN which events are meant",
        )
        return None, None
    return found[0][1].name, found[0][1].type


def _kind(query: str | None) -> str:
    return "query" if query else "stream"


def _columns_hint(names: list[str]) -> str:
    return f"it has {listing(names)}"


def index_is_fine(draft: Draft, component: Component, index: Index | None, span: Span) -> None:
    """Report an index on a component that does not repeat, or beyond its bounds."""
    if index is None:
        return
    label = _index_text(component.name, index)
    if index.kind == "running":
        message, hint = f"{label} is many events", f"add them up: SUM({label}.attribute)"
        draft.findings.error("A039", message, span, hint)
        return
    if not component.repeats:
        message = f"{label} takes one of several events, but {component.name} does not repeat"
        hint = f"write {component.name}.attribute, or repeat it in the pattern: +"
        draft.findings.error("A039", message, span, hint)
    elif index.kind == "number" and index.number < 1:
        draft.findings.error("A039", f"{label} does not exist", span, "events count from 1")
    elif index.kind == "number" and component.maximum and index.number > component.maximum:
        message = f"{label} does not exist: {component.name} has at most {component.maximum} events"
        draft.findings.error("A039", message, span, f"use at most {component.maximum}")


def _index_text(name: str, index: Index) -> str:
    forms = {"each": f"{name}[i]", "previous": f"{name}[i-1]", "last": f"LAST({name})"}
    forms["running"] = f"{name}[..i]"
    return forms.get(index.kind, f"{name}[{index.number}]")

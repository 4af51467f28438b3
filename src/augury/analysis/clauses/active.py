"""Subqueries of a query: what they may name, and that the moment of a match is known."""

from __future__ import annotations

from collections.abc import Iterator

from augury.analysis.checked import Component, Leaf, Negated, Shape
from augury.analysis.draft import Draft
from augury.analysis.expressions.walk import has_lookup, tables_read, walk, walk_into
from augury.analysis.findings import Findings
from augury.language import expressions as ex
from augury.language.tree import Component as Written
from augury.language.tree import CreateQuery, CreateRule, Edge, Group, Not, Pattern

Named = ex.Attribute | ex.Aggregate


def subqueries_name_what_is_there(draft: Draft) -> None:
    """Report components in subqueries that have no event of their own, or many."""
    guards = {guard for _, guard in draft.copies}
    for conjunct in (*draft.lookups, *draft.conjuncts):
        # What FIRST and LAST copy to what they negate is judged where it is written.
        if not has_lookup(conjunct.expression) or not guards.isdisjoint(conjunct.components):
            continue
        for component, node in _named(draft, conjunct.expression):
            if not isinstance(node, ex.Attribute) or node.default is not None:
                continue
            if component.index in draft.may_miss and not component.negated:
                _may_be_missed(draft, component, node)
        for lookup in walk(conjunct.expression):
            if isinstance(lookup, ex.Lookup):
                for component, node in _named(draft, lookup):
                    _judge(draft, component, node)


def _named(draft: Draft, expression: ex.Expression) -> Iterator[tuple[Component, Named]]:
    for node in walk_into(expression):
        if isinstance(node, ex.Attribute | ex.Aggregate) and node.component is not None:
            component = draft.component_named(node.component)
            if component is not None:
                yield component, node


def _may_be_missed(draft: Draft, component: Component, node: ex.Attribute) -> None:
    message = f"the condition with a subquery names {component.name}, which may be missed"
    hint = f"give a default for then: {component.name}.{node.name}[...]"
    draft.findings.error("A050", message, node.span, hint)


def _judge(draft: Draft, component: Component, node: Named) -> None:
    name = component.name
    if component.negated:
        message = f"the subquery names {name}, which is negated and has no event"
        draft.findings.error("A050", message, node.span, "name a positive component")
    elif isinstance(node, ex.Aggregate):
        if node.function != "COUNT" or node.running:
            message = f"the subquery names {node.function} of {name}"
            hint = f"of a repetition, name LAST({name}), {name}[1] or COUNT({name})"
            draft.findings.error("A050", message, node.span, hint)
    elif component.maximum != 1 and (node.index is None or node.index.kind in ("each", "previous")):
        message = f"the subquery names {name}, which repeats and has many events"
        hint = f"name LAST({name}), {name}[1] or COUNT({name})"
        draft.findings.error("A050", message, node.span, hint)


def moments_are_known(draft: Draft) -> None:
    """Report subqueries of what changes where the end of a match depends on a count of events."""
    within = draft.within
    if within is None or not within.events or draft.shape is None:
        return
    repeats = (draft.statement.strategy or "ANY") != "ANY"
    tables, rules = draft.ledger.tables, draft.ledger.rules.values()
    dynamic = {change.table.lower() for rule in rules for change in rule.changes}
    dynamic |= {name for name, table in tables.items() if table.store}
    for conjunct in draft.lookups:
        read = {name.lower() for name in tables_read(conjunct.expression)}
        if read & dynamic and _is_open(draft.shape, draft.components, repeats):
            draft.findings.error("A116", _UNKNOWN, conjunct.span, _TIMED)
            return


_UNKNOWN = "with WITHIN n EVENTS and an open end, no moment is known at which a match could act"
_TIMED = "give a window of time, or end the pattern with one event"


def _is_open(shape: Shape, components: tuple[Component, ...], repeats: bool) -> bool:
    if isinstance(shape, Negated):
        return True
    if isinstance(shape, Leaf):
        return repeats and components[shape.component].repeats
    last = shape.parts[-1:] if shape.operator in ("SEQ", "NEXT") else shape.parts
    return any(_is_open(part, components, repeats) for part in last)


def refuse_open_count(query: CreateQuery, rule: CreateRule, findings: Findings) -> bool:
    """Return whether a rule may listen to a query; report one whose matches have no moment."""
    counted = query.within is not None and query.within.events
    if counted and _may_go_on(query.pattern, (query.strategy or "ANY") != "ANY"):
        findings.error("A116", _UNKNOWN, rule.query_span, _TIMED)
        return False
    return True


def _may_go_on(pattern: Pattern, repeats: bool) -> bool:
    """Return whether a pattern, as written, ends in what is negated or repeats."""
    if isinstance(pattern, Not):
        return True
    if isinstance(pattern, Written):
        return repeats and pattern.repetition is not None
    if isinstance(pattern, Edge):
        return pattern.which == "LAST"
    if isinstance(pattern, Group):
        parts = pattern.parts
        last = parts[-1:] if pattern.operator in ("SEQ", "NEXT") else parts
        return any(_may_go_on(part, repeats) for part in last)
    return False

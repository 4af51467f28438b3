"""Missed events: ALLOW, miss rates, and conditions on what was not seen.

A component may be missed if it is positive, takes one event and stands in the pattern's own SEQ:
gaps are measured between neighbours there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from difflib import get_close_matches

from augury.analysis.checked import Branch, Component, Conjunct, Leaf, Negated, PlayedBy
from augury.analysis.declarations.streams import report_rate
from augury.analysis.draft import Draft
from augury.analysis.expressions.attributes import find_component
from augury.analysis.expressions.equalities import equal_attributes
from augury.analysis.expressions.walk import attributes
from augury.analysis.findings import listing
from augury.language import expressions as ex

Signs = Mapping[str, int]


def chain(draft: Draft) -> tuple[int, ...]:
    """Return the plain components of the pattern's own SEQ, in order, negated ones too."""
    shape = draft.shape
    if isinstance(shape, Leaf):
        return (shape.component,)
    if not isinstance(shape, Branch) or shape.operator != "SEQ":
        return ()
    parts = [p.part if isinstance(p, Negated) else p for p in shape.parts]
    return tuple(p.component for p in parts if isinstance(p, Leaf))


def _missable(draft: Draft) -> tuple[int, ...]:
    found = (draft.components[i] for i in chain(draft))
    return tuple(c.index for c in found if not c.negated and not c.repeats)


def allowed_components_can_be_missed(draft: Draft) -> None:
    """ALLOW names positive components of the SEQ, and at least one of them."""
    allow = draft.statement.allow
    if allow is None:
        return
    if allow.count is not None and allow.count < 0:
        message = f"ALLOW {allow.count} MISSED is negative"
        draft.findings.error("A061", message, draft.clause("ALLOW"), "write 0 or more")
        return
    missable = _missable(draft)
    if allow.of:
        missable = tuple(i for name in allow.of for i in _named(draft, name, missable))
    elif not missable and allow.count != 0 and draft.complete:
        message = (
            "no component of the pattern can be missed: ALLOW applies to single events in a SEQ"
        )
        draft.findings.error("A061", message, draft.clause("ALLOW"), "remove ALLOW")
    draft.may_miss = tuple(sorted(set(missable))) if allow.count != 0 else ()
    draft.allow = min(len(draft.may_miss), len(missable) if allow.count is None else allow.count)


def _named(draft: Draft, name: str, missable: tuple[int, ...]) -> tuple[int, ...]:
    span = draft.word("ALLOW", name)
    component = find_component(draft, name, span)
    if component is None:
        return ()
    if component.index not in missable:
        message = f"ALLOW names {component.name}, which {_why_not(component)}"
        draft.findings.error("A061", message, span, "name positive components of the SEQ")
        return ()
    return (component.index,)


def _why_not(component: Component) -> str:
    if component.negated:
        return "is negated; its missed reads lower the confidence without ALLOW"
    if component.repeats:
        return "is a repetition; only single events can be missed"
    return "does not stand in the pattern's own SEQ"


def rates_are_of_components(draft: Draft) -> None:
    """MISS RATE (y 0.2) names components and gives rates; streams' rates fill the rest."""
    rates = [_declared_rate(draft, c) for c in draft.components]
    seen: set[int] = set()
    for rate in draft.statement.miss_rates:
        component = find_component(draft, rate.of, rate.span)
        if not 0 <= rate.rate < 1:
            report_rate(rate.of, rate.rate, rate.span, draft.findings)
        if component is None:
            continue
        if component.index in seen:
            message = f"the miss rate of {component.name} is given twice"
            draft.findings.error("A019", message, rate.span, "keep one of them")
        seen.add(component.index)
        rates[component.index] = rate.rate
    draft.miss_rates = tuple(rates)


def _declared_rate(draft: Draft, component: Component) -> float | None:
    """Return the rate that the component's stream declares: overall, or of its reader."""
    found: set[float | None] = set()
    for played in component.played_by:
        miss = draft.stream(played.stream).miss_rate
        if miss is None or miss.column is None:
            found.add(miss.overall if miss else None)
            continue
        value = _reader(draft, component, played)
        found.add(next((r.rate for r in miss.rates if r.of == value), miss.overall))
    return found.pop() if len(found) == 1 else None


def _reader(draft: Draft, component: Component, played: PlayedBy) -> str | None:
    """Return the value by which the stream gives rates, if the component has but one."""
    stream = draft.stream(played.stream)
    column = stream.miss_rate.column if stream.miss_rate else None
    if column is None:
        return None
    is_type = stream.type is not None and stream.type.lower() == column.lower()
    return played.type if is_type and played.type else _pinned_to(draft, component, column)


def _pinned_to(draft: Draft, component: Component, column: str) -> str | None:
    """Return the constant that a conjunct gives the column: `x.reader = 'A'`, defaults aside."""
    for conjunct in draft.conjuncts:
        node = conjunct.expression
        if (
            conjunct.components == (component.index,)
            and isinstance(node, ex.Binary)
            and node.operator == "="
        ):
            for a, b in ((node.left, node.right), (node.right, node.left)):
                if (
                    isinstance(a, ex.Attribute)
                    and a.name.lower() == column.lower()
                    and isinstance(b, ex.Literal)
                ):
                    return str(b.value)
    return None


def missing_needs_matches(draft: Draft) -> None:
    """Missed events belong to a match; a probability query has none."""
    if not draft.allow or not draft.returns_probability:
        return
    if not draft.wrote("ALLOW"):
        message = "SEQUENCE lets every event be missed, but the query returns a probability"
        hint = "write PATTERN SEQ(...) USING SKIP TILL ANY MATCH, or return the matches"
        draft.findings.error("A063", message, draft.clause("PATTERN"), hint)
    else:
        message = "ALLOW lets a match have missed events, but the query returns a probability"
        draft.findings.error(
            "A063", message, draft.clause("ALLOW"), "remove ALLOW, or return the matches"
        )


def missed_components_have_models(draft: Draft) -> None:
    """Note which components must be seen, or are taken as read, for want of a gap or a rate."""
    if draft.learn_gaps_from is not None:
        return
    timed = {g.earlier if g.backward else g.later for g in draft.gaps}
    for index in draft.may_miss if draft.allow else ():
        _note(draft, index, timed, "W003", "may be missed", "it must be seen")
    for component in draft.components if draft.allow or draft.gaps else ():
        if component.negated:
            _note(draft, component.index, timed, "W011", "is negated", "it is taken as read")


def _note(draft: Draft, index: int, timed: set[int], code: str, what: str, so: str) -> None:
    has = (("miss rate", draft.miss_rates[index]), ("gap", index in timed))
    lacks = listing([word for word, there in has if not there], "and no")
    if lacks:
        message = f"{draft.components[index].name} {what} but has no {lacks}, so {so}"
        hint = "declare MISS RATE and CREATE GAPS for it"
        span = draft.clause("ALLOW") if code == "W003" else draft.components[index].span
        draft.findings.note(code, message, span, hint)


def readers_are_listed(draft: Draft) -> None:
    """Warn where MISS RATE BY has no rate for a component, but one for a value much like its own.

    Without a gap, and where nothing may be missed, the rate does not matter.
    """
    timed = {g.earlier if g.backward else g.later for g in draft.gaps}
    for component in draft.components if draft.learn_gaps_from or timed else ():
        matters = component.negated or component.index in draft.may_miss
        is_timed = draft.learn_gaps_from is not None or component.index in timed
        if draft.miss_rates[component.index] is None and matters and is_timed:
            for played in component.played_by:
                _warn_of_near(draft, component, played)


def _warn_of_near(draft: Draft, component: Component, played: PlayedBy) -> None:
    miss, value = draft.stream(played.stream).miss_rate, _reader(draft, component, played)
    if miss is None or value is None:
        return
    others = {_reader(draft, c, by) for c in draft.components for by in c.played_by}
    free = {rate.of.lower(): rate.of for rate in miss.rates if rate.of not in others}
    near = get_close_matches(value.lower(), free, n=1)
    if near:
        message = (
            f"MISS RATE BY {miss.column} of stream {played.stream} gives no rate to '{value}', "
            f"which {component.name} is, but one to '{free[near[0]]}'"
        )
        hint = f"did you mean '{value}' there? a rate of 0 says that it is never missed"
        draft.findings.warning("W015", message, component.span, hint)


def components_are_told_apart(draft: Draft) -> None:
    """Warn of a component that every event fits: it is never missed where anything was read."""
    if not draft.allow or not draft.complete:
        return
    judged = {c.components[0] for c in draft.conjuncts if len(c.components) == 1}
    for component in draft.components:
        open_to = {played.stream for played in component.played_by if played.type is None}
        if component.index not in judged and open_to == {s.name for s in draft.streams}:
            message = f"every event fits {component.name}: no type and no condition of its own"
            hint = f"give it a type, or a condition such as {component.name}.reader = 'A'"
            draft.findings.warning("W013", message, component.span, hint)


def conditions_survive_a_miss(draft: Draft) -> None:
    """Conditions on the time of a missed component bound a difference to a neighbour."""
    if not draft.allow:
        return
    for conjunct in draft.conjuncts:
        exposed = [a for a in attributes(conjunct.expression) if _is_exposed(draft, a)]
        if not exposed or conjunct.derived:
            continue
        timed = [a for a in exposed if _is_time(draft, a)]
        if timed and not _bounds_neighbours(draft, conjunct):
            _report_time(draft, conjunct, timed[0])
        elif not timed and not _is_equality(conjunct):
            _warn_not_applied(draft, conjunct, exposed[0])


def _is_exposed(draft: Draft, attribute: ex.Attribute) -> bool:
    component = draft.component_named(attribute.component or "")
    return component is not None and component.index in draft.may_miss and attribute.default is None


def _is_time(draft: Draft, attribute: ex.Attribute) -> bool:
    component = draft.component_named(attribute.component or "")
    return component is not None and draft.is_time(component.index, attribute.name)


def _is_equality(conjunct: Conjunct) -> bool:
    node = conjunct.expression
    return (
        isinstance(node, ex.Binary) and node.operator == "=" and equal_attributes(node) is not None
    )


def _bounds_neighbours(draft: Draft, conjunct: Conjunct) -> bool:
    """Return whether the conjunct bounds the difference of two neighbours' times."""
    order = [i for i in chain(draft) if not draft.components[i].negated]
    places = [order.index(c) for c in conjunct.components if c in order]
    if len(conjunct.components) != 2 or len(places) != 2 or abs(places[0] - places[1]) != 1:
        return False
    return _is_difference_bound(draft, conjunct.expression)


def _is_difference_bound(draft: Draft, node: ex.Expression) -> bool:
    """Return whether two times are compared so that their difference lies in one interval."""
    match node:
        case ex.Between(negated=False):
            value, low, high = (_signs(draft, n) for n in (node.operand, node.low, node.high))
            return _differ(value, low) and _differ(value, high)
        case ex.Binary(operator="<" | "<=" | ">" | ">=" | "="):
            return _differ(_signs(draft, node.left), _signs(draft, node.right))
        case _:
            return False


def _differ(left: Signs | None, right: Signs | None) -> bool:
    """Return whether `left - right` is one time minus another, up to constants."""
    if left is None or right is None:
        return False
    total = Counter(left)
    total.subtract(right)
    return sorted(n for n in total.values() if n) == [-1, 1]


def _signs(draft: Draft, node: ex.Expression) -> Signs | None:
    """Return how often each component's time is added; None where the sum is of anything else."""
    match node:
        case ex.Attribute():
            return {node.component or "": 1} if _is_time(draft, node) else None
        case ex.Binary(operator="+" | "-"):
            left, right = _signs(draft, node.left), _signs(draft, node.right)
            if left is None or right is None:
                return None
            total = Counter(left)
            (total.update if node.operator == "+" else total.subtract)(right)
            return total
        case _:
            return {} if not any(True for _ in attributes(node)) else None


def _report_time(draft: Draft, conjunct: Conjunct, attribute: ex.Attribute) -> None:
    name = attribute.component
    message = f"the condition needs the time of {name}, which may be missed"
    hint = f"bound its difference to a neighbour, give a default, or leave {name} out of ALLOW"
    draft.findings.error("A062", message, conjunct.span, hint)


def _warn_not_applied(draft: Draft, conjunct: Conjunct, attribute: ex.Attribute) -> None:
    label = f"{attribute.component}.{attribute.name}"
    message = f"where {attribute.component} was missed, the condition on {label} is not applied"
    hint = f"give a default: {label}['...']"
    draft.findings.note("W004", message, conjunct.span, hint)

"""A query as a plain sequence: its positive components in order, with what must not lie between.

Chains carry sequences of single components; patterns of another make are evaluated from lineage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from augury.analysis.checked import Branch, CheckedQuery, Leaf, Negated, Shape

MOST_BITS = 30


def unsuited(query: CheckedQuery) -> str | None:
    """Return why a query is no sequence that a chain can carry, as the end of a sentence."""
    if query.allow or (any(query.miss_rates) and (query.gaps or query.learn_gaps_from)):
        return "lets events be missed"
    if any(stream.query is not None for stream in query.streams):
        return "reads events that are derived and may share base events"
    if slots_of(query) is None:
        return "is no sequence of single components"
    if query.within is not None and query.within.events:
        return "counts events in its window"
    if len(query.streams) > 1 and any(stream.order_by for stream in query.streams):
        return "reads several streams with tie-breakers, which do not compare"
    too_long = len(query.components) > MOST_BITS
    return f"has more than {MOST_BITS} components" if too_long else None


@dataclass(frozen=True, slots=True)
class Slot:
    """A positive component, with the negated ones that stand before it."""

    component: int
    guards: int
    minimum: int
    maximum: int | None


def slots_of(query: CheckedQuery) -> list[Slot] | None:
    """Return the sequence as slots; None where it is none, or a negation is at an end."""
    slots, guards = [], 0
    operators = ("SEQ", "NEXT") if _takes_neighbours(query) else ("SEQ",)
    for part in _in_order(query.shape, operators):
        inner = part.part if isinstance(part, Negated) else part
        if not isinstance(inner, Leaf) or (isinstance(part, Negated) and part.within is not None):
            return None
        component = query.components[inner.component]
        if isinstance(part, Negated):
            guards |= 1 << component.index
        else:
            slots.append(Slot(component.index, guards, component.minimum, component.maximum))
            guards = 0
    return slots if slots and not guards and not _may_lead(slots) else None


def _takes_neighbours(query: CheckedQuery) -> bool:
    """Return whether contiguity asks for the neighbours that NEXT(...) asks for, of one key."""
    keyless = not any(stream.key for stream in query.streams)
    return query.strategy == "PARTITION" or (query.strategy == "STRICT" and keyless)


def _in_order(shape: Shape, operators: tuple[str, ...]) -> Iterator[Shape]:
    """Yield the parts of a sequence; parts that are sequences themselves lie in it."""
    if isinstance(shape, Branch) and shape.operator in operators and shape.times is None:
        for part in shape.parts:
            yield from _in_order(part, operators)
    else:
        yield shape


def _may_lead(slots: list[Slot]) -> bool:
    """Return whether a negation may have nothing bound on one side of it."""
    before = all_optional = True
    for slot in slots:
        if slot.guards and before:
            return True
        before = before and slot.minimum == 0
    for slot in reversed(slots):
        all_optional = all_optional and slot.minimum == 0
        if slot.guards and all_optional:
            return True
    return False

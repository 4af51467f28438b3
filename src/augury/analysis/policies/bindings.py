"""Which types of a stream a statement binds: those whose loss could make a match of it appear.

What is negated, what may be missed, what next-match selection would take, and every type where it
matters which events are neighbours. A derived event that is bound binds what it is made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from augury.analysis.checked import Branch, CheckedQuery, Leaf, Negated, Shape
from augury.analysis.declarations.catalog import BoundType

EVERY = None
# The type (EVERY: all of them) and why.
Found = tuple[str | None, str]


def bound_by(
    query: CheckedQuery, streams: frozenset[str], queries: Mapping[str, CheckedQuery]
) -> Iterator[BoundType]:
    """Yield the types of a stream, known by any of some lower-case names, that a query binds."""
    whole = _needs_neighbours(query)
    for component in query.components:
        why = whole or _why(query, component.index)
        for by in component.played_by if why else ():
            if by.stream.lower() in streams:
                yield BoundType(EVERY if whole else by.type, query.name, why)
            else:
                for kind in made_of(by.stream, streams, queries):
                    yield BoundType(kind, query.name, f"{why}, in {by.stream}")
    reads = {stream.name.lower() for stream in query.streams}
    if whole and reads & streams:
        yield BoundType(EVERY, query.name, whole)
    for name in sorted(reads - streams) if whole else ():
        # What no component names stands between neighbours, too.
        for kind in made_of(name, streams, queries):
            yield BoundType(kind, query.name, f"{whole}, in {name}")
    if (query.learn_gaps_from or "").lower() in streams:
        yield BoundType(EVERY, query.name, "it learns its gaps from them")


def made_of(
    name: str, streams: frozenset[str], queries: Mapping[str, CheckedQuery]
) -> Iterator[str | None]:
    """Yield the types of a stream that the matches of a query are made of."""
    query = queries.get(name.lower())
    for component in query.components if query else ():
        for by in () if component.negated else component.played_by:
            if by.stream.lower() in streams:
                yield by.type
            else:
                yield from made_of(by.stream, streams, queries)


def reads(name: str, streams: frozenset[str], queries: Mapping[str, CheckedQuery]) -> bool:
    """Return whether a query reads a stream, itself or by the queries below it."""
    query = queries.get(name.lower())
    below = [stream.name.lower() for stream in query.streams] if query else []
    return any(each in streams or reads(each, streams, queries) for each in below)


def _needs_neighbours(query: CheckedQuery) -> str:
    if query.strategy in ("STRICT", "PARTITION"):
        return "the events of a match are neighbours"
    if query.within is not None and query.within.events:
        return "its window counts events"
    if query.after_match is not None:
        return "a match that is lost lets others be taken"
    if query.looks_beside:
        return "it reads the neighbours of its events"
    return "NEXT(...) needs neighbours" if _has_next(query.shape) else ""


def _has_next(shape: Shape) -> bool:
    if isinstance(shape, Leaf):
        return False
    if isinstance(shape, Negated):
        return _has_next(shape.part)
    return shape.operator == "NEXT" or any(map(_has_next, shape.parts))


def _why(query: CheckedQuery, number: int) -> str:
    """Return why a component is bound; nothing where it is not."""
    if query.components[number].negated:
        return "it is negated"
    if query.allow and number in query.may_miss:
        return "it may be missed"
    if query.strategy == "NEXT" and number != _single_first(query):
        return "the earliest event that fits is taken"
    return ""


def _single_first(query: CheckedQuery) -> int | None:
    """Return the component that every run starts with, if it is one event; None otherwise."""
    shape = query.shape
    parts = shape.parts if isinstance(shape, Branch) and shape.operator == "SEQ" else (shape,)
    first = next((part for part in parts if not isinstance(part, Negated)), None)
    if not isinstance(first, Leaf) or query.components[first.component].repeats:
        return None
    return first.component

"""A pattern and its events with time reversed: what ends a match begins it.

A search goes from the first event on, and can leave a start at its first match. Asked with which
events a match can end, it is run backwards: every event is the start of one search at most, however
many matches end with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from augury.matching.pattern import Edge, Guard, Pattern
from augury.records import Events


def reversed_pattern(pattern: Pattern) -> Pattern | None:
    """Return the pattern as it is met backwards; None if it is not single events in turn."""
    n, edges = len(pattern.edges), pattern.edges
    in_turn = [(edge.source, edge.target) for edge in edges] == [(k, k + 1) for k in range(n)]
    joined = any(edge.adjacent or edge.yields for edge in edges)
    other = pattern.repeats or pattern.stretches or pattern.variants or pattern.is_composite
    joined = joined or any(guard.kind != "GAP" for guard in pattern.guards)
    asked = pattern.count_window is not None or pattern.strategy != "ANY"
    if not in_turn or joined or other or asked:
        return None
    order = [edge.component for edge in reversed(edges)]
    return replace(
        pattern,
        edges=tuple(Edge(k, k + 1, component) for k, component in enumerate(order)),
        before=_turned(pattern.before),
        closed_by=_turned(pattern.closed_by),
        guards=tuple(map(_guard, pattern.guards)),
    )


def reversed_events(events: Events) -> Events:
    """Return the events with time running backwards."""
    return replace(events, time=-events.time, tie=-events.tie).take(slice(None, None, -1))


def _guard(guard: Guard) -> Guard:
    return replace(guard, earlier=guard.later, later=guard.earlier)


def _turned(bits: tuple[int, ...]) -> tuple[int, ...]:
    """Return the relation of components the other way round."""
    own = range(len(bits))
    return tuple(_bits(b for b in own if (bits[b] >> c) & 1) for c in own)


def _bits(components: Iterable[int]) -> int:
    return sum(1 << c for c in components)

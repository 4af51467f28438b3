"""Patterns without conditions, and how often one is matched, as live prefixes count it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from augury.privacy.pattern import Event, Pattern, Step
from augury.privacy.prefixes import Counted


def plain_pattern(name: str, types: Sequence[str], window: int) -> Pattern:
    """Return a sequence of types."""
    steps = tuple(Step(each, lambda _: True) for each in types)
    return Pattern(name, steps, window, ((),) * len(steps), ((),) * (len(steps) + 1))


def matches_in(pattern: Pattern, events: Iterable[Event]) -> float:
    """Return the expected number of matches over some events, in their order."""
    counted = Counted.of(pattern)
    for event in events:
        if event.type in pattern.types | pattern.guards:
            counted.add(event)
    return counted.matches

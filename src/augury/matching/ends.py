"""What lies at the ends of a pattern: before its first event, after its last, and when it is known.

No kernel is needed to tell, so planning asks here, too.
"""

from __future__ import annotations

from dataclasses import replace

from augury.matching.pattern import Pattern


def looks_back(pattern: Pattern) -> bool:
    """Whether a negation, with nothing taken before it, can forbid events before the match."""
    return any(
        can_lack(way, guard.earlier)
        for way in pattern.ways
        for guard in way.guards
        if guard.kind != "UNTIL"
    )


def alone(way: Pattern) -> Pattern:
    """Return one way to find a pattern, without its variants."""
    return replace(way, variants=())


def ends_late(pattern: Pattern) -> bool:
    """Whether a match may be known only at the end of its window, not at its last event."""
    return any(_ends_late(way) for way in pattern.ways)


def ends_with_any_event(pattern: Pattern) -> bool:
    """Whether an event that plays nothing may let a match be known: it ends a contiguous run."""
    return pattern.is_contiguous and any(_goes_on(way) for way in pattern.ways)


def _ends_late(pattern: Pattern) -> bool:
    waits = pattern.waits or any(
        can_lack(pattern, guard.later) for guard in pattern.guards if guard.kind != "UNTIL"
    )
    return waits or (pattern.strategy != "ANY" and _goes_on(pattern))


def _goes_on(pattern: Pattern) -> bool:
    """Whether a complete match may take further events."""
    left = {edge.source for edge in pattern.edges}
    return any(ends and state in left for state, ends in enumerate(pattern.accepting))


def can_lack(pattern: Pattern, components: int) -> bool:
    """Whether a match can do without any of the components (bits)."""
    reached, fresh = {0}, [0]
    while fresh:
        state = fresh.pop()
        for edge in pattern.edges:
            taken = edge.source == state and not (components >> edge.component) & 1
            if taken and edge.target not in reached:
                reached.add(edge.target)
                fresh.append(edge.target)
    return any(pattern.accepting[state] for state in reached)

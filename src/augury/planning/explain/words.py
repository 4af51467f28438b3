"""The words that all forms of EXPLAIN share: patterns, windows, strategies, edges and guards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from augury.analysis.checked import (
    CheckedQuery,
    CheckedWindow,
    Component,
    Leaf,
    Negated,
    Shape,
)
from augury.analysis.unread import gap_of
from augury.language.tree import Having
from augury.planning.missed.unseen import stretches_of
from augury.planning.pattern.automaton import Automaton, Guard, Skip, Transition
from augury.planning.pattern.residual import repetition_mark

STRATEGIES = {
    "ANY": "skip till any match",
    "NEXT": "skip till next match",
    "STRICT": "strict contiguity",
    "PARTITION": "partition contiguity",
}
_UNITS = (
    ("day", 86_400_000_000),
    ("hour", 3_600_000_000),
    ("minute", 60_000_000),
    ("second", 1_000_000),
    ("millisecond", 1_000),
)


def shape_text(shape: Shape, components: Sequence[Component]) -> str:
    """Return a pattern in the language's own spelling, by component names."""
    if isinstance(shape, Leaf):
        part = components[shape.component]
        return part.name + repetition_mark(part.minimum, part.maximum)
    if isinstance(shape, Negated):
        return "!" + shape_text(shape.part, components)
    own = [replace(c, minimum=1, maximum=1) for c in components] if shape.times else components
    text = f"{shape.operator}({', '.join(shape_text(p, own) for p in shape.parts)})"
    return f"({text}){repetition_mark(*shape.times)}" if shape.times else text


def counted(number: int, noun: str) -> str:
    """Return `1 state` or `3 states`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def after_match_text(query: CheckedQuery) -> str:
    """Return where the search goes on after a match."""
    skip = query.after_match
    assert skip is not None
    if skip.component is not None:
        name = query.components[skip.component].name
        return f"after a match on with the {skip.to.lower()} {name}"
    return f"after a match on {'behind it' if skip.to == 'PAST LAST' else 'behind its first event'}"


def threshold_of(query: CheckedQuery) -> Having | None:
    """Return the threshold of a query, whenever it is asked."""
    return query.having if query.after_match is None else query.after_match.having


def window_text(window: CheckedWindow, query: CheckedQuery) -> str:
    """Return a window's length as people say it."""
    if window.events:
        return counted(window.length, "event")
    return length_text(window.length, query)


def length_text(length: int, query: CheckedQuery) -> str:
    """Return a length of time in the largest unit that divides it."""
    if any(stream.time_is_ticks for stream in query.streams):
        return counted(length, "tick")
    for unit, size in _UNITS:
        if length % size == 0 and length:
            return counted(length // size, unit)
    return counted(length, "microsecond")


def played_text(component: Component) -> str:
    """Return who plays a component: `SHELF of reads`, `any event of reads`, `no event of reads`."""
    no, some = ("no ", "no event") if component.negated else ("", "any event")
    return (" and " if component.negated else " or ").join(
        f"{no}{by.type} of {by.stream}" if by.type is not None else f"{some} of {by.stream}"
        for by in component.played_by
    )


def transition_text(transition: Transition, names: Sequence[str]) -> str:
    """Return an edge's label: the component, `again` in a loop, and its neighbour in a NEXT."""
    text = names[transition.component]
    if transition.again:
        text += " again"
    if transition.adjacent_to:
        text += " next to " + " or ".join(names[c] for c in transition.adjacent_to)
    return text


def skip_text(skip: Skip, names: Sequence[str]) -> str:
    """Return the label of an edge over missed components, with the best it can score."""
    missed = ", ".join(names[c] for c in skip.components) + " missed"
    return f"{missed}, at most {skip.best:.3g}" if skip.best else missed


def removed_text(skip: Skip, query: CheckedQuery, names: Sequence[str]) -> str:
    """Return why an edge over missed components was taken out."""
    lacking: dict[str, list[str]] = {}
    for component in skip.components:
        if lack := lack_text(query, component):
            lacking.setdefault(lack, []).append(names[component])
    if skip.best == 0.0 and lacking:
        whys = (
            f"{' and '.join(n)} {'has' if len(n) == 1 else 'have'} {w}" for w, n in lacking.items()
        )
        who = "it" if sum(map(len, lacking.values())) == 1 else "they"
        return f"removed: {', and '.join(whys)}, so {who} must be seen"
    if skip.best == 0.0:
        return f"removed: {_why_never(skip, query)}"
    threshold = query.having.threshold if query.having else 0.0
    return f"removed: below the threshold {threshold:g}"


def _why_never(skip: Skip, query: CheckedQuery) -> str:
    if stretches_of(query, frozenset(skip.components)) is not None:
        return "the window is too short for it"
    them = "it" if len(skip.components) == 1 else "them all"
    return f"no gap times {them} from a seen component"


def lack_text(query: CheckedQuery, component: int) -> str:
    """Return what a component lacks without which nobody can tell that it was missed."""
    lacks = [] if gap_of(query, component) else ["gap"]
    lacks += [] if query.miss_rates[component] else ["miss rate"]
    return f"no {' and no '.join(lacks)}" if lacks else ""


def guard_text(guard: Guard, components: Sequence[Component]) -> str:
    """Return what a guard forbids, and where: `no y between x and z`."""
    what = "no " + shape_text(guard.part, components)
    before = _nearest(guard.earlier, components)
    after = _nearest(guard.later, components)
    if guard.is_leading:
        return f"{what} before {after}, as far back as the window reaches"
    if guard.is_trailing:
        return f"{what} after {before}, until the window has passed"
    return f"{what} between {before} and {after}"


def _nearest(parts: tuple[tuple[int, ...], ...], components: Sequence[Component]) -> str:
    # An optional neighbour may be absent; then the one beyond it bounds the gap.
    names = [" / ".join(components[c].name for c in part) for part in parts[:2]]
    if len(parts) > 1 and all(components[c].minimum == 0 for c in parts[0]):
        return f"{names[0]} (or {names[1]})"
    return names[0] if names else "the start"


def automaton_title(automaton: Automaton) -> str:
    """Return the automaton's size in words."""
    pieces = [
        counted(len(automaton.states), "state"),
        counted(len(automaton.transitions), "transition"),
    ]
    if automaton.skips:
        pieces.append(f"{counted(len(automaton.skips), 'edge')} over missed events")
    if automaton.guards:
        pieces.append(counted(len(automaton.guards), "guard"))
    return ", ".join(pieces)

"""Patterns with parts left out: a part is named by its path, the places on the way down to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, product

from augury.language.tree import Component, Edge, Group, Not, Pattern, Subgoals

Path = tuple[int, ...]
# Alternatives of OR are tried one by one; a pattern of more than these is tried by its first ones.
MOST_VARIANTS = 16


@dataclass(frozen=True, slots=True)
class Cut:
    """What is left of a pattern.

    `gone` are the paths of parts that are left out, `branches` which part of an OR is taken, and
    `least` how few events of a repetition will do. `loose` makes SEQ of NEXT; `unfiltered` are the
    paths of components without their filter, `endless` of those without their UNTIL.
    """

    gone: frozenset[Path] = frozenset()
    branches: tuple[tuple[Path, int], ...] = ()
    least: tuple[tuple[Path, int], ...] = ()
    loose: bool = False
    unfiltered: frozenset[Path] = frozenset()
    endless: frozenset[Path] = frozenset()


def cut(pattern: Pattern, what: Cut, at: Path = ()) -> Pattern | None:
    """Return what is left of a pattern; None where nothing is that an event could play."""
    if at in what.gone:
        return pattern.component if isinstance(pattern, Edge) else None
    if isinstance(pattern, Not | Subgoals):
        return pattern
    if isinstance(pattern, Edge):
        inner = _component(pattern.component, what, (*at, 0))
        return None if inner is None else replace(pattern, component=inner)
    if isinstance(pattern, Component):
        return _component(pattern, what, at)
    return _group(pattern, what, at)


def _component(component: Component, what: Cut, at: Path) -> Component | None:
    if at in what.gone:
        return None
    least = dict(what.least).get(at)
    if least is not None and component.repetition is not None:
        component = replace(component, repetition=replace(component.repetition, minimum=least))
    if at in what.unfiltered:
        component = replace(component, filter=None)
    return replace(component, until=None) if at in what.endless else component


def _group(group: Group, what: Cut, at: Path) -> Pattern | None:
    chosen = dict(what.branches).get(at)
    if chosen is not None:
        return cut(group.parts[chosen], what, (*at, chosen))
    parts = [cut(part, what, (*at, k)) for k, part in enumerate(group.parts)]
    left = tuple(part for part in parts if part is not None)
    if not any(not isinstance(part, Not) for part in left):
        return None
    operator = "SEQ" if what.loose and group.operator == "NEXT" else group.operator
    if len(left) == 1 and group.repetition is None:
        return left[0]
    return replace(group, operator=operator, parts=left)


def nodes(pattern: Pattern, at: Path = ()) -> Iterator[tuple[Path, Pattern]]:
    """Yield every part with its path.

    What stands inside a negation is not looked into, nor a group that may be absent, or must be
    there several times.
    """
    yield at, pattern
    if isinstance(pattern, Group) and _is_once(pattern):
        for k, part in enumerate(pattern.parts):
            yield from nodes(part, (*at, k))
    elif isinstance(pattern, Edge):
        yield (*at, 0), pattern.component


def _is_once(group: Group) -> bool:
    return group.repetition is None or group.repetition.minimum == 1


def positives(pattern: Pattern) -> list[tuple[Path, Component]]:
    """Return the components that events must play, in the order of the text."""
    return [(at, each) for at, each in nodes(pattern) if isinstance(each, Component)]


def negations(pattern: Pattern) -> list[tuple[Path, Pattern]]:
    """Return what forbids events: negated parts, FIRST and LAST."""
    return [(at, each) for at, each in nodes(pattern) if isinstance(each, Not | Edge)]


def variants(pattern: Pattern) -> list[Cut]:
    """Return the ways to choose a part of each OR; one way, where there is none."""
    places = [
        (at, range(len(each.parts)))
        for at, each in nodes(pattern)
        if isinstance(each, Group) and each.operator == "OR"
    ]
    choices = product(*(ways for _, ways in places))
    paths = [at for at, _ in places]
    return [
        Cut(branches=tuple(zip(paths, each, strict=True)))
        for each in islice(choices, MOST_VARIANTS)
    ]


def beside(pattern: Pattern, gone: Path) -> set[Path]:
    """Return the negations whose stretch is longer without a component: the next to it in a SEQ."""
    found: set[Path] = set()
    for at, each in nodes(pattern):
        if not isinstance(each, Group) or each.operator != "SEQ" or gone[: len(at)] != at:
            continue
        place = gone[len(at)] if len(gone) > len(at) else 0
        for step in (-1, 1):
            k = place + step
            while 0 <= k < len(each.parts) and isinstance(each.parts[k], Not | Edge):
                found.add((*at, k))
                k += step
    return found


def name_of(component: Component) -> str:
    """Return what conditions and answers call a component."""
    return component.name or component.word


def names_in(pattern: Pattern | None) -> set[str]:
    """Return the names of all components, negated ones too, in lower case."""
    if pattern is None:
        return set()
    if isinstance(pattern, Component):
        return {name_of(pattern).lower()}
    if isinstance(pattern, Not):
        return names_in(pattern.part)
    if isinstance(pattern, Edge):
        return names_in(pattern.component)
    if isinstance(pattern, Group):
        own = {pattern.name.lower()} if pattern.name else set()
        return own | {name for part in pattern.parts for name in names_in(part)}
    return set()


def minimum_of(component: Component) -> int:
    """Return how many events a component needs."""
    return 1 if component.repetition is None else component.repetition.minimum

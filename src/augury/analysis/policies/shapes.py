"""The shape of a query as a policy sees it: what is positive, and where each negation lies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from augury.analysis.checked import Branch, Component, Leaf, Negated, Shape

Components = frozenset[int]
NONE: Components = frozenset()


@dataclass(frozen=True, slots=True)
class Gap:
    """A negated component and where its gap lies: after all of `earlier`, before all of `later`.

    `company` are the positive components of its own SEQ. `leads`: it may be that nothing of
    `earlier` is held.
    """

    component: int
    earlier: Components
    later: Components
    company: Components
    leads: bool


def positive_shape(shape: Shape) -> Shape | None:
    """Return the shape without negations, in which neighbours need not be any."""
    if isinstance(shape, Leaf):
        return shape
    if isinstance(shape, Negated):
        return None
    parts = tuple(own for part in shape.parts if (own := positive_shape(part)) is not None)
    if len(parts) < 2 and shape.times is None:
        return parts[0] if parts else None
    return Branch("SEQ" if shape.operator == "NEXT" else shape.operator, parts, shape.times)


def positive(shape: Shape) -> Components:
    """Return the components that are not negated."""
    if isinstance(shape, Leaf):
        return frozenset((shape.component,))
    if isinstance(shape, Negated):
        return NONE
    return NONE.union(*map(positive, shape.parts))


def gaps_of(shape: Shape, components: Sequence[Component]) -> Iterator[Gap]:
    """Yield the gaps of negated components; of negated composites none."""
    yield from _gaps(shape, components, NONE, NONE, True)


def _gaps(
    shape: Shape,
    components: Sequence[Component],
    earlier: Components,
    later: Components,
    leads: bool,
) -> Iterator[Gap]:
    for place, part in enumerate(shape.parts) if isinstance(shape, Branch) else ():
        before, after, free = earlier, later, leads
        if isinstance(shape, Branch) and shape.operator in ("SEQ", "NEXT"):
            own = shape.parts[:place]
            before = before.union(*map(positive, own))
            after = after.union(*map(positive, shape.parts[place + 1 :]))
            free = free and not any(is_needed(each, components) for each in own)
        if isinstance(part, Negated):
            if isinstance(part.part, Leaf):
                yield Gap(part.part.component, before, after, positive(shape), free)
        else:
            yield from _gaps(part, components, before, after, free)


def is_needed(shape: Shape, components: Sequence[Component]) -> bool:
    """Whether every match holds an event of a part."""
    if isinstance(shape, Leaf):
        return components[shape.component].minimum > 0
    if isinstance(shape, Negated) or (shape.times is not None and shape.times[0] == 0):
        return False
    every = all if shape.operator == "OR" else any
    return every(is_needed(part, components) for part in shape.parts)


def rounds_of(shape: Shape) -> Iterator[Branch]:
    """Yield the groups that repeat, outermost only."""
    if isinstance(shape, Branch):
        if shape.times is not None:
            yield shape
        else:
            for part in shape.parts:
                yield from rounds_of(part)


def unordered(shape: Shape) -> Iterator[tuple[Components, Components]]:
    """Yield the components of each two parts that may come in any order."""
    if isinstance(shape, Branch):
        if shape.operator == "AND":
            yield from combinations(map(positive, shape.parts), 2)
        for part in shape.parts:
            yield from unordered(part)


def beginning(shape: Shape, components: Sequence[Component]) -> Components:
    """Return the components that may hold the first event of a match."""
    if isinstance(shape, Leaf):
        return frozenset((shape.component,))
    if isinstance(shape, Negated):
        return NONE
    found = NONE
    for part in shape.parts:
        found |= beginning(part, components)
        if shape.operator in ("SEQ", "NEXT") and is_needed(part, components):
            break
    return found


def companions(shape: Shape, one: int) -> Components:
    """Return the components that a match may hold beside one."""
    if not isinstance(shape, Branch):
        return positive(shape)
    if shape.operator == "OR":
        return NONE.union(*(companions(p, one) for p in shape.parts if one in positive(p)))
    return NONE.union(
        *(companions(p, one) if one in positive(p) else positive(p) for p in shape.parts)
    )


def is_made_of(
    shape: Shape, components: Sequence[Component], has: Callable[[Iterable[str | None]], bool]
) -> bool:
    """Whether a match can be made of components of which each has some types."""
    if isinstance(shape, Leaf):
        own = components[shape.component]
        return own.minimum == 0 or has(by.type for by in own.played_by)
    if isinstance(shape, Negated):
        return True
    every = any if shape.operator == "OR" else all
    return every(is_made_of(part, components, has) for part in shape.parts)

"""The words over components that a shape accepts, straight from the definition: slow and obvious.

A word says which component each event of a match plays, in order. Nothing of the planner is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from augury.analysis.checked import Component, Leaf, Negated, Shape

Word = tuple[int, ...]


def words_of(shape: Shape, components: Sequence[Component], longest: int) -> set[Word]:
    """Return every accepted word of at most `longest` events."""
    if isinstance(shape, Leaf):
        component = components[shape.component]
        most = longest if component.maximum is None else min(longest, component.maximum)
        return {(shape.component,) * n for n in range(component.minimum, most + 1)}
    if isinstance(shape, Negated):
        return {()}
    languages = [words_of(part, components, longest) for part in shape.parts]
    if shape.operator == "OR":
        return set().union(*languages)
    join = interleaved if shape.operator == "AND" else concatenated
    return reduce(lambda one, other: join(one, other, longest), languages)


def concatenated(one: set[Word], other: set[Word], longest: int) -> set[Word]:
    return {a + b for a in one for b in other if len(a + b) <= longest}


def interleaved(one: set[Word], other: set[Word], longest: int) -> set[Word]:
    return {w for a in one for b in other if len(a + b) <= longest for w in shuffles(a, b)}


def shuffles(a: Word, b: Word) -> set[Word]:
    if not a or not b:
        return {a + b}
    return {(a[0], *w) for w in shuffles(a[1:], b)} | {(b[0], *w) for w in shuffles(a, b[1:])}

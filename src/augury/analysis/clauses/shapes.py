"""Questions about shapes: which components lie inside, at an end, or are always there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from augury.analysis.checked import Branch, Component, Leaf, Negated, Shape


def leaves(shape: Shape) -> Iterator[int]:
    """Yield the component indices inside, in order."""
    match shape:
        case Leaf(component=component):
            yield component
        case Negated(part=part):
            yield from leaves(part)
        case Branch(parts=parts):
            for part in parts:
                yield from leaves(part)


def can_be_empty(shape: Shape, components: Sequence[Component]) -> bool:
    """Return whether the shape can match without a positive event."""
    match shape:
        case Leaf(component=component):
            return components[component].minimum == 0
        case Negated():
            return True
        case Branch(times=(least, _)):
            return least == 0
        case Branch(operator="OR", parts=parts):
            return any(can_be_empty(p, components) for p in parts)
        case Branch(parts=parts):
            return all(can_be_empty(p, components) for p in parts)


def always_present(shape: Shape, components: Sequence[Component]) -> frozenset[int]:
    """Return the positive components that take an event in every match."""
    match shape:
        case Leaf(component=component):
            return frozenset({component} if components[component].minimum > 0 else ())
        case Negated() | Branch(operator="OR"):
            return frozenset()
        case Branch(parts=parts):
            return frozenset().union(*(always_present(p, components) for p in parts))


def at_an_end(shape: Shape, components: Sequence[Component], last: bool) -> frozenset[int]:
    """Return the positive components that can take the first (or `last`) event of a match."""
    match shape:
        case Leaf(component=component):
            return frozenset({component})
        case Negated():
            return frozenset()
        case Branch(operator="SEQ" | "NEXT", parts=parts):
            found: frozenset[int] = frozenset()
            for part in reversed(parts) if last else parts:
                found |= at_an_end(part, components, last)
                if not can_be_empty(part, components):
                    break
            return found
        case Branch(parts=parts):
            return frozenset().union(*(at_an_end(p, components, last) for p in parts))


def end_negations(
    shape: Shape, components: Sequence[Component], ends: tuple[bool, bool] = (True, True)
) -> Iterator[tuple[Negated, bool]]:
    """Yield negations that can be at the start (False) or the end (True) of the pattern itself.

    `ends` says whether the shape can be the first, and the last, that takes an event.
    """
    if not isinstance(shape, Branch):
        return
    ordered = shape.operator in ("SEQ", "NEXT")
    for i, part in enumerate(shape.parts):
        before, after = (shape.parts[:i], shape.parts[i + 1 :]) if ordered else ((), ())
        first = ends[0] and all(can_be_empty(p, components) for p in before)
        last = ends[1] and all(can_be_empty(p, components) for p in after)
        if not isinstance(part, Negated):
            yield from end_negations(part, components, (first, last))
        elif part.within is None and (first or last):
            yield part, last


def operators(shape: Shape) -> frozenset[str]:
    """Return the operators used outside negations."""
    match shape:
        case Branch(operator=operator, parts=parts):
            return frozenset({operator}).union(*(operators(p) for p in parts))
        case _:
            return frozenset()


def pattern_text(shape: Shape, components: Sequence[Component]) -> str:
    """Return the shape as people write it, such as `SEQ(a+, !y, b)`."""
    match shape:
        case Leaf(component=index):
            return label(components[index]) + repetition_text(components[index])
        case Negated(part=part):
            return "!" + pattern_text(part, components)
        case Branch(operator=operator, parts=parts, times=times):
            # What repeats in a group is the group.
            own = [replace(c, minimum=1, maximum=1) for c in components] if times else components
            text = f"{operator}({', '.join(pattern_text(p, own) for p in parts)})"
            return f"({text}){repetition_mark(*times)}" if times else text


def label(component: Component) -> str:
    """Return a component's name, or its type where the name was made up."""
    if component.named or len(component.played_by) != 1:
        return component.name
    return component.played_by[0].type or component.played_by[0].stream


def repetition_text(component: Component) -> str:
    """Return the mark of a repetition: `+`, `*`, `?` or `{2,5}`."""
    return repetition_mark(component.minimum, component.maximum)


def repetition_mark(low: int, high: int | None) -> str:
    """Return `+`, `*`, `?`, `{2,5}` or nothing, as a pattern spells it."""
    marks = {(1, 1): "", (1, None): "+", (0, None): "*", (0, 1): "?"}
    if (mark := marks.get((low, high))) is not None:
        return mark
    if low == high:
        return f"{{{low}}}"
    return f"{{{low},{'' if high is None else high}}}"

"""What a match does not see, as stretches: missed components and negated ones, with their gaps.

A stretch lies between two seen parts of the pattern's own SEQ, or at one of its ends. A negated
component without a gap or a miss rate is taken as read: it has no part in a score.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from augury.analysis.checked import Branch, CheckedQuery, Leaf, Negated, Shape
from augury.analysis.unread import gap_of
from augury.gaps.families import Gap
from augury.gaps.stretch import Backward, Ends, Forward, Step, Stretch, Unseen
from augury.gaps.stretch import missed_in as missed_parts
from augury.planning.missed.time_bounds import bounds_between
from augury.planning.pattern.residual import positive_components
from augury.planning.refusal import NOT_EVALUATED, PlanError

Missed = frozenset[int]
# Integrals over what shares the window with a negation are nested; more than two take minutes.
MOST_AT_ENDS = 2


@dataclass(frozen=True, slots=True)
class Placed:
    """A stretch, between the seen components of `earlier` and of `later` (empty: an end)."""

    earlier: tuple[int, ...]
    later: tuple[int, ...]
    stretch: Stretch


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the SEQ: its positive components, or the one negated component."""

    components: tuple[int, ...]
    negated: bool = False
    missed: bool = False

    @property
    def is_seen(self) -> bool:
        return not self.negated and not self.missed


def _unseen(query: CheckedQuery, component: int, other: int | None) -> Unseen | None:
    """Return the component with its model, if it has one that times it from the `other`."""
    gap, rate = gap_of(query, component), query.miss_rates[component]
    if gap is None or not rate:
        return None
    origin = gap.later if gap.backward else gap.earlier
    if origin != other:
        return None
    model = Gap(gap.family, gap.parameters, gap.reaches)
    return Unseen(component, model, rate, query.components[component].negated)


# Stretches ------------------------------------------------------------------------------------


def parts_of(query: CheckedQuery, missed: Missed = frozenset()) -> tuple[Part, ...]:
    """Return the parts of the pattern's own SEQ; composite negations are taken as read."""
    shape = query.shape
    shapes: tuple[Shape, ...] = (shape,)
    if isinstance(shape, Branch):
        shapes = shape.parts if shape.operator == "SEQ" else ()
    return tuple(_parts(shapes, missed))


def _parts(shapes: tuple[Shape, ...], missed: Missed) -> Iterator[Part]:
    for part in shapes:
        if isinstance(part, Negated):
            if isinstance(part.part, Leaf):
                yield Part((part.part.component,), negated=True)
        else:
            own = positive_components(part)
            yield Part(own, missed=isinstance(part, Leaf) and part.component in missed)


def stretches_of(query: CheckedQuery, missed: Missed) -> tuple[Placed, ...] | None:
    """Return what such a match leaves unseen; None where the missed ones cannot be scored so."""
    parts = parts_of(query, missed)
    seen = [k for k, part in enumerate(parts) if part.is_seen]
    if not seen:
        return None if missed else ()
    runs = zip([-1, *seen], [*seen, len(parts)], strict=True)
    found = [_between(query, parts, low, high) for low, high in runs]
    if any(each is None for each in found):
        return None
    placed = [each for each in found if each is not None and each.stretch is not NOTHING]
    return _joined_ends(query, placed)


NOTHING = Forward(())


def _between(query: CheckedQuery, parts: tuple[Part, ...], low: int, high: int) -> Placed | None:
    """Return the stretch between two seen parts; None where a missed one has no gap there."""
    inner = parts[low + 1 : high]
    earlier = tuple(c for part in parts[: max(low + 1, 0)] for c in part.components if part.is_seen)
    later = tuple(c for part in parts[high:] for c in part.components if part.is_seen)
    after = parts[high] if high < len(parts) else None
    stretch = (
        _forward(query, parts[low], inner, after) if low >= 0 else _backward(query, inner, after)
    )
    if stretch is None:
        return None
    return Placed(earlier, later, stretch)


def _origin(part: Part | None) -> int | None:
    """Return the one component that others can be timed from, if the part is one."""
    return part.components[0] if part is not None and len(part.components) == 1 else None


def _forward(
    query: CheckedQuery, before: Part, inner: tuple[Part, ...], after: Part | None
) -> Forward | None:
    steps, negated = list[Step](), list[Unseen]()
    origin = _origin(before)
    for part in inner:
        own = _unseen(query, part.components[0], origin)
        if part.negated:
            negated += [own] if own else []
            continue
        if own is None:
            return None
        low, high = bounds_between(query, origin, own.component)
        steps.append(Step(tuple(negated), own, low, high))
        negated, origin = [], own.component
    low, high = bounds_between(query, origin, _origin(after)) if steps else (0.0, math.inf)
    if not steps and not negated:
        return NOTHING
    return Forward((*steps, Step(tuple(negated), None, low, high)))


def _backward(query: CheckedQuery, inner: tuple[Part, ...], after: Part | None) -> Stretch | None:
    missed = [k for k, part in enumerate(inner) if part.missed]
    if len(missed) > 1:
        return None
    if not missed:
        before = _negated(query, inner, _origin(after))
        return Backward(before=before) if before else NOTHING
    (k,) = missed
    own = inner[k].components[0]
    first = _unseen(query, own, _origin(after))
    if first is None:
        return None
    low, high = bounds_between(query, own, _origin(after))
    return Backward(
        first, _negated(query, inner[k + 1 :], own), _negated(query, inner[:k], own), low, high
    )


def _negated(query: CheckedQuery, parts: tuple[Part, ...], other: int | None) -> tuple[Unseen, ...]:
    found = (_unseen(query, part.components[0], other) for part in parts)
    return tuple(each for each in found if each is not None)


# Ends -----------------------------------------------------------------------------------------


def _joined_ends(query: CheckedQuery, placed: list[Placed]) -> tuple[Placed, ...]:
    """Return the stretches, with those at both ends as one where they share the window."""
    start = next((p for p in placed if not p.earlier), None)
    end = next((p for p in placed if not p.later), None)
    if start is None or end is None or start is end:
        return tuple(placed)
    own, other = start.stretch, end.stretch
    assert isinstance(own, Backward)
    assert isinstance(other, Forward)
    if own.first is None and len(other.steps) == 1:
        return tuple(placed)
    n_missed = len(missed_parts(Ends(own, other)))
    if n_missed > MOST_AT_ENDS and (own.before or any(step.negated for step in other.steps)):
        raise PlanError(
            NOT_EVALUATED,
            f"query {query.name} may miss {n_missed} components at its ends and has a negation "
            "with a gap there, which all share the window: that is checked and explained, but not "
            "evaluated",
            "name in ALLOW ... OF the components that may be missed, or leave out the gap",
        )
    both = Placed((), (), Ends(own, other))
    return tuple(both if p is start else p for p in placed if p is not end)


def missed_in(stretch: Stretch) -> tuple[int, ...]:
    """Return the components that a stretch takes as missed."""
    return tuple(part.component for part in missed_parts(stretch))


def with_guards(shape: Shape, missed: Missed) -> Shape:
    """Return the pattern in which nothing that fits a missed component may have been read."""
    if isinstance(shape, Leaf):
        return Negated(shape) if shape.component in missed else shape
    if isinstance(shape, Branch):
        return replace(shape, parts=tuple(with_guards(part, missed) for part in shape.parts))
    return shape

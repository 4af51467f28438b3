"""Residual patterns: what may still come after some events were taken, and how to take one more.

This is Brzozowski's derivative, taken by component instead of by letter. Every component stands
once in a pattern, so the derivative by a component is one residual, and the automaton built from
residuals is deterministic over components. Negations are left out: they guard gaps, not states.

`steps` lists the derivatives in the order in which SKIP TILL NEXT MATCH prefers them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from augury.analysis.checked import Branch, Component, Leaf, Negated, Shape
from augury.planning.pattern.automaton import Joint


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing more is needed, and nothing more may come."""


@dataclass(frozen=True, slots=True)
class Take:
    """A component that still needs `need` events and has room for `room` (None: no limit).

    `started` is True once it holds an event; `contiguous` where the events of the repetition must
    be neighbours, because it is a part of a NEXT.
    """

    component: int
    need: int
    room: int | None
    started: bool = False
    contiguous: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """SEQ or NEXT: parts in order; adjacency of a NEXT is on the parts themselves."""

    operator: str
    parts: tuple[Residual, ...]


@dataclass(frozen=True, slots=True)
class Adjoin:
    """A part of a NEXT, of the components `own`: its first event is the neighbour of `to`'s last.

    Kept once the part has begun only where ties can make several first events.
    """

    part: Residual
    to: tuple[int, ...]
    own: tuple[int, ...]
    begun: bool = False


@dataclass(frozen=True, slots=True)
class Shuffle:
    """AND: all parts, their events in any interleaving."""

    parts: tuple[Residual, ...]


@dataclass(frozen=True, slots=True)
class Choose:
    """OR: one of the parts, decided by the first event."""

    parts: tuple[Residual, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A group that repeats: `need` more rounds, and room for `room` (None: no limit)."""

    body: Residual
    need: int
    room: int | None


Residual = Done | Take | Chain | Adjoin | Shuffle | Choose | Loop
DONE = Done()


@dataclass(frozen=True, slots=True)
class Step:
    """One derivative: an event for `component`, then `rest`.

    `yields` marks a repetition past its minimum, which gives way to what comes after it.
    """

    component: int
    rest: Residual
    again: bool = False
    adjacent_to: tuple[int, ...] = ()
    yields: bool = False
    joints: tuple[Joint, ...] = ()


# From shapes ---------------------------------------------------------------------------------


def residual_of(shape: Shape, components: Sequence[Component]) -> Residual:
    """Return the residual of the whole shape, before any event."""
    if isinstance(shape, Leaf):
        component = components[shape.component]
        take = Take(component.index, component.minimum, component.maximum)
        return DONE if component.maximum == 0 else take
    if isinstance(shape, Negated):
        return DONE
    if shape.times is not None:
        once = [replace(c, minimum=1, maximum=1) for c in components]
        loop = Loop(residual_of(replace(shape, times=None), once), *shape.times)
        return DONE if loop.room == 0 else loop
    parts = [residual_of(p, components) for p in shape.parts if not isinstance(p, Negated)]
    if shape.operator == "AND":
        return _shuffle(parts)
    if shape.operator == "OR":
        return Choose(tuple(parts)) if len(parts) > 1 else parts[0]
    return _chain("SEQ", parts) if shape.operator == "SEQ" else _adjoined(parts)


def positive_components(shape: Shape) -> tuple[int, ...]:
    """Return the components of a shape that are not inside a negation, in the order written."""
    if isinstance(shape, Leaf):
        return (shape.component,)
    if isinstance(shape, Negated):
        return ()
    return tuple(c for part in shape.parts for c in positive_components(part))


def components_within(shape: Shape) -> tuple[int, ...]:
    """Return every component of a shape, negated ones too, in the order written."""
    if isinstance(shape, Leaf):
        return (shape.component,)
    if isinstance(shape, Negated):
        return components_within(shape.part)
    return tuple(c for part in shape.parts for c in components_within(part))


def components_always_bound(shape: Shape, components: Sequence[Component]) -> frozenset[int]:
    """Return the components that hold an event in every match in which nothing was missed."""
    if isinstance(shape, Leaf):
        return frozenset({shape.component} if components[shape.component].minimum else ())
    if isinstance(shape, Negated):
        return frozenset()
    if shape.times is not None and shape.times[0] == 0:
        return frozenset()
    parts = [components_always_bound(part, components) for part in shape.parts]
    return parts[0].intersection(*parts) if shape.operator == "OR" else frozenset().union(*parts)


def branches_within(shape: Shape) -> Iterator[Branch]:
    """Yield the branches outside negations, outermost first, down to groups that repeat."""
    if isinstance(shape, Branch):
        yield shape
    if isinstance(shape, Branch) and shape.times is None:
        for part in shape.parts:
            yield from branches_within(part)


def _adjoined(parts: list[Residual]) -> Residual:
    tied: list[Residual] = []
    for index, part in enumerate(parts):
        whole = _contiguous(part)
        before = _just_before(parts[:index])
        tied.append(Adjoin(whole, before, _mentioned(whole)) if index else whole)
    return _chain("NEXT", tied)


def _just_before(earlier: list[Residual]) -> tuple[int, ...]:
    # An optional part may be absent, so the neighbour may belong to the part before that; the last
    # event bound to any of them is the right one in both cases.
    backwards = earlier[::-1]
    optional = list(takewhile(accepts_nothing, backwards))
    nearest = backwards[: len(optional) + 1]
    return tuple(sorted(c for part in nearest for c in _mentioned(part)))


def _contiguous(part: Residual) -> Residual:
    if isinstance(part, Take):
        return replace(part, contiguous=True)
    if isinstance(part, Choose):
        return Choose(tuple(_contiguous(p) for p in part.parts))
    return part


def _mentioned(part: Residual) -> tuple[int, ...]:
    if isinstance(part, Take):
        return (part.component,)
    if isinstance(part, Done):
        return ()
    if isinstance(part, Adjoin | Loop):
        return _mentioned(part.part if isinstance(part, Adjoin) else part.body)
    return tuple(c for p in part.parts for c in _mentioned(p))


# Building in normal form, so that equal residuals are equal values ------------------------------


def _chain(operator: str, parts: Sequence[Residual]) -> Residual:
    flat = (q for p in parts for q in _parts_of(operator, p))
    kept = tuple(p for p in flat if p != DONE)
    if not kept:
        return DONE
    return kept[0] if len(kept) == 1 else Chain(operator, kept)


def _parts_of(operator: str, part: Residual) -> tuple[Residual, ...]:
    # SEQ in SEQ is flat. NEXT in NEXT is not: an inner part is adjacent to its own neighbour.
    if operator == "SEQ" and isinstance(part, Chain) and part.operator == "SEQ":
        return part.parts
    return (part,)


def _shuffle(parts: Sequence[Residual]) -> Residual:
    kept = tuple(p for p in parts if p != DONE)
    if not kept:
        return DONE
    return kept[0] if len(kept) == 1 else Shuffle(kept)


# Derivatives ---------------------------------------------------------------------------------


def accepts_nothing(residual: Residual) -> bool:
    """Return whether the match may end here."""
    if isinstance(residual, Done):
        return True
    if isinstance(residual, Take | Loop):
        return residual.need == 0
    if isinstance(residual, Adjoin):
        return accepts_nothing(residual.part)
    if isinstance(residual, Choose):
        return any(accepts_nothing(p) for p in residual.parts)
    return all(accepts_nothing(p) for p in residual.parts)


def steps(residual: Residual) -> list[Step]:
    """Return every way to take one event, preferred ones first."""
    if isinstance(residual, Done):
        return []
    if isinstance(residual, Take):
        return [_take(residual)]
    if isinstance(residual, Adjoin):
        return [_adjoin(step, residual) for step in steps(residual.part)]
    if isinstance(residual, Choose):
        return [step for part in residual.parts for step in steps(part)]
    if isinstance(residual, Shuffle):
        return _shuffle_steps(residual)
    return _loop_steps(residual) if isinstance(residual, Loop) else _chain_steps(residual)


def _take(take: Take) -> Step:
    room = None if take.room is None else take.room - 1
    rest = replace(take, need=max(0, take.need - 1), room=room, started=True)
    neighbours = (take.component,) if take.contiguous and take.started else ()
    return Step(
        take.component,
        DONE if room == 0 else rest,
        take.started,
        neighbours,
        take.need == 0,
        (Joint(neighbours),) if neighbours else (),
    )


def _loop_steps(loop: Loop) -> list[Step]:
    """Begin a round; past the minimum, what comes after the group goes first."""
    room = None if loop.room is None else loop.room - 1
    rest = DONE if room == 0 else replace(loop, need=max(0, loop.need - 1), room=room)
    return [
        replace(step, rest=_chain("SEQ", (step.rest, rest)), yields=loop.need == 0)
        for step in steps(loop.body)
    ]


def _adjoin(step: Step, adjoin: Adjoin) -> Step:
    own: tuple[int, ...] = ()
    rest = step.rest
    if _interleaves(adjoin.part) or adjoin.begun:
        own = adjoin.own
        rest = DONE if step.rest == DONE else replace(adjoin, part=step.rest, begun=True)
    shown = step.adjacent_to if adjoin.begun else {*step.adjacent_to, *adjoin.to}
    return replace(
        step,
        rest=rest,
        adjacent_to=tuple(sorted(shown)),
        joints=(*step.joints, Joint(adjoin.to, own)),
    )


def _interleaves(part: Residual) -> bool:
    """Return whether events of the part may have equal order."""
    if isinstance(part, Shuffle):
        return True
    if isinstance(part, Adjoin):
        return _interleaves(part.part)
    return isinstance(part, Chain | Choose) and any(map(_interleaves, part.parts))


def _shuffle_steps(shuffle: Shuffle) -> list[Step]:
    parts = shuffle.parts
    return [
        replace(step, rest=_shuffle((*parts[:k], step.rest, *parts[k + 1 :])))
        for k, part in enumerate(parts)
        for step in steps(part)
    ]


def _chain_steps(chain: Chain) -> list[Step]:
    head, rest = chain.parts[0], chain.parts[1:]
    own = [replace(step, rest=_chain(chain.operator, (step.rest, *rest))) for step in steps(head)]
    if not accepts_nothing(head):
        return own
    firm = [step for step in own if not step.yields]
    yielding = [step for step in own if step.yields]
    return firm + steps(_chain(chain.operator, rest)) + yielding


# Text ----------------------------------------------------------------------------------------


def describe(residual: Residual, names: Sequence[str]) -> str:
    """Return the residual as a pattern, such as `SEQ(b*, c)`; `done` where nothing may come."""
    if isinstance(residual, Done):
        return "done"
    if isinstance(residual, Take):
        return names[residual.component] + repetition_mark(residual.need, residual.room)
    if isinstance(residual, Adjoin):
        return describe(residual.part, names)
    if isinstance(residual, Loop):
        return f"({describe(residual.body, names)}){repetition_mark(residual.need, residual.room)}"
    operator = {Shuffle: "AND", Choose: "OR"}.get(type(residual)) or _operator(residual)
    return f"{operator}({', '.join(describe(p, names) for p in residual.parts)})"


def repetition_mark(minimum: int, maximum: int | None) -> str:
    """Return `+`, `*`, `?`, `{2,5}` or nothing, as a pattern spells it."""
    known = {(1, 1): "", (1, None): "+", (0, None): "*", (0, 1): "?"}
    if (minimum, maximum) in known:
        return known[minimum, maximum]
    if minimum == maximum:
        return f"{{{minimum}}}"
    return f"{{{minimum},{'' if maximum is None else maximum}}}"


def _operator(residual: Residual) -> str:
    return residual.operator if isinstance(residual, Chain) else ""

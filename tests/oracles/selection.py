"""The answers of a query in one certain world, by the definition of each strategy.

A match grows event by event, in order. What may be taken next, and what a finished match must
still satisfy, is the same for all strategies; they differ in what they take:

- ANY takes every event that may be taken, each in a branch of its own;
- NEXT takes the earliest one, and goes on as long as it can;
- STRICT and PARTITION CONTIGUITY do the same, but what is not the neighbour does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from oracles.conjuncts import holds
from oracles.model import Event, Rounds
from oracles.plan import (
    Negation,
    Plan,
    Scope,
    can_finish,
    names_in,
    openings,
    rounds_of,
    unfold,
)
from oracles.values import Bound, equal, evaluate

Fitting = Callable[["Scene", Bound], list[tuple[str, Event]]]
MatchKey = frozenset[tuple[str, tuple[Hashable, ...]]]


@dataclass(frozen=True, eq=False)
class Match:
    """A finished map from components to events; absent components are not in it."""

    bound: Bound

    @property
    def key(self) -> MatchKey:
        """What the match is: component names with event ids."""
        return frozenset((name, tuple(e.id for e in taken)) for name, taken in self.bound.items())

    @property
    def events(self) -> list[Event]:
        """Its events, in order; of those with equal order, the greatest tie-breaker is last."""
        return sorted(everything(self.bound), key=_rank)


@dataclass(frozen=True, eq=False)
class Scene:
    """Where something grows: a match in a world, or an instance of a negated part in its gap.

    Fields:
        world: the events of the ON streams that exist, in order of time.
        pool: those that may be taken (one key's events, or those of a gap).
        node: what grows; `scope`: whose conjuncts and negations apply.
        fixed: what is bound around it; empty for a match.
    """

    plan: Plan
    world: list[Event]
    pool: list[Event]
    node: Any
    scope: Scope
    fixed: Bound

    @cached_property
    def players(self) -> dict[str, list[Event]]:
        """The events of the pool that have the type of each component of the node."""
        return {
            name: [e for e in self.pool if _has_type(self.plan, name, e)]
            for name in names_in(self.node)
        }


def answers(plan: Plan, events: Iterable[Event]) -> list[Match]:
    """Return the matches of `plan` in the world that consists of `events`, each once."""
    found: dict[MatchKey, Match] = {}
    for scene in _scenes(plan, events):
        for bound in _SELECT[plan.query.strategy](scene):
            if _is_answer(scene, bound):
                match = Match(bound)
                found.setdefault(match.key, match)
    matches = list(found.values())
    return matches if plan.query.after_match is None else taken(plan, matches)


# --- after a match ---


def taken(plan: Plan, matches: list[Match]) -> list[Match]:
    """Return the matches of one world that are taken, in the order of their starts."""
    written = list(plan.places)

    def start(match: Match) -> Event:
        """Return the first event; of several at once, that of the component written first."""
        own = [(written.index(n), e) for n, es in match.bound.items() for e in es]
        free = [(k, e) for k, e in own if not any(before(f, e) for _, f in own)]
        return min(free, key=lambda pair: pair[0])[1]

    def choices(match: Match) -> list[Any]:
        own = [(n, e) for n, es in match.bound.items() for e in es]
        return sorted((_rank(e), written.index(n), name(e)) for n, e in own)

    def name(event: Event) -> str:
        """Return by what events at once are told apart: the ID, which alternatives share."""
        return str(event.id if event.group is None else event.group)

    def turn(match: Match) -> Any:
        reach = max(_rank(e) for e in everything(match.bound))
        far = (-reach[0], not reach[1], -reach[2])
        return (*_rank(start(match)), name(start(match))), far, choices(match)

    found: list[Match] = []
    for match in sorted(matches, key=turn):
        rivals = [m for m in found if _partition(plan, m) == _partition(plan, match)]
        if not any(_covers(plan.query.after_match, m, start(m), start(match)) for m in rivals):
            found.append(match)
    return found


def _covers(skip: Any, match: Match, start: Event, event: Event) -> bool:
    """Tell whether a taken match covers an event: up to where the search goes on."""
    if event is start:
        return True
    own = everything(match.bound)
    between = any(before(e, event) for e in own) and any(before(event, e) for e in own)
    inside = event in own or between
    match skip:
        case ("past last",):
            return inside
        case ("next",):
            return False
        case (which, name):
            target = match.bound[name][0 if which == "first" else -1]
            return inside and target is not start and before(event, target)
    raise ValueError(skip)


def _partition(plan: Plan, match: Match) -> Any:
    """Return what tells partitions apart: `[...]`, and the key where runs are confined to it."""
    event = everything(match.bound)[0]
    key = event.key if plan.query.strategy == "partition" else None
    values = [event.attrs.get(name) for name in plan.query.equate]
    # Minus zero is zero.
    return repr([v + 0.0 if isinstance(v, float) else v for v in values]), key


def holding_answers(plan: Plan, events: Iterable[Event]) -> list[Match]:
    """Return the matches by which a probability query holds.

    Under NEXT (and what is defined by it) a repetition is Lahar's: some number of repetitions is
    enough, and each number is a run of its own.
    """
    world = _on_streams(plan, events)
    if plan.query.strategy == "any":
        return answers(plan, world)
    found = [match for fixed in unfold(plan, len(world)) for match in answers(fixed, world)]
    return list({match.key: match for match in found}.values())


def before(e: Event, f: Event) -> bool:
    """Tell whether e comes before f: by time, then by tie-breaker within one stream."""
    if e.ts != f.ts:
        return e.ts < f.ts
    if e.stream != f.stream or e.tie is None or f.tie is None:
        return False
    return e.tie < f.tie


def everything(bound: Bound) -> list[Event]:
    """Return all bound events."""
    return [event for taken in bound.values() for event in taken]


def _rank(event: Event) -> tuple[int, bool, int]:
    return event.ts, event.tie is not None, event.tie or 0


def _on_streams(plan: Plan, events: Iterable[Event]) -> list[Event]:
    return sorted((e for e in events if e.stream in plan.query.streams), key=_rank)


def _scenes(plan: Plan, events: Iterable[Event]) -> Iterator[Scene]:
    """Yield the world as a whole, or, for PARTITION CONTIGUITY, once for each key."""
    world = _on_streams(plan, events)
    pools = [world]
    if plan.query.strategy == "partition":
        pools = [[e for e in world if e.key == key] for key in {e.key for e in world}]
    for pool in pools:
        yield Scene(plan, world, pool, plan.root, (), {})


# --- what may be taken next ---


def _choices(scene: Scene, bound: Bound) -> list[tuple[str, Event]]:
    """Return each component, as written, with each event that it may take next."""
    found = []
    for name, done in _openings(scene, bound):
        for event in scene.players[name]:
            in_order = _in_order(scene.plan, bound, name, event)
            if (
                in_order
                and not _has_ended(scene, bound, name, event)
                and _fits(scene, take(bound, name, event), done)
            ):
                found.append((name, event))
    return found


def _has_ended(scene: Scene, bound: Bound, name: str, event: Event) -> bool:
    """Tell whether UNTIL holds for the event, or for one since the repetition has begun."""
    until = scene.plan.places[name].comp.until
    if until is None:
        return False
    # Among neighbours what is not taken ends the run, and UNTIL says what is not taken.
    contiguous = scene.plan.query.strategy in ("strict", "partition")
    taken = () if contiguous else bound.get(name, ())
    between = [
        x
        for x in scene.players[name]
        if taken and before(taken[0], x) and before(x, event) and _is_alike(scene, taken[0], x)
    ]
    return any(evaluate(until, {name: (x,)}, {name: 1}) is True for x in [event, *between])


def _is_alike(scene: Scene, one: Event, other: Event) -> bool:
    """Tell whether two events have what WHERE equates over all components."""
    equate = scene.plan.query.equate
    return all(equal(one.attrs.get(a), other.attrs.get(a)) is True for a in equate)


def _openings(scene: Scene, bound: Bound) -> list[tuple[str, set[str]]]:
    """Return what may take the next event, and what is done then; worked out once per plan."""
    memory = scene.plan.memory
    key = (scene.scope, *((name, len(taken)) for name, taken in bound.items()))
    if key not in memory:
        names = openings(scene.plan, scene.node, bound)
        memory[key] = [(name, _done(scene, {*bound, name})) for name in names]
    return memory[key]


def take(bound: Bound, name: str, event: Event) -> Bound:
    """Return `bound` with one more event for `name`."""
    return {**bound, name: (*bound.get(name, ()), event)}


def _has_type(plan: Plan, name: str, event: Event) -> bool:
    kind = plan.places[name].comp.type
    if kind is None:
        return True
    return kind == (event.stream if kind in plan.query.streams else event.type)


def _in_order(plan: Plan, bound: Bound, name: str, event: Event) -> bool:
    """Tell whether `event` comes after what must precede `name`, and before nothing taken."""
    for other, taken in bound.items():
        sequence = other == name or (other, name) in plan.precedes
        for e in taken:
            if e is event or before(event, e) or (sequence and not before(e, event)):
                return False
    return True


def _done(scene: Scene, taken: set[str]) -> set[str]:
    """Return the components that take no more events once those of `taken` have one."""
    plan, inside = scene.plan, names_in(scene.node)
    done = set(plan.places) - set(inside)
    for name in inside:
        single = name in taken and name not in plan.repeated
        if single or any((name, other) in plan.closes for other in taken):
            done.add(name)
    return done


def _fits(scene: Scene, bound: Bound, done: set[str]) -> bool:
    """Tell whether every conjunct that can be tested is true, and neighbours are neighbours."""
    known = {**scene.fixed, **bound}
    tests = scene.plan.conjuncts.get(scene.scope, [])
    return all(holds(test, known, done) for test in tests) and _is_adjacent(scene, bound)


def _is_adjacent(scene: Scene, bound: Bound) -> bool:
    return all(
        _neighbours(scene.world, left, right)
        for parts, group in scene.plan.adjacent.get(scene.scope, [])
        for own in ([bound] if group is None else rounds_of(scene.plan, group, bound))
        for left, right in _joints(scene.plan, parts, own)
    )


def _joints(
    plan: Plan, parts: tuple[tuple[str, ...], ...], bound: Bound
) -> Iterator[tuple[Event, Event]]:
    """Yield the pairs that a NEXT(...) makes neighbours: where parts meet, and in repetitions."""
    present = [[e for name in part for e in bound.get(name, ())] for part in parts]
    present = [events for events in present if events]
    for left, right in pairwise(present):
        last = [e for e in left if not any(before(e, other) for other in left)]
        first = [e for e in right if not any(before(other, e) for other in right)]
        yield from ((e, f) for e in last for f in first)
    for name in (n for part in parts for n in part if n in plan.contiguous):
        yield from pairwise(bound.get(name, ()))


def _neighbours(world: list[Event], e: Event, f: Event) -> bool:
    """Tell whether e and f have one key, and no event of that key lies between them."""
    between = (x for x in world if x.key == e.key and before(e, x) and before(x, f))
    return e.key == f.key and not any(True for _ in between)


# --- the strategies ---


def _grow(scene: Scene, bound: Bound, alive: Callable[[Bound], bool]) -> Iterator[Bound]:
    """Yield every finished growth of `bound` on which all steps are `alive`."""
    if bound and can_finish(scene.plan, scene.node, bound):
        yield bound
    for name, event in _choices(scene, bound):
        longer = take(bound, name, event)
        if alive(longer):
            yield from _grow(scene, longer, alive)


def _any(scene: Scene) -> Iterator[Bound]:
    """Yield every combination; a match only grows, so it never comes back into the window."""
    yield from _grow(scene, {}, lambda bound: _is_within(scene, everything(bound)))


def _next(scene: Scene) -> Iterator[Bound]:
    """Yield the runs from each start: each event with each component that it can begin."""
    for name, event in _choices(scene, {}):
        yield from _follow(scene, take({}, name, event), _choices)


def _follow(scene: Scene, bound: Bound, fitting: Fitting) -> Iterator[Bound]:
    """Take the earliest event, in one branch for each of several; stop where nothing is left.

    A run that could stop here takes nothing beyond the window; a run that must go on is led out
    of it, and lost.
    """
    earliest = _earliest(scene, bound, fitting(scene, bound))
    steps = [take(bound, name, event) for name, event in earliest]
    steps = [step for step in steps if _is_within(scene, everything(step))]
    for step in steps:
        yield from _follow(scene, step, fitting)
    if not steps and can_finish(scene.plan, scene.node, bound):
        yield bound


def _earliest(
    scene: Scene, bound: Bound, choices: list[tuple[str, Event]]
) -> Iterator[tuple[str, Event]]:
    """Yield the earliest events that fit anything, each with the component that it plays."""
    for event in scene.pool:
        names = [name for name, e in choices if e is event]
        if names and not any(before(e, event) for _, e in choices):
            yield _preferred(scene.plan, bound, names), event


def _preferred(plan: Plan, bound: Bound, names: list[str]) -> str:
    """Return the first written; a repetition with its minimum gives way to what comes after it."""
    first = names[0]
    # What comes after a group may be taken only once the group has its rounds.
    whole = any(kind is Rounds for kind, _ in plan.places[first].path)
    if whole or (first in plan.repeated and len(bound.get(first, ())) >= plan.bounds[first][0]):
        later = [
            name
            for name in names
            if (first, name) in plan.precedes and (name, first) not in plan.precedes
        ]
        return _preferred(plan, bound, later) if later else first
    return first


def _contiguous(scene: Scene) -> Iterator[Bound]:
    """Yield the runs from each start that take neighbours only, and end where none fits."""
    for name, event in _choices(scene, {}):
        yield from _follow(scene, take({}, name, event), _neighbours_that_fit)


def _neighbours_that_fit(scene: Scene, bound: Bound) -> list[tuple[str, Event]]:
    """Return the choices that skip no event of the pool."""
    taken = everything(bound)
    return [
        (name, event)
        for name, event in _choices(scene, bound)
        if not any(_lies_between(x, [*taken, event]) for x in scene.pool)
    ]


def _lies_between(x: Event, taken: list[Event]) -> bool:
    """Tell whether x is skipped: between two events of the run, and beside none of them."""
    early = [e for e in taken if before(e, x)]
    late = [e for e in taken if before(x, e)]
    return bool(early and late) and len(early) + len(late) == len(taken)


_SELECT: dict[str, Callable[[Scene], Iterator[Bound]]] = {
    "any": _any,
    "next": _next,
    "strict": _contiguous,
    "partition": _contiguous,
}


# --- what a finished match must satisfy ---


def _is_answer(scene: Scene, bound: Bound) -> bool:
    """Tell whether a selected match is one: its window, all conjuncts, nothing forbidden."""
    done = set(scene.plan.places)
    return (
        _is_within(scene, everything(bound))
        and _fits(scene, bound, done)
        and all(holds(test, bound, done) for test in scene.plan.after_where)
        and not _is_broken(scene, bound)
    )


def _is_within(scene: Scene, taken: list[Event]) -> bool:
    """Tell whether `taken` lies in one window; of events, those taken or between them count."""
    if scene.plan.query.within is None:
        return True
    kind, size = scene.plan.query.within
    if kind == "time":
        return max(e.ts for e in taken) - min(e.ts for e in taken) <= size
    return sum(_counts(x, taken) for x in scene.world) <= size


def _counts(x: Event, taken: list[Event]) -> bool:
    if x in taken:
        return True
    return any(before(e, x) for e in taken) and any(before(x, e) for e in taken)


def _is_broken(scene: Scene, bound: Bound) -> bool:
    """Tell whether a negated part of `scene` has an instance."""
    return any(
        _has_instance(scene, {**scene.fixed, **bound}, negation)
        for negation in scene.plan.negations.get(scene.scope, [])
        if any(bound.get(name) for name in negation.company)
    )


def _has_instance(scene: Scene, bound: Bound, negation: Negation) -> bool:
    gap = _gap(scene, bound, negation)
    inner = Scene(scene.plan, scene.world, gap, negation.part, negation.scope, bound)
    done = set(scene.plan.places)
    return any(
        _fits(inner, instance, done) and not _is_broken(inner, instance)
        for instance in _grow(inner, {}, lambda _: True)
    )


def _gap(scene: Scene, bound: Bound, negation: Negation) -> list[Event]:
    """Return the events after all that stands before `negation`, and before all after it.

    With nothing bound on one side, the window of the match is the limit on that side.
    """
    left = [e for name in negation.before for e in bound.get(name, ())]
    right = [e for name in negation.after for e in bound.get(name, ())]
    nearest = max(left, key=_rank, default=None)
    if negation.neighbour and nearest is None:
        return []
    taken = [e for name, es in bound.items() if not scene.plan.places[name].scope for e in es]
    return [
        x
        for x in scene.world
        if (not negation.neighbour or _neighbours(scene.world, nearest, x))
        and all(before(e, x) for e in left)
        and all(before(x, e) for e in right)
        and ((left and right) or _is_within(scene, [*taken, x]))
    ]

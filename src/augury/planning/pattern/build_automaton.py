"""Checked query to automaton: one state per residual pattern, guards and precedences beside it.

The automaton is deterministic over components (see `residual`). AND is a shuffle, so its states
grow as 2 to the number of parts; a limit turns the explosion into a diagnostic.

Oracle: tests/planning/words.py derives the accepted words from the shape by definition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from augury.analysis.checked import Branch, CheckedQuery, Component, Negated, Shape
from augury.config import value_of
from augury.planning.pattern.automaton import Automaton, Guard, Precedence, Skip, State, Transition
from augury.planning.pattern.residual import (
    Residual,
    accepts_nothing,
    branches_within,
    components_within,
    describe,
    positive_components,
    residual_of,
    steps,
)
from augury.planning.refusal import TOO_MANY_STATES, PlanError

SKIPS_PER_STATE = 4

Parts = tuple[tuple[int, ...], ...]


def build_automaton(query: CheckedQuery) -> Automaton:
    """Return the automaton of a query's pattern, with an edge for each permitted run of misses."""
    most = value_of("automaton_state_limit")
    plain = automaton_of(query.shape, query.components, limit=most)
    if not query.allow:
        return plain
    skips = _skips(plain, _missable(query), query.allow, most * SKIPS_PER_STATE)
    return Automaton(plain.states, plain.transitions, skips, plain.guards, plain.precedences)


def automaton_of(
    shape: Shape,
    components: Sequence[Component],
    *,
    limit: int | None = None,
    around: Guard | None = None,
) -> Automaton:
    """Return the automaton of any shape; `around` is the guard whose inside it is, if it is one."""
    most = limit or value_of("automaton_state_limit")
    states, transitions = _explore(residual_of(shape, components), components, most)
    return Automaton(states, transitions, (), guards_of(shape, around), precedences_of(shape))


def guards_of(shape: Shape, around: Guard | None) -> tuple[Guard, ...]:
    """Return what each negation forbids, and between which neighbours.

    Of a negation within a negation, `around` is the outer one: its neighbours enclose both.
    """
    outer = (around.earlier, around.later) if around else ((), ())
    return tuple(_guards(shape, *outer))


def _guards(shape: Shape, earlier: Parts, later: Parts) -> Iterator[Guard]:
    if not isinstance(shape, Branch):
        return
    for place, part in enumerate(shape.parts):
        before, after = earlier, later
        if shape.operator in ("SEQ", "NEXT"):
            before = _positive_parts(reversed(shape.parts[:place])) + earlier
            after = _positive_parts(shape.parts[place + 1 :]) + later
        if isinstance(part, Negated):
            inside, company = components_within(part.part), positive_components(shape)
            if part.within is not None:
                own = (part.within,)
                yield Guard(part.part, inside, (own,), (own,), own, "UNTIL")
            elif _is_neighbour(part.part):
                yield Guard(part.part, inside, before, after, company, "NEXT")
            else:
                yield Guard(part.part, inside, before, after, company)
        else:
            yield from _guards(part, before, after)


def _is_neighbour(part: Shape) -> bool:
    """Return whether a negation is `!NEXT B b`: a NEXT of a single component says nothing else."""
    return isinstance(part, Branch) and part.operator == "NEXT" and len(part.parts) == 1


def _positive_parts(parts: Iterable[Shape]) -> Parts:
    return tuple(found for part in parts if (found := positive_components(part)))


def precedences_of(shape: Shape) -> tuple[Precedence, ...]:
    """Return which components lie strictly before which, by the parts of SEQ and NEXT."""
    # In a group that repeats, what stands first comes again.
    return tuple(
        Precedence(early, late)
        for branch in branches_within(shape)
        if branch.operator in ("SEQ", "NEXT") and branch.times is None
        for before, after in combinations(branch.parts, 2)
        for early in positive_components(before)
        for late in positive_components(after)
    )


def _explore(
    start: Residual, components: Sequence[Component], limit: int
) -> tuple[tuple[State, ...], tuple[Transition, ...]]:
    number, order, transitions = {start: 0}, [start], list[Transition]()
    # `order` grows while it is walked: breadth first, so that numbers follow the distance.
    for source, residual in enumerate(order):
        for step in steps(residual):
            if step.rest not in number:
                number[step.rest] = len(order)
                order.append(step.rest)
            target = number[step.rest]
            transitions.append(
                Transition(
                    source,
                    target,
                    step.component,
                    step.again,
                    step.adjacent_to,
                    step.joints,
                    step.yields,
                )
            )
        if len(order) > limit:
            raise _too_many(components, limit)
    names = [c.name for c in components]
    states = tuple(
        State(k, describe(residual, names), accepts_nothing(residual))
        for k, residual in enumerate(order)
    )
    return states, tuple(transitions)


def _missable(query: CheckedQuery) -> frozenset[int]:
    # A repetition that nobody read is one of another length, not a missed component.
    return frozenset(c for c in query.may_miss if not query.components[c].repeats)


def _skips(plain: Automaton, missable: frozenset[int], allow: int, limit: int) -> tuple[Skip, ...]:
    onward: dict[int, list[Transition]] = {}
    for transition in plain.transitions:
        if transition.component in missable and not transition.again:
            onward.setdefault(transition.source, []).append(transition)
    found: list[Skip] = []
    for state in plain.states:
        found.extend(_skips_from(state.index, onward, allow))
        if len(found) > limit:
            raise _too_many_skips(limit)
    return tuple(found)


def _skips_from(source: int, onward: dict[int, list[Transition]], allow: int) -> list[Skip]:
    # In an AND the order of missed components is not known: one edge stands for all of them.
    found: dict[tuple[int, frozenset[int]], Skip] = {}
    frontier: list[tuple[int, tuple[int, ...]]] = [(source, ())]
    for _ in range(allow):
        ahead: list[tuple[int, tuple[int, ...]]] = []
        for at, missed in frontier:
            for step in onward.get(at, ()):
                longer = (*missed, step.component)
                key = (step.target, frozenset(longer))
                if key not in found:
                    found[key] = Skip(source, step.target, longer)
                    ahead.append((step.target, longer))
        frontier = ahead
    return list(found.values())


def _too_many(components: Sequence[Component], limit: int) -> PlanError:
    return PlanError(
        TOO_MANY_STATES,
        f"the pattern of {len(components)} components needs more than {limit:,} automaton states",
        "an AND doubles the states with each part, and {m,n} adds one per repetition: "
        "split the query in two, or use + or * in place of large counts",
    )


def _too_many_skips(limit: int) -> PlanError:
    return PlanError(
        TOO_MANY_STATES,
        f"ALLOW permits more than {limit:,} different runs of missed components",
        "lower the number in ALLOW, or name the components: ALLOW 2 MISSED OF (x, z)",
    )

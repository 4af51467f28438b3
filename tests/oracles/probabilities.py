"""Lahar's query language by its own definition (the paper's Figure 2), over enumerated worlds.

A second opinion beside `worlds.py`, which answers queries by the sentences of our language: this
module knows nothing of components, selection strategies or runs. A query is a sequence of base
queries; in one certain world it denotes a set of (bindings, time):

    [[g]]           the events that match g
    [[q; g]]        each answer of q with its successors: of the later events that match g with the
                    same shared variables, all those of the earliest time
    [[q; g+<V, c>]] the union of the unfoldings; each is filtered by c, and forgets g's variables
                    that are not in V
    selections      judge an answer once it is chosen

The query holds at t if some answer has time t; its probability is the weight of those worlds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from oracles.model import Event, Markov
from oracles.worlds import possible_worlds

Bindings = frozenset[tuple[str, Hashable]]
Answer = tuple[Bindings, int]
Condition = Callable[[dict[str, Any]], bool]


@dataclass(frozen=True)
class Var:
    """A variable of a subgoal."""

    name: str


@dataclass(frozen=True, eq=False)
class Goal:
    """A base query: events of `stream` whose columns have the given constants or variables.

    `filter` is the selection inside the base query, over its own variables; `after` the selection
    around the query that ends here, over all that is bound. `shared` makes it a Kleene plus: the
    variables that its unfoldings share; `after` is then its condition, applied to each unfolding.
    """

    stream: str
    terms: dict[str, Any]
    filter: Condition = lambda _: True
    after: Condition = lambda _: True
    shared: frozenset[str] | None = None


def holds_at(goals: Sequence[Goal], world: Iterable[Event]) -> set[int]:
    """Return the times at which the query is satisfied in one certain world."""
    events = list(world)
    return {time for _, time in _answers(goals, events)}


def probability_by_time(
    goals: Sequence[Goal], events: Sequence[Event], markov: Sequence[Markov] = ()
) -> dict[int, float]:
    """Return P(the query holds at t) for each time of the events."""
    weights: dict[int, list[float]] = {e.ts: [] for e in events}
    for weight, world in possible_worlds(events, markov):
        for time in holds_at(goals, world):
            weights[time].append(weight)
    return {time: math.fsum(parts) for time, parts in weights.items()}


def probability_ever(
    goals: Sequence[Goal], events: Sequence[Event], markov: Sequence[Markov] = ()
) -> float:
    """Return P(the query holds at some time)."""
    worlds = possible_worlds(events, markov)
    return math.fsum(weight for weight, world in worlds if holds_at(goals, world))


def _answers(goals: Sequence[Goal], events: list[Event]) -> set[Answer]:
    found: set[Answer] | None = None
    for goal in goals:
        step = _kleene if goal.shared is not None else _sequence
        found = step(found, goal, events)
    return found or set()


def _matching(goal: Goal, events: list[Event]) -> set[Answer]:
    """Return [[g]]: the bindings of each event that matches, with its time."""
    found = set()
    for event in events:
        bound = _unified(goal, event)
        if bound is not None and goal.filter(bound):
            found.add((frozenset(bound.items()), event.ts))
    return found


def _unified(goal: Goal, event: Event) -> dict[str, Any] | None:
    if event.stream != goal.stream:
        return None
    bound: dict[str, Any] = {}
    for column, term in goal.terms.items():
        value = event.attrs.get(column)
        if isinstance(term, Var):
            if bound.setdefault(term.name, value) != value:
                return None
        elif value != term:
            return None
    return bound


def _sequence(before: set[Answer] | None, goal: Goal, events: list[Event]) -> set[Answer]:
    """Return the selection of [[q; g]]; without q, of [[g]]."""
    matching = _matching(goal, events)
    if before is None:
        chosen = matching
    else:
        chosen = {
            (frozenset({**dict(bound), **dict(own)}.items()), time)
            for bound, since in before
            for own, time in _successors(bound, since, matching)
        }
    return {(bound, time) for bound, time in chosen if goal.after(dict(bound))}


def _successors(bound: Bindings, since: int, matching: set[Answer]) -> set[Answer]:
    known = dict(bound)
    later = {
        (own, time)
        for own, time in matching
        if time > since and all(known.get(name, value) == value for name, value in own)
    }
    earliest = min((time for _, time in later), default=None)
    return {(own, time) for own, time in later if time == earliest}


def _kleene(before: set[Answer] | None, goal: Goal, events: list[Event]) -> set[Answer]:
    own = {term.name for term in goal.terms.values() if isinstance(term, Var)}
    forgotten = own - (goal.shared or frozenset())
    found: set[Answer] = set()
    step = _forget(_sequence(before, goal, events), forgotten)
    while not step <= found:
        found |= step
        step = _forget(_sequence(step, goal, events), forgotten)
    return found


def _forget(answers: set[Answer], names: set[str]) -> set[Answer]:
    return {(frozenset((n, v) for n, v in bound if n not in names), t) for bound, t in answers}

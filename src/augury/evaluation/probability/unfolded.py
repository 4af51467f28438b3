"""Repetitions in probability queries under next-match and contiguity: some number of them will do.

Such a query holds if it holds for some number of repetitions. So each is fixed at each number of
events that could be there, and what is asked is whether any of these queries has a match. Meant
for small inputs, as all lineage: more automata than the setting `lineage_limit` has states are
refused. Sequences have chains instead, which carry all numbers at once.

Oracle: `holding_answers` of tests/oracles/selection.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product

import numpy as np

from augury.analysis.checked import Branch, CheckedQuery, Component, Leaf, Negated, Shape
from augury.config import value_of
from augury.evaluation.enumeration import Enumeration
from augury.matching.lineage import Formula, TooEntangledError
from augury.matching.pattern import Pattern
from augury.planning.match_plan import MatchPlan
from augury.planning.pattern.build_automaton import automaton_of
from augury.planning.pattern.compile_pattern import with_automaton
from augury.records import Events, Matches

Bounds = tuple[int, int | None]
Fixed = tuple[Shape, tuple[Component, ...]]


def is_unfolded(plan: MatchPlan) -> bool:
    """Whether a query holds if it holds for some number of repetitions, each a run of its own."""
    query = plan.query
    return plan.is_likely and query.strategy != "ANY" and bool(_repeated(query.shape, query))


@dataclass(frozen=True)
class Unfolded(Enumeration):
    """The matches of a query with its repetitions fixed at every number of events."""

    def matches(self) -> tuple[Matches, list[Formula]]:
        """Return the matches of all of them, and their lineage."""
        found = [(Matches.none(), list[Formula]())]
        for pattern in _patterns(self.plan.query, self.plan.pattern, self.events):
            own = Enumeration(**(vars(self) | {"plan": replace(self.plan, pattern=pattern)}))
            found.append(own.matches())
        every = reduce(Matches.joined, (matches for matches, _ in found))
        return every, [formula for _, formulas in found for formula in formulas]


def unfolded(enumeration: Enumeration) -> Enumeration:
    """Return what lists the matches of a query by which it holds."""
    if not is_unfolded(enumeration.plan):
        return enumeration
    return Unfolded(**{name: vars(enumeration)[name] for name in Enumeration.__dataclass_fields__})


def _patterns(query: CheckedQuery, pattern: Pattern, events: Events) -> Iterator[Pattern]:
    """Yield the pattern with each repetition fixed at each number of events that may be there."""
    own = _repeated(query.shape, query)
    ranges = [_numbers(each, query, events) for each in own]
    states = value_of("lineage_limit")
    for counts in product(*ranges):
        if sum(counts) - sum(each.start for each in ranges) > len(events):
            continue
        shape, components = _fixed(query, dict(zip(own, counts, strict=True)))
        automaton = automaton_of(shape, components)
        states -= len(automaton.states)
        if states < 0:
            raise TooEntangledError
        yield with_automaton(pattern, automaton)


def _repeated(shape: Shape, query: CheckedQuery) -> list[Shape]:
    """Return the components and groups that repeat, those of negations left out."""
    if isinstance(shape, Leaf):
        return [shape] if query.components[shape.component].repeats else []
    if isinstance(shape, Negated):
        return []
    if shape.times is not None:
        return [shape]
    return [each for part in shape.parts for each in _repeated(part, query)]


def _numbers(each: Shape, query: CheckedQuery, events: Events) -> range:
    """Return how many events or rounds there may be."""
    bits = sum(1 << c for c in _components_of(each))
    most = _most_together(events.take(events.mask & bits != 0), query)
    least, limit = _bounds(each, query)
    # In the other branch of an OR, what is not there is not asked for.
    return range(least, max(least, most if limit is None else min(most, limit)) + 1)


def _most_together(events: Events, query: CheckedQuery) -> int:
    """Return how many events one match may have, by its partition and its window."""
    if not len(events):
        return 0
    most = np.unique(events.partition, return_counts=True)[1].max()
    if query.within is not None and not query.within.events:
        times = np.sort(events.time)
        behind = np.searchsorted(times, times + query.within.length, side="right")
        most = min(most, (behind - np.arange(len(times))).max())
    return int(most)


def _bounds(each: Shape, query: CheckedQuery) -> Bounds:
    if isinstance(each, Branch) and each.times is not None:
        return each.times
    assert isinstance(each, Leaf)
    component = query.components[each.component]
    return component.minimum, component.maximum


def _components_of(shape: Shape) -> list[int]:
    if isinstance(shape, Leaf):
        return [shape.component]
    parts: Sequence[Shape] = () if isinstance(shape, Negated) else shape.parts
    return [c for part in parts for c in _components_of(part)]


def _fixed(query: CheckedQuery, counts: dict[Shape, int]) -> Fixed:
    components = list(query.components)
    for each, k in counts.items():
        if isinstance(each, Leaf):
            own = components[each.component]
            components[each.component] = replace(own, minimum=k, maximum=k)
    return _with_rounds(query.shape, counts), tuple(components)


def _with_rounds(shape: Shape, counts: dict[Shape, int]) -> Shape:
    if not isinstance(shape, Branch):
        return shape
    if shape in counts:
        return replace(shape, times=(counts[shape], counts[shape]))
    return replace(shape, parts=tuple(_with_rounds(part, counts) for part in shape.parts))

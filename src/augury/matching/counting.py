"""RETURN COUNT: how many matches there are, and how many to expect, without listing them.

A sum per automaton state is enough where each step of a match looks back one event only: SKIP TILL
ANY MATCH, no threshold, no window of events, no negation at an end, conditions over neighbours of
the match alone, independent events. Other patterns are counted by listing, as far as MATCH LIMIT
allows: with a threshold, or a condition over distant components, whether a path counts depends on
the path as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from augury.errors import DataError
from augury.kernels.search import layout, opcodes
from augury.kernels.search.predicates import Predicates
from augury.kernels.sequences import counting
from augury.matching.find import event_rows
from augury.matching.matcher import sort_order
from augury.matching.pattern import Edge, Guard, Pattern, Rule
from augury.records import Events, Matches, Reals, Words

MOST_SLOTS = 16


@dataclass(frozen=True, slots=True)
class Counts:
    """How many matches begin with a row, in which component, and the sum of their confidences."""

    component: Words
    row: Words
    count: Words
    expected: Reals


def is_countable(pattern: Pattern, events: Events) -> bool:
    """Whether the matches of these independent events can be counted without listing them."""
    filtered = pattern.threshold > 0.0 or pattern.strict_threshold
    if pattern.strategy != "ANY" or filtered or pattern.stretches or pattern.variants:
        return False
    if pattern.count_window is not None or not _rules_look_back_once(pattern):
        return False
    # What must be absent, or be tested, between neighbours needs to know who the neighbours are.
    looks_back = bool(pattern.rules or pattern.guards or any(e.adjacent for e in pattern.edges))
    if not _is_totally_ordered(pattern) and (looks_back or _has_ties(events)):
        return False
    if looks_back and not _neighbours_are_known(pattern):
        return False
    if not _guards_look_back_once(pattern):
        return False
    return _alternatives_cannot_meet(events) and not (looks_back and (events.group >= 0).any())


def count(pattern: Pattern, events: Events, predicates: Predicates) -> Counts:
    """Count the matches of a countable pattern."""
    order = sort_order(events)
    rows = event_rows(events, order)
    paths = _paths(pattern)
    found, expected = counting.count_paths(paths, *predicates, rows, rows.view(np.float64))
    if found.max(initial=0) >= counting.MOST:
        raise DataError(
            f"query {pattern.query}: more matches begin with one event than a LONG can count; "
            "narrow WITHIN or add conditions"
        )
    lane, event = np.nonzero(found)
    return Counts(
        paths.edges[lane, counting.COMPONENT],
        events.row[order[event]],
        found[lane, event],
        expected[lane, event],
    )


def listed(matches: Matches) -> Counts:
    """Return the counts of matches that were listed, by the first event of each."""
    first = matches.first_item[:-1]
    ones = np.ones(len(matches), np.int64)
    return Counts(matches.component[first], matches.row[first], ones, matches.confidence)


# What a step may look at ----------------------------------------------------------------------


def _steps(pattern: Pattern) -> Iterator[tuple[Edge, Edge]]:
    """Yield the pairs of transitions that can follow each other."""
    for first in pattern.edges:
        for second in pattern.edges:
            if first.target == second.source:
                yield first, second


def _is_totally_ordered(pattern: Pattern) -> bool:
    return all((pattern.before[b.component] >> a.component) & 1 for a, b in _steps(pattern))


def _has_ties(events: Events) -> bool:
    order = np.lexsort((events.time, events.partition))
    same_time = np.diff(events.time[order]) == 0
    return bool((same_time & (np.diff(events.partition[order]) == 0)).any())


def _alternatives_cannot_meet(events: Events) -> bool:
    """Whether alternatives of one event have one order, so that no sequence takes two of them."""
    grouped = np.flatnonzero(events.group >= 0)
    order = grouped[np.argsort(events.group[grouped], kind="stable")]
    same = np.diff(events.group[order]) == 0
    apart = (np.diff(events.time[order]) != 0) | (np.diff(events.tie[order]) != 0)
    return not (same & apart).any()


def _rules_look_back_once(pattern: Pattern) -> bool:
    return all(_looks_back_once(pattern, rule) for rule in pattern.rules)


def _looks_back_once(pattern: Pattern, rule: Rule) -> bool:
    """Whether a rule compares two single events that are neighbours wherever both are bound."""
    plain = all(kind == opcodes.EACH for _, kind, _, _ in rule.slots)
    if rule.reads.bit_count() != 2 or not plain or len(rule.slots) > MOST_SLOTS:
        return False
    if rule.reads & (pattern.repeats | ~pattern.positive):
        return False
    history = _histories(pattern)
    for first, second in _steps(pattern):
        if (rule.reads >> second.component) & 1:
            other = rule.reads & ~(1 << second.component)
            if history[first.source] & other and first.component != other.bit_length() - 1:
                return False
    return True


def _histories(pattern: Pattern) -> list[int]:
    """Return, for each state, the components that may have been taken on the way to it."""
    history = [0] * len(pattern.accepting)
    changed = True
    while changed:
        changed = False
        for edge in pattern.edges:
            grown = history[edge.target] | history[edge.source] | 1 << edge.component
            changed = changed or grown != history[edge.target]
            history[edge.target] = grown
    return history


def _guards_look_back_once(pattern: Pattern) -> bool:
    starts = [e for e in pattern.edges if e.source == 0]
    ends = [e for e in pattern.edges if pattern.accepting[e.target]]
    return all(
        guard.inside is None
        and guard.kind == "GAP"
        and not guard.rules
        and all((guard.earlier >> e.component) & 1 for e in starts)
        and all((guard.later >> e.component) & 1 for e in ends)
        for guard in pattern.guards
    )


def _neighbours_are_known(pattern: Pattern) -> bool:
    """Whether all ways into a state end with components that the next step treats alike."""
    for edge in pattern.edges:
        before = [first for first, second in _steps(pattern) if second == edge]
        if len({_treatment(pattern, first, edge) for first in before}) > 1:
            return False
        for to, own in edge.adjacent:
            if not all(((to | own) >> e.component) & 1 for e in before):
                return False
    return True


def _treatment(pattern: Pattern, first: Edge, second: Edge) -> tuple[int, ...]:
    """Return what is asked between two neighbours: rules, negations, whether anything may lie."""
    both = 1 << first.component | 1 << second.component
    rules = [k for k, rule in enumerate(pattern.rules) if rule.reads == both]
    guards = [g.component for g in pattern.guards if _lies_between(g, first, second)]
    return (*rules, -1, *guards, -1, is_adjacent(first, second))


def is_adjacent(first: Edge, second: Edge) -> bool:
    """Whether the event of a transition must be the neighbour of that of the one before it."""
    return any((to >> first.component) & 1 for to, _ in second.adjacent)


def _lies_between(guard: Guard, first: Edge, second: Edge) -> bool:
    apart = (guard.earlier >> first.component) & 1 and (guard.later >> second.component) & 1
    return bool(apart and guard.company & (1 << first.component | 1 << second.component))


# Tables of the kernel -------------------------------------------------------------------------


def _paths(pattern: Pattern) -> counting.Paths:
    edges = sorted(pattern.edges, key=lambda edge: edge.source)
    by_edge = [_rules_of(pattern, edge) for edge in edges]
    slots = [(s[0], s[2]) for rule in pattern.rules for s in rule.slots]
    return counting.Paths(
        edges=_matrix([_edge_row(pattern, edge) for edge in edges], counting.EDGE_WIDTH),
        accepting=np.array(pattern.accepting, np.int64),
        rule_rows=_starts([len(own) for own in by_edge]),
        rules=np.array([rule for own in by_edge for rule in own], np.int64),
        slot_rows=_starts([len(rule.slots) for rule in pattern.rules]),
        slots=_matrix(slots, 2),
        window=layout.FOREVER if pattern.window is None else pattern.window,
    )


def _edge_row(pattern: Pattern, edge: Edge) -> tuple[int, ...]:
    breaking = sum(
        {
            1 << guard.component
            for first, second in _steps(pattern)
            for guard in pattern.guards
            if second == edge and _lies_between(guard, first, edge)
        }
    )
    adjacent = any(is_adjacent(a, b) for a, b in _steps(pattern) if b == edge)
    return edge.source, edge.target, edge.component, breaking, int(adjacent)


def _rules_of(pattern: Pattern, edge: Edge) -> list[int]:
    """Return the rules over the component of a transition and the one before it."""
    pairs = {1 << a.component | 1 << b.component for a, b in _steps(pattern) if b == edge}
    return [k for k, rule in enumerate(pattern.rules) if rule.reads in pairs]


def _matrix(rows: Sequence[tuple[int, ...]], width: int) -> Words:
    return np.array(rows, np.int64).reshape(len(rows), width)


def _starts(lengths: list[int]) -> Words:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

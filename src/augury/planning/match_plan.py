"""The plan of an enumerated query: who may play what, what partitions, which rules are left.

A conjunct over one component, read event by event, decides which events may play it and is
evaluated over whole columns. Equalities that partition the stream need no rule: only events of one
partition meet. Everything else is a rule of the search.
"""

from __future__ import annotations

from dataclasses import dataclass

from augury.analysis.catalog import Catalog, Column
from augury.analysis.checked import CheckedQuery, Conjunct, EqualityClass
from augury.language.expressions import Attribute, Binary
from augury.matching.pattern import Pattern
from augury.planning.automaton import Automaton
from augury.planning.build_automaton import build_automaton
from augury.planning.compile_pattern import compile_pattern
from augury.planning.expressions.lower import Scope, lower
from augury.planning.expressions.program import ProgramSet, compile_programs
from augury.planning.expressions.typed import Aggregated, Input, Typed, nodes_within


@dataclass(frozen=True, slots=True)
class Play:
    """Who may play a component: events of `stream`, of `type` (None: any), that pass the filters."""

    component: int
    stream: str
    type: str | None
    filters: tuple[Typed, ...]


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """What a runner needs to evaluate an enumerated query.

    `partition_by` maps each stream to the columns that partition its events; empty if none do.
    """

    query: CheckedQuery
    automaton: Automaton
    pattern: Pattern
    programs: ProgramSet
    plays: tuple[Play, ...]
    partition_by: dict[str, tuple[str, ...]]
    outputs: tuple[tuple[Column, Typed], ...]


def plan_match(query: CheckedQuery, catalog: Catalog) -> MatchPlan:
    """Return the plan of a query that returns matches."""
    scope = Scope(query, catalog.tables)
    automaton = build_automaton(query)
    classes = _partitioning(query, automaton)
    filters = {c.index: list[Typed]() for c in query.components}
    rules: list[Conjunct] = []
    for conjunct in query.conjuncts:
        typed = lower(conjunct.expression, scope)
        if _is_filter(conjunct, typed):
            filters[conjunct.components[0]].append(typed)
        elif not any(_is_implied(conjunct, query, c) for c in classes):
            rules.append(conjunct)
    programs = compile_programs(scope, rules)
    return MatchPlan(
        query=query,
        automaton=automaton,
        pattern=compile_pattern(query, automaton, rules, programs.programs),
        programs=programs,
        plays=tuple(
            Play(c.index, by.stream, by.type, tuple(filters[c.index]))
            for c in query.components
            for by in c.played_by
        ),
        partition_by=_columns_by_stream(query, classes),
        outputs=tuple((out.column, lower(out.value, scope)) for out in query.outputs),
    )


def _is_filter(conjunct: Conjunct, typed: Typed) -> bool:
    """Whether a conjunct can be told from each event alone."""
    if len(conjunct.components) != 1 or conjunct.after:
        return False
    return all(
        not isinstance(node, Aggregated) and not (isinstance(node, Input) and node.kind != "each")
        for node in nodes_within(typed)
    )


def _partitioning(query: CheckedQuery, automaton: Automaton) -> tuple[EqualityClass, ...]:
    """Return the equalities by which the stream can be cut without changing any answer.

    What counts every event of the stream (contiguity, neighbours, a window of events) must see
    them all.
    """
    counts_all = query.strategy in ("STRICT", "PARTITION") or (query.within and query.within.events)
    if counts_all or any(t.adjacent_to for t in automaton.transitions):
        return ()
    return tuple(c for c in query.equalities if c.covers_all and _is_per_stream(query, c))


def _is_per_stream(query: CheckedQuery, equality: EqualityClass) -> bool:
    """Whether the class has one column per stream, and all are of one type."""
    if len(equality.members) < 2:
        return False
    columns: dict[str, set[str]] = {}
    types = set()
    for component, name in equality.members:
        for by in query.components[component].played_by:
            columns.setdefault(by.stream, set()).add(name.lower())
        types.add(query.type_of_attribute(component, name))
    return len(types) == 1 and all(len(names) == 1 for names in columns.values())


def _columns_by_stream(
    query: CheckedQuery, classes: tuple[EqualityClass, ...]
) -> dict[str, tuple[str, ...]]:
    columns: dict[str, tuple[str, ...]] = {}
    for equality in classes:
        found: dict[str, str] = {}
        for component, name in equality.members:
            for by in query.components[component].played_by:
                found[by.stream] = name
        columns = {stream: (*columns.get(stream, ()), name) for stream, name in found.items()}
    return columns


def _is_implied(conjunct: Conjunct, query: CheckedQuery, equality: EqualityClass) -> bool:
    """Whether a conjunct says no more than that two members of a class are equal."""
    expression = conjunct.expression
    if not isinstance(expression, Binary) or expression.operator != "=":
        return False
    return all(_is_member(side, query, equality) for side in (expression.left, expression.right))


def _is_member(side: object, query: CheckedQuery, equality: EqualityClass) -> bool:
    if not isinstance(side, Attribute) or side.default is not None:
        return False
    names = {c.name: c.index for c in query.components}
    return (names.get(side.component or "", -1), side.name) in equality.members

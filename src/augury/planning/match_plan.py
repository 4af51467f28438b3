"""The engine's share of the plan of an enumerated query: a compiled pattern and what feeds it.

Everything is decided by the physical plan; this puts it into the form that the match stage and the
runners without Spark read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, Column
from augury.analysis.declarations.moves import ERROR_BOUND, METHOD
from augury.matching.pattern import Pattern
from augury.planning.answer_kinds import LIKELY, Tells, tells
from augury.planning.bounded_window import bounded
from augury.planning.evaluated import reads_owners, refuse_unevaluated, without_owners
from augury.planning.expressions.program import ProgramSet
from augury.planning.expressions.typed import OF_END, Input, Typed, nodes_within
from augury.planning.pattern.compile_pattern import compile_pattern
from augury.planning.physical import PhysicalPlan, plan_query
from augury.planning.refusal import NOT_EVALUATED, PlanError


@dataclass(frozen=True, slots=True)
class Play:
    """Who may play a component: events of `stream`, of `type` (None: any), that pass `filters`."""

    component: int
    stream: str
    type: str | None
    filters: tuple[Typed, ...]


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """What a runner needs to evaluate an enumerated query over Arrow columns.

    `partition_by` maps each stream to the columns that partition its events; empty if none do.
    `drops_others` tells that events which can play nothing do not matter. `made` are the columns of
    the answer that are made; None: all. Which matches AFTER MATCH takes is known once no more can
    begin where they do; `at_once` is the pattern that does not wait for that. Matches `of_owners`
    say how their confidence was obtained.
    """

    query: CheckedQuery
    pattern: Pattern
    programs: ProgramSet
    plays: tuple[Play, ...]
    partition_by: Mapping[str, tuple[str, ...]]
    drops_others: bool
    outputs: tuple[tuple[Column, Typed], ...]
    made: frozenset[str] | None = None
    at_once: Pattern | None = None
    of_owners: bool = False

    @property
    def says_how(self) -> tuple[str, ...]:
        """The columns that say how a confidence was obtained, but for what RETURN names so."""
        named = {column.name.lower() for column, _ in self.outputs}
        return tuple(name for name in (METHOD, ERROR_BOUND) if self.of_owners and name not in named)

    @property
    def tells(self) -> Tells:
        """What the answer tells."""
        return tells(self.query)

    @property
    def is_likely(self) -> bool:
        """Whether probabilities are asked for."""
        return self.tells in LIKELY


def refuse_unlearned(query: CheckedQuery) -> None:
    """Raise where a query still has to learn its gaps."""
    if query.learn_gaps_from is not None:
        raise PlanError(
            NOT_EVALUATED,
            f"query {query.name} learns its gaps from {query.learn_gaps_from}, which has no rows",
            f"bind them in a local session: bind({query.learn_gaps_from!r}, table)",
        )


def plan_match(query: CheckedQuery, catalog: Catalog) -> MatchPlan:
    """Return the plan of a query that returns matches."""
    refuse_unevaluated(query)
    refuse_unlearned(query)
    plan = plan_query(query, catalog)
    rules = [predicate.conjunct for predicate in plan.search.predicates]
    values = dict(plan.outputs)
    pattern = compile_pattern(query, plan.automaton, rules, plan.programs.programs)
    if query.returns == "PROBABILITY":
        # A window is cut out beforehand, and holds whole matches only.
        pattern = replace(pattern, window=None)
    if query.correlated_by is not None:
        # Conditional probabilities may exceed the events' own, so the threshold comes afterwards.
        pattern = replace(pattern, threshold=0.0, strict_threshold=False)
    pattern = replace(bounded(query, pattern), tells_end=_asks_for_end(values.values()))
    at_once = None if query.after_match is None else pattern
    return MatchPlan(
        query=query,
        pattern=pattern if at_once is None else replace(pattern, waits=True),
        programs=plan.programs,
        plays=plays_of(plan),
        partition_by=dict(plan.partitioning.columns),
        drops_others=plan.drops_others,
        outputs=tuple((out.column, values[out.column.name]) for out in query.outputs),
        at_once=at_once,
    )


def _asks_for_end(outputs: Iterable[Typed]) -> bool:
    """Return whether it is told with which event a match is known to have ended."""
    nodes = (node for each in outputs for node in nodes_within(each))
    return any(isinstance(node, Input) and node.component == OF_END for node in nodes)


def plan_possible(query: CheckedQuery, catalog: Catalog) -> MatchPlan:
    """Return the plan of a query; over owners in doubt, of all that may be a match."""
    if not reads_owners(query):
        return plan_match(query, catalog)
    return replace(plan_match(without_owners(query), catalog), of_owners=True)


def plays_of(plan: PhysicalPlan) -> tuple[Play, ...]:
    """Return who may play each component."""
    types = {
        (component.index, by.stream): by.type
        for component in plan.query.components
        for by in component.played_by
    }
    return tuple(
        Play(
            play.component,
            play.stream.name,
            types[play.component, play.stream.name],
            tuple(predicate.expression for predicate in (*play.pushed, *play.on_arrival)),
        )
        for play in plan.plays
    )

"""The physical plan: the operators that run a query, in data order, and all that each needs.

Nothing here holds data. Spark's share (scan, mask, shuffle, sort) is text and column names; the
engine's share (matching or marginalising) is the automaton, the predicate programs and a few
numbers. Runners read it; so does EXPLAIN.
"""

from __future__ import annotations

from dataclasses import dataclass

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, StreamSchema
from augury.planning.distribution.partitioning import (
    Moved,
    Partitioning,
    has_neighbours,
    moved_rows,
)
from augury.planning.expressions.lower import Scope
from augury.planning.expressions.program import ProgramSet, compile_programs
from augury.planning.expressions.spark_sql import quoted, string_literal, to_spark_sql
from augury.planning.expressions.typed import Input, Typed, nodes_within
from augury.planning.logical import (
    Mask,
    Node,
    Partition,
    Return,
    Search,
    find,
    logical_plan,
    search_of,
)
from augury.planning.logical import Play as LogicalPlay
from augury.planning.needed import columns_read, group_columns
from augury.planning.operators import Operator, operators_of
from augury.planning.pattern.automaton import Automaton
from augury.planning.predicates import Predicate
from augury.planning.rewrites import rewrite


@dataclass(frozen=True, slots=True)
class Play:
    """Who may play a component, as Spark tests it: `bit` is set in the mask where `sql` is true.

    `on_arrival` are predicates that Spark is not given (they need a table's rows, or a cast that
    depends on its session), and so are tested over Arrow columns.
    """

    component: int
    stream: StreamSchema
    sql: str
    pushed: tuple[Predicate, ...]
    on_arrival: tuple[Predicate, ...]

    @property
    def bit(self) -> int:
        return 1 << self.component


@dataclass(frozen=True, slots=True)
class PhysicalPlan:
    """A query, ready for a runner.

    `search` holds automaton, window and strategy; `search.predicates[k]` is program k of
    `programs`.
    """

    query: CheckedQuery
    logical: Node
    plays: tuple[Play, ...]
    drops_others: bool
    partitioning: Partitioning
    moved: Moved
    search: Search
    programs: ProgramSet
    outputs: tuple[tuple[str, Typed], ...]
    operators: tuple[Operator, ...]

    @property
    def automaton(self) -> Automaton:
        return self.search.automaton


def plan_query(query: CheckedQuery, catalog: Catalog | None = None) -> PhysicalPlan:
    """Return the physical plan of a checked query."""
    scope = Scope(query, catalog.tables) if catalog else Scope(query)
    logical = rewrite(logical_plan(scope), scope)
    search, mask, cut = search_of(logical), find(logical, Mask), find(logical, Partition)
    assert mask is not None
    assert cut is not None
    programs = compile_programs(scope, [p.conjunct for p in search.predicates])
    answer = find(logical, Return)
    outputs = answer.columns if answer else ()
    read = columns_read([*(p.expression for p in search.predicates), *(v for _, v in outputs)])
    plays = tuple(p for play in mask.plays for p in _plays(play, query))
    by_key = query.strategy == "PARTITION" or query.looks_beside or has_neighbours(search.automaton)
    moved = moved_rows(query, (*read, *group_columns(query)), cut.by, by_key=by_key)
    return PhysicalPlan(
        query=query,
        logical=logical,
        plays=plays,
        drops_others=mask.drops_others,
        partitioning=cut.by,
        moved=moved,
        search=search,
        programs=programs,
        outputs=outputs,
        operators=operators_of(query, logical),
    )


def _plays(play: LogicalPlay, query: CheckedQuery) -> list[Play]:
    return [
        Play(
            play.component,
            stream,
            _play_sql(stream, by.type, pushed),
            pushed,
            tuple(p for p in play.predicates if p not in pushed),
        )
        for by in play.by
        for stream in query.streams
        if stream.name == by.stream
        for pushed in [tuple(p for p in play.predicates if _is_for_spark(p, stream))]
    ]


def _is_for_spark(predicate: Predicate, stream: StreamSchema) -> bool:
    """Whether Spark can test it: what stands beside an event is known once rows are in order."""
    beside = {each.column.name for each in stream.neighbours}
    nodes = nodes_within(predicate.expression)
    return predicate.is_for_spark and not any(
        isinstance(node, Input) and node.column in beside for node in nodes
    )


def _play_sql(stream: StreamSchema, type_: str | None, pushed: tuple[Predicate, ...]) -> str:
    conditions = [to_spark_sql(p.expression) for p in pushed]
    if type_ is not None and stream.type is not None:
        conditions.insert(0, f"({quoted(stream.type)} = {string_literal(type_)})")
    return (
        "(" + " AND ".join(conditions) + ")"
        if len(conditions) > 1
        else "".join(conditions) or "true"
    )

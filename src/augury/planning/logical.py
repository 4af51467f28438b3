"""The logical plan: what a query does with events, as a chain of frozen nodes, source first.

`logical_plan` gives the plan as written: everything is tested in the search. The rewrites move each
thing to where it costs least; none changes what the query means. A query over queries reads their
output through a `Scan` whose stream names the query: that is the hierarchy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from augury.analysis.checked import CheckedQuery, CheckedWindow, PlayedBy
from augury.analysis.declarations.catalog import StreamSchema
from augury.language.text.expressions import expression_text
from augury.language.tree import Strategy
from augury.planning.distribution.partitioning import Partitioning
from augury.planning.expressions.lower import Scope, lower
from augury.planning.expressions.typed import Typed
from augury.planning.pattern.automaton import Automaton
from augury.planning.pattern.build_automaton import build_automaton
from augury.planning.pattern.sequence import unsuited
from augury.planning.predicates import Predicate, predicates_of

Method = Literal[
    "chain",
    "chain per key",
    "chain of runs",
    "interval plan",
    "join plan",
    "lineage",
    "lineage or sampling",
    "sampling",
    "worlds",
]


@dataclass(frozen=True, slots=True)
class Scan:
    """Read columns of a stream, or of the output of a query."""

    stream: StreamSchema
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Union:
    """The events of several streams, in one order."""

    sources: tuple[Scan, ...]


@dataclass(frozen=True, slots=True)
class Play:
    """Which events may play a component: by stream and type, and by `predicates` on the event."""

    component: int
    by: tuple[PlayedBy, ...]
    predicates: tuple[Predicate, ...] = ()


@dataclass(frozen=True, slots=True)
class Mask:
    """Say for each event which components it can play (bit k: component k).

    `drops_others` is False where even an event that plays nothing counts, as it does for
    contiguity and for windows of events.
    """

    source: Node
    plays: tuple[Play, ...]
    drops_others: bool


@dataclass(frozen=True, slots=True)
class Partition:
    """Cut the stream into parts that can be evaluated apart."""

    source: Node
    by: Partitioning


@dataclass(frozen=True, slots=True)
class Match:
    """Enumerate matches with their confidence."""

    source: Node
    automaton: Automaton
    predicates: tuple[Predicate, ...]
    strategy: Strategy
    window: CheckedWindow | None
    threshold: float | None


@dataclass(frozen=True, slots=True)
class Marginalise:
    """Compute the probability that the query holds, at each time or in each window."""

    source: Node
    automaton: Automaton
    predicates: tuple[Predicate, ...]
    by_time: bool
    window: CheckedWindow | None
    every: CheckedWindow | None
    method: Method


@dataclass(frozen=True, slots=True)
class Group:
    """Combine probabilities within groups."""

    source: Node
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Return:
    """Give the columns of the answer."""

    source: Node
    columns: tuple[tuple[str, Typed], ...]


Node = Scan | Union | Mask | Partition | Match | Marginalise | Group | Return
Search = Match | Marginalise
N = TypeVar("N", Scan, Union, Mask, Partition, Match, Marginalise, Group, Return)

_METHODS: dict[str, Method] = {
    "regular": "chain",
    "extended regular": "chain per key",
    "safe": "interval plan",
    "hard": "sampling",
}


def logical_plan(scope: Scope) -> Node:
    """Return the plan of a query as it is written, before any rewrite."""
    query = scope.query
    plan: Node = _search(_sources(query), scope)
    if query.group_by:
        plan = Group(plan, tuple(expression_text(e) for e in query.group_by))
    return Return(plan, _columns(scope))


def _sources(query: CheckedQuery) -> Node:
    scans = tuple(Scan(s, tuple(c.name for c in s.columns)) for s in query.streams)
    return scans[0] if len(scans) == 1 else Union(scans)


def _search(source: Node, scope: Scope) -> Search:
    query, automaton = scope.query, build_automaton(scope.query)
    predicates = predicates_of(scope)
    having = query.having
    if query.returns in ("MATCHES", "COUNT"):
        threshold = having.threshold if having and having.measure == "CONFIDENCE" else None
        return Match(source, automaton, predicates, query.strategy, query.within, threshold)
    return Marginalise(
        source,
        automaton,
        predicates,
        query.returns == "PROBABILITY BY TIME",
        query.within,
        query.every,
        _method(query),
    )


def _method(query: CheckedQuery) -> Method:
    """Return how the probability of a query is found."""
    if query.verdict.join is not None:
        return "join plan"
    if query.verdict.kind == "deterministic" or unsuited(query) is None:
        if query.verdict.kind == "safe" and query.over is not None:
            return "chain of runs"
        return _METHODS.get(query.verdict.kind, "worlds")
    if query.verdict.kind == "hard" and query.approximate is not None:
        return "sampling" if query.returns == "PROBABILITY BY TIME" else "lineage or sampling"
    return "lineage"


def _columns(scope: Scope) -> tuple[tuple[str, Typed], ...]:
    return tuple((o.column.name, lower(o.value, scope)) for o in scope.query.outputs)


# Reading and changing plans ----------------------------------------------------------------------


def chain_of(plan: Node) -> Iterator[Node]:
    """Yield the nodes of a plan, the answer first."""
    node: Node = plan
    while True:
        yield node
        if isinstance(node, Scan | Union):
            return
        node = node.source


def find(plan: Node, kind: type[N]) -> N | None:
    """Return the plan's node of a kind, if it has one."""
    return next((node for node in chain_of(plan) if isinstance(node, kind)), None)


def search_of(plan: Node) -> Search:
    """Return the node that matches or marginalises."""
    return next(node for node in chain_of(plan) if isinstance(node, Match | Marginalise))


def scans_of(plan: Node) -> tuple[Scan, ...]:
    """Return the scans at the bottom of a logical plan."""
    bottom = next(node for node in chain_of(plan) if isinstance(node, Scan | Union))
    return bottom.sources if isinstance(bottom, Union) else (bottom,)


def replaced(plan: Node, old: Node, new: Node) -> Node:
    """Return the plan with one node exchanged."""
    if plan is old:
        return new
    if isinstance(plan, Scan | Union):
        return plan
    return replace(plan, source=replaced(plan.source, old, new))

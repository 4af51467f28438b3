"""The rows of streams on their way: which of them matter, and which columns they take along."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from augury.analysis.declarations.catalog import StreamSchema
from augury.evaluation.network import Network
from augury.evaluation.stream_rows import EVENT_ID
from augury.planning.base_streams import base_streams
from augury.planning.distribution.reachable import least_chance
from augury.planning.expressions.typed import Aggregated, Input, nodes_within
from augury.planning.match_plan import MatchPlan, Play
from augury.sources.columns import ARROW_TYPES

Tables = Mapping[str, pa.Table]


def travelling(network: Network, stream: StreamSchema) -> pa.Schema:
    """Return the columns of a stream that its rows take along; a row without ID brings a hash."""
    kinds = {column.name: ARROW_TYPES[column.type.value] for column in stream.columns}
    fields = [(name, kinds[name]) for name in columns_of(network, stream)]
    if stream.id is None:
        fields.append((EVENT_ID, pa.string()))
    return pa.schema(fields)


def columns_of(network: Network, stream: StreamSchema) -> tuple[str, ...]:
    """Return the columns of a base stream that travel, in the declared order."""
    is_all = network.whole_rows or _is_whole(network, stream)
    if is_all or any(map(_reads_all, _plans_of(network, stream))):
        return tuple(column.name for column in stream.columns)
    marks = _lower_case(stream.time, stream.type, stream.probability)
    chosen = values_read(network, stream) | marks
    return tuple(c.name for c in stream.columns if c.name.lower() in chosen)


def values_read(network: Network, stream: StreamSchema) -> set[str]:
    """Return the columns that identify, order or cut events or that expressions read.

    By lower-case name. Time, type and probability are of use without anybody asking for them.
    """
    found = _lower_case(stream.id, stream.order_by, *stream.key, *stream.alternatives)
    beside = network.neighbours.get(stream.name.lower(), ())
    found |= _lower_case(*(neighbour.of.name for neighbour in beside))
    return found.union(*(_values_read(plan, stream) for plan in _plans_of(network, stream)))


def _plans_of(network: Network, stream: StreamSchema) -> list[MatchPlan]:
    plans = network.plans.values()
    return [p for p in plans if any(own.name == stream.name for own in p.query.streams)]


def plays_of(network: Network, stream: StreamSchema) -> list[tuple[Play, float | None]] | None:
    """Return what a row may play, from which probability on; None where every row matters."""
    # Of alternatives all are needed to tell whether they add up to more than 1.
    if _is_whole(network, stream) or stream.alternatives:
        return None
    plans = _plans_of(network, stream)
    if not all(plan.drops_others for plan in plans):
        return None
    return [
        (play, least_chance(plan.query, play.component))
        for plan in plans
        for play in plan.plays
        if play.stream == stream.name
    ]


def _is_whole(network: Network, stream: StreamSchema) -> bool:
    """Return whether all rows of a base stream matter, with all columns.

    They do where a probability is asked for, since every time of the stream is answered, and
    where another stream is made of them.
    """
    name = stream.name.lower()
    if name in network.catalog.guarded:
        return True
    if any(name in base_streams(own, network.catalog) for own in network.streams_of_others):
        return True
    return any(
        network.graph.of(asking).is_likely or own.name.lower() != name
        for asking, query in network.queries.items()
        for own in query.streams
        if own.query is None and name in base_streams(own, network.catalog)
    )


def _reads_all(plan: MatchPlan) -> bool:
    return plan.tells != "matches" or plan.query.correlated_by is not None


def _values_read(plan: MatchPlan, stream: StreamSchema) -> set[str]:
    expressions = [column.expression for column in plan.programs.columns]
    expressions += [expression for _, expression in plan.outputs]
    expressions += [f for play in plan.plays if play.stream == stream.name for f in play.filters]
    nodes = (node for expression in expressions for node in nodes_within(expression))
    return _lower_case(
        *plan.partition_by.get(stream.name, ()),
        *(key.name for key in plan.query.keys),
        *(name for equality in plan.query.equalities for _, name in equality.members),
        *(node.column for node in nodes if isinstance(node, Input | Aggregated)),
    )


def _lower_case(*names: str | None) -> set[str]:
    return {name.lower() for name in names if name is not None}

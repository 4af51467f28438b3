"""The columns of an answer, known before any row is read: Spark plans with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import DataType
from augury.analysis.declarations.moves import ERROR_BOUND, METHOD
from augury.errors import AuguryError
from augury.evaluation.answers.match_answers import moment_type
from augury.evaluation.network import Network
from augury.evaluation.probability.lineage_probability import probability_schema
from augury.planning.match_plan import MatchPlan
from augury.sources.columns import ARROW_TYPES

_SPARK = {
    pa.string(): "string",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.binary(): "binary",
}


def network_schema(network: Network, name: str) -> pa.Schema:
    """Return the columns of the answer of one of the network's queries."""
    if network.graph.of(name).is_likely:
        return probability_schema(network.queries[name.lower()])
    return answer_schema(network.plans[name.lower()])


def chosen(query: str, columns: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the columns of a query's answer that are asked for, as they are written there."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise AuguryError(f"columns is a list of names; for one, write [{columns!r}]")
    names, asked = {name.lower(): name for name in known}, [str(column) for column in columns]
    for column in asked:
        if column.lower() not in names:
            raise AuguryError(
                f"the answer of {query} has no column {column!r}; it has {', '.join(known)}"
            )
    if not asked:
        raise AuguryError(f"no columns of {query} are asked for; it has {', '.join(known)}")
    return list(dict.fromkeys(names[column.lower()] for column in asked))


def answer_schema(plan: MatchPlan) -> pa.Schema:
    """Return the columns of a query's answer."""
    if plan.is_likely:
        return probability_schema(plan.query)
    return _match_schema(plan) if plan.tells == "matches" else _count_schema(plan.query)


def _count_schema(query: CheckedQuery) -> pa.Schema:
    return pa.schema([*_head(query), ("count", pa.int64()), ("expected", pa.float64())])


def _head(query: CheckedQuery, *more: tuple[str, Any]) -> list[tuple[str, Any]]:
    keys = [(key.name, ARROW_TYPES[key.type.value]) for key in query.keys]
    return [("query", pa.string()), *more, *keys]


_HOW = {METHOD: pa.string(), ERROR_BOUND: pa.float64()}


def _match_schema(plan: MatchPlan) -> pa.Schema:
    moment = moment_type(plan.query)
    event = [
        ("component", pa.string()),
        ("event_id", pa.string()),
        ("ts", moment),
        ("probability", pa.float64()),
        ("missed", pa.bool_()),
    ]
    if plan.query.allow:
        event += [("earliest", moment), ("latest", moment)]
    events = [("events", pa.list_(pa.struct(event)))]
    if plan.query.each_event:
        events = [
            ("component", pa.string()),
            ("item", pa.int64()),
            ("event_id", pa.string()),
            ("event_ts", moment),
        ]
    fields = [
        *_head(plan.query, ("match_id", pa.string()), ("revision", pa.int64())),
        ("start_ts", moment),
        ("end_ts", moment),
        ("confidence", pa.float64()),
        ("n_missed", pa.int64()),
        *((name, _HOW[name]) for name in plan.says_how),
        *events,
        *((column.name, _type_of(column.type)) for column, _ in plan.outputs),
    ]
    return pa.schema([field for field in fields if plan.made is None or field[0] in plan.made])


def _type_of(kind: DataType) -> Any:
    return pa.duration("us") if kind is DataType.INTERVAL else ARROW_TYPES[kind.value]


def spark_schema(schema: pa.Schema) -> str:
    """Return a schema as Spark writes it."""
    return ", ".join(f"`{f.name.replace('`', '``')}` {_spark_type(f.type)}" for f in schema)


def _spark_type(kind: Any) -> str:
    if pa.types.is_list(kind):
        return f"array<{_spark_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return "struct<" + ", ".join(f"{f.name}: {_spark_type(f.type)}" for f in kind) + ">"
    if pa.types.is_timestamp(kind):
        return "timestamp"
    if pa.types.is_duration(kind):
        return "interval day to second"
    return _SPARK[kind]

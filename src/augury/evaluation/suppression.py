"""Policies over bound rows: what is kept of a stream, and the log of decisions.

This stands before every reader: whoever evaluates gets the kept rows in the place of the raw ones,
which are out of reach from here on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, PolicySchema, StreamSchema
from augury.errors import DataError
from augury.evaluation.encoding import chances_of, declaration_of, rows_of_table, ties_of, whole
from augury.evaluation.stream_rows import StreamRows, event_ids
from augury.planning.policy_plan import PolicyPlan, plan_policy
from augury.privacy.pattern import Event, Face, Values
from augury.privacy.policy import Decider, Decision
from augury.sources.columns import ARROW_TYPES
from augury.sources.rows import alternative_groups, conform, sift

# NaN equals NaN here, and Python knows it by identity.
_NAN = float("nan")


@dataclass(frozen=True)
class Suppressed:
    """A stream under a policy: its kept rows, and what was decided."""

    kept: StreamRows
    audit: pa.Table
    decider: Decider


def gated(
    catalog: Catalog, queries: Mapping[str, CheckedQuery], bound: Mapping[str, pa.Table]
) -> dict[str, Suppressed]:
    """Return what every policy keeps of its stream, if that is bound, by lower-case stream."""
    found = {}
    for policy in catalog.policies.values():
        if policy.stream.lower() in bound:
            plan = plan_policy(policy, queries, catalog, table_rows(catalog, bound))
            source = _checked(catalog.streams[policy.stream.lower()], bound)
            found[policy.stream.lower()] = suppressed(plan, source, taught(plan, catalog, bound))
    return found


def taught(plan: PolicyPlan, catalog: Catalog, bound: Mapping[str, pa.Table]) -> Decider:
    """Return what decides, with what its history teaches."""
    name = plan.schema.statement.learn_from
    if name is None:
        return Decider(plan.policy)
    schema = catalog.streams[name.lower()]
    if name.lower() not in bound:
        raise DataError(
            f"policy {plan.schema.name} learns from {schema.name}, which has no data; bind it: "
            f"bind({schema.name!r}, table)"
        )
    history = _checked(schema, bound)
    return Decider(plan.policy, [each for each, _ in events_of(history, plan.columns)])


def suppressed(plan: PolicyPlan, source: StreamRows, decider: Decider) -> Suppressed:
    """Return what a policy makes of the rows of its stream."""
    keeps = np.ones(source.table.num_rows, np.bool_)
    log = list[tuple[Event, Decision]]()
    for event, rows in events_of(source, plan.columns):
        decision = decided(plan.schema, decider, event)
        log.append((event, decision))
        keeps[rows] = decision.kept
    # Bad rows are as secret as suppressed ones: readers neither see nor count them.
    table = source.table.filter(pa.array(keeps))
    kept = StreamRows(source.schema, table, source.rejected.slice(0, 0))
    return Suppressed(kept, audit_table(source.schema, log), decider)


def decided(schema: PolicySchema, decider: Decider, event: Event) -> Decision:
    """Return the decision about the next event of a stream."""
    if decider.policy.online and decider.tally.count and event.time < decider.tally.last:
        raise DataError(
            f"policy {schema.name} learns online, and its history does not end before the rows of "
            f"{schema.stream} begin; bind a history of earlier rows"
        )
    return decider.decide(event)


def behind_policies(
    catalog: Catalog, bound: Mapping[str, pa.Table], found: Mapping[str, Suppressed]
) -> tuple[dict[str, pa.Table], dict[str, StreamRows]]:
    """Return the bound rows and the loaded streams that readers see: of policies, what was kept.

    A history is read by its policy alone, so that nothing of it is left.
    """
    rows, loaded = dict(bound), dict[str, StreamRows]()
    for policy in catalog.policies.values():
        name, history = policy.stream.lower(), (policy.statement.learn_from or "").lower()
        if history in rows:
            empty = _checked(catalog.streams[history], bound)
            none, bad = empty.table.slice(0, 0), empty.rejected.slice(0, 0)
            loaded[history] = replace(empty, table=none, rejected=bad)
        if name in found:
            loaded[name] = found[name].kept
            for alias, own in catalog.suppressed.items():
                if own.policy == policy.name:
                    table = found[name].kept.table
                    loaded[alias] = StreamRows(catalog.streams[alias], table, table.slice(0, 0))
    rows |= {name: each.table for name, each in loaded.items()}
    return rows, loaded


def rejected_rows(catalog: Catalog, name: str, bound: Mapping[str, pa.Table]) -> pa.Table:
    """Return the bad rows of a stream under a policy, or of a history, for their owner."""
    return _checked(catalog.streams[name], bound).rejected


def _checked(schema: StreamSchema, bound: Mapping[str, pa.Table]) -> StreamRows:
    """Return the rows of a stream, good and bad; an error tells nothing of what they hold."""
    declared = declaration_of(schema)
    try:
        return StreamRows(schema, *sift(conform(bound[schema.name.lower()], declared), declared))
    except (DataError, pa.ArrowException):
        raise DataError(
            f"the rows of stream {schema.name} do not have the columns and types that it declares; "
            "what is wrong is not told, because a policy reads them"
        ) from None


def table_rows(catalog: Catalog, bound: Mapping[str, pa.Table]) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of the bound tables."""
    return {
        name: rows_of_table(schema, bound[name])
        for name, schema in catalog.tables.items()
        if name in bound
    }


# Events -------------------------------------------------------------------------------------------


def events_of(source: StreamRows, columns: Sequence[str]) -> list[tuple[Event, list[int]]]:
    """Return the events of a stream in the order of decisions, each with its rows."""
    schema, table = source.schema, source.table
    chances, values = chances_of(schema, table).tolist(), _values(table, schema, columns)
    times = whole(table.column(schema.time)).tolist()
    ties = ties_of(schema, table, np.arange(table.num_rows))
    types = table.column(schema.type).to_pylist()
    ids = event_ids(source).to_pylist()
    found = []
    for rows in _groups(source):
        first = rows[0]
        if any((times[row], ties[row]) != (times[first], ties[first]) for row in rows):
            raise DataError(
                f"alternatives of one event of stream {schema.name} have different times; a policy "
                "keeps or drops them together"
            )
        if any(types[row] != types[first] for row in rows):
            raise DataError(
                f"alternatives of one event of stream {schema.name} have different types; a policy "
                "decides by type"
            )
        faces = tuple(Face(chances[row], values[row]) for row in rows)
        found.append((Event(times[first], ties[first], ids[first], types[first], faces), rows))
    return sorted(found, key=lambda each: (each[0].order, each[0].id is not None, each[0].id))


def _groups(source: StreamRows) -> list[list[int]]:
    """Return the rows of each event."""
    count = source.table.num_rows
    if not source.schema.alternatives:
        return [[row] for row in range(count)]
    numbers = alternative_groups(source.table, declaration_of(source.schema)).tolist()
    groups = dict[int, list[int]]()
    for row, number in enumerate(numbers):
        groups.setdefault(number, []).append(row)
    return list(groups.values())


def _values(table: pa.Table, schema: StreamSchema, columns: Sequence[str]) -> list[Values]:
    """Return the attributes of each row, as they are inside."""
    made = {name: inside(table.column(name)) for name in columns}
    return [dict(zip(made, row, strict=True)) for row in zip(*made.values(), strict=True)] or [
        {} for _ in range(table.num_rows)
    ]


def inside(column: Any) -> list[Any]:
    """Return values as they are inside: times as microseconds, dates as days."""
    if pa.types.is_temporal(column.type):
        missing = column.is_null().to_pylist()
        numbers = whole(column).tolist()
        return [None if m else n for m, n in zip(missing, numbers, strict=True)]
    values: list[Any] = column.to_pylist()
    if pa.types.is_floating(column.type):
        return [_NAN if value != value else value for value in values]  # noqa: PLR0124
    return values


# The log of decisions -----------------------------------------------------------------------------


def audit_table(schema: StreamSchema, log: Sequence[tuple[Event, Decision]]) -> pa.Table:
    """Return the decisions as a table, one row per event, in their order."""
    assert schema.time is not None
    time = schema.column(schema.time)
    assert time is not None
    kind = ARROW_TYPES[time.type.value]
    ids = [None if event.id is None else str(event.id) for event, _ in log]
    return pa.table(
        {
            "ts": pa.array([event.time for event, _ in log], pa.int64()).cast(kind),
            "event_id": pa.array(ids, pa.string()),
            "type": pa.array([event.type for event, _ in log], pa.string()),
            "kept": pa.array([each.kept for _, each in log], pa.bool_()),
            "gain": pa.array([each.gain for _, each in log], pa.float64()),
            "penalty": pa.array([each.penalty for _, each in log], pa.float64()),
            "rule": pa.array([each.rule for _, each in log], pa.string()),
        }
    )

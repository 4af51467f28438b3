"""The suppress stage: checked rows of a stream under a policy in, kept rows and decisions out.

Bound, pushed and distributed rows all go through here. Rows come when all before a horizon are
there (`stages.source` waits for that), are decided about in order, and those that are not kept go
no further than the log of decisions.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.catalog import StreamSchema
from augury.errors import DataError
from augury.evaluation.codec import Format
from augury.evaluation.encoding import chances_of, declaration_of, ties_of, whole
from augury.evaluation.policies.columns import Ordered
from augury.evaluation.policies.decider import ColumnDecider, is_summable
from augury.evaluation.stream_rows import StreamRows, event_ids
from augury.kernels.privacy.layout import Decided
from augury.planning.policy_plan import PolicyPlan
from augury.privacy.pattern import Event, Face, Values
from augury.privacy.policy import Decider, Decision
from augury.records import Flags, as_key
from augury.sources.columns import ARROW_TYPES
from augury.sources.rows import alternative_groups

FORMAT = Format(b"AUGURYPD", 2)
# What decides: over columns where prefixes can be summed up, else over every prefix.
Deciding = Decider | ColumnDecider
RULES = np.array(["bound", "never", "types", "weights"], dtype=object)


@dataclass(frozen=True)
class Passed:
    """What became of some rows: those that are kept, and the log of what was decided.

    `keeps` says of each row that came whether it is among them.
    """

    kept: StreamRows
    audit: pa.Table
    keeps: Flags


@dataclass(frozen=True)
class SuppressStage:
    """A policy before a stream. Its state is what decides, which a step uses up."""

    plan: PolicyPlan
    stream: StreamSchema

    @property
    def revises(self) -> bool:
        """Decisions are never taken back."""
        return False

    def start(self, history: StreamRows | None = None) -> Deciding:
        """Return the state before any row, with what a history teaches."""
        if is_summable(self.plan):
            return ColumnDecider(self.plan, history)
        events = events_of(history, self.plan.columns) if history is not None else ()
        return Decider(self.plan.policy, [event for event, _ in events])

    def advance(self, state: Deciding, rows: StreamRows) -> tuple[Deciding, Passed]:
        """Decide about rows that are checked: all before some horizon, and none before the last."""
        if isinstance(state, ColumnDecider):
            if state.online is not None and state.online.seen and rows.table.num_rows:
                earliest = whole(rows.table.column(rows.schema.time)).min()
                self._refuse_overlap(int(earliest), state.online.last)
            events, decided = state.decide(rows)
            keeps = np.ones(rows.table.num_rows, np.bool_)
            keeps[events.rows] = np.repeat(decided.kept, np.diff(events.batch.begin))
            return state, self._passed(rows, keeps, self._log(events, decided))
        return state, self._passed(rows, *self._one_by_one(state, rows))

    def _one_by_one(self, state: Decider, rows: StreamRows) -> tuple[Flags, pa.Table]:
        keeps = np.ones(rows.table.num_rows, np.bool_)
        log = list[tuple[Event, Decision]]()
        for event, own in events_of(rows, self.plan.columns):
            if state.policy.online and state.tally.count:
                self._refuse_overlap(event.time, state.tally.last)
            decision = state.decide(event)
            log.append((event, decision))
            keeps[own] = decision.kept
        return keeps, audit_table(self.stream, log)

    def _passed(self, rows: StreamRows, keeps: Flags, audit: pa.Table) -> Passed:
        # Bad rows are as secret as suppressed ones: readers neither see nor count them.
        table, bad = rows.table.filter(pa.array(keeps)), rows.rejected.slice(0, 0)
        return Passed(StreamRows(rows.schema, table, bad), audit, keeps)

    def _log(self, events: Ordered, decided: Decided) -> pa.Table:
        """Return the decisions as a table, one row per event, in their order."""
        schema = audit_schema(self.stream)
        weighs = self.plan.policy.method != "TYPES"
        nothing = pa.nulls(len(events), pa.float64())
        columns = [
            pa.array(events.batch.time).cast(schema.field("ts").type),
            _texts(events.ids),
            _texts(events.types),
            pa.array(decided.kept),
            pa.array(decided.gain) if weighs else nothing,
            pa.array(decided.penalty) if weighs else nothing,
            pa.DictionaryArray.from_arrays(decided.rule, RULES).cast(pa.string()),
        ]
        return pa.table(columns, schema)

    def _refuse_overlap(self, time: int, last: int) -> None:
        if time < last:
            raise DataError(
                f"policy {self.plan.schema.name} learns online, and its history does not end "
                f"before the rows of {self.stream.name} begin; bind a history of earlier rows"
            )

    def dump(self, state: Deciding) -> bytes:
        """Return the state as bytes, which are as secret as the raw stream."""
        if isinstance(state, ColumnDecider):
            return FORMAT.seal(state.dump(), self.plan.mark)
        return FORMAT.seal(json.dumps(state.dump()).encode(), self.plan.mark)

    def load(self, data: bytes) -> Deciding:
        """Return the state of bytes that this policy has stored; raise `StateError` for others."""
        _, body = FORMAT.unseal(data, f"the policy {self.plan.schema.name}", self.plan.mark)
        if body.startswith(b"{"):
            return Decider.load(self.plan.policy, json.loads(body))
        return ColumnDecider.load(self.plan, body)


# Events -------------------------------------------------------------------------------------------


def events_of(source: StreamRows, columns: Sequence[str]) -> list[tuple[Event, list[int]]]:
    """Return the events of a stream in the order of decisions, each with its rows."""
    schema, table = source.schema, source.table
    chances, values = chances_of(schema, table).tolist(), _values(table, columns)
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


def _values(table: pa.Table, columns: Sequence[str]) -> list[Values]:
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
    return list(map(as_key, values)) if pa.types.is_floating(column.type) else values


# The log of decisions -----------------------------------------------------------------------------


def _texts(column: Any) -> Any:
    """Return values as Python writes them."""
    kind = column.type
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_integer(kind):
        return column.cast(pa.string())
    return pa.array([None if each is None else str(each) for each in column.to_pylist()])


def audit_table(stream: StreamSchema, log: Sequence[tuple[Event, Decision]]) -> pa.Table:
    """Return the decisions as a table, one row per event, in their order."""
    ids = [None if event.id is None else str(event.id) for event, _ in log]
    columns = [
        pa.array([event.time for event, _ in log], pa.int64()).cast(_time_type(stream)),
        pa.array(ids, pa.string()),
        pa.array([event.type for event, _ in log], pa.string()),
        pa.array([each.kept for _, each in log], pa.bool_()),
        pa.array([each.gain for _, each in log], pa.float64()),
        pa.array([each.penalty for _, each in log], pa.float64()),
        pa.array([each.rule for _, each in log], pa.string()),
    ]
    return pa.table(columns, audit_schema(stream))


def audit_schema(stream: StreamSchema) -> pa.Schema:
    """Return the columns of the log of decisions about a stream."""
    return pa.schema(
        [
            ("ts", _time_type(stream)),
            ("event_id", pa.string()),
            ("type", pa.string()),
            ("kept", pa.bool_()),
            ("gain", pa.float64()),
            ("penalty", pa.float64()),
            ("rule", pa.string()),
        ]
    )


def _time_type(stream: StreamSchema) -> pa.DataType:
    assert stream.time is not None
    time = stream.column(stream.time)
    assert time is not None
    return ARROW_TYPES[time.type.value]

"""Streams beside forecasts: what a forecast USING MODEL reads, and forecasts as queries read them.

Readings are filtered step by step, as they come; a forecast is made, and its rows are events.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.catalog import Catalog, StreamSchema
from augury.errors import DataError
from augury.evaluation.codec import ipc_bytes, plain, value_of
from augury.evaluation.encoding import whole
from augury.evaluation.inferring import Inferring, Steps
from augury.evaluation.network import Network
from augury.evaluation.stages.forecast import ForecastStage
from augury.evaluation.stages.forecast_state import ForecastState
from augury.evaluation.stages.made import Made, Rows
from augury.evaluation.stages.source import cut, in_order
from augury.evaluation.stream_rows import NUMBERED, StreamRows, with_event_ids
from augury.inference.following import Followed
from augury.inference.model import Model
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET
from augury.planning.refusal import NOT_EVALUATED, PlanError
from augury.sources.columns import ARROW_TYPES
from augury.sources.rows import REASON

# The length of a part of stored bytes, in bytes.
LENGTH = 8


def inferring(catalog: Catalog, tables: Mapping[str, pa.Table], stream: str) -> Steps:
    """Return how an inferred stream follows its readings; `tables` are those of its model."""
    how = catalog.inferred[stream.lower()].statement
    model = catalog.models[how.model.lower()].statement
    if model.learn_from is not None:
        message = f"model {how.model} is learned from stream {model.learn_from}, whose rows a run "
        message += "takes as they come: it would be another model with every row"
        hint = "declare its tables, or bind all rows in a Session(engine='local')"
        raise PlanError(NOT_EVALUATED, message, hint)

    def bound(name: str) -> pa.Table:
        if name.lower() not in tables:
            raise DataError(f"table {name} has no data; bind it, for model {how.model} is of it")
        return tables[name.lower()]

    def no_rows(name: str) -> StreamRows:
        raise AssertionError(name)

    return Inferring(catalog, no_rows, bound).following(stream)


# What USING MODEL reads ---------------------------------------------------------------------------


@dataclass
class FilteredState:
    """Beliefs by key, and the readings of a step that is not complete."""

    followed: Followed
    waiting: pa.Table


@dataclass(frozen=True)
class Filtered:
    """Filters a stream of readings by the tables of its model."""

    catalog: Catalog
    tables: Mapping[str, pa.Table]
    stream: str

    @classmethod
    def of(cls, network: Network, stream: str) -> Filtered:
        """Return what filters a stream AS FILTER of a network."""
        return cls(network.catalog, network.tables, stream)

    @cached_property
    def steps(self) -> Steps:
        return inferring(self.catalog, self.tables, self.stream)

    @property
    def model(self) -> Model:
        """The model, which goes on by itself."""
        model = self.steps.follower.model
        assert isinstance(model, Model)
        return model

    @property
    def name(self) -> str:
        return f"filter {self.stream}"

    @property
    def source(self) -> str:
        return self.catalog.inferred[self.stream.lower()].statement.readings.lower()

    @property
    def readings(self) -> StreamSchema:
        """The stream of readings."""
        return self.catalog.streams[self.source]

    def start(self) -> FilteredState:
        columns = [(c.name, ARROW_TYPES[c.type.value]) for c in self.readings.columns]
        followed = self.steps.follower.start()
        assert isinstance(followed, Followed)
        return FilteredState(followed, pa.schema(columns).empty_table())

    def advance(
        self, state: FilteredState, fresh: Rows, horizon: int
    ) -> tuple[FilteredState, Made]:
        """Take readings in; let the steps go on that are complete, those without one between."""
        new = fresh[self.source].table.select(state.waiting.column_names)
        rows = pa.concat_tables([state.waiting, new.cast(state.waiting.schema)])
        step = self.steps.follower.step
        until = horizon if horizon in (ALWAYS, NEVER_YET) else horizon // step * step
        is_ready = pa.array(whole(rows.column(self.readings.time)) < until)
        ready = StreamRows(self.readings, rows.filter(is_ready), rows[:0])
        ends = horizon == ALWAYS
        followed, known = self.steps.advance(state.followed, ready, ends=ends)
        streams = {self.stream.lower(): with_step_ids(known.rows)}
        rejected = _put_aside(ready.table, known.rejected)
        assert isinstance(followed, Followed)
        after = FilteredState(followed, rows.filter(pc.invert(is_ready)))
        return after, Made(streams, {}, {self.source: rejected} if rejected.num_rows else {})

    def again(self, state: FilteredState, fresh: Rows) -> Rows:
        return {}

    def forget(self, state: FilteredState, oldest: int) -> None: ...

    def waits(self, state: FilteredState) -> bool:
        return bool(state.waiting.num_rows)

    def dump(self, state: FilteredState) -> bytes:
        keys = json.dumps([plain(key) for key in state.followed.keys]).encode()
        return joined(keys, state.followed.dump(), ipc_bytes(state.waiting))

    def load(self, data: bytes) -> FilteredState:
        keys, followed, waiting = parted(data)
        known = tuple(value_of(key) for key in json.loads(keys))
        return FilteredState(Followed.load(known, followed), pa.ipc.open_stream(waiting).read_all())


def with_step_ids(rows: StreamRows) -> StreamRows:
    """Return inferred rows in order, with ids by key, time and state alone.

    How likely they are differs in its last digit with how readings come.
    """
    schema = rows.schema
    table = in_order(rows.table, schema)
    if schema.id is None and schema.probability is not None:
        place = table.column_names.index(schema.probability)
        none = pa.array([0.0] * table.num_rows, pa.float64())
        known = with_event_ids(schema, table.set_column(place, schema.probability, none))
        return replace(rows, table=table.append_column(NUMBERED, known.column(NUMBERED)))
    return replace(rows, table=with_event_ids(schema, table))


def _put_aside(rows: pa.Table, reasons: Mapping[int, str]) -> pa.Table:
    """Return the readings that no model takes, with the reason of each."""
    numbers = sorted(reasons)
    texts = pa.array([reasons[number] for number in numbers], pa.string())
    return rows.take(pa.array(numbers, pa.int64())).append_column(REASON, texts)


# What queries read --------------------------------------------------------------------------------


@dataclass
class ForecastRowsState:
    """What the forecast remembers, and those of its rows that queries may still need."""

    own: ForecastState
    made: StreamRows


@dataclass(frozen=True)
class ForecastRows:
    """Makes a forecast, whose rows go on as events."""

    stage: ForecastStage

    @property
    def name(self) -> str:
        return f"events of forecast {self.stage.plan.forecast.name}"

    @property
    def source(self) -> str:
        return self.stage.streams[0].name.lower()

    @property
    def schema(self) -> StreamSchema:
        """The forecast as a stream."""
        return self.stage.plan.forecast.schema

    def start(self) -> ForecastRowsState:
        columns = [(c.name, ARROW_TYPES[c.type.value]) for c in self.schema.columns]
        return ForecastRowsState(self.stage.start(), self._rows(pa.schema(columns).empty_table()))

    def advance(
        self, state: ForecastRowsState, fresh: Rows, horizon: int
    ) -> tuple[ForecastRowsState, Made]:
        """Make the forecasts after new rows."""
        own, answers = self.stage.advance(state.own, fresh, horizon)
        table = answers.found[self.stage.plan.forecast.name]
        rows = self._rows(table.select([column.name for column in self.schema.columns]))
        made = rows
        if state.made.table.num_rows:
            kept = pa.concat_tables([state.made.table, rows.table.cast(state.made.table.schema)])
            made = replace(rows, table=kept)
        return ForecastRowsState(own, made), Made({self.schema.name.lower(): rows})

    def _rows(self, table: pa.Table) -> StreamRows:
        known = with_event_ids(self.schema, table)
        return StreamRows(self.schema, known, known[:0])

    def again(self, state: ForecastRowsState, fresh: Rows) -> Rows:
        return {self.schema.name.lower(): state.made}

    def forget(self, state: ForecastRowsState, oldest: int) -> None:
        """Let rows go that no query needs any more."""
        state.made = replace(state.made, table=cut(state.made.table, self.schema, oldest)[1])

    def waits(self, state: ForecastRowsState) -> bool:
        return False

    def dump(self, state: ForecastRowsState) -> bytes:
        return joined(self.stage.dump(state.own), ipc_bytes(state.made.table))

    def load(self, data: bytes) -> ForecastRowsState:
        own, made = parted(data)
        rows = pa.ipc.open_stream(made).read_all()
        state = self.stage.restore({}, NEVER_YET, own)
        return ForecastRowsState(state, StreamRows(self.schema, rows, rows[:0]))


# Bytes --------------------------------------------------------------------------------------------


def joined(*parts: bytes) -> bytes:
    """Return parts as bytes."""
    return b"".join(len(part).to_bytes(LENGTH, "little") + part for part in parts)


def parted(data: bytes) -> list[bytes]:
    """Return the parts that were joined."""
    found, at = list[bytes](), 0
    while at < len(data):
        size = int.from_bytes(data[at : at + LENGTH], "little")
        found.append(data[at + LENGTH : at + LENGTH + size])
        at += LENGTH + size
    return found

"""Inferred streams: the rows of readings, through a model, to alternatives and their transitions.

The tables of a model are bound like any other; the model is built when a stream first needs it.
Readings that it cannot take, and those that no reachable state explains, are the stream's rejected
rows, each with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.catalog import Catalog, ModelSchema, StreamSchema
from augury.analysis.declarations.models import CORNERS, HEARD
from augury.errors import DataError, ModelError
from augury.evaluation.encoding import whole
from augury.evaluation.probability.chains import seed_of
from augury.evaluation.probability.linked_objects import linked_objects
from augury.evaluation.probability.markov_objects import MarkovObject
from augury.evaluation.stream_rows import StreamRows
from augury.inference import particles
from augury.inference.crowds import NO_PARTICLE, CrowdFollower, Crowds
from augury.inference.floor import Box, Floor, Plan, Ways, build_floor
from augury.inference.following import Followed, Follower
from augury.inference.learning import UNKNOWN, baum_welch, even_model, learn, sensors_of
from augury.inference.linking import linked, refuse_nowhere
from augury.inference.model import Model, State, build
from augury.inference.readings import Readings, arrange
from augury.inference.smoothing import (
    UNEXPLAINED,
    Belief,
    decided,
    decoded,
    filtered,
    lagged,
    smoothed,
)
from augury.inference.tables import DUST, Columns, Stated, alternatives, transitions
from augury.language.tree import InferStream
from augury.sources.columns import ARROW_TYPES
from augury.sources.rows import REASON

Rows = list[tuple[Any, int, Any, Any]]
Table = list[dict[str, Any]]
READS = None


@dataclass(frozen=True)
class Inferring:
    """What inference needs of a runner: the catalog, loaded streams, and rows of tables."""

    catalog: Catalog
    load: Callable[[str], StreamRows]
    table: Callable[[str], pa.Table]

    def streams(self, name: str) -> dict[str, StreamRows]:
        """Return an inferred stream, and that of its transitions, by lower-case name."""
        statement = self.catalog.inferred[name.lower()].statement
        source = self.load(statement.readings)
        if statement.particles is not None:
            schema = self.catalog.models[statement.model.lower()]
            step = 1 if source.schema.time_is_ticks else schema.step
            floor = self._floor(schema, source.schema)
            readings = arrange(floor, _rows(source, None), step)
            follow = particles.smoothed if statement.smoothed else particles.filtered
            belief = follow(floor, readings, statement.particles, seed_of(statement.name))
            return self._loaded(statement, floor, belief, source)
        return self._loaded(statement, *self._believed(statement, source), source)

    def model(self, name: str) -> Model:
        """Return the model by which a stream is inferred."""
        statement = self.catalog.inferred[name.lower()].statement
        schema = self.catalog.models[statement.model.lower()]
        readings = self.catalog.streams[statement.readings.lower()]
        return self._model(schema, readings, 1 if readings.time_is_ticks else schema.step)

    def objects(self, name: str) -> list[MarkovObject]:
        """Return the objects of a stream that is CORRELATED."""
        statement = self.catalog.inferred[name.lower()].statement
        return linked_objects(*self._believed(statement, self.load(statement.readings)))

    def _believed(self, statement: InferStream, source: StreamRows) -> tuple[Model, Belief]:
        schema = self.catalog.models[statement.model.lower()]
        step = 1 if source.schema.time_is_ticks else schema.step
        model = self._model(schema, source.schema, step)
        value = self._value_column(schema, source.schema)
        readings = arrange(model, _rows(source, value), step)
        return model, _inferred(statement, model, readings)

    def following(self, name: str) -> Steps:
        """Return how an inferred stream follows its readings as they come."""
        statement = self.catalog.inferred[name.lower()].statement
        schema = self.catalog.models[statement.model.lower()]
        readings = self.catalog.streams[statement.readings.lower()]
        step = 1 if readings.time_is_ticks else schema.step
        own, value = self.catalog.streams[name.lower()], self._value_column(schema, readings)
        if statement.particles is not None:
            floor, seed = self._floor(schema, readings), seed_of(statement.name)
            return Steps(CrowdFollower(floor, step, statement.particles, seed), own, readings, None)
        model = self._model(schema, readings, step)
        if statement.correlated:
            refuse_nowhere(model)
        lag, prune, decides = statement.lag or 0, statement.prune or 0.0, statement.method == "MLE"
        follower = Follower(model, step, lag, prune, statement.correlated, decides)
        return Steps(follower, own, readings, value)

    def _loaded(
        self, statement: InferStream, model: Stated, belief: Belief, source: StreamRows
    ) -> dict[str, StreamRows]:
        own = self.catalog.streams[statement.name.lower()]
        columns = _columns(own)
        reason = UNEXPLAINED if statement.particles is None else NO_PARTICLE
        rejected = _rejected(belief, source, reason)
        dust = 0.0 if statement.correlated else DUST
        table = _typed(alternatives(model, belief, columns, dust), own)
        found = {statement.name.lower(): StreamRows(own, table, rejected)}
        if own.markov is not None and not statement.correlated:
            moves = self.catalog.streams[own.markov.lower()]
            rows = _typed(transitions(model, belief, columns), moves)
            found[own.markov.lower()] = StreamRows(moves, rows, rejected.slice(0, 0))
        return found

    # Models -----------------------------------------------------------------------------------

    def _model(self, schema: ModelSchema, readings: StreamSchema, step: int) -> Model:
        statement = schema.statement
        if statement.learn_on is not None:
            return self._learned(schema, step)
        value = self._value_column(schema, readings)
        model = self._built(schema, readings.type or "", value)
        if statement.learn_from is not None:
            source = self.load(statement.learn_from)
            rows = _rows(source, value)
            model, _ = baum_welch(model, arrange(model, rows, step))
        return model

    def _built(self, schema: ModelSchema, sensor: str, value: str | None) -> Model:
        names, statement = [c.name for c in schema.states], schema.statement
        states = [_state(row, names) for row in self._rows(statement.states)]
        initial = None
        if statement.initial is not None:
            initial = {_state(row, names): row["p"] for row in self._rows(statement.initial)}
        ends = [[f"{name}{end}" for name in names] for end in ("_from", "_to")]
        moves = {
            (_state(row, ends[0]), _state(row, ends[1])): row["p"]
            for row in self._rows(statement.transition)
        }
        emission: dict[tuple[State, Any, Any], float] = {}
        for row in self._rows(statement.emission):
            read = row[value] if value else READS
            emission[_state(row, names), row[sensor], read] = row["p"]
        return build(schema.name, states, initial, moves, emission)

    def _floor(self, schema: ModelSchema, readings: StreamSchema) -> Floor:
        names, statement = [c.name for c in schema.states], schema.statement
        initial = None
        if statement.initial is not None:
            initial = {_state(row, names): row["p"] for row in self._rows(statement.initial)}
        sensor = readings.type or ""
        plan = Plan(
            [(_state(row, names), _four(row, CORNERS)) for row in self._rows(statement.cells)],
            [_four(row, CORNERS) for row in self._rows(statement.walls)] if statement.walls else [],
            [(row[sensor], _four(row, HEARD)) for row in self._rows(statement.antennas)],
            initial,
        )
        return build_floor(schema.name, plan, Ways(statement.speed or 0.0, statement.rest or 0.0))

    def _learned(self, schema: ModelSchema, step: int) -> Model:
        labels = self.load(schema.statement.learn_from or "")
        source = self.load(schema.statement.learn_on or "")
        names = [c.name for c in schema.states]
        observed = {
            (key, time // step): _state(row, names)
            for key, time, row in zip(
                _keys(labels), _times(labels), labels.table.to_pylist(), strict=True
            )
        }
        states = list(dict.fromkeys(observed.values()))
        rows = _rows(source, None)
        model = even_model(schema.name, states, sensors_of(rows, len(states)))
        readings = arrange(model, rows, step)
        own = np.repeat(np.arange(len(readings.keys)), np.diff(readings.first))
        number = {state: k for k, state in enumerate(states)}
        known = [
            number.get(observed.get((readings.keys[c], int(t) // step)), UNKNOWN)
            if (readings.keys[c], int(t) // step) in observed
            else UNKNOWN
            for c, t in zip(own.tolist(), readings.time.tolist(), strict=True)
        ]
        return learn(model, readings, np.array(known, np.int64))

    def _value_column(self, schema: ModelSchema, readings: StreamSchema) -> str | None:
        """Return the column of the values that sensors read, if the emission table has one."""
        table = self.catalog.tables.get((schema.statement.emission or "").lower())
        if table is None:
            return None
        apart = {c.name for c in schema.states} | {"p", readings.type}
        names = [c.name for c in table.columns if c.name not in apart]
        column = readings.column(names[0]) if names else None
        if names and column is None:
            raise ModelError(
                f"model {schema.name}: table {table.name} gives sensors values in {names[0]}, "
                f"which stream {readings.name} does not have; call the column the same in both"
            )
        return column.name if column else None

    def _rows(self, name: str | None) -> Table:
        found: Table = self.table(name or "").to_pylist()
        return found


@dataclass(frozen=True)
class Steps:
    """An inferred stream whose steps are known one after the other.

    `value` is the column of what the sensors read, if they read values.
    """

    follower: Follower | CrowdFollower
    schema: StreamSchema
    readings: StreamSchema
    value: str | None

    def advance(
        self, state: Any, source: StreamRows, *, ends: bool
    ) -> tuple[Followed | Crowds, Known]:
        """Take readings in, from a state of the follower; return what is known now."""
        follower = self.follower
        after, belief = follower.advance(state, _rows(source, self.value), ends=ends)
        dust = 0.0 if follower.correlated else DUST
        table = alternatives(follower.model, belief, _columns(self.schema), dust)
        rows = _typed(table, self.schema)
        objects = None
        if isinstance(follower, Follower) and follower.correlated:
            objects = linked_objects(follower.model, belief)
        loaded = StreamRows(self.schema, rows, rows.slice(0, 0))
        return after, Known(loaded, objects, belief.readings.rejected)


@dataclass(frozen=True)
class Known:
    """Steps that are known now: their rows, their objects if correlated, and why rows were not."""

    rows: StreamRows
    objects: list[MarkovObject] | None
    rejected: dict[int, str]


def _columns(schema: StreamSchema) -> Columns:
    return Columns(schema.key, schema.time or "", schema.alternatives, schema.probability or "")


def _inferred(statement: InferStream, model: Model, readings: Readings) -> Belief:
    prune = statement.prune or 0.0
    if statement.correlated:
        refuse_nowhere(model)
        delayed = lagged(model, readings, statement.lag or 0)
        return linked(model, filtered(model, readings), delayed)
    if statement.method == "FILTER":
        return filtered(model, readings, prune)
    if statement.method == "VITERBI":
        return decoded(model, readings)
    if statement.method == "MLE":
        return decided(filtered(model, readings))
    if statement.lag is not None:
        return lagged(model, readings, statement.lag, prune)
    return smoothed(model, readings, prune)


# Rows ---------------------------------------------------------------------------------------------


def _state(row: Mapping[str, Any], names: Sequence[str]) -> State:
    """Return a state by its columns; all NULL is nowhere."""
    values = tuple(row[name] for name in names)
    return None if all(value is None for value in values) else values


def _four(row: Mapping[str, Any], names: Sequence[str]) -> Box:
    """Return four columns of a row, whatever their case."""
    known = {name.lower(): value for name, value in row.items()}
    a, b, c, d = (known[name] for name in names)
    return a, b, c, d


def _keys(source: StreamRows) -> list[tuple[Any, ...]]:
    columns = [source.table.column(name).to_pylist() for name in source.schema.key]
    return list(zip(*columns, strict=True)) if columns else [()] * source.table.num_rows


def _times(source: StreamRows) -> list[int]:
    times: list[int] = whole(source.table.column(source.schema.time)).tolist()
    return times


def _rows(source: StreamRows, value: str | None) -> Rows:
    """Return readings as key, time, sensor and value."""
    table, schema = source.table, source.schema
    if schema.type is None:
        raise DataError(f"stream {schema.name} has no TYPE, so its readings name no sensor")
    sensors = table.column(schema.type).to_pylist()
    values = table.column(value).to_pylist() if value else [READS] * table.num_rows
    return list(zip(_keys(source), _times(source), sensors, values, strict=True))


def _typed(table: pa.Table, schema: StreamSchema) -> pa.Table:
    """Return a table with the stream's columns, in its types."""
    columns = []
    for column in schema.columns:
        kind, own = ARROW_TYPES[column.type.value], table.column(column.name)
        columns.append(own if own.type == kind else own.cast(kind))
    return pa.table(columns, names=[column.name for column in schema.columns])


def _rejected(belief: Belief, source: StreamRows, reason: str) -> pa.Table:
    """Return the readings that were put aside, and the rows that were none."""
    reasons = dict(belief.readings.rejected)
    for row, step in belief.readings.row_step.items():
        if belief.impossible[step]:
            reasons[row] = reason
    rows = sorted(reasons)
    aside = source.table.take(pa.array(rows, pa.int64()))
    faulty = aside.append_column(REASON, pa.array([reasons[row] for row in rows], pa.string()))
    return pa.concat_tables([source.rejected, faulty]) if source.rejected.num_rows else faulty

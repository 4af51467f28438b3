"""The forecast stage: new rows in, forecasts after each of their events out.

Events are read one order after the other. State is what lives in every partition, with the rows
that answers are made of, and what was learned; a history is read when the stage starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.catalog import StreamSchema
from augury.errors import DataError
from augury.evaluation.answers.answers import Answers
from augury.evaluation.answers.forecast_answers import forecast_schema, forecast_table, shown
from augury.evaluation.encoding import Encoder, Tables, whole
from augury.evaluation.stages.row_store import RowStore
from augury.evaluation.stream_rows import EVENT_ID, NUMBERED, StreamRows, event_ids, inputs_of
from augury.forecast.chain import TooManyStatesError
from augury.forecast.forecasts import Forecaster, Lives, Order
from augury.forecast.past import PartialLimitError, Read
from augury.forecast.setting import Row
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET
from augury.planning.forecast_plan import ForecastPlan
from augury.planning.pattern.residual import components_always_bound
from augury.planning.refusal import NO_HISTORY, TOO_MANY_STATES, PlanError
from augury.records import Events
from augury.sources.columns import ARROW_TYPES

# Numbers of rows of one ON stream: those of the next begin here.
STREAM = 2**44


class ForecastState:
    """What lives, the rows that it is made of, and up to when forecasts were reported."""

    def __init__(self, encoder: Encoder, lives: Lives) -> None:
        self.encoder, self.lives = encoder, lives
        self.rows: dict[int, RowStore] = {}
        self.groups = 0
        self.reported = NEVER_YET

    @property
    def is_empty(self) -> bool:
        return not self.lives.partitions

    @property
    def nbytes(self) -> int:
        """How many bytes of rows are held."""
        return sum(store.nbytes for store in self.rows.values())


@dataclass(frozen=True)
class ForecastStage:
    """Forecasts one query over declared streams; obeys `augury.operator`.

    `tables` are the relations that the query reads, `history` the good rows of LEARN FROM.
    """

    plan: ForecastPlan
    tables: Tables
    history: StreamRows | None = None
    revises: ClassVar[bool] = False

    @cached_property
    def forecaster(self) -> Forecaster:
        return Forecaster(self.plan.setting)

    @property
    def streams(self) -> tuple[StreamSchema, ...]:
        return self.plan.forecast.query.streams

    def start(self, since: int = NEVER_YET) -> ForecastState:
        """Return the state before any row: what the history teaches."""
        encoder = Encoder(self.plan.match, self.tables)
        with limits_named(self.plan):
            lives = self.forecaster.start(self._taught(encoder))
        state = ForecastState(encoder, lives)
        state.reported = since
        return state

    def never_met(self, state: ForecastState) -> list[str]:
        """Return components that every match needs, and that no event of the history fits."""
        query, known = self.plan.forecast.query, state.lives.model.total.after.get((), {})
        if self.plan.forecast.online or not known:
            return []
        needed = components_always_bound(query.shape, query.components)
        return [
            query.components[c].name for c in sorted(needed) if not any(s >> c & 1 for s in known)
        ]

    def advance(
        self, state: ForecastState, batch: Mapping[str, StreamRows], horizon: int
    ) -> tuple[ForecastState, Answers]:
        """Take new rows in, in the order of time; report the forecasts after each.

        The state that is given is used up.
        """
        found = list[Row]()
        with limits_named(self.plan):
            for order in self._orders(state, batch):
                rows = self.forecaster.advance(state.lives, order)
                found += [row for row in rows if shown(self.plan.forecast, row)]
        name, told = self.plan.forecast.name, [r for r in found if r.time >= state.reported]
        table = self._table(state, told)
        state.reported = max(state.reported, horizon)
        return state, Answers({name: table}, {})

    def restore(self, batch: Mapping[str, StreamRows], reported: int) -> ForecastState:
        """Return the state in which all rows so far were read."""
        state, _ = self.advance(self.start(reported), batch, reported)
        return state

    def oldest(self, state: ForecastState, horizon: int) -> int:
        """Return the time before which no row can matter: what was learned rests on all."""
        return ALWAYS if horizon == ALWAYS else NEVER_YET

    def due(self, state: ForecastState) -> int | None:
        """Return that only rows tell."""
        return None

    # Rows to events ---------------------------------------------------------------------------

    def _orders(self, state: ForecastState, batch: Mapping[str, StreamRows]) -> Iterator[Order]:
        parts = []
        for number, stream in enumerate(self.streams):
            rows = batch.get(stream.name.lower())
            if rows is not None and rows.table.num_rows:
                events, values = self._events_of(state, number, _by_id(rows))
                parts.append((events, values))
        yield from orders_of(parts)

    def _events_of(
        self, state: ForecastState, number: int, source: StreamRows
    ) -> tuple[Events, Sequence[Any]]:
        """Return the events of new rows of one stream, which are kept, and their values of BY."""
        table = source.table
        if NUMBERED in table.column_names and EVENT_ID in table.column_names:
            table = table.drop_columns([EVENT_ID])
        store = state.rows.setdefault(number, RowStore(table.schema))
        first = number * STREAM + store.following
        events = state.encoder.encode(source.schema, table, first, source.groups())
        if source.schema.alternatives:
            moved = np.where(events.group < 0, -1, events.group - first + state.groups)
            events = replace(events, group=moved)
            state.groups += table.num_rows
        store.append(table, int(events.time.max()))
        return events, self._values(table)

    def _values(self, table: pa.Table) -> Sequence[Any]:
        """Return the value of BY of each row."""
        by = self.plan.forecast.by
        if not by:
            return [None] * table.num_rows
        known = {name.lower(): name for name in table.column_names}
        columns = [table.column(known[name.lower()]).to_pylist() for name in by]
        return list(zip(*columns, strict=True))

    def _taught(self, encoder: Encoder) -> Iterator[Order]:
        """Yield the events of the history, as if they were of the stream that is read."""
        if self.history is None:
            return
        history, (stream, *_) = _by_id(self.history), self.streams
        if not history.table.num_rows and not self.plan.forecast.online:
            name = self.plan.forecast.name
            message = f"forecast {name} learns from {history.schema.name}, which has no events"
            hint = f"bind its rows: bind({history.schema.name!r}, table)"
            raise PlanError(NO_HISTORY, message, hint, self.plan.forecast.span)
        if history.table.num_rows:
            events = encoder.encode(
                replace(history.schema, name=stream.name), history.table, 0, history.groups()
            )
            yield from orders_of([(events, self._values(history.table))])

    # Answers ----------------------------------------------------------------------------------

    def _table(self, state: ForecastState, rows: list[Row]) -> pa.Table:
        if not rows:
            return forecast_schema(self.plan).empty_table()
        sources, moved, first = list[StreamRows](), dict[int, int](), 0
        for number, stream in enumerate(self.streams):
            store = state.rows.get(number)
            if store is None:
                empty = _schema_of(stream).empty_table()
                sources.append(StreamRows(stream, empty, empty))
                continue
            table = store.rows
            moved[number] = first
            sources.append(StreamRows(stream, table, table[:0]))
            first += table.num_rows
        return forecast_table(
            self.plan, [_renumbered(row, moved) for row in rows], inputs_of(sources)
        )


def _by_id(rows: StreamRows) -> StreamRows:
    """Return rows of which those of one time are by id: what follows what must not be chance."""
    times = whole(rows.table.column(rows.schema.time))
    if (times[1:] > times[:-1]).all():
        return rows
    keys = pa.table({"time": times, "id": event_ids(rows)})
    order = pc.sort_indices(keys, [("time", "ascending"), ("id", "ascending")])
    return replace(rows, table=rows.table.take(order))


def _schema_of(stream: StreamSchema) -> pa.Schema:
    fields = [(c.name, ARROW_TYPES[c.type.value]) for c in stream.columns]
    if stream.id is None:
        fields.append((NUMBERED, pa.string()))
    return pa.schema(fields)


def _renumbered(row: Row, first: Mapping[int, int]) -> Row:
    """Return a row whose events are numbered as the rows of all streams, one after the other."""

    def place(number: int) -> int:
        return number % STREAM + first[number // STREAM]

    bound = tuple((component, place(number)) for component, number in row.bound)
    return replace(row, bound=bound, last=place(row.last))


@contextmanager
def limits_named(plan: ForecastPlan) -> Iterator[None]:
    """Say of which forecast a limit was met."""
    forecast = plan.forecast
    try:
        yield
    except TooManyStatesError as error:
        message = f"forecast {forecast.name} needs {error}"
        hint = "take a smaller MARKOV, or raise AUGURY_FORECAST_STATE_LIMIT"
        raise PlanError(TOO_MANY_STATES, message, hint, forecast.span) from error
    except PartialLimitError as error:
        raise DataError(
            f"forecast {forecast.name} has more partial matches at one event than "
            f"{plan.setting.partial_limit:,}; narrow the window of query "
            f"{forecast.query.name}, or ask BY TIME"
        ) from error


def orders_of(parts: Sequence[tuple[Events, Sequence[Any]]]) -> Iterator[Order]:
    """Yield the events of all streams by order, those of equal order together by partition."""
    listed = [
        (int(e.time[k]), int(e.tie[k]), int(e.row[k]), number, k)
        for number, (e, _) in enumerate(parts)
        for k in range(len(e))
    ]
    listed.sort()
    now: tuple[int, int] | None = None
    order: dict[Any, list[Read]] = {}
    several = len(parts) > 1
    for time, tie, row, number, k in listed:
        events, values = parts[number]
        if events.stream[k] < -1:
            raise DataError(
                "an event without a tie-breaker has no place in the order of a forecast"
            )
        at = (time, 0 if several else tie)
        if at != now and order:
            yield order
            order = {}
        now = at
        read = Read(
            row,
            int(events.mask[k]),
            time,
            float(events.p[k]),
            int(events.group[k]),
            values[k],
        )
        order.setdefault(int(events.partition[k]), []).append(read)
    if order:
        yield order

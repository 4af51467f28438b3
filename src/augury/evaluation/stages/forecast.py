"""The forecast stage: new rows in, forecasts after each of their events out.

Events are read one order after the other, so that a step costs what is new. State is what lives in
every partition, with the rows that answers are made of, and what was learned online; a history is
read once, when the stage is made. All of it is stored as bytes: no row has to be read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.catalog import StreamSchema
from augury.errors import DataError
from augury.evaluation.answers.answers import Answers
from augury.evaluation.answers.forecast_answers import forecast_schema, forecast_table, shown
from augury.evaluation.encoding import Encoder, Tables, keys_of, whole
from augury.evaluation.learning.drawn_futures import History
from augury.evaluation.learning.hidden_futures import hidden_of
from augury.evaluation.learning.joint_conditions import Looks, Seen, looks_of
from augury.evaluation.stages.forecast_state import Codes, ForecastState, dump_state, load_state
from augury.evaluation.stages.row_store import PickedRows
from augury.evaluation.stages.standing import can_pass, passing, stands
from augury.evaluation.stages.taking_in import STREAM, encoded, kept
from augury.evaluation.stream_rows import NUMBERED, StreamRows, event_ids, inputs_of
from augury.forecast.batch import Batch, Passing
from augury.forecast.chain import TooManyStatesError
from augury.forecast.forecasts import Forecaster, Taught
from augury.forecast.past import PartialLimitError, RowLimitError
from augury.forecast.standing import Standing, StandingWholes
from augury.forecast.told import Told
from augury.inference.model import Model
from augury.matching.matcher import ALWAYS
from augury.matching.resolve_confidence import TOLERANCE
from augury.operator import NEVER_YET
from augury.planning.acting.heard import ORDER
from augury.planning.forecast_plan import ForecastPlan
from augury.planning.forecast_shards import ForecastCut, forecast_cut
from augury.planning.pattern.residual import components_always_bound
from augury.planning.refusal import NO_HISTORY, TOO_MANY_STATES, PlanError
from augury.records import Events, Words
from augury.sources.columns import ARROW_TYPES

# Rows, and values with a code, after which it is looked what of them is still asked for.
LEAST = 4096
# The different values of BY, and the place among them that each row has.
ByValues = tuple[list[Any], Words]
# The events of new rows, their values of BY, and what conditions look at of each row.
Part = tuple[Events, ByValues, Seen]


@dataclass(frozen=True)
class Learned:
    """What a history taught, and the codes that its partitions have.

    `history` are its events, where futures are drawn of them.
    """

    taught: Taught
    codes: Codes
    history: History | None = None


@dataclass(frozen=True)
class ForecastStage:
    """Forecasts one query over declared streams; obeys `augury.operator`.

    `tables` are the relations that the query reads, `history` the good rows of LEARN FROM, `model`
    is that of USING MODEL. What these teach is `known`, which travels in their place (`learned`).
    Rows that act bring the tie-breaker of the event they are told after along (`acts`).
    """

    plan: ForecastPlan
    tables: Tables
    history: StreamRows | None = None
    known: Learned | None = field(default=None, repr=False)
    acts: bool = False
    model: Model | None = field(default=None, repr=False)
    revises: ClassVar[bool] = False

    @cached_property
    def forecaster(self) -> Forecaster:
        return Forecaster(self.plan.setting, self.looks.conditions, stands(self.plan))

    @cached_property
    def looks(self) -> Looks:
        """What conditions over several events look at."""
        return looks_of(self.plan, self.tables)

    @property
    def streams(self) -> tuple[StreamSchema, ...]:
        return self.plan.forecast.query.streams

    @property
    def cut(self) -> ForecastCut:
        """By which columns rows may be given to several of these stages, each with its state."""
        return forecast_cut(self.plan)

    def learned(self) -> ForecastStage:
        """Return the same stage without its history: what that taught is in its place."""
        return replace(self, history=None, model=None, known=self._known)

    @cached_property
    def _known(self) -> Learned:
        if self.known is not None:
            return self.known
        encoder = Encoder(self.plan.match, self.tables)
        hidden = None
        if self.model is not None:
            hidden = hidden_of(self.plan, self.model, self.tables)
        with limits_named(self.plan):
            taught = self.forecaster.teach(self._taught(encoder), hidden)
        return Learned(taught, Codes.of(encoder))

    def start(self, since: int = NEVER_YET) -> ForecastState:
        """Return the state before any row: what the history teaches."""
        encoder = Encoder(self.plan.match, self.tables)
        self._known.codes.give(encoder)
        lives = self.forecaster.start(self._known.taught)
        return ForecastState(encoder, lives, reported=since, online=self.plan.forecast.online)

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
        alone = state.encoder.alone
        told = self._told(state, batch)
        # Of a model, steps without a reading are known when the next reading comes.
        since = NEVER_YET if self.plan.setting.kind == "MODEL" else state.reported
        told = told.only(shown(self.plan.forecast, told) & (told.time >= since))
        table = self._table(state, told)
        state.reported = max(state.reported, horizon)
        self._drop(state, alone)
        return state, Answers({self.plan.forecast.name: table}, {})

    def _told(self, state: ForecastState, batch: Mapping[str, StreamRows]) -> Told:
        """Take new rows in; return what HAVING may let pass of what is told after each."""
        having = self.plan.forecast.having
        least = 0.0 if having is None else max(0.0, having.threshold - 2 * TOLERANCE)
        rows = batch.get(self.streams[0].name.lower())
        with limits_named(self.plan):
            if not self.forecaster.stands:
                return self.forecaster.advance(state.lives, self._batch(state, batch), least)
            if rows is None or not rows.table.num_rows:
                return Told.of([])
            followed = state.lives.followed
            if isinstance(followed, Standing | StandingWholes) and can_pass(rows):
                told = followed.pass_by(self._passing(state, rows), least)
            else:
                told = self.forecaster.advance(state.lives, self._batch(state, batch), least)
            # However rows were read, and however they were cut.
            return told.in_order()

    def _passing(self, state: ForecastState, rows: StreamRows) -> Passing:
        """Return new rows, which are kept, as events that many forecasts read."""
        table = kept(rows.table)
        store = state.rows.setdefault(0, PickedRows(table.schema))
        base = store.append(table)
        return passing(state.encoder, rows, base)

    def read(self, state: ForecastState, batch: Mapping[str, StreamRows]) -> tuple[Batch, Told]:
        """Take new rows in; return their events, and what is told of them whatever HAVING says."""
        events = self._batch(state, batch)
        with limits_named(self.plan):
            return events, self.forecaster.advance(state.lives, events)

    def finish(self, state: ForecastState) -> tuple[ForecastState, Answers]:
        """Report what remains, which is nothing: every event has told what it told."""
        return self.advance(state, {}, ALWAYS)

    def dump(self, state: ForecastState) -> bytes:
        """Return all of the state as versioned bytes."""
        self._keep_bound(state)
        return dump_state(self.plan, state)

    def restore(
        self, batch: Mapping[str, StreamRows], reported: int, own: bytes = b""
    ) -> ForecastState:
        """Return the state that was dumped, which has reported up to some time."""
        state = self.start(reported)
        if own:
            load_state(self.plan, state, own)
            self._see_again(state)
            state.reported = max(state.reported, reported)
        return state

    def oldest(self, state: ForecastState, horizon: int) -> int:
        """Return the time before which no row can matter: the state has what it needs itself."""
        return horizon

    def due(self, state: ForecastState) -> int | None:
        """Return that only rows tell."""
        return None

    # Rows to events ---------------------------------------------------------------------------

    def _batch(self, state: ForecastState, batch: Mapping[str, StreamRows]) -> Batch:
        parts = []
        for number, stream in enumerate(self.streams):
            rows = batch.get(stream.name.lower())
            if rows is not None and rows.table.num_rows:
                parts.append(self._events_of(state, number, by_id(rows)))
        return batch_of(parts)

    def _events_of(self, state: ForecastState, number: int, source: StreamRows) -> Part:
        """Return new rows of one stream, which are kept, as events, and what is asked of them."""
        store = state.rows.get(number)
        first = number * STREAM + (0 if store is None else store.following)
        events, table = encoded(state.encoder, source, first, state.groups)
        state.groups += table.num_rows if source.schema.alternatives else 0
        state.rows.setdefault(number, PickedRows(table.schema)).append(table)
        return events, self._values(table), self.looks.at(table)

    def _see_again(self, state: ForecastState) -> None:
        """Give back what conditions look at of events that are bound."""
        for stream, store in state.rows.items() if self.plan.conditions else ():
            numbers = (store.numbers + stream * STREAM).tolist()
            seen = dict(zip(numbers, self.looks.at(store.rows), strict=True))
            for life in state.lives.partitions.values():
                bound = {number for own in life.partial for _, number in own}
                life.seen |= {number: seen[number] for number in bound & seen.keys()}

    def _values(self, table: pa.Table) -> ByValues:
        """Return the values of BY, and which of them each row has."""
        by = self.plan.forecast.by
        if self.plan.setting.kind == "MODEL":
            # Of a hidden Markov model, a row is a state.
            by = self.streams[0].alternatives
        if not by:
            return [None], np.zeros(table.num_rows, np.int64)
        known = {name.lower(): name for name in table.column_names}
        columns = [table.column(known[name.lower()]) for name in by]
        numbers = dict[Any, int]()
        if len(columns) == 1:
            coded = columns[0].combine_chunks().dictionary_encode("encode")
            own = [numbers.setdefault((v,), len(numbers)) for v in keys_of(coded.dictionary)]
            return list(numbers), np.array(own, np.int64)[coded.indices.to_numpy()]
        rows = zip(*map(keys_of, columns), strict=True)
        codes = np.array([numbers.setdefault(row, len(numbers)) for row in rows], np.int64)
        return list(numbers), codes

    def _taught(self, encoder: Encoder) -> Batch | Passing | None:
        """Return the events of the history, as if they were of the stream that is read."""
        history = self._history()
        counts = history is not None and self.forecaster.counts_alone and stands(self.plan)
        if history is not None and counts and can_pass(history):
            return passing(encoder, history)
        lessons = self._lessons(encoder)
        return None if lessons is None else batch_of([lessons])

    def _history(self) -> StreamRows | None:
        """Return the rows of a history that has some, in their order."""
        if self.history is None:
            return None
        # Many forecasts share what is made of rows that are in order.
        history = self.history if self.history.is_in_strict_order else by_id(self.history)
        if not history.table.num_rows and not self.plan.forecast.online:
            name = self.plan.forecast.name
            message = f"forecast {name} learns from {history.schema.name}, which has no events"
            hint = f"bind its rows: bind({history.schema.name!r}, table)"
            raise PlanError(NO_HISTORY, message, hint, self.plan.forecast.span)
        return history if history.table.num_rows else None

    def _lessons(self, encoder: Encoder) -> Part | None:
        history, (stream, *_) = self._history(), self.streams
        if history is None:
            return None
        events = encoder.encode(
            replace(history.schema, name=stream.name), history.table, 0, history.groups()
        )
        return events, self._values(history.table), self.looks.at(history.table)

    # Letting go -------------------------------------------------------------------------------

    def _drop(self, state: ForecastState, alone: int) -> None:
        """Let go what nothing can come to any more."""
        for number in range(alone, state.encoder.alone):
            # NULL equals nothing: no other event comes to its partition.
            code = state.encoder.partitions.known["alone", number]
            state.lives.drop(code)
        if state.rows_held > state.rows_looked_at:
            self._keep_bound(state)
            state.rows_looked_at = 2 * state.rows_held + LEAST
        if state.lives.count > state.lives_looked_at:
            self.forecaster.forget(state.lives, state.reported)
            state.lives_looked_at = 2 * state.lives.count + LEAST
        if len(state.encoder.partitions.known) > state.codes_looked_at:
            self._forget_codes(state)
            state.codes_looked_at = 2 * len(state.encoder.partitions.known) + LEAST

    def _keep_bound(self, state: ForecastState) -> None:
        """Keep the rows of bound events only: BY TIME, none is told again."""
        told = not self.plan.forecast.by_time or self.plan.conditions
        bound = state.lives.bound() if told else ()
        numbers = np.array(sorted(bound), np.int64)
        for stream, store in state.rows.items():
            own = numbers[numbers // STREAM == stream] - stream * STREAM
            store.keep_only(own)

    def _forget_codes(self, state: ForecastState) -> None:
        """Give new codes to the partitions that live: most that have one are long gone."""
        again = self.start(state.reported)
        load_state(self.plan, again, self.dump(state))
        self._see_again(again)
        state.encoder, state.lives, state.rows = again.encoder, again.lives, again.rows

    # Answers ----------------------------------------------------------------------------------

    def _table(self, state: ForecastState, told: Told) -> pa.Table:
        table = self._told_table(state, told)
        (stream, *others) = self.streams
        if not self.acts or others or stream.order_by is None:
            return table
        # What was told is of the rows that have just come, which are all there.
        store = state.rows.get(0)
        rows = _schema_of(stream).empty_table() if store is None else store.take(told.last)
        return table.append_column(ORDER, rows.column(stream.order_by))

    def _told_table(self, state: ForecastState, told: Told) -> pa.Table:
        if not len(told):
            return forecast_schema(self.plan).empty_table()
        used = np.unique(told.last if self.plan.forecast.by_time else told.number)
        sources = list[StreamRows]()
        for number, stream in enumerate(self.streams):
            own = used[used // STREAM == number] - number * STREAM
            store = state.rows.get(number)
            table = _schema_of(stream).empty_table() if store is None else store.take(own)
            sources.append(StreamRows(stream, table, table[:0]))

        by_time = self.plan.forecast.by_time
        told = replace(
            told,
            last=np.searchsorted(used, told.last) if by_time else told.last,
            number=np.searchsorted(used, told.number),
        )
        return forecast_table(self.plan, told, inputs_of(sources))


def by_id(rows: StreamRows) -> StreamRows:
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
    except RowLimitError as error:
        raise DataError(
            f"forecast {forecast.name} would tell more than {plan.setting.row_limit:,} rows in one "
            f"step; narrow the window of query {forecast.query.name}, raise HAVING, or the setting "
            "step_match_limit"
        ) from error
    except PartialLimitError as error:
        raise DataError(
            f"forecast {forecast.name} has more partial matches at one event than "
            f"{plan.setting.partial_limit:,}; narrow the window of query "
            f"{forecast.query.name}, or ask BY TIME"
        ) from error


def batch_of(parts: Sequence[Part]) -> Batch:
    """Return the events of all streams in their order: by time alone where there are several."""
    none = np.zeros(0, np.int64)
    events, (values, codes), seen = parts[0] if parts else (None, ([None], none), [])
    for more, (others, own), looked_at in parts[1:]:
        assert events is not None
        seen = seen + looked_at
        events = Events.joined(events, more)
        codes = np.concatenate([codes, own + len(values)])
        values = [*values, *others]
    if events is None:
        return Batch(none, none, none, none, none, np.zeros(0), none, none, values)
    if (events.stream < -1).any():
        raise DataError("an event without a tie-breaker has no place in the order of a forecast")
    tie = events.tie if len(parts) == 1 else np.zeros(len(events), np.int64)
    order = np.lexsort((events.row, tie, events.time))
    return Batch(
        events.time[order],
        tie[order],
        events.row[order],
        events.partition[order],
        events.mask[order],
        events.p[order],
        events.group[order],
        codes[order],
        values,
        [seen[k] for k in order.tolist()] if seen else (),
    )

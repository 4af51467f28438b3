"""The forecast stage that samples: futures drawn from the history, each searched with its past.

After the events of one order as many futures are drawn as APPROXIMATE asks for. Each is put behind
the events that a match may still need, which are the state, and all of them are searched
(`learning/forecast_sampler.py`): so a forecast is the share of the futures in which the query finds
a match that completes in time, whatever the query asks. What is drawn hangs on the forecast and the
ids of the events just read, and on nothing else.

Oracle: tests/oracles/drawn_futures.py, within the bound.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa

from augury.evaluation.codec import Format, ipc_bytes, plain, value_of
from augury.evaluation.encoding import Encoder, Tables
from augury.evaluation.learning.drawn_futures import History, replaced
from augury.evaluation.learning.forecast_sampler import NOWHERE, Contexts, Now, Sampler, Seen
from augury.evaluation.stages.forecast import ForecastStage, Learned, batch_of, by_id, limits_named
from augury.evaluation.stages.forecast_state import Codes, ForecastState, mark_of
from augury.evaluation.stages.row_store import PickedRows
from augury.evaluation.stages.taking_in import encoded
from augury.evaluation.stream_rows import StreamRows, event_ids
from augury.forecast.batch import Batch
from augury.forecast.drawn_past import is_sure
from augury.forecast.draws import Pool
from augury.forecast.edges import Edges
from augury.forecast.forecasts import Forecaster, Lives, Taught
from augury.forecast.heard import Heard
from augury.forecast.model import Value, spread_contexts
from augury.forecast.reach import too_many_states
from augury.forecast.setting import Row
from augury.forecast.told import Told
from augury.inference.model import Model
from augury.matching.ends import looks_back
from augury.operator import NEVER_YET
from augury.planning.forecast_plan import ForecastPlan, sampled
from augury.records import Events, Flags, Words

FORMAT = Format(b"AUGURYFS", 1)
# The length of the first part of a stored state, in bytes.
_LENGTH = 8


def forecast_stage_of(
    plan: ForecastPlan,
    tables: Tables,
    history: StreamRows | None = None,
    known: Learned | None = None,
    acts: bool = False,
    model: Model | None = None,
) -> ForecastStage:
    """Return the stage that makes a forecast: exactly, or by sampling where that is needed."""
    is_sampled = plan.samples if known is None else known.history is not None
    if is_sampled:
        return SampledStage(sampled(plan), tables, history, known, acts)
    stage = ForecastStage(plan, tables, history, known, acts, model)
    if plan.forecast.approximate is None or known is not None or history is None:
        return stage
    if is_beyond_limit(stage):
        return SampledStage(sampled(plan), tables, history, None, acts)
    return stage


def is_beyond_limit(stage: ForecastStage) -> bool:
    """Return whether what a history teaches leads to more states than are allowed."""
    setting = stage.plan.setting
    if setting.kind != "MARKOV" or setting.online:
        return False
    model = stage._known.taught.model
    return too_many_states(setting, stage.forecaster.future, model)


@dataclass
class SampledState(ForecastState):
    """The events that a match may still need, in their order, and the last symbols before them.

    `contexts` are by partition; where all events are certain, they are those of all events so far.
    """

    events: Events | None = None
    contexts: dict[int, Contexts] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not self.contexts and (self.events is None or not len(self.events))

    @property
    def nbytes(self) -> int:
        events = 0 if self.events is None else self.events.values.nbytes + 80 * len(self.events)
        return events + sum(store.nbytes for store in self.rows.values())


@dataclass(frozen=True)
class SampledStage(ForecastStage):
    """Forecasts one query by drawing futures; obeys `augury.operator`."""

    @cached_property
    def _known(self) -> Learned:
        if self.known is not None:
            return self.known
        encoder = Encoder(self.plan.match, self.tables)
        part = self._lessons(encoder)
        assert part is not None
        events, (values, codes), _ = part
        assert self.history is not None
        rows = by_id(self.history).table
        names = sorted({n for own, is_plain in replaced(self.plan) if not is_plain for n in own})
        history = History(
            events,
            Pool(events.mask, events.p, codes, values),
            rows.select([name for name in names if name in rows.column_names]),
            dict(encoder.strings.known),
        )
        learned = Forecaster(self.plan.setting).model_of(batch_of([part]))
        return Learned(Taught(learned, Edges()), Codes.of(encoder), history)

    def start(self, since: int = NEVER_YET) -> SampledState:
        """Return the state before any row."""
        known, encoder = self._known, Encoder(self.plan.match, self.tables)
        assert known.history is not None
        known.codes.give(encoder)
        encoder.strings.known = dict(known.history.texts)
        lives = Lives(known.taught.model, known.taught.edges, Heard(1))
        return SampledState(encoder, lives, reported=since)

    def _told(self, state: ForecastState, batch: Mapping[str, StreamRows]) -> Told:
        return self.read(state, batch)[1]

    def read(self, state: ForecastState, batch: Mapping[str, StreamRows]) -> tuple[Batch, Told]:
        """Take new rows in; return their events, and what is told of them whatever HAVING says."""
        assert isinstance(state, SampledState)
        rows = batch.get(self.streams[0].name.lower())
        if rows is None or not rows.table.num_rows:
            return batch_of([]), Told.of([])
        source = by_id(rows)
        ids = event_ids(source).cast(pa.string()).to_pylist()
        part = self._events_of(state, 0, source)
        events = part[0]
        made = batch_of([part])
        order = np.lexsort((events.row, events.tie, events.time))
        with limits_named(self.plan):
            told = list(
                self._rows(state, events.take(order), made, [ids[k] for k in order.tolist()])
            )
        return made, Told.of(told)

    # Events -----------------------------------------------------------------------------------

    def _rows(
        self, state: SampledState, fresh: Events, made: Batch, ids: Sequence[str]
    ) -> Iterator[Row]:
        """Yield what is told after each order of new events."""
        before = 0 if state.events is None else len(state.events)
        events = fresh if state.events is None else Events.joined(state.events, fresh)
        state.events = events
        places = _by_partition(events.partition)
        begins = np.ones(len(fresh), np.bool_)
        begins[1:] = (np.diff(fresh.time) != 0) | (np.diff(fresh.tie) != 0)
        starts = [*np.flatnonzero(begins).tolist(), len(fresh)]
        for begin, end in pairwise(starts):
            own = fresh.partition[begin:end]
            for partition in dict.fromkeys(own.tolist()):
                here = begin + np.flatnonzero(own == partition)
                if self.plan.setting.order and not self._is_uncertain:
                    symbols = fresh.mask[here].tolist()
                    state.contexts[partition] = self._followed(state, partition, symbols)
                last = int(here[-1])
                value, seed = made.value[last], self._seed([ids[k] for k in here.tolist()])
                now = self._now(state, events, before + last, made.values[int(value)], seed)
                read = events.take(slice(0, before + end))
                seen = self._seen(state, now, read, places[partition])
                yield from self._sampler.rows(now, seen, state.encoder)

    def _now(self, state: SampledState, events: Events, last: int, value: Value, seed: int) -> Now:
        """Return the moment after an event, which has a value of BY."""
        name = self.streams[0].name
        row = state.rows[0].take(events.row[last : last + 1])
        columns = self.plan.match.partition_by.get(name, ())
        return Now(
            int(events.partition[last]),
            int(events.time[last]),
            last,
            value,
            {column: row.column(column)[0].as_py() for column in columns},
            seed,
        )

    def _seen(self, state: SampledState, now: Now, events: Events, own: Words) -> Seen:
        """Return what was read by then; `own` are the places of all events of the partition."""
        own = own[: np.searchsorted(own, len(events))]
        candidates = np.arange(len(events)) if self._hears_others else own
        needed = self._needed(events, now.time)
        # What parts the forecast is read off its last event, whatever that fits.
        needed[now.last] = True
        contexts = state.contexts.get(now.partition, NOWHERE)
        return Seen(events, candidates[needed[candidates]], own, contexts)

    def _followed(self, state: SampledState, partition: int, symbols: Sequence[int]) -> Contexts:
        """Return the last symbols of a partition after certain events."""
        order = self.plan.setting.order
        (context,) = state.contexts.get(partition, NOWHERE)
        return {(*context, *symbols)[-order:]: 1.0}

    def _seed(self, ids: Sequence[str]) -> int:
        """Return what futures are drawn by: the statement and the events just read."""
        text = "\n".join([self.plan.text, *ids])
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "little")

    @cached_property
    def _sampler(self) -> Sampler:
        known = self._known
        assert known.history is not None
        return Sampler(self.plan, known.taught.model, known.history, self._is_uncertain)

    @cached_property
    def _is_uncertain(self) -> bool:
        return any(s.probability is not None or bool(s.alternatives) for s in self.streams)

    @cached_property
    def _hears_others(self) -> bool:
        machine = self.plan.setting.machine
        return machine.foreign_breaks or machine.foreign_ticks

    # What is needed ---------------------------------------------------------------------------

    def _needed(self, events: Events, now: int) -> Flags:
        """Return which events a match may need that completes after `now`."""
        pattern, found = self.plan.match.pattern, np.ones(len(events), np.bool_)
        times = 2 if looks_back(pattern) else 1
        if pattern.window is not None:
            found &= events.time >= now - times * pattern.window
        if pattern.count_window is not None:
            # So many are there in every world, whatever else is.
            sure, most = np.flatnonzero(is_sure(events)), 2 * pattern.count_window
            if len(sure) >= most:
                found &= events.time >= events.time[sure[-most]]
        if self.plan.drops_others and not (self._is_uncertain and self.plan.setting.order):
            found &= events.mask != 0
        return found

    def _drop(self, state: ForecastState, alone: int) -> None:
        """Let go what nothing can come to any more."""
        assert isinstance(state, SampledState)
        events = state.events
        if events is None or not len(events):
            return
        kept = self._needed(events, int(events.time[-1]))
        # NULL equals nothing: no other event comes to its partition.
        single = [
            state.encoder.partitions.known["alone", number]
            for number in range(alone, state.encoder.alone)
        ]
        for code in single:
            state.contexts.pop(code, None)
        if single and not self._hears_others:
            kept &= ~np.isin(events.partition, single)
        if self._is_uncertain and self.plan.setting.order:
            self._carry_on(state, events.take(~kept))
        state.events = events.take(kept)
        state.rows[0].keep_only(np.sort(state.events.row))

    def _carry_on(self, state: SampledState, gone: Events) -> None:
        order = self.plan.setting.order
        columns = gone.partition.tolist(), gone.mask.tolist(), gone.p.tolist()
        for partition, symbol, p in zip(*columns, strict=True):
            old = state.contexts.get(partition, NOWHERE)
            state.contexts[partition] = spread_contexts(old, symbol, p, order)

    # Stored -----------------------------------------------------------------------------------

    def dump(self, state: ForecastState) -> bytes:
        """Return all of the state as versioned bytes."""
        assert isinstance(state, SampledState)
        values = {code: value for value, code in state.encoder.partitions.known.items()}
        head = json.dumps(
            {
                "reported": state.reported,
                "alone": state.encoder.alone,
                "contexts": [
                    [[plain(values[code])] if code in values else code, list(own.items())]
                    for code, own in state.contexts.items()
                ],
            }
        ).encode()
        rows = ipc_bytes(state.rows[0].rows) if 0 in state.rows else b""
        body = len(head).to_bytes(_LENGTH, "little") + head + rows
        return FORMAT.seal(body, mark_of(self.plan))

    def restore(
        self, batch: Mapping[str, StreamRows], reported: int, own: bytes = b""
    ) -> SampledState:
        """Return the state that was dumped, which has reported up to some time."""
        state = self.start(reported)
        if not own:
            return state
        _, body = FORMAT.unseal(own, f"forecast {self.plan.forecast.name}", mark_of(self.plan))
        length = int.from_bytes(body[:_LENGTH], "little")
        head = json.loads(body[_LENGTH : _LENGTH + length])
        state.reported = max(head["reported"], reported)
        if rows := body[_LENGTH + length :]:
            self._see_rows(state, pa.ipc.open_stream(rows).read_all())
        for partition, contexts in head["contexts"]:
            known = isinstance(partition, list)
            code = state.encoder.partitions.code(value_of(partition[0])) if known else partition
            state.contexts[code] = {tuple(context): weight for context, weight in contexts}
        state.encoder.alone = max(state.encoder.alone, head["alone"])
        return state

    def _see_rows(self, state: SampledState, rows: pa.Table) -> None:
        """Make the events of rows that were stored."""
        source = StreamRows(self.streams[0], rows, rows[:0])
        events, table = encoded(state.encoder, source, 0, 0)
        state.groups = rows.num_rows if source.schema.alternatives else 0
        state.rows[0] = PickedRows(table.schema)
        state.rows[0].append(table)
        state.events = events.take(np.lexsort((events.row, events.tie, events.time)))


def _by_partition(partition: Words) -> dict[int, Words]:
    """Return the places of the events of each partition."""
    order = np.argsort(partition, kind="stable")
    codes, starts = np.unique(partition[order], return_index=True)
    return dict(zip(codes.tolist(), np.split(order, starts[1:]), strict=True))

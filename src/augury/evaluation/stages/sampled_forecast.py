"""The forecast stage that samples: futures drawn from the history, each searched with its past.

After the events of one order as many futures are drawn as APPROXIMATE asks for. Each is put behind
the events that a match may still need, and all of them are searched: so a forecast is the share of
the futures in which the query finds a match that completes in time, whatever the query asks. What
is drawn hangs on the forecast and the ids of the events just read, and on nothing else. Where
events are uncertain, each future has a past of its own, which is drawn as well.

Oracle: tests/oracles/drawn_futures.py, within the bound.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa

from augury.evaluation.codec import Format, ipc_bytes, plain, value_of
from augury.evaluation.encoding import Encoder, Tables
from augury.evaluation.learning.drawn_futures import (
    Completed,
    Gone,
    History,
    Search,
    accepted,
    reads_time,
    replaced,
)
from augury.evaluation.stages.forecast import ForecastStage, Learned, batch_of, by_id, limits_named
from augury.evaluation.stages.forecast_state import Codes, ForecastState, mark_of
from augury.evaluation.stages.row_store import PickedRows
from augury.evaluation.stages.taking_in import encoded
from augury.evaluation.stream_rows import StreamRows, event_ids
from augury.forecast.batch import Batch
from augury.forecast.draws import Drawer, Pool, contexts_after
from augury.forecast.edges import Edges
from augury.forecast.forecasts import Forecaster, Lives, Taught
from augury.forecast.heard import Heard
from augury.forecast.model import Context, Value, spread_contexts
from augury.forecast.past import Bound
from augury.forecast.reach import too_many_states
from augury.forecast.setting import Row
from augury.forecast.told import Told
from augury.inference.model import Model
from augury.matching.ends import ends_late, looks_back
from augury.matching.sampled import sample_size
from augury.operator import NEVER_YET
from augury.planning.forecast_plan import ForecastPlan, sampled
from augury.records import SUM_ERROR, Events, Flags, Words

FORMAT = Format(b"AUGURYFS", 1)
# Events that are searched at once, about; how many come in a future is drawn.
AT_ONCE = 1_000_000
# The length of the first part of a stored state, in bytes.
_LENGTH = 8
Contexts = dict[Context, float]
NOWHERE: Contexts = {(): 1.0}


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
class _Now:
    """The moment of a forecast: the partition, its last event, and what is drawn by."""

    partition: int
    time: int
    last: int
    value: Value
    seed: int


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
                now = _Now(
                    partition,
                    int(fresh.time[last]),
                    before + last,
                    made.values[int(made.value[last])],
                    self._seed([ids[k] for k in here.tolist()]),
                )
                yield from self._forecast(state, now, events, places[partition], before + end)

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
    def _is_uncertain(self) -> bool:
        return any(s.probability is not None or bool(s.alternatives) for s in self.streams)

    @cached_property
    def _hears_others(self) -> bool:
        machine = self.plan.setting.machine
        return machine.foreign_breaks or machine.foreign_ticks

    # One forecast -----------------------------------------------------------------------------

    def _forecast(
        self, state: SampledState, now: _Now, events: Events, own: Words, end: int
    ) -> Iterator[Row]:
        """Yield what is told after the last event of a partition; `own` are its places."""
        model, setting = self._known.taught.model, self.plan.setting
        gap = model.mean_gap(now.value) if self._needs_gaps else None
        last = int(events.row[now.last])
        if not model.knows or (self._needs_gaps and gap is None):
            if setting.by_time:
                yield Row(now.partition, now.time, last, (), 1.0, None, None)
            return
        own = own[: np.searchsorted(own, end)]
        candidates = np.arange(end) if self._hears_others else own
        needed = self._needed(events.take(slice(0, end)), now.time)
        # What parts the forecast is read off its last event, whatever that fits.
        needed[now.last] = True
        past = candidates[needed[candidates]]
        sums = _Sums()
        for completed in self._completed(state, now, events, past, own, gap):
            sums.add(completed, events.row[past], by_time=setting.by_time)
        for bound, forecast, expected in sums.told(self._size, by_time=setting.by_time):
            if not self._is_complete(bound):
                yield Row(now.partition, now.time, last, bound, 1.0, forecast, expected)

    def _is_complete(self, bound: Bound) -> bool:
        """Return whether a part is a match already, to which more may come."""
        taken = [component for component, _ in bound]
        return len(taken) - 1 in accepted(self.plan.match.pattern, taken) if taken else False

    @cached_property
    def _needs_gaps(self) -> bool:
        return self.plan.setting.needs_gaps or reads_time(self.plan)

    @cached_property
    def _size(self) -> int:
        """How many futures are drawn."""
        asked = self.plan.forecast.approximate
        assert asked is not None
        return sample_size(asked.error, asked.risk)

    @cached_property
    def _drawer(self) -> Drawer:
        setting, pattern, known = self.plan.setting, self.plan.match.pattern, self._known
        assert known.history is not None
        most = (setting.window or 0) if setting.machine.foreign_ticks else 0
        return Drawer(
            setting,
            known.taught.model,
            known.history.pool,
            ends_late(pattern),
            max(most, int(setting.machine.foreign_breaks)),
        )

    def _completed(
        self,
        state: SampledState,
        now: _Now,
        events: Events,
        past: Words,
        own: Words,
        gap: float | None,
    ) -> Iterator[Completed]:
        """Yield what completes in the futures, as many of them at once as fit."""
        known, drawer = self._known, self._drawer
        assert known.history is not None
        search = Search(self.plan, known.history, state.encoder)
        share = known.taught.model.share(now.partition) if self.plan.setting.needs_shares else 1.0
        assert share is not None
        gone = self._gone(state, now, events, past)
        random = np.random.default_rng(now.seed)
        most = max(1, int(AT_ONCE / (len(past) + drawer.mean_events(share, gap) + 1)))
        for begin in range(0, self._size, most):
            count = min(most, self._size - begin)
            contexts, drawn = list(state.contexts.get(now.partition, NOWHERE)) * count, gone
            if self._is_uncertain:
                there = _happened(random, events.take(past), count)
                drawn = replace(gone, present=there)
                contexts = self._contexts(random, state, now, (events, past, own), there)
            come = drawer.draw(random, contexts, now.value, share, gap)
            yield search.completed(drawn, come, count, timed=gap is not None)

    def _gone(self, state: SampledState, now: _Now, events: Events, past: Words) -> Gone:
        before = events.take(past)
        is_own = before.partition == now.partition
        stream = self.streams[0]
        row = state.rows[0].take(events.row[now.last : now.last + 1])
        names = self.plan.match.partition_by.get(stream.name, ())
        parting = {name: row.column(name)[0].as_py() for name in names}
        return Gone(before, is_own, None, now.time, int(np.searchsorted(past, now.last)), parting)

    def _contexts(
        self,
        random: np.random.Generator,
        state: SampledState,
        now: _Now,
        seen: tuple[Events, Words, Words],
        there: Flags,
    ) -> list[Context]:
        """Return the last symbols in each world; `there` says which of the past happened."""
        events, past, own = seen
        order = self.plan.setting.order
        if not order:
            return [()] * len(there)
        # What a match needs no more is carried on as a distribution.
        old = state.contexts.get(now.partition, NOWHERE)
        for place in np.setdiff1d(own, past).tolist():
            old = spread_contexts(old, int(events.mask[place]), float(events.p[place]), order)
        listed, weights = list(old), np.cumsum(list(old.values()))
        at = np.searchsorted(weights, random.random(len(there)) * weights[-1], side="right")
        at = np.minimum(at, len(listed) - 1)
        mine = np.isin(past, own)
        symbols = events.mask[past[mine]].tolist()
        return contexts_after([listed[k] for k in at.tolist()], symbols, there[:, mine], order)

    # What is needed ---------------------------------------------------------------------------

    def _needed(self, events: Events, now: int) -> Flags:
        """Return which events a match may need that completes after `now`."""
        pattern, found = self.plan.match.pattern, np.ones(len(events), np.bool_)
        times = 2 if looks_back(pattern) else 1
        if pattern.window is not None:
            found &= events.time >= now - times * pattern.window
        if pattern.count_window is not None:
            # So many are there in every world, whatever else is.
            sure, most = np.flatnonzero(_is_sure(events)), 2 * pattern.count_window
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


@dataclass
class _Sums:
    """How many futures complete, and the sum of their waits: of each past part, or of all."""

    counts: dict[int, int] = field(default_factory=dict)
    waits: dict[int, float] = field(default_factory=dict)
    bounds: dict[int, Bound] = field(default_factory=dict)

    def add(self, found: Completed, numbers: Words, *, by_time: bool) -> None:
        """Add the first completion of each future: of each part that is not empty, or of any."""
        part = np.zeros(len(found.future), np.int64) if by_time else found.part
        order = np.lexsort((found.wait, found.future, part))
        first = np.ones(len(order), np.bool_)
        same = (np.diff(part[order]) == 0) & (np.diff(found.future[order]) == 0)
        first[1:] = ~same
        chosen = order[first & (by_time | (np.diff(found.first)[order] > 0))]
        for match in chosen.tolist():
            key = int(part[match])
            self.counts[key] = self.counts.get(key, 0) + 1
            self.waits[key] = self.waits.get(key, 0.0) + float(found.wait[match])
            if key not in self.bounds:
                self.bounds[key] = () if by_time else found.bound(match, numbers)

    def told(self, size: int, *, by_time: bool) -> Iterator[tuple[Bound, float, float | None]]:
        """Yield forecasts and mean waits, parts in the order of their events."""
        if by_time and not self.counts:
            yield (), 0.0, None
        listed = sorted(self.counts, key=lambda key: [(n, c) for c, n in self.bounds[key]])
        for key in listed:
            count = self.counts[key]
            yield self.bounds[key], count / size, self.waits[key] / count


def _by_partition(partition: Words) -> dict[int, Words]:
    """Return the places of the events of each partition."""
    order = np.argsort(partition, kind="stable")
    codes, starts = np.unique(partition[order], return_index=True)
    return dict(zip(codes.tolist(), np.split(order, starts[1:]), strict=True))


def _is_sure(events: Events) -> Flags:
    """Return which events happened in every world; the first of alternatives stands for them."""
    found: Flags = (events.p >= 1.0 - SUM_ERROR) & (events.group < 0)
    grouped = np.flatnonzero(events.group >= 0)
    own = np.unique(events.group[grouped], return_index=True, return_inverse=True)
    _, first, whose = own
    found[grouped[first]] = np.bincount(whose, events.p[grouped]) >= 1.0 - SUM_ERROR
    return found


def _happened(random: np.random.Generator, events: Events, count: int) -> Flags:
    """Return which events happened in each of so many worlds; alternatives exclude each other."""
    drawn = random.random((count, len(events)))
    found: Flags = drawn < events.p
    for group in np.unique(events.group[events.group >= 0]).tolist():
        edge = np.zeros(count)
        places = np.flatnonzero(events.group == group)
        chance = drawn[:, places[0]]
        for place in places.tolist():
            found[:, place] = (chance >= edge) & (chance < edge + events.p[place])
            edge = edge + events.p[place]
    return found

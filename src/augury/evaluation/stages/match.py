"""The match stage: new rows in, the matches that became known out; a step costs what is new.

State is the events that a later match may need, with the rows that answers are made of. A match
becomes known with an event that may end it, or when its window has ended; so a step searches the
partitions to which such an event came, or in which such a window ended, and no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.catalog import StreamSchema
from augury.evaluation.answers.answers import Answers
from augury.evaluation.answers.match_answers import Inputs, match_table
from augury.evaluation.answers.schemas import answer_schema
from augury.evaluation.encoding import Encoder, Tables, whole
from augury.evaluation.enumeration import ALL_TIME, Enumeration, Span
from augury.evaluation.skipping import Candidates, Partitions, dump, load
from augury.evaluation.stages.event_store import EventStore
from augury.evaluation.stages.retention import oldest_counted, oldest_needed
from augury.evaluation.stages.row_store import RowStore
from augury.evaluation.stages.taking_in import STREAM, encoded
from augury.evaluation.stream_rows import StreamRows, inputs_of
from augury.matching.ends import ends_late, ends_with_any_event, looks_back
from augury.matching.matcher import ALWAYS
from augury.matching.probe import closing_components, final_components
from augury.operator import NEVER_YET
from augury.planning.expressions.typed import OF_MATCH, Input, nodes_within
from augury.planning.match_plan import MatchPlan
from augury.records import Events, Matches, Words

# Values with a code, and events in a window of events, after which it is looked what of them is
# still alive.
LEAST, FEW = 4096, 64


class MatchState:
    """Live events and their rows, and up to when matches were reported.

    `taken` is what AFTER MATCH has taken, by partition.
    """

    def __init__(self, encoder: Encoder, streams: Sequence[StreamSchema]) -> None:
        self.encoder, self.streams = encoder, streams
        self.rows: dict[int, RowStore] = {}
        self.events: EventStore | None = None
        self.groups = 0
        self.reported = NEVER_YET
        self.taken: Partitions = {}
        self.recount, self.recode = FEW, LEAST

    @property
    def is_empty(self) -> bool:
        return self.events is None or not len(self.events)

    @property
    def nbytes(self) -> int:
        """How many bytes are held in memory."""
        events = 0 if self.events is None else self.events.nbytes
        return events + sum(store.nbytes for store in self.rows.values())


@dataclass(frozen=True)
class MatchStage:
    """Finds the matches of one query over declared streams; `tables` are the relations it reads."""

    plan: MatchPlan
    tables: Tables
    revises: ClassVar[bool] = False

    def start(self, since: int = NEVER_YET) -> MatchState:
        """Return the state before any row; what is known before `since` is not reported."""
        state = MatchState(Encoder(self.plan, self.tables), self.plan.query.streams)
        state.reported = since
        return state

    def advance(
        self, state: MatchState, batch: Mapping[str, StreamRows], horizon: int
    ) -> tuple[MatchState, Answers]:
        """Take new rows in, in the order of time; report what is known before `horizon`.

        The state that is given is used up.
        """
        fresh = self._encoded(state, batch)
        span, found = (state.reported, horizon), None
        if horizon == ALWAYS and state.is_empty:
            # The first step is the last: nothing has to be remembered.
            found = None if fresh is None else self._answer(state, fresh, span)
            return self.start(ALWAYS), self._answers(found)
        self._remember(state, fresh)
        if horizon > state.reported:
            events = self._touched(state, fresh, horizon)
            found = None if events is None else self._answer(state, events, span)
            state.reported = horizon
            self._drop(state, horizon)
        return state, self._answers(found)

    def _answers(self, found: pa.Table | None) -> Answers:
        none = self._schema.empty_table() if found is None else found
        return Answers({self.plan.query.name: none}, {})

    @cached_property
    def _schema(self) -> pa.Schema:
        return answer_schema(self.plan)

    def dump(self, state: MatchState) -> bytes:
        """Return what AFTER MATCH has taken; the rest of the state is made of its rows."""
        return dump(state.taken)

    def restore(
        self,
        batch: Mapping[str, StreamRows],
        reported: int,
        own: bytes = b"",
    ) -> MatchState:
        """Return the state in which rows are remembered, and reported up to some time."""
        state = self.start(reported)
        state.taken = load(own)
        self._remember(state, self._encoded(state, batch))
        return state

    def oldest(self, state: MatchState, horizon: int) -> int:
        """Return the time before which no row can matter any more."""
        by_clock = oldest_needed(self.plan.pattern, horizon)
        if state.is_empty:
            return horizon
        assert state.events is not None
        return max(by_clock, int(state.events.events.time[0]))

    def due(self, state: MatchState) -> int | None:
        """Return at which horizon a match may become known, or the oldest event be forgotten."""
        if state.is_empty or self.plan.pattern.window is None:
            return None
        assert state.events is not None
        back = self.plan.pattern.window if self._ends_late else self._reach
        return max(state.reported, int(state.events.events.time[0]) + back) + 1

    # Taking in ----------------------------------------------------------------------------------

    def _encoded(self, state: MatchState, batch: Mapping[str, StreamRows]) -> Events | None:
        """Return the events of new rows; None where there are none."""
        joined = None
        for number, stream in enumerate(state.streams):
            rows = batch.get(stream.name.lower())
            part = None if rows is None else self._events_of(state, number, rows)
            if part is not None and len(part):
                joined = part if joined is None else Events.joined(joined, part)
        return joined

    def _remember(self, state: MatchState, fresh: Events | None) -> None:
        if fresh is not None:
            if state.events is None:
                state.events = EventStore(fresh)
            state.events.append(fresh)

    def _events_of(self, state: MatchState, number: int, source: StreamRows) -> Events:
        """Return the events of new rows of one stream, of which those that can play are kept."""
        store = state.rows.get(number)
        first = number * STREAM + (0 if store is None else store.following)
        events, table = encoded(state.encoder, source, first, state.groups)
        state.groups += table.num_rows if source.schema.alternatives else 0
        store = state.rows.setdefault(number, RowStore(table.schema))
        if len(events) < table.num_rows:
            table = table.take(pa.array(events.row - first))
            events = replace(events, row=first + np.arange(len(events)))
        if len(events):
            store.append(table, int(events.time.max()))
        return events

    # Searching ----------------------------------------------------------------------------------

    def _touched(self, state: MatchState, fresh: Events | None, horizon: int) -> Events | None:
        """Return the events among which a match may have become known; None where none has."""
        if state.events is None or not len(state.events):
            return None
        if self._ends_late and horizon == ALWAYS:
            return state.events.events
        ending = list[Words]()
        if fresh is not None:
            mask = fresh.mask & self._final
            ending.append(fresh.partition[(mask != 0) | ends_with_any_event(self.plan.pattern)])
        if self._ends_late and self.plan.pattern.window is not None:
            window = self.plan.pattern.window
            since = max(state.reported, NEVER_YET + window) - window
            ending.append(state.events.partitions_between(since, horizon - window, self._starting))
        touched = np.unique(np.concatenate(ending)) if ending else np.zeros(0, np.int64)
        return state.events.of_partitions(touched) if len(touched) else None

    def _answer(self, state: MatchState, events: Events, span: Span) -> pa.Table | None:
        events = self._without_old_ends(events, span[0])
        enumeration = Enumeration(self.plan, state.encoder, events, [], {}, False, span)
        matches, _ = enumeration.at_once().matches()
        if not len(matches):
            return None
        renumbered, inputs = _inputs(matches, state)
        if self.plan.query.after_match is not None:
            renumbered = self._taken(state, Candidates(self.plan.query, renumbered, inputs), span)
        return match_table(self.plan, renumbered, inputs)

    def _taken(self, state: MatchState, candidates: Candidates, span: Span) -> Matches:
        """Return the matches that AFTER MATCH takes; what lies far back covers nothing more."""
        if span == ALL_TIME:
            return candidates.taken()
        found = candidates.taken(state.taken)
        window = self.plan.pattern.window
        if not self._counts and window is not None:
            horizon = max(span[1], NEVER_YET + window) - window
            state.taken = {key: own for key, own in state.taken.items() if own.until >= horizon}
        return found

    @cached_property
    def _counts(self) -> bool:
        """Whether the answer has the number of each match."""
        nodes = (node for _, each in self.plan.outputs for node in nodes_within(each))
        return any(isinstance(node, Input) and node.component == OF_MATCH for node in nodes)

    def _without_old_ends(self, events: Events, reported: int) -> Events:
        """Return the events; one that has ended its matches already plays no end any more."""
        if not self._closing or reported == NEVER_YET or not len(events):
            return events
        old = (events.time < reported) & ((events.mask & self._closing) != 0)
        if not old.any():
            return events
        return replace(events, mask=np.where(old, events.mask & ~self._closing, events.mask))

    @cached_property
    def _ends_late(self) -> bool:
        return ends_late(self.plan.pattern)

    @cached_property
    def _reach(self) -> int:
        """How far before the horizon an event can matter."""
        return (self.plan.pattern.window or 0) * (2 if looks_back(self.plan.pattern) else 1)

    @cached_property
    def _final(self) -> int:
        """The components, as bits, whose events can be the last of a match."""
        bits = 0
        for way in self.plan.pattern.ways:
            bits |= 0 if way.waits else final_components(way)
        return bits

    @cached_property
    def _starting(self) -> int:
        """The components, as bits, whose events can be the first of a match."""
        edges = (edge for way in self.plan.pattern.ways for edge in way.edges)
        return _bits(edge.component for edge in edges if edge.source == 0)

    @cached_property
    def _closing(self) -> int:
        """The components, as bits, after which a match is over in every way to make it."""
        bits = -1
        for way in self.plan.pattern.ways:
            bits &= closing_components(way)
        return bits

    # Letting go ---------------------------------------------------------------------------------

    def _drop(self, state: MatchState, horizon: int) -> None:
        if state.events is None:
            return
        oldest = oldest_needed(self.plan.pattern, horizon)
        if self.plan.pattern.count_window is not None and len(state.events) > state.recount:
            oldest = max(oldest, self._oldest_counted(state.events.events))
            state.events.drop_before(oldest)
            state.recount = 2 * len(state.events) + FEW
        elif oldest > NEVER_YET:
            state.events.drop_before(oldest)
        # What events need of their rows is gone with them.
        for store in state.rows.values():
            store.drop_before(oldest if len(state.events) else ALWAYS)
        self._forget_codes(state)

    def _oldest_counted(self, events: Events) -> int:
        p = np.where(events.group < 0, events.p, 0.0)
        return oldest_counted(self.plan.pattern, events.time, p)

    def _forget_codes(self, state: MatchState) -> None:
        """Encode what is alive anew, once most values that have a code are of events long gone."""
        encoder = state.encoder
        codes = (encoder.strings, encoder.keys, encoder.partitions)
        assert state.events is not None
        if max(len(each.known) for each in codes) <= state.recode:
            return
        stores, state.rows, state.groups = state.rows, {}, 0
        oldest = int(state.events.events.time[0]) if len(state.events) else ALWAYS
        state.encoder, state.events = Encoder(self.plan, self.tables), None
        batch = {}
        for number, store in stores.items():
            schema = state.streams[number]
            rows = store.rows
            rows = rows.filter(pa.array(whole(rows.column(schema.time)) >= oldest))
            batch[schema.name.lower()] = StreamRows(schema, rows, rows[:0])
        self._remember(state, self._encoded(state, batch))
        encoder = state.encoder
        codes = (encoder.strings, encoder.keys, encoder.partitions)
        state.recode = 2 * max(len(each.known) for each in codes) + LEAST


def _bits(components: Iterator[int]) -> int:
    bits = 0
    for component in components:
        bits |= 1 << component
    return bits


def _inputs(matches: Matches, state: MatchState) -> tuple[Matches, Inputs]:
    """Return the rows that matches are made of, and the matches with the numbers of these."""
    # What ended a match is looked at, too.
    asked = np.concatenate([matches.row, matches.ended_by])
    rows, found = asked.copy(), list[StreamRows]()
    first = 0
    for number, schema in enumerate(state.streams):
        store = state.rows[number]
        begin = number * STREAM + store.first
        here = (asked >= begin) & (asked < (number + 1) * STREAM)
        table, own = _rows_used(store, asked[here] - number * STREAM)
        rows[here] = own + first
        found.append(StreamRows(schema, table, table[:0]))
        first += table.num_rows
    end = len(matches.row)
    return replace(matches, row=rows[:end], ended_by=rows[end:]), inputs_of(found)


def _rows_used(store: RowStore, numbers: Words) -> tuple[pa.Table, Words]:
    """Return rows that hold those of some numbers, and where; where these are few, no others."""
    rows = store.rows
    if len(numbers) * 8 >= rows.num_rows:
        return rows, numbers - store.first
    used, places = np.unique(numbers, return_inverse=True)
    return store.take(used), places

"""The match operator: events in, matches out, as far as the watermark allows.

Running state is the events that a later match may still need, and how far has been reported. A
search over them finds every match that becomes known between the last horizon and the new one, so
the cut of the stream into batches cannot matter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from augury.kernels.rows import sorting
from augury.kernels.search import layout
from augury.kernels.search.predicates import Predicates
from augury.matching import codec
from augury.matching.arena import Report
from augury.matching.find import Found, find
from augury.matching.pattern import Pattern
from augury.matching.retention import oldest_counted, oldest_needed
from augury.matching.succession import can_follow, followed
from augury.operator import NEVER_YET
from augury.records import Events, Matches, Words

ALWAYS = layout.FOREVER


@dataclass(frozen=True, slots=True)
class MatchState:
    """Events still needed, and the horizon up to which matches were reported."""

    events: Events
    reported: int = NEVER_YET


@dataclass(frozen=True, slots=True)
class Matcher:
    """Find the matches of one pattern; obeys `augury.operator`.

    `identity` tells the query from others of its name in stored state, by its text for example.
    `is_independent` is False where events share base events (a query over queries): then the
    confidences are bounds, and the caller computes them from lineage.
    """

    pattern: Pattern
    predicates: Predicates
    is_independent: bool = True
    identity: str = ""
    revises: ClassVar[bool] = False

    def start(self, like: Events) -> MatchState:
        """Return the state before any event; `like` shows which attributes events have."""
        return MatchState(like.take(slice(0, 0)))

    def advance(self, state: MatchState, batch: Events, horizon: int) -> tuple[MatchState, Matches]:
        """Take a batch in; report what is known once all events before `horizon` are there."""
        events, order, found = self._found(state, batch, horizon)
        kept = events.take(events.time >= self._oldest_needed(events, order, horizon))
        return MatchState(kept, horizon), found

    def matches(self, events: Events, reported: int, horizon: int) -> Matches:
        """Return the matches that become known in a span of time, for who keeps the events."""
        return self._found(MatchState(events.take(slice(0, 0)), reported), events, horizon)[2]

    def _found(
        self, state: MatchState, batch: Events, horizon: int
    ) -> tuple[Events, Words | slice, Matches]:
        """Return all events, the order of those that count, and what is found in them."""
        events = Events.joined(state.events, batch)
        report = Report(state.reported, horizon, self.is_independent)
        is_final = self.is_independent and not self.pattern.is_composite
        if can_follow(self.pattern, events, report):
            order = time_order(events, horizon)
            found = followed(self.pattern, events.take(order), report)
            if found is not None:
                return events, order, as_matches(found, events.row[order], is_final=is_final)
        order = sort_order(events)
        if horizon != ALWAYS:
            order = order[events.time[order] < horizon]
        found = find(self.pattern, with_dense_groups(events), order, self.predicates, report)
        return events, order, as_matches(found, events.row[order], is_final=is_final)

    def finish(self, state: MatchState) -> tuple[MatchState, Matches]:
        """Report what remains: the stream has ended."""
        return self.advance(state, state.events.take(slice(0, 0)), ALWAYS)

    def dump(self, state: MatchState, codebook: codec.Codebook | None = None) -> bytes:
        """Return the state as bytes, with what its codes stand for."""
        stored = codec.Stored(state.events, state.reported, codebook or codec.Codebook())
        return codec.dump(stored, self.pattern.query, self._fingerprint())

    def load(self, data: bytes) -> MatchState:
        return self.load_with_codebook(data)[0]

    def load_with_codebook(self, data: bytes) -> tuple[MatchState, codec.Codebook]:
        """Return the state that `dump` wrote, and what its codes stand for."""
        stored = codec.load(data, self.pattern.query, self._fingerprint())
        return MatchState(stored.events, stored.reported), stored.codebook

    def _fingerprint(self) -> bytes:
        # Plain values only: how a pattern is represented may change from release to release.
        own = self.pattern
        window = (own.strategy, own.window, own.count_window)
        return codec.fingerprint(own.query, own.components, window, self.identity)

    def _oldest_needed(self, events: Events, order: Words | slice, horizon: int) -> int:
        """Return the time before which no event can take part in, or break, a later match."""
        by_clock = oldest_needed(self.pattern, horizon)
        if self.pattern.count_window is None:
            return by_clock
        p = np.where(events.group[order] < 0, events.p[order], 0.0)
        return max(by_clock, oldest_counted(self.pattern, events.time[order], p))


def time_order(events: Events, horizon: int) -> Words | slice:
    """Return the positions of the events before a horizon, sorted by time: mostly all, as is."""
    if not sorting.is_sorted(events.time, events.tie):
        order = np.lexsort((events.tie, events.time))
        return order[events.time[order] < horizon]
    return slice(0, int(np.searchsorted(events.time, horizon)))


def sort_order(events: Events) -> Words:
    """Return the positions of events sorted by partition, then time, then tie-breaker."""
    by_time = np.arange(len(events))
    if not sorting.is_sorted(events.time, events.tie):
        by_time = np.lexsort((events.tie, events.time))
    n_partitions = int(events.partition.max(initial=0)) + 1
    if n_partitions == 1:
        return by_time
    order: Words = by_time[sorting.stable_order(events.partition[by_time], n_partitions)]
    return order


def as_matches(found: Found, row: Words, *, is_final: bool) -> Matches:
    """Return what a search found; `row` has the row of each position."""
    who, since = found.absents[:, layout.WHO], found.absents[:, layout.SINCE]
    return Matches(
        first_item=found.first_item,
        component=found.items[:, 0].copy(),
        row=row[found.items[:, 1]],
        first_absent=found.first_absent,
        absent_row=row[who],
        absent_since=np.where(since < 0, since, row[since]) if len(since) else since.copy(),
        confidence=found.confidence,
        report_time=found.report_time,
        is_final=~found.is_conditional & is_final,
        missed=found.missed,
        revision=np.zeros(len(found.confidence), np.int64),
    )


def with_dense_groups(events: Events) -> Events:
    """Return the events with groups numbered from 0, because the search has a row for each."""
    if (events.group < 0).all():
        return events
    _, dense = np.unique(events.group, return_inverse=True)
    shift = int(events.group.min() < 0)
    return replace(events, group=(dense - shift).astype(np.int64))

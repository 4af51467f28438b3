"""The match operator: events in, matches out, as far as the watermark allows.

Running state is the events that a later match may still need, and how far has been reported. A
search over them finds every match that becomes known between the last horizon and the new one, so
the cut of the stream into batches cannot matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from augury.kernels import layout, sorting
from augury.kernels.predicates import Predicates
from augury.matching.arena import Report
from augury.matching.find import Found, find
from augury.matching.pattern import Pattern
from augury.records import Events, Matches, Words

ALWAYS = layout.FOREVER
NEVER_YET = -(2**62)


@dataclass(frozen=True, slots=True)
class MatchState:
    """Events still needed, and the horizon up to which matches were reported."""

    events: Events
    reported: int = NEVER_YET


@dataclass(frozen=True, slots=True)
class Matcher:
    """Find the matches of one pattern.

    `is_independent` is False where events share base events (a query over queries): then the
    confidences are bounds, and the caller computes them from lineage.
    """

    pattern: Pattern
    predicates: Predicates
    is_independent: bool = True

    def start(self, like: Events) -> MatchState:
        """Return the state before any event; `like` shows which attributes events have."""
        return MatchState(like.take(slice(0, 0)))

    def advance(self, state: MatchState, batch: Events, horizon: int) -> tuple[MatchState, Matches]:
        """Take a batch in; report what is known once all events before `horizon` are there."""
        events = Events.joined(state.events, batch)
        order = sort_order(events)
        if horizon != ALWAYS:
            order = order[events.time[order] < horizon]
        report = Report(state.reported, horizon, self.is_independent)
        found = find(self.pattern, events, order, self.predicates, report)
        kept = events.take(events.time >= self._oldest_needed(horizon))
        is_final = self.is_independent and not self.pattern.is_composite
        return MatchState(kept, horizon), as_matches(found, events.row[order], is_final=is_final)

    def finish(self, state: MatchState) -> tuple[MatchState, Matches]:
        """Report what remains: the stream has ended."""
        return self.advance(state, state.events.take(slice(0, 0)), ALWAYS)

    def _oldest_needed(self, horizon: int) -> int:
        """Return the time before which no event can take part in, or break, a later match."""
        window = self.pattern.window
        if window is None or horizon == ALWAYS:
            return NEVER_YET if window is None else horizon
        looks_back = any(guard.earlier == 0 for guard in self.pattern.guards)
        return horizon - window * (2 if looks_back else 1)


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
        absent_since=np.where(since < 0, -1, row[since]) if len(since) else since.copy(),
        confidence=found.confidence,
        report_time=found.report_time,
        is_final=~found.is_conditional & is_final,
    )

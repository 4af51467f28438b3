"""Find the matches of a pattern among events: by following, where that will do, or by a search.

Every match becomes known at some time; those of a span of time are found, and no others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from augury.kernels.rows import sorting
from augury.kernels.search import layout
from augury.kernels.search.predicates import Predicates
from augury.matching.arena import Report
from augury.matching.find import Found, find
from augury.matching.pattern import Pattern
from augury.matching.run_ends import run_ends
from augury.matching.succession import can_follow, followed
from augury.records import Events, Matches, Words

ALWAYS = layout.FOREVER


@dataclass(frozen=True, slots=True)
class Matcher:
    """Finds the matches of one pattern among events.

    `is_independent` is False where events share base events (a query over queries): then the
    confidences are bounds, and the caller computes them from lineage.
    """

    pattern: Pattern
    predicates: Predicates
    is_independent: bool = True

    def matches(self, events: Events, reported: int, horizon: int) -> Matches:
        """Return the matches that become known in a span of time."""
        report = Report(reported, horizon, self.is_independent)
        is_final = self.is_independent and not self.pattern.is_composite
        if can_follow(self.pattern, events, report):
            order = time_order(events, horizon)
            found = followed(self.pattern, events.take(order), report)
            if found is not None:
                return as_matches(found, events.row[order], is_final=is_final)
        order = sort_order(events)
        if horizon != ALWAYS:
            order = order[events.time[order] < horizon]
        found = find(self.pattern, with_dense_groups(events), order, self.predicates, report)
        matches = as_matches(found, events.row[order], is_final=is_final)
        asked = events.take(order) if self.pattern.tells_end else None
        return ended(matches, found, asked, self.pattern)


def ended(matches: Matches, found: Found, events: Events | None, pattern: Pattern) -> Matches:
    """Return matches with the events by which they are known, where somebody asks for these."""
    if events is None:
        return matches
    places = run_ends(pattern, events, found.first_item, found.items)
    rows = np.where(places < 0, places, events.row[np.maximum(places, 0)])
    return replace(matches, ended_by=rows)


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
        absent_since=_since_rows(since, row),
        confidence=found.confidence,
        report_time=found.report_time,
        is_final=~found.is_conditional & is_final,
        missed=found.missed,
        revision=np.zeros(len(found.confidence), np.int64),
    )


def _since_rows(since: Words, row: Words) -> Words:
    """Return rows in place of positions; what is no position says how an event may exist."""
    if not len(since):
        return since.copy()
    return np.where(since < 0, since, row[np.maximum(since, 0)])


def with_dense_groups(events: Events) -> Events:
    """Return the events with groups numbered from 0, because the search has a row for each."""
    if (events.group < 0).all():
        return events
    _, dense = np.unique(events.group, return_inverse=True)
    shift = int(events.group.min() < 0)
    return replace(events, group=(dense - shift).astype(np.int64))

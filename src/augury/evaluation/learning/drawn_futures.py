"""Futures behind a past, searched at once: which matches complete in time, and after how long.

Each future is a partition of its own. An event of the history that stands for one to come keeps its
attributes, but what parts a forecast, which is that of the past, and its time, which is drawn. What
completes, and when, is what the search of the query finds among these rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.evaluation.encoding import Encoder
from augury.evaluation.enumeration import Enumeration
from augury.evaluation.learning.completions import Completed
from augury.forecast.draws import OTHER, Come, Pool
from augury.matching.pattern import Pattern
from augury.planning.expressions.arrow import evaluate_column
from augury.planning.expressions.typed import Input, inputs_within
from augury.planning.forecast_plan import ForecastPlan
from augury.records import Events, Flags, Matches, Words
from augury.sources.columns import ARROW_TYPES

# Times are drawn in such parts of a tick, so that events to come do not share theirs.
PARTS = 2**20
# The longest time that is counted in parts.
LONGEST = 2**60
# A time that is off by so much is that of a whole number of gaps.
SLACK = 1e-9


@dataclass(frozen=True)
class History:
    """The events of a history as a search reads them, and as they are drawn.

    `rows` has the columns of expressions that are computed anew; `texts` are the codes of strings.
    """

    events: Events
    pool: Pool
    rows: pa.Table
    texts: Mapping[str, int] = field(repr=False)


@dataclass(frozen=True)
class Gone:
    """What has gone by: events in their order, and in which futures each happened (None: all).

    `is_own` tells events of the partition from others that count. `parting` is what parts the
    forecast, by column, and `last` the place of its last event.
    """

    events: Events
    is_own: Flags
    present: Flags | None
    now: int
    last: int
    parting: Mapping[str, Any]


@dataclass(frozen=True)
class Search:
    """Searches pasts with their futures for one forecast."""

    plan: ForecastPlan
    history: History
    encoder: Encoder

    @property
    def _time(self) -> str:
        return self.plan.forecast.query.streams[0].time or ""

    def completed(self, gone: Gone, come: Come, count: int, *, timed: bool) -> Completed:
        """Return the matches that complete within the horizon in each of `count` futures."""
        scale = self._scale(gone) if timed else 1
        events, place = self._events(gone, come, count, scale if timed else None)
        pattern = self._pattern(scale)
        plan = replace(self.plan.match, pattern=pattern)
        found, _ = Enumeration(plan, self.encoder, events, [], {}, False).matches()
        return self._in_time(found, events, come, place)

    def _pattern(self, scale: int) -> Pattern:
        """Return the pattern whose window is in parts of time, and which has no threshold."""
        pattern = self.plan.match.pattern
        guards = tuple(
            g if g.inside is None else replace(g, inside=_scaled(g.inside, scale))
            for g in pattern.guards
        )
        pattern = replace(pattern, guards=guards, threshold=0.0, strict_threshold=False)
        return _scaled(pattern, scale)

    def _scale(self, gone: Gone) -> int:
        """Return into how many parts a tick is cut: as many as fit."""
        setting = self.plan.setting
        times = gone.events.time
        longest = gone.now - int(times.min(initial=gone.now)) + 2 * (setting.timed_window or 0)
        longest += setting.horizon.length if setting.horizon.in_time else 0
        scale = PARTS
        while scale > 1 and scale * max(longest, 1) > LONGEST:
            scale //= 2
        return scale

    # Events -----------------------------------------------------------------------------------

    def _events(
        self, gone: Gone, come: Come, count: int, scale: int | None
    ) -> tuple[Events, Words]:
        """Return all events of all futures, those gone by first, and the places of these."""
        before, pool, n = gone.events, self.history.events, len(gone.events)
        if gone.present is None:
            whose, place = np.repeat(np.arange(count), n), np.tile(np.arange(n), count)
        else:
            whose, place = np.nonzero(gone.present)
        drawn, others = np.maximum(come.event, 0), come.event == OTHER
        values = np.concatenate([before.values[:, place], pool.values[:, drawn]], axis=1)
        own = pool.nulls[:, drawn]
        own[:, others] = True
        nulls = np.concatenate([before.nulls[:, place], own], axis=1)
        self._replace(gone, come, values[:, len(place) :], nulls[:, len(place) :])
        partition = np.concatenate([whose, come.future])
        is_own = np.concatenate([gone.is_own[place], ~others])
        mask = np.concatenate([before.mask[place], pool.mask[drawn]])
        # What is of another partition is of another KEY, too, unless it stands between neighbours.
        apart = not self.plan.setting.machine.foreign_breaks
        if scale is None:
            first = np.searchsorted(come.future, np.arange(count))
            later = np.arange(len(come.future)) - first[come.future] + 1
        else:
            later = np.maximum(np.rint(come.after * scale).astype(np.int64), 1)
        earlier = (before.time[place] - gone.now) * (scale or 1)
        total = len(partition)
        events = Events(
            time=np.concatenate([earlier, later]),
            tie=np.concatenate([before.tie[place], np.arange(len(come.future))]),
            stream=np.zeros(total, np.int64),
            key=2 * partition + (apart & ~is_own),
            partition=partition,
            mask=np.where(is_own, mask, 0),
            p=np.ones(total),
            group=np.full(total, -1),
            row=np.arange(total),
            values=values,
            nulls=nulls,
            is_float=before.is_float,
        )
        return events, place

    def _replace(self, gone: Gone, come: Come, values: Words, nulls: Flags) -> None:
        """Put what parts the forecast, and times that are drawn, into attributes to come."""
        before, parting = gone.events, set(gone.parting)
        for k, (names, is_plain) in enumerate(self.replaced):
            if not names:
                continue
            if names <= parting:
                values[k], nulls[k] = before.values[k, gone.last], before.nulls[k, gone.last]
            elif is_plain:
                values[k], nulls[k] = self._moments(gone, come), False
            else:
                self._compute(k, gone, come, values, nulls)
            nulls[k][come.event == OTHER] = True

    @cached_property
    def replaced(self) -> tuple[tuple[frozenset[str], bool], ...]:
        """For each attribute what is replaced of all it reads (nothing: none), if it is plain.

        Where something else is read beside, all of its columns are named.
        """
        return replaced(self.plan)

    def _moments(self, gone: Gone, come: Come) -> Words:
        """Return the times to come: whole ones, as those of the stream are."""
        found: Words = gone.now + np.floor(come.after * (1 + SLACK) + SLACK).astype(np.int64)
        return found

    def _compute(self, k: int, gone: Gone, come: Come, values: Words, nulls: Flags) -> None:
        """Compute an attribute anew that reads what is replaced, and something else."""
        column, stream = self.plan.match.programs.columns[k], self.plan.forecast.query.streams[0]
        drawn = pa.array(np.maximum(come.event, 0))
        made: dict[str, Any] = {}
        for name in dict.fromkeys(i.column for i in inputs_within(column.expression)):
            declared = stream.column(name)
            assert declared is not None
            kind = ARROW_TYPES[declared.type.value]
            if name == stream.time:
                made[name] = pa.array(self._moments(gone, come)).cast(kind)
            elif name in gone.parting:
                value = pa.scalar(gone.parting[name], kind)
                made[name] = pa.repeat(value, len(drawn))
            else:
                made[name] = self.history.rows.column(name).take(drawn)
        found = evaluate_column(column.expression, pa.table(made), self.encoder.tables)
        nulls[k] = np.asarray(pc.is_null(found))
        values[k] = self.encoder.words(found, column.type)

    # Completing -------------------------------------------------------------------------------

    def _in_time(self, found: Matches, events: Events, come: Come, place: Words) -> Completed:
        horizon, n = self.plan.setting.horizon, len(place)
        at = found.row[self._completing(found)] - n
        to_come = np.maximum(at, 0)
        if len(come.step):
            wait = come.after[to_come] if horizon.in_time else come.step[to_come].astype(np.float64)
        else:
            wait = np.zeros(len(at))
        chosen = (at >= 0) & (wait <= horizon.length * (1 + SLACK)) & (found.confidence > 0.0)
        numbers = np.flatnonzero(chosen)
        picked = found.only(numbers)
        is_past = picked.row < n
        sums = np.concatenate([[0], np.cumsum(is_past)])
        return Completed(
            events.partition[picked.row[picked.first_item[:-1]]],
            wait[numbers],
            sums[picked.first_item],
            picked.component[is_past],
            place[picked.row[is_past]],
        )

    def _completing(self, found: Matches) -> Words:
        """Return the item with which each match is complete.

        That is the last; in a run, the one that gives every repetition its minimum.
        """
        last = found.first_item[1:] - 1
        if self.plan.match.pattern.strategy == "ANY":
            return last
        known, places = dict[bytes, int](), np.zeros(len(found), np.int64)
        for match, begin in enumerate(found.first_item[:-1].tolist()):
            taken = found.component[begin : int(last[match]) + 1]
            key = taken.tobytes()
            if key not in known:
                known[key] = next(accepted(self.plan.match.pattern, taken.tolist()), len(taken) - 1)
            places[match] = begin + known[key]
        return places


def accepted(pattern: Pattern, taken: Sequence[int]) -> Iterator[int]:
    """Yield after which of some components, in their order, a match is complete."""
    states = {0}
    for place, component in enumerate(taken):
        states = {
            edge.target
            for edge in pattern.edges
            if edge.component == component and edge.source in states
        }
        if any(pattern.accepting[state] for state in states):
            yield place


def replaced(plan: ForecastPlan) -> tuple[tuple[frozenset[str], bool], ...]:
    """Return, for each attribute of a search, the columns it reads if one of them is replaced."""
    stream = plan.forecast.query.streams[0]
    anew = {stream.time, *plan.match.partition_by.get(stream.name, ())}
    found = list[tuple[frozenset[str], bool]]()
    for column in plan.match.programs.columns:
        names = frozenset(each.column for each in inputs_within(column.expression))
        is_plain = isinstance(column.expression, Input)
        found.append((names if names & anew else frozenset(), is_plain))
    return tuple(found)


def reads_time(plan: ForecastPlan) -> bool:
    """Return whether a condition over several events reads when they came."""
    return any(plan.forecast.query.streams[0].time in names for names, _ in replaced(plan))


def _scaled(pattern: Pattern, scale: int) -> Pattern:
    window = pattern.window
    return pattern if window is None else replace(pattern, window=window * scale)

"""One forecast by sampling: futures are drawn behind the past, and searched, some at once.

Where events are uncertain, each future has a past of its own, which is drawn as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from augury.evaluation.encoding import Encoder
from augury.evaluation.learning.completions import Completed, Sums
from augury.evaluation.learning.drawn_futures import Gone, History, Search, accepted, reads_time
from augury.forecast.drawn_past import contexts_after, happened
from augury.forecast.draws import Drawer
from augury.forecast.model import Context, Model, Value, spread_contexts
from augury.forecast.past import Bound
from augury.forecast.setting import Row
from augury.matching.ends import ends_late
from augury.matching.sampled import sample_size
from augury.planning.forecast_plan import ForecastPlan
from augury.records import Events, Flags, Words

# Events that are searched at once, about; how many come in a future is drawn.
AT_ONCE = 1_000_000
Contexts = dict[Context, float]
NOWHERE: Contexts = {(): 1.0}


@dataclass(frozen=True)
class Now:
    """The moment of a forecast: the partition, its last event, and what is drawn by.

    `last` is the place of the event, and `parting` what parts the forecast, by column.
    """

    partition: int
    time: int
    last: int
    value: Value
    parting: Mapping[str, Any]
    seed: int


@dataclass(frozen=True)
class Seen:
    """Events that were read, in their order, by the time of a forecast.

    `past` are the places of those that a match may need, `own` of those of the partition. What is
    in `contexts` are its last symbols: of all events where these are certain, and else before them.
    """

    events: Events
    past: Words
    own: Words
    contexts: Contexts

    @property
    def needed(self) -> Events:
        """The events that a match may need."""
        return self.events.take(self.past)


@dataclass(frozen=True)
class Sampler:
    """Makes the forecasts of one plan, as a history teaches."""

    plan: ForecastPlan
    model: Model
    history: History
    is_uncertain: bool

    def rows(self, now: Now, seen: Seen, encoder: Encoder) -> Iterator[Row]:
        """Yield what is told after the last event of a partition."""
        setting, last = self.plan.setting, int(seen.events.row[now.last])
        gap = self.model.mean_gap(now.value) if self._needs_gaps else None
        if not self.model.knows or (self._needs_gaps and gap is None):
            if setting.by_time:
                yield Row(now.partition, now.time, last, (), 1.0, None, None)
            return
        sums = Sums()
        for completed in self._completed(now, seen, encoder, gap):
            sums.add(completed, seen.events.row[seen.past], by_time=setting.by_time)
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
        setting, pattern = self.plan.setting, self.plan.match.pattern
        most = (setting.window or 0) if setting.machine.foreign_ticks else 0
        return Drawer(
            setting,
            self.model,
            self.history.pool,
            ends_late(pattern),
            max(most, int(setting.machine.foreign_breaks)),
        )

    def _completed(
        self, now: Now, seen: Seen, encoder: Encoder, gap: float | None
    ) -> Iterator[Completed]:
        """Yield what completes in the futures, as many of them at once as fit."""
        drawer, search = self._drawer, Search(self.plan, self.history, encoder)
        share = self.model.share(now.partition) if self.plan.setting.needs_shares else 1.0
        assert share is not None
        gone = _gone(now, seen)
        random = np.random.default_rng(now.seed)
        most = max(1, int(AT_ONCE / (len(seen.past) + drawer.mean_events(share, gap) + 1)))
        for begin in range(0, self._size, most):
            count = min(most, self._size - begin)
            contexts, drawn = list(seen.contexts) * count, gone
            if self.is_uncertain:
                there = happened(random, gone.events, count)
                drawn = replace(gone, present=there)
                contexts = self._contexts(random, seen, there)
            come = drawer.draw(random, contexts, now.value, share, gap)
            yield search.completed(drawn, come, count, timed=gap is not None)

    def _contexts(self, random: np.random.Generator, seen: Seen, there: Flags) -> list[Context]:
        """Return the last symbols in each world; `there` says which of the past happened."""
        order, events = self.plan.setting.order, seen.events
        if not order:
            return [()] * len(there)
        # What a match needs no more is carried on as a distribution.
        old = seen.contexts
        for place in np.setdiff1d(seen.own, seen.past).tolist():
            old = spread_contexts(old, int(events.mask[place]), float(events.p[place]), order)
        listed, weights = list(old), np.cumsum(list(old.values()))
        at = np.searchsorted(weights, random.random(len(there)) * weights[-1], side="right")
        at = np.minimum(at, len(listed) - 1)
        mine = np.isin(seen.past, seen.own)
        symbols = events.mask[seen.past[mine]].tolist()
        return contexts_after([listed[k] for k in at.tolist()], symbols, there[:, mine], order)


def _gone(now: Now, seen: Seen) -> Gone:
    before = seen.needed
    is_own = before.partition == now.partition
    last = int(np.searchsorted(seen.past, now.last))
    return Gone(before, is_own, None, now.time, last, now.parting)

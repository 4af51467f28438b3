"""Events that mean nothing to a forecast: they are counted, and not read one by one.

An event that fits no component changes what lives, and the last symbols, for some events at most;
as many more of them leave all as it is, and every one tells again what the last one told. So where
nothing but events of some types matters, those are read, with so many behind each; what is told of
the others is told without them. A thousand forecasts cost what they read, not what goes by.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from augury.evaluation.encoding import whole
from augury.evaluation.stream_rows import StreamRows
from augury.forecast.told import Told
from augury.planning.forecast_plan import ForecastPlan
from augury.records import Words

# Of fewer rows, all are read.
LEAST = 64


@dataclass(frozen=True)
class Idle:
    """Which rows of a step are read, and the times of those after each that are not."""

    rows: StreamRows
    read_at: Words
    first: Words
    times: Words

    def told(self, told: Told) -> Told:
        """Return what is told after all rows, of what is told after those that are read."""
        place = np.searchsorted(self.read_at, told.time)
        count = self.first[place + 1] - self.first[place]
        if not count.any():
            return told
        rows = np.repeat(np.arange(len(told)), count)
        begin = np.cumsum(count) - count
        again = self.times[self.first[place][rows] + np.arange(len(rows)) - begin[rows]]
        every = np.concatenate([np.arange(len(told)), rows])
        time = np.concatenate([told.time, again])
        order = np.lexsort((every, time))
        return told.at(every[order], time[order])


def types_read(plan: ForecastPlan) -> frozenset[str] | None:
    """Return the types whose events matter to a forecast; None where every event does."""
    setting, streams = plan.setting, plan.forecast.query.streams
    whole_stream = len(streams) == 1 and not plan.match.partition_by
    known = setting.kind == "MARKOV" and not (setting.online or setting.by_value)
    types = {play.type for play in plan.match.plays}
    plain = not any(s.alternatives or s.order_by for s in streams)
    if not (whole_stream and known and plain) or setting.window is not None or None in types:
        return None
    # Without a threshold there are rows after every event anyway.
    return frozenset(t for t in types if t) if plan.forecast.having is not None else None


def idle(plan: ForecastPlan, types: frozenset[str], rows: StreamRows) -> Idle | None:
    """Return which rows are read; None where all have to be."""
    count, behind = rows.table.num_rows, max(1, plan.setting.order)
    if count < LEAST or not (rows.is_in_strict_order and rows.is_certain):
        return None
    own = [places for name, places in rows.places_by_type.items() if name in types]
    begins = np.concatenate([np.arange(behind), *own])
    chosen = np.unique((begins[:, None] + np.arange(behind + 1)).ravel())
    chosen = chosen[chosen < count]
    times = whole(rows.table.column(rows.schema.time))
    left = np.ones(count, np.bool_)
    left[chosen] = False
    # How many that are not read stand before each that is, and before the end.
    before = np.append(chosen, count) - np.arange(len(chosen) + 1)
    table = rows.table.take(chosen)
    return Idle(replace(rows, table=table), times[chosen], before, times[left])

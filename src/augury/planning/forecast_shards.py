"""By which columns the rows of a forecast may be cut into shards.

What a partition is forecast from is its own events, and the model. A history teaches every shard
the same; what is learned online is learned from all events in one order.
"""

from __future__ import annotations

from dataclasses import dataclass

from augury.language.text.words import names_text
from augury.planning.forecast_plan import ForecastPlan
from augury.planning.forecast_refusals import Columns


@dataclass(frozen=True, slots=True)
class ForecastCut:
    """The columns of each stream whose values tell shards apart; None where one has all rows.

    `reason` says why, in words for EXPLAIN.
    """

    columns: Columns | None
    reason: str


def forecast_cut(plan: ForecastPlan) -> ForecastCut:
    """Return by which columns the rows of a forecast may be cut."""
    forecast, machine, columns = plan.forecast, plan.setting.machine, plan.match.partition_by
    streams = forecast.query.streams
    if forecast.online:
        # Also with BY: a value that was never met, and SMOOTHING, take the counts of all.
        return ForecastCut(None, f"{forecast.name} learns online from all events, in one order")
    if machine.foreign_breaks:
        return ForecastCut(None, "events of other partitions come between neighbours")
    if machine.foreign_ticks:
        return ForecastCut(None, "events of other partitions count towards the window")
    if any(stream.name not in columns for stream in streams):
        return ForecastCut(None, f"query {forecast.query.name} equates nothing: all events are one")
    names = next(iter(columns.values()))
    return ForecastCut(columns, f"forecasts of each {names_text(names)} rest on its own events")

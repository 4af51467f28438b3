"""The rows of a forecast: of partial matches, or of the query at each event."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.forecasts import CheckedForecast
from augury.evaluation.answers.match_answers import Inputs, gather, match_table, moment_type
from augury.forecast.told import Told
from augury.matching.resolve_confidence import TOLERANCE
from augury.planning.forecast_plan import ForecastPlan
from augury.records import Flags, Matches, Words
from augury.sources.columns import ARROW_TYPES

# Microseconds, in which times are counted.
SECOND = 1_000_000.0
_MADE = frozenset({"match_id", "start_ts", "confidence", "events"})


def forecast_schema(plan: ForecastPlan) -> pa.Schema:
    """Return the columns of a forecast."""
    forecast = plan.forecast
    moment = moment_type(forecast.query)
    keys = [(key.name, ARROW_TYPES[key.type.value]) for key in forecast.keys]
    chances = [
        ("forecast", pa.float64()),
        ("expected", pa.float64()),
        ("method", pa.string()),
        ("error_bound", pa.float64()),
    ]
    if forecast.by_time:
        return pa.schema([("query", pa.string()), *keys, ("ts", moment), *chances])
    event = [
        ("component", pa.string()),
        ("event_id", pa.string()),
        ("ts", moment),
        ("probability", pa.float64()),
        ("missed", pa.bool_()),
    ]
    return pa.schema(
        [
            ("query", pa.string()),
            ("match_id", pa.string()),
            *keys,
            ("start_ts", moment),
            ("ts", moment),
            ("confidence", pa.float64()),
            *chances,
            ("events", pa.list_(pa.struct(event))),
        ]
    )


def shown(forecast: CheckedForecast, rows: Told) -> Flags:
    """Return which rows HAVING lets pass; what is not known passes no threshold."""
    having = forecast.having
    if having is None:
        return np.ones(len(rows), np.bool_)
    # NaN is neither above nor below.
    if having.strict:
        return rows.forecast > having.threshold + TOLERANCE
    return rows.forecast >= having.threshold - TOLERANCE


def forecast_table(plan: ForecastPlan, rows: Told, inputs: Inputs) -> pa.Table:
    """Return rows as a table; numbers of events are places in the inputs."""
    forecast = plan.forecast
    schema = forecast_schema(plan)
    count, (method, bound) = len(rows), _method(plan)
    made: dict[str, Any] = {
        "query": pa.repeat(pa.scalar(forecast.name, pa.string()), count),
        "ts": pa.array(rows.time).cast(moment_type(forecast.query)),
        "forecast": pa.array(rows.forecast, from_pandas=True),
        "expected": pa.array(rows.expected / _unit(forecast), from_pandas=True),
        "method": pa.repeat(pa.scalar(method), count),
        "error_bound": pa.repeat(pa.scalar(bound, pa.float64()), count),
    }
    if forecast.by_time:
        made |= _keys(plan, rows.last, inputs)
    else:
        keys = {key.name for key in forecast.keys}
        match = replace(plan.match, made=_MADE | keys)
        found = match_table(match, _as_matches(rows, inputs), inputs)
        made |= {name: found.column(name) for name in found.column_names}
    return pa.table({name: made[name] for name in schema.names}).cast(schema)


def _method(plan: ForecastPlan) -> tuple[str, float | None]:
    """Return how rows are made, and by how much they may be off: by EDGES, that is not known."""
    asked = plan.forecast.approximate
    if plan.samples and asked is not None:
        return "sampled", asked.error
    return ("approximate", None) if plan.setting.kind == "EDGES" else ("exact", 0.0)


def _unit(forecast: CheckedForecast) -> float:
    """Return what a wait is counted in: events, ticks, or seconds where time is a TIMESTAMP."""
    timed = not forecast.horizon.events and not forecast.query.streams[0].time_is_ticks
    return SECOND if timed else 1.0


def _keys(plan: ForecastPlan, last: Words, inputs: Inputs) -> dict[str, Any]:
    """Return the keys of each row, read from its last event."""
    found: dict[str, Any] = {}
    streams = [stream.name for stream in plan.forecast.query.streams]
    for at, key in enumerate(plan.forecast.keys):
        names = [plan.columns[stream][at] for stream in streams]
        column = pa.nulls(len(last), ARROW_TYPES[key.type.value])
        for number, name in enumerate(names):
            begin = inputs.first_rows[number]
            end = begin + inputs.tables[number].num_rows
            here = (last >= begin) & (last < end)
            own = gather(inputs, name, np.where(here, last, -1), key.type)
            column = pc.if_else(pa.array(here), own, column)
        found[key.name] = column
    return found


def _as_matches(rows: Told, inputs: Inputs) -> Matches:
    """Return partial matches as matches, their events in the order of time."""
    # A number, where all else is equal, is later than one before it.
    keys = rows.number, rows.component, inputs.time[rows.number], rows.row_of_item
    order = np.lexsort(keys)
    none, count = np.zeros(0, np.int64), len(rows)
    return Matches(
        rows.first_item,
        rows.component[order],
        rows.number[order],
        np.zeros(count + 1, np.int64),
        none,
        none,
        rows.confidence,
        rows.time,
        np.ones(count, np.bool_),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
    )

"""The rows of a forecast: of partial matches, or of the query at each event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.forecasts import CheckedForecast
from augury.evaluation.answers.match_answers import Inputs, gather, match_table, moment_type
from augury.forecast.setting import Row
from augury.matching.resolve_confidence import TOLERANCE
from augury.planning.forecast_plan import ForecastPlan
from augury.records import Matches, Words
from augury.sources.columns import ARROW_TYPES

# Microseconds, in which times are counted.
SECOND = 1_000_000.0
_MADE = frozenset({"match_id", "start_ts", "confidence", "events"})


def forecast_schema(plan: ForecastPlan) -> pa.Schema:
    """Return the columns of a forecast."""
    forecast = plan.forecast
    moment = moment_type(forecast.query)
    keys = [(key.name, ARROW_TYPES[key.type.value]) for key in forecast.keys]
    told = [
        ("forecast", pa.float64()),
        ("expected", pa.float64()),
        ("method", pa.string()),
        ("error_bound", pa.float64()),
    ]
    if forecast.by_time:
        return pa.schema([("query", pa.string()), *keys, ("ts", moment), *told])
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
            *told,
            ("events", pa.list_(pa.struct(event))),
        ]
    )


def shown(forecast: CheckedForecast, row: Row) -> bool:
    """Return whether HAVING lets a row pass; what is not known passes no threshold."""
    having = forecast.having
    if having is None:
        return True
    if row.forecast is None:
        return False
    if having.strict:
        return row.forecast > having.threshold + TOLERANCE
    return row.forecast >= having.threshold - TOLERANCE


def forecast_table(plan: ForecastPlan, rows: Sequence[Row], inputs: Inputs) -> pa.Table:
    """Return rows as a table; numbers of events are places in the inputs."""
    forecast = plan.forecast
    schema = forecast_schema(plan)
    if not rows:
        return schema.empty_table()
    exact = plan.setting.kind == "MARKOV"
    made: dict[str, Any] = {
        "query": pa.repeat(pa.scalar(forecast.name, pa.string()), len(rows)),
        "ts": pa.array([row.time for row in rows], pa.int64()).cast(moment_type(forecast.query)),
        "forecast": pa.array([row.forecast for row in rows], pa.float64()),
        "expected": pa.array([_until(forecast, row) for row in rows], pa.float64()),
        "method": pa.repeat(pa.scalar("exact" if exact else "approximate"), len(rows)),
        "error_bound": pa.array([0.0 if exact else None] * len(rows), pa.float64()),
    }
    if forecast.by_time:
        made |= _keys(plan, np.array([row.last for row in rows], np.int64), inputs)
    else:
        keys = {key.name for key in forecast.keys}
        match = replace(plan.match, made=_MADE | keys)
        found = match_table(match, _as_matches(rows, inputs), inputs)
        made |= {name: found.column(name) for name in found.column_names}
    return pa.table({name: made[name] for name in schema.names}).cast(schema)


def _until(forecast: CheckedForecast, row: Row) -> float | None:
    """Return the mean wait in events, in ticks, or in seconds where time is a TIMESTAMP."""
    timed = not forecast.horizon.events and not forecast.query.streams[0].time_is_ticks
    return row.expected / SECOND if timed and row.expected is not None else row.expected


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


def _as_matches(rows: Sequence[Row], inputs: Inputs) -> Matches:
    """Return partial matches as matches, their events in the order of time."""
    first, components, numbers = [0], list[int](), list[int]()
    for row in rows:
        items = sorted(row.bound, key=lambda item: (int(inputs.time[item[1]]), item[0], item[1]))
        components += [component for component, _ in items]
        numbers += [number for _, number in items]
        first.append(len(numbers))
    none, count = np.zeros(0, np.int64), len(rows)
    return Matches(
        np.array(first, np.int64),
        np.array(components, np.int64),
        np.array(numbers, np.int64),
        np.zeros(count + 1, np.int64),
        none,
        none,
        np.array([row.confidence for row in rows]),
        np.array([row.time for row in rows], np.int64),
        np.ones(count, np.bool_),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
    )

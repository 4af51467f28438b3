"""The forecast stage of a script, and rows as it takes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from augury import Session
from augury.analysis.declarations.catalog import StreamSchema
from augury.evaluation.stages.forecast import ForecastStage
from augury.evaluation.stages.source import in_order
from augury.evaluation.stream_rows import StreamRows, with_event_ids
from augury.planning.forecast_plan import plan_forecast
from augury.sources.columns import ARROW_TYPES

Row = dict[str, Any]


def stage_of(script: str, history: Sequence[Row] = (), name: str = "f") -> ForecastStage:
    """Return the stage of a forecast; its history is a stream `history`."""
    ag = Session(engine="local")
    ag.sql(script)
    checked, _ = ag._declared.forecasts[name]
    taught = None
    if checked.learn_from is not None:
        taught = rows_for(ag._declared.catalog.streams[checked.learn_from.lower()], history)
    return ForecastStage(plan_forecast(checked, ag._declared.catalog), {}, taught)


def rows_for(stream: StreamSchema, rows: Iterable[Row]) -> StreamRows:
    """Return rows as the source stage lets them go on."""
    schema = pa.schema([(c.name, ARROW_TYPES[c.type.value]) for c in stream.columns])
    made = pa.Table.from_pylist([{n: r.get(n) for n in schema.names} for r in rows], schema)
    table = with_event_ids(stream, in_order(made, stream))
    return StreamRows(stream, table, table[:0])


def batch(stage: ForecastStage, rows: Iterable[Row]) -> dict[str, StreamRows]:
    """Return rows of the only stream of a forecast."""
    (stream,) = stage.streams
    return {stream.name.lower(): rows_for(stream, rows)}

"""A live forecast: pushed rows wait for their turn, then go through the forecast stage together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from augury.analysis.declarations.catalog import Catalog, StreamSchema
from augury.analysis.declarations.forecasts import CheckedForecast
from augury.errors import DataError
from augury.evaluation.encoding import Tables, declaration_of
from augury.evaluation.stages.forecast_streams import Filtered
from augury.evaluation.stages.sampled_forecast import forecast_stage_of
from augury.evaluation.stages.source import in_order
from augury.evaluation.stream_rows import StreamRows, with_event_ids
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET
from augury.planning.forecast_plan import plan_forecast
from augury.runners.live.steps import Aside
from augury.sources.columns import ARROW_TYPES
from augury.sources.intake import Arrival
from augury.sources.rows import REASON, conform, sift
from augury.sources.values import stored


class LiveForecast:
    """One forecast over pushed rows; its history is bound before the first of them."""

    # Ids are remembered as far back as the rows that wait; tied events are told of the query.
    memory, tied = 0, 0

    def __init__(
        self,
        forecast: CheckedForecast,
        catalog: Catalog,
        tables: Mapping[str, pa.Table],
        relations: Tables,
        *,
        acts: bool = False,
    ) -> None:
        plan = plan_forecast(forecast, catalog)
        self.forecast, self.query = forecast, forecast.query
        streams: list[StreamSchema] = list(forecast.query.streams)
        # What a model says of readings, whose turn comes before.
        self.filtered: Filtered | None = None
        model = None
        if forecast.future.kind == "MODEL":
            self.filtered = Filtered(catalog, tables, streams[0].name)
            model, streams = self.filtered.model, [self.filtered.readings]
        history = _history(forecast, catalog, tables)
        self.stage = forecast_stage_of(plan, relations, history, None, acts, model)
        self.state = self.stage.start()
        self.believed = None if self.filtered is None else self.filtered.start()
        self.streams = {stream.name.lower(): stream for stream in streams}
        self.rows: dict[str, list[Arrival]] = {name: [] for name in self.streams}
        self.horizon = NEVER_YET
        # The lists of rejected rows, by stream.
        self.aside: Aside = {}

    @property
    def bases(self) -> list[str]:
        """The names of the streams it reads."""
        return [stream.name for stream in self.streams.values()]

    def accept(self, stream: str, arrival: Arrival) -> bool:
        """Let a good row wait for its turn; tell whether its ID has to be remembered."""
        self.rows[stream.lower()].append(arrival)
        return True

    def advance(self, horizon: int) -> list[dict[str, Any]]:
        """Report the forecasts after the rows before `horizon`."""
        if horizon <= self.horizon:
            return []
        batch = {name: self._due(name, horizon) for name in self.rows}
        if self.filtered is not None and self.believed is not None:
            self.believed, made = self.filtered.advance(self.believed, batch, horizon)
            batch |= made.streams
            self._put_aside(made.rejected)
        self.state, answers = self.stage.advance(self.state, batch, horizon)
        self.horizon = horizon
        return [row for table in answers.found.values() for row in table.to_pylist()]

    def _put_aside(self, rejected: Mapping[str, pa.Table]) -> None:
        """Put readings aside that no model takes; all else was checked where it came in."""
        for name, bad in rejected.items():
            for row in bad.to_pylist():
                reason = row.pop(REASON)
                self.aside[name].append((row, reason))

    def finish(self) -> list[dict[str, Any]]:
        """Report what remains: the streams have ended."""
        return self.advance(ALWAYS)

    def _due(self, name: str, horizon: int) -> StreamRows:
        """Return the rows whose turn has come, which wait no longer."""
        ready = [
            arrival.values
            for arrival in self.rows[name]
            if arrival.time < horizon
            and not (arrival.alternatives and arrival.alternatives.is_overfull)
        ]
        self.rows[name] = [arrival for arrival in self.rows[name] if arrival.time >= horizon]
        stream = self.streams[name]
        columns: dict[str, Any] = {
            c.name: pa.array(
                [stored(values[c.name], c.type.value) for values in ready],
                ARROW_TYPES[c.type.value],
            )
            for c in stream.columns
        }
        return _as_rows(stream, pa.table(columns))


def _as_rows(stream: StreamSchema, table: pa.Table) -> StreamRows:
    ordered = with_event_ids(stream, in_order(table, stream))
    return StreamRows(stream, ordered, ordered.slice(0, 0))


def _history(
    forecast: CheckedForecast, catalog: Catalog, tables: Mapping[str, pa.Table]
) -> StreamRows | None:
    if forecast.learn_from is None:
        return None
    stream = catalog.stream(forecast.learn_from)
    assert stream is not None
    if stream.name.lower() not in tables:
        raise DataError(f"stream {stream.name} has no data; bind it before the first push")
    declared = declaration_of(stream)
    rows, _ = sift(conform(tables[stream.name.lower()], declared), declared)
    return _as_rows(stream, rows)

"""The forecast stages of a network, each with what its history teaches."""

from __future__ import annotations

from augury.analysis.declarations.forecasts import CheckedForecast
from augury.errors import DataError
from augury.evaluation.evaluator import checked_rows
from augury.evaluation.network import Network
from augury.evaluation.stages.forecast import ForecastStage, Learned
from augury.evaluation.stages.forecast_streams import Filtered
from augury.evaluation.stages.sampled_forecast import forecast_stage_of
from augury.evaluation.stages.source import in_order
from augury.evaluation.stream_rows import StreamRows, with_event_ids
from augury.planning.forecast_plan import plan_forecast


def forecast_stages(network: Network) -> dict[str, ForecastStage]:
    """Return the stages of the forecasts that are asked for, by name."""
    # Many forecasts mostly learn from one history.
    asked, histories = network.forecasts_read, dict[str, StreamRows]()
    return {f"forecast {each.name}": forecast_stage(network, each, histories) for each in asked}


def taught(network: Network) -> dict[str, Learned]:
    """Return what the histories teach of the forecasts that are made, by lower-case name."""
    made, histories = network.forecasts_made, dict[str, StreamRows]()
    stages = [forecast_stage(network, each, histories) for each in made]
    learned = {each.plan.forecast.name.lower(): each.learned().known for each in stages}
    return {name: known for name, known in learned.items() if known is not None}


def forecast_stage(
    network: Network,
    forecast: CheckedForecast,
    histories: dict[str, StreamRows] | None = None,
) -> ForecastStage:
    """Return the stage of a forecast, with its history, unless it is known what that teaches.

    Histories that were read are in `histories`, and put there.
    """
    plan = plan_forecast(forecast, network.catalog)
    known = network.taught.get(forecast.name.lower())
    acts = network.act is not None
    if known is not None:
        return forecast_stage_of(plan, network.relations, None, known, acts)
    model = None
    if forecast.future.kind == "MODEL":
        stream = forecast.query.streams[0].name
        model = Filtered.of(network, stream).model
    history = None
    if forecast.learn_from is not None:
        known_rows = {} if histories is None else histories
        name = forecast.learn_from.lower()
        if name not in known_rows:
            known_rows[name] = _history(network, forecast.learn_from)
        history = known_rows[name]
    return forecast_stage_of(plan, network.relations, history, None, acts, model)


def _history(network: Network, learn_from: str) -> StreamRows:
    """Return the rows of LEARN FROM by time, with the ids of their events."""
    name = learn_from.lower()
    if name not in network.tables:
        raise DataError(f"stream {learn_from} has no data; bind it, to learn from it")
    rows = checked_rows(network.catalog, name, dict(network.tables))
    table = with_event_ids(rows.schema, in_order(rows.table, rows.schema))
    return StreamRows(rows.schema, table, rows.rejected)

"""EXPLAIN of a forecast, in words: what is asked, the model, the chain, and what it may cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from augury.analysis.declarations.catalog import Catalog
from augury.analysis.declarations.forecasts import CheckedForecast
from augury.language.text.words import names_text
from augury.planning.forecast_plan import ForecastPlan, plan_forecast
from augury.planning.forecast_shards import forecast_cut
from augury.planning.pattern.alike_states import alike_states


def explain_forecast(
    forecast: CheckedForecast, catalog: Catalog, others: Iterable[CheckedForecast] = ()
) -> str:
    """Return how a forecast will be made, beside others; what follows is of its query."""
    lines = [*_lines(plan_forecast(forecast, catalog)), *_alike(forecast, others)]
    return "\n".join(lines) + "\n"


def _alike(forecast: CheckedForecast, others: Iterable[CheckedForecast]) -> Iterator[str]:
    """Yield how much of the automaton other forecasts have, too."""
    queries = {each.query.name: each.query for each in (forecast, *others)}
    if len(queries) > 1:
        alike, own = alike_states(queries.values()), forecast.query.name
        shared, total = alike.shared(own), len(alike.classes[own])
        yield f"  alike       {shared} of its {total} states are those of other forecasts;"
        yield (
            f"              {len(queries)} queries have {alike.states} states, {alike.merged} of "
            f"them different: commonality {alike.commonality:.2f}"
        )


def _lines(plan: ForecastPlan) -> Iterator[str]:
    forecast, machine = plan.forecast, plan.setting.machine
    asked = "some match" if forecast.by_time else "each partial match"
    yield f"forecast {forecast.name} of query {forecast.query.name}"
    yield f"  asks        whether {asked} completes within {_horizon(forecast)}"
    yield f"  partitions  {_partitions(plan)}"
    cut = forecast_cut(plan)
    yield f"  shards      {'one' if cut.columns is None else 'by partition'}: {cut.reason}"
    yield f"  model       {_model(forecast)}"
    if plan.setting.needs_gaps and forecast.future.model is None:
        how = "one each mean gap" if plan.setting.steady else "a Poisson process"
        yield f"  arrivals    {forecast.arrivals}: {how}"
    yield (
        f"  machine     {len(machine.accepting)} states of the automaton, "
        f"{len(machine.guards)} negations, {machine.strategy}"
    )
    allowed = forecast.approximate
    if plan.samples and allowed is not None:
        yield (
            f"  answers     sampled: off by {allowed.error:g} at most, but for a risk of "
            f"{allowed.risk:g}; futures are drawn of {forecast.learn_from}, and searched"
        )
        return
    exact = "approximate" if plan.setting.kind == "EDGES" else "exact under the model"
    tables = "made anew at every event" if forecast.online else "made once, a row is a look-up"
    yield f"  answers     {exact}; tables are {tables}"
    if allowed is not None and plan.setting.kind == "MARKOV":
        limit = plan.setting.state_limit
        yield f"              sampled where a history leads to more than {limit:,} states"


def _horizon(forecast: CheckedForecast) -> str:
    length = forecast.horizon.length
    if not forecast.horizon.events:
        ticks = forecast.query.streams[0].time_is_ticks
        return f"{length} ticks" if ticks else f"{length / 1_000_000:g} seconds"
    return f"{length} events of the {'stream' if forecast.of_stream else 'partition'}"


def _partitions(plan: ForecastPlan) -> str:
    columns = next(iter(plan.match.partition_by.values()), ())
    return f"by {names_text(columns)}" if columns else "none: all events are one"


def _model(forecast: CheckedForecast) -> str:
    future = forecast.future
    if future.model is not None:
        return f"{future.model} goes on by itself, hidden state and automaton together"
    kind = f"MARKOV {future.order}" if future.kind == "MARKOV" else future.kind
    learned = [forecast.learn_from] if forecast.learn_from else []
    learned += ["what has gone by"] if forecast.online else []
    by = f", by {names_text(forecast.by)}" if forecast.by else ""
    return f"{kind}, learned from {' and '.join(learned)}{by}"

"""USING MODEL: a hidden Markov model as forecasts take it, its states read as events of a query."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.catalog import Column
from augury.evaluation.encoding import Encoder, Tables, keys_of
from augury.forecast.hidden import Hidden
from augury.inference.model import Model
from augury.planning.forecast_plan import ForecastPlan
from augury.planning.refusal import NOT_EVALUATED, PlanError
from augury.sources.columns import ARROW_TYPES


def hidden_of(plan: ForecastPlan, model: Model, tables: Tables) -> Hidden:
    """Return the model with the symbol that the query reads each state as."""
    states = range(len(model.states))
    nowhere = next((k for k in states if _is_nowhere(model.states[k])), None)
    if nowhere is not None:
        _refuse_nowhere(plan)
    somewhere = [k for k in states if k != nowhere]
    table = _as_rows(plan, [model.states[k] or () for k in somewhere])
    (stream,) = plan.match.query.streams
    events = Encoder(plan.match, tables).encode(stream, table, 0, np.arange(table.num_rows))
    symbols = np.zeros(len(model.states), np.int64)
    symbols[np.array(somewhere, np.int64)[events.row]] = events.mask
    known = {name.lower(): name for name in table.column_names}
    columns = [keys_of(table.column(known[name.lower()])) for name in stream.alternatives]
    return Hidden(
        dict(zip(zip(*columns, strict=True), somewhere, strict=True)),
        nowhere,
        tuple(symbols.tolist()),
        tuple(_onward(row) for row in model.transition.tolist()),
        plan.step,
    )


def _is_nowhere(state: tuple[object, ...] | None) -> bool:
    return state is None or all(part is None for part in state)


def _onward(row: list[float]) -> tuple[tuple[int, float], ...]:
    return tuple((state, chance) for state, chance in enumerate(row) if chance > 0.0)


def _as_rows(plan: ForecastPlan, states: list[tuple[object, ...]]) -> pa.Table:
    """Return a row of the stream for every state; what is no state is the same in all of them."""
    (stream,) = plan.match.query.streams
    place = {name.lower(): k for k, name in enumerate(stream.alternatives)}

    def column(own: Column) -> pa.Array:
        kind = ARROW_TYPES[own.type.value]
        k = place.get(own.name.lower())
        if k is not None:
            return pa.array([state[k] for state in states], kind)
        if own.name == stream.probability:
            return pa.array([0.0] * len(states), kind)
        return pa.array(list(range(len(states))), pa.int64()).cast(kind)

    return pa.table({own.name: column(own) for own in stream.columns})


def _refuse_nowhere(plan: ForecastPlan) -> None:
    forecast, machine = plan.forecast, plan.setting.machine
    window = forecast.query.within
    counts = forecast.horizon.events or (window is not None and window.events)
    joins = any(edge.joints for own in machine.edges for edge in own)
    if counts or joins or machine.strategy not in ("ANY", "NEXT"):
        message = (
            f"forecast {forecast.name} is refused, since it counts events, or asks for neighbours, "
            f"and model {forecast.future.model} has a state without one"
        )
        hint = "write the horizon and the window as times, and SKIP TILL ANY or NEXT MATCH"
        raise PlanError(NOT_EVALUATED, message, hint, forecast.span)

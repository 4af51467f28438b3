"""The plan of a forecast: the query's pattern as a machine over symbols, and what feeds it.

What is refused stands in `forecast_refusals`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog
from augury.analysis.declarations.forecasts import (
    CheckedForecast,
    goes_by_key,
    partition_classes,
    undecided,
)
from augury.config import value_of
from augury.forecast.machine import Edge, Guard, Machine
from augury.forecast.setting import Horizon, Setting
from augury.language.printer import to_text
from augury.matching.pattern import Pattern
from augury.planning.expressions.lower import Scope, lower
from augury.planning.expressions.typed import Typed
from augury.planning.forecast_refusals import (
    Columns,
    is_decided,
    refused,
    undrawn,
    unforecast,
    unmade,
    untaught,
)
from augury.planning.match_plan import MatchPlan, plan_match
from augury.planning.pattern.automaton import Transition
from augury.planning.pattern.build_automaton import build_automaton


@dataclass(frozen=True)
class JointCondition:
    """A condition over several components, which are bits; it is tried where all are bound."""

    components: int
    expression: Typed


@dataclass(frozen=True)
class ForecastPlan:
    """A forecast, ready for a runner.

    `match` is the plan of its query, in which every event counts and `partition_by` is what parts a
    forecast; `columns` has for each stream the columns that are the forecast's keys. `text` is the
    forecast and its query as written, by which stored state knows its own. `step` is that of a
    hidden Markov model. `conditions` are what EDGES asks of several events. `samples` says that
    futures are drawn and searched; `drops_others` that such a search needs no events which fit
    nothing.
    """

    forecast: CheckedForecast
    setting: Setting
    match: MatchPlan
    columns: Columns
    text: str
    step: int = 1
    conditions: tuple[JointCondition, ...] = ()
    samples: bool = False
    drops_others: bool = False


def sampled(plan: ForecastPlan) -> ForecastPlan:
    """Return the plan of the same forecast that draws futures: the search tries conditions."""
    return replace(plan, samples=True, conditions=())


def plan_forecast(forecast: CheckedForecast, catalog: Catalog) -> ForecastPlan:
    """Return the plan of a forecast; raises for what is not evaluated."""
    query = forecast.query
    partition_by = _partition_by(query)
    never = next(unforecast(forecast, catalog, partition_by), None)
    if never is not None:
        raise refused(forecast, never)
    match = plan_match(query, catalog)
    machine = _machine(query, match.pattern, partition_by)
    samples = _samples(forecast, catalog, match.pattern, machine, partition_by)
    window = query.within
    setting = Setting(
        machine=machine,
        horizon=Horizon(
            forecast.horizon.length, not forecast.horizon.events, _parts(forecast, partition_by)
        ),
        kind=forecast.future.kind,
        # The hidden state is what the last symbol is to MARKOV 1.
        order=1 if forecast.future.kind == "MODEL" else forecast.future.order,
        smoothing=forecast.smoothing,
        online=forecast.online,
        half_life=forecast.half_life,
        by_value=bool(forecast.by),
        steady=forecast.arrivals == "STEADY",
        by_time=forecast.by_time,
        window=window.length if window else None,
        counts_events=bool(window and window.events),
        state_limit=value_of("forecast_state_limit"),
        partial_limit=query.match_limit or value_of("match_limit"),
        row_limit=max(query.match_limit or 0, value_of("step_match_limit")),
    )
    own = replace(query, keys=forecast.keys)
    drops_others = match.drops_others
    match = replace(match, query=own, drops_others=False, partition_by=partition_by, outputs=())
    text = to_text(catalog.forecasts[forecast.name.lower()])
    text += to_text(catalog.queries[query.name.lower()])
    scope = Scope(query, catalog.tables)
    conditions = tuple(
        JointCondition(_bits(conjunct.components), lower(conjunct.expression, scope))
        for conjunct in (() if samples else undecided(query))
    )
    return ForecastPlan(
        forecast,
        setting,
        match,
        _key_columns(forecast, partition_by),
        text,
        _step(forecast, catalog),
        conditions,
        samples,
        drops_others,
    )


def _samples(
    forecast: CheckedForecast,
    catalog: Catalog,
    pattern: Pattern,
    machine: Machine,
    partition_by: Columns,
) -> bool:
    """Return whether futures have to be drawn; raises for what is not made at all."""
    inexact = next(unmade(forecast, catalog, machine, pattern, partition_by), None)
    undrawable = next(undrawn(forecast, pattern, catalog, machine, partition_by), None)
    if forecast.approximate is None:
        if inexact is not None:
            way_out = "LEARN FROM a history with APPROXIMATE (0.05, 0.05), which samples futures"
            raise refused(
                forecast,
                inexact,
                f"with APPROXIMATE it {undrawable}, so that is refused, too"
                if undrawable
                else way_out,
            )
        return False
    if inexact is None and is_decided(forecast):
        return False
    reason = next(untaught(forecast), undrawable)
    if reason is not None:
        raise refused(forecast, reason)
    return True


def _step(forecast: CheckedForecast, catalog: Catalog) -> int:
    """Return how long a step of a hidden Markov model is."""
    if forecast.future.model is None or forecast.query.streams[0].time_is_ticks:
        return 1
    return catalog.models[forecast.future.model.lower()].step


def _parts(forecast: CheckedForecast, partition_by: Columns) -> bool:
    """Return whether the horizon counts events of other partitions: without any, all are own."""
    return forecast.of_stream and bool(partition_by)


# What parts a forecast ------------------------------------------------------------------------


def _partition_by(query: CheckedQuery) -> dict[str, tuple[str, ...]]:
    """Return the columns of each stream that part its events: equated ones, and the KEY."""
    found = {}
    for stream in query.streams:
        names = [
            next(
                name
                for component, name in equality.members
                if any(by.stream == stream.name for by in query.components[component].played_by)
            )
            for equality in partition_classes(query)
        ]
        known = {name.lower() for name in names}
        if goes_by_key(query):
            names += [name for name in stream.key if name.lower() not in known]
        if names:
            found[stream.name] = tuple(names)
    return found


def _key_columns(forecast: CheckedForecast, partition_by: Columns) -> dict[str, tuple[str, ...]]:
    """Return for each stream which of its columns are the keys of the forecast."""
    query, found = forecast.query, dict[str, tuple[str, ...]]()
    for stream in query.streams:
        names = []
        for key in forecast.keys:
            own = next(
                (e for e in query.equalities if key.name in {name for _, name in e.members}), None
            )
            here = [
                name
                for component, name in (own.members if own else ())
                if any(by.stream == stream.name for by in query.components[component].played_by)
            ]
            names.append(here[0] if here else key.name)
        found[stream.name] = tuple(names)
    return found


# The machine ----------------------------------------------------------------------------------


def _machine(query: CheckedQuery, pattern: Pattern, partition_by: Columns) -> Machine:
    automaton = build_automaton(query)
    # The transitions of a state stand with the preferred ones first.
    edges = tuple(
        tuple(_edge(t) for t in automaton.transitions if t.source == state.index)
        for state in automaton.states
    )
    adjacent = any(edge.joints for own in edges for edge in own)
    whole = query.strategy == "STRICT" or (
        (adjacent or query.strategy == "PARTITION") and not any(s.key for s in query.streams)
    )
    return Machine(
        edges=edges,
        accepting=pattern.accepting,
        before=pattern.before,
        guards=tuple(Guard(g.component, g.earlier, g.later, g.company) for g in pattern.guards),
        strategy=pattern.strategy,
        foreign_breaks=whole and bool(partition_by),
        foreign_ticks=pattern.count_window is not None and bool(partition_by),
    )


def _edge(transition: Transition) -> Edge:
    joints = tuple((_bits(joint.to), _bits(joint.own)) for joint in transition.joints)
    return Edge(transition.component, transition.target, joints)


def _bits(components: Iterable[int]) -> int:
    return sum(1 << c for c in set(components))

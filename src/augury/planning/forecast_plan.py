"""The plan of a forecast: the query's pattern as a machine over symbols, and what feeds it.

What a forecast asks that is not evaluated yet is refused here, with its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from augury.analysis.checked import Branch, CheckedQuery, Negated, Shape
from augury.analysis.declarations.catalog import Catalog, StreamSchema
from augury.analysis.declarations.forecasts import (
    CheckedForecast,
    goes_by_key,
    partition_classes,
    undecided,
)
from augury.analysis.expressions.walk import attributes_into
from augury.config import value_of
from augury.forecast.machine import Edge, Guard, Machine
from augury.forecast.setting import Horizon, Setting
from augury.language.printer import to_text
from augury.language.text.expressions import expression_text
from augury.matching.pattern import Pattern
from augury.planning.expressions.lower import Scope, lower
from augury.planning.expressions.typed import Typed
from augury.planning.match_plan import MatchPlan, plan_match
from augury.planning.pattern.automaton import Transition
from augury.planning.pattern.build_automaton import build_automaton
from augury.planning.pattern.residual import components_always_bound, positive_components
from augury.planning.refusal import NOT_EVALUATED, PlanError

Columns = Mapping[str, tuple[str, ...]]


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
    hidden Markov model. `conditions` are what EDGES asks of several events.
    """

    forecast: CheckedForecast
    setting: Setting
    match: MatchPlan
    columns: Columns
    text: str
    step: int = 1
    conditions: tuple[JointCondition, ...] = ()


def plan_forecast(forecast: CheckedForecast, catalog: Catalog) -> ForecastPlan:
    """Return the plan of a forecast; raises for what is not evaluated."""
    query = forecast.query
    _refuse(forecast, _unread(forecast, catalog))
    match = plan_match(query, catalog)
    partition_by = _partition_by(query)
    machine = _machine(query, match.pattern, partition_by)
    _refuse(forecast, _unmade(forecast, machine, match.pattern, partition_by))
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
    )
    own = replace(query, keys=forecast.keys)
    match = replace(match, query=own, drops_others=False, partition_by=partition_by, outputs=())
    text = to_text(catalog.forecasts[forecast.name.lower()])
    text += to_text(catalog.queries[query.name.lower()])
    scope = Scope(query, catalog.tables)
    conditions = tuple(
        JointCondition(_bits(conjunct.components), lower(conjunct.expression, scope))
        for conjunct in undecided(query)
    )
    return ForecastPlan(
        forecast,
        setting,
        match,
        _key_columns(forecast, partition_by),
        text,
        _step(forecast, catalog),
        conditions,
    )


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


# What is not evaluated ------------------------------------------------------------------------


def _refuse(forecast: CheckedForecast, reasons: Iterator[str]) -> None:
    reason = next(reasons, None)
    if reason is not None:
        message = f"forecast {forecast.name} {reason}: that is checked, but not evaluated"
        hint = "docs/status.md lists what is evaluated"
        raise PlanError(NOT_EVALUATED, message, hint, forecast.span)


def _unread(forecast: CheckedForecast, catalog: Catalog) -> Iterator[str]:
    query = forecast.query
    by_model = forecast.future.kind == "MODEL"
    if forecast.approximate is not None and not _is_exact(forecast):
        yield "would have to sample futures (APPROXIMATE)"
    if query.after_match is not None or query.each_event:
        yield "is of a query with AFTER MATCH SKIP or ALL EVENTS PER MATCH"
    if query.looks_beside:
        yield "is of a query that reads events outside the match, by PREV or NEXT"
    yield from _of_conditions(forecast)
    for stream in query.streams:
        if stream.query is not None:
            yield f"is of a query over query {stream.name}"
        if stream.name.lower() in catalog.forecasts:
            yield f"is of a query over forecast {stream.name}"
        if by_model:
            yield from _of_model(forecast, stream, catalog)
        elif stream.name.lower() in catalog.inferred or stream.markov is not None:
            yield f"is of a query over stream {stream.name}, whose events hang together"
        if stream.order_by is not None and len(query.streams) > 1:
            yield "is of a query over several streams with tie-breakers"
    if not by_model:
        yield from _of_alternatives(forecast, catalog)


def _is_exact(forecast: CheckedForecast) -> bool:
    """Return whether nothing has to be sampled: then APPROXIMATE allows more than is needed."""
    if forecast.future.kind == "EDGES" or next(undecided(forecast.query), None) is not None:
        return False
    window = forecast.query.within
    expires = forecast.by_time and window is not None and not window.events
    if not expires or forecast.arrivals == "STEADY":
        return True
    assert window is not None
    return not forecast.horizon.events and forecast.horizon.length <= window.length


def _of_conditions(forecast: CheckedForecast) -> Iterator[str]:
    """Yield the conditions that cannot be tried as soon as their events are bound."""
    query = forecast.query
    uncertain = any(s.probability is not None or s.alternatives for s in query.streams)
    for conjunct in undecided(query):
        named = [query.components[c] for c in conjunct.components]
        plain = all(c.maximum == 1 and not c.negated for c in named) and not conjunct.after
        if not plain or forecast.future.kind != "EDGES" or (uncertain and forecast.by_time):
            yield f"is of a query with the condition {expression_text(conjunct.expression)}"


def _of_model(forecast: CheckedForecast, stream: StreamSchema, catalog: Catalog) -> Iterator[str]:
    """Yield what a hidden Markov model does not decide: it goes on for one KEY, by its states."""
    query, how = forecast.query, catalog.inferred[stream.name.lower()].statement
    if how.correlated:
        yield f"is of a query over stream {stream.name}, which is CORRELATED"
    if len(query.streams) > 1:
        yield "goes on by a model, and is of a query over several streams"
    parting = {name.lower() for name in _partition_by(query).get(stream.name, ())}
    if parting != {name.lower() for name in stream.key}:
        yield f"goes on by a model of each KEY, which is not what parts {stream.name}"
    states = {name.lower() for name in stream.alternatives}
    for conjunct in query.conjuncts:
        named = {a.name.lower() for a in attributes_into(conjunct.expression)}
        if len(conjunct.components) == 1 and not named <= states:
            yield f"is of a query with the condition {expression_text(conjunct.expression)}"
    whole = query.strategy == "STRICT" or bool(query.within and query.within.events)
    if parting and (whole or forecast.of_stream):
        yield "goes on by a model, and counts events of other partitions"


def _of_alternatives(forecast: CheckedForecast, catalog: Catalog) -> Iterator[str]:
    """Yield what alternatives make hard: they are read, and counted, together or not at all."""
    query, horizon = forecast.query, forecast.horizon
    history = catalog.stream(forecast.learn_from) if forecast.learn_from else None
    taught = (*query.streams, *([history] if history else []))
    timed = not horizon.events or bool(query.within and not query.within.events)
    for stream in (each for each in taught if each.alternatives):
        if stream.id is not None or stream.order_by is not None:
            yield f"reads alternatives of stream {stream.name} that may be of different times"
        if forecast.future.order or timed:
            yield f"counts what follows alternatives, which stream {stream.name} has"
        if query.strategy == "STRICT" or (query.within and query.within.events):
            yield f"counts all events of stream {stream.name}, which has alternatives"
        parting = {name.lower() for names in _partition_by(query).values() for name in names}
        if any(name.lower() in parting for name in stream.alternatives):
            yield f"is of a query that parts the alternatives of stream {stream.name}"


def _unmade(
    forecast: CheckedForecast, machine: Machine, pattern: Pattern, partition_by: Columns
) -> Iterator[str]:
    query = forecast.query
    yield from _of_negations(forecast, machine, pattern)
    adjacent = any(edge.joints for own in machine.edges for edge in own)
    if adjacent or query.strategy == "PARTITION":
        for stream in query.streams:
            own = {name.lower() for name in partition_by.get(stream.name, ())}
            if stream.key and own != {name.lower() for name in stream.key}:
                yield f"asks for neighbours of one KEY, which is not what parts {stream.name}"
    equated = {name.lower() for e in partition_classes(query) for _, name in e.members}
    if machine.guards and goes_by_key(query) and not _keys_of(query) <= equated:
        # What is negated may be of any KEY, and the model knows of one.
        yield "is of a pattern with a negation whose KEY is not equated"
    if machine.strategy != "ANY" and _reopens(machine):
        yield "is of a pattern that may end with nothing or with more"
    if forecast.future.kind == "EDGES":
        yield from _of_edges(forecast, machine)


def _keys_of(query: CheckedQuery) -> set[str]:
    return {name.lower() for stream in query.streams for name in stream.key}


def _of_negations(forecast: CheckedForecast, machine: Machine, pattern: Pattern) -> Iterator[str]:
    query, window = forecast.query, forecast.query.within
    if _has_rounds(query.shape):
        yield "is of a pattern with a group that repeats"
    if any(guard.kind != "GAP" for guard in pattern.guards):
        yield "is of a pattern with UNTIL or !NEXT"
    if any(guard.inside is not None for guard in pattern.guards):
        yield "is of a pattern with a negated composite"
    if _without_neighbour(query, query.shape):
        yield "is of a pattern with a negation beside optional components only"
    ends = bool(machine.leading or machine.trailing)
    if ends and machine.strategy != "ANY" and _is_open(machine):
        yield "is of a pattern with a repetition at its end and a negation at an end"
    timed = window is not None and not window.events
    if ends and timed and forecast.arrivals == "POISSON":
        yield "has POISSON arrivals and is of a pattern with a negation at an end"
    if ends and timed and forecast.of_stream:
        yield "counts events of other partitions and is of a pattern with a negation at an end"


def _of_edges(forecast: CheckedForecast, machine: Machine) -> Iterator[str]:
    if machine.leading or machine.trailing:
        yield "goes by EDGES, and is of a pattern with a negation at an end"
    if machine.foreign_breaks or machine.foreign_ticks or forecast.of_stream:
        yield "goes by EDGES, and counts events of other partitions"
    if forecast.by_time and forecast.query.within is not None:
        yield "goes by EDGES, BY TIME, and is of a query with a window"


def _is_open(machine: Machine) -> bool:
    return any(machine.edges[k] for k, accepts in enumerate(machine.accepting) if accepts)


def _reopens(machine: Machine) -> bool:
    return any(
        not machine.accepting[edge.target]
        for k, accepts in enumerate(machine.accepting)
        if accepts
        for edge in machine.edges[k]
    )


def _without_neighbour(query: CheckedQuery, shape: Shape) -> bool:
    """Return whether a negation may have nothing bound on a side where the pattern has parts."""
    if not isinstance(shape, Branch):
        return False
    for place, part in enumerate(shape.parts):
        if isinstance(part, Negated):
            for side in (shape.parts[:place], shape.parts[place + 1 :]):
                positive = [p for p in side if positive_components(p)]
                sure = any(components_always_bound(p, query.components) for p in positive)
                if positive and not sure and not any(map(_is_choice, positive)):
                    return True
        elif _without_neighbour(query, part):
            return True
    return False


def _has_rounds(shape: Shape) -> bool:
    """Return whether a group repeats."""
    if not isinstance(shape, Branch):
        return False
    return shape.times is not None or any(map(_has_rounds, shape.parts))


def _is_choice(shape: Shape) -> bool:
    """Return whether a part is an OR, of which one part is always bound."""
    return isinstance(shape, Branch) and shape.operator == "OR"

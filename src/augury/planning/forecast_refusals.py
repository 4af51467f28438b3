"""Which forecasts are refused, and why; `planning/forecast_plan.py` asks.

What is not made exactly is sampled where APPROXIMATE allows that, but for what is undrawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from augury.analysis.checked import Branch, CheckedQuery, Conjunct, Negated, Shape
from augury.analysis.declarations.catalog import Catalog, StreamSchema
from augury.analysis.declarations.forecasts import (
    CheckedForecast,
    goes_by_key,
    partition_classes,
    undecided,
)
from augury.analysis.expressions.walk import attributes_into, walk_into
from augury.analysis.settled import dynamic_tables
from augury.forecast.machine import Machine
from augury.language import expressions as ex
from augury.language.text.expressions import expression_text
from augury.matching.ends import ends_late
from augury.matching.pattern import Pattern
from augury.planning.acting.refusals import answered_by_several
from augury.planning.acting.whom import active_conjuncts
from augury.planning.pattern.residual import components_always_bound, positive_components
from augury.planning.refusal import NOT_EVALUATED, PlanError

Columns = Mapping[str, tuple[str, ...]]


def refused(forecast: CheckedForecast, reason: str, sampling: str = "") -> PlanError:
    """Return the error that says why a forecast is not made; `sampling` of what might help."""
    message = f"forecast {forecast.name} is refused, since it {reason}"
    hint = sampling or "docs/status.md says which are made, and why the others are not"
    return PlanError(NOT_EVALUATED, message, hint, forecast.span)


def unforecast(forecast: CheckedForecast, catalog: Catalog, partition_by: Columns) -> Iterator[str]:
    """Yield what makes the events of a match hang on more than a model goes on with."""
    query, by_model = forecast.query, forecast.future.kind == "MODEL"
    active = active_conjuncts(query, dynamic_tables(catalog))
    if answered_by_several(active, catalog) is not None:
        what = "which is asked of whole matches, and of no future"
        yield f"is of a query with a subquery that several rows may answer, {what}"
    elif active:
        what = "and no model says how those go on"
        yield f"is of a query that is tested by tables which change, {what}"
    if query.after_match is not None or query.each_event:
        what = "AFTER MATCH SKIP or ALL EVENTS PER MATCH"
        yield f"is of a query with {what}, where a match hangs on all matches before it"
    if query.looks_beside:
        yield "is of a query that reads events outside the match, by PREV or NEXT"
    for stream in query.streams:
        if stream.query is not None:
            yield f"is of a query over query {stream.name}, whose matches share events"
        if stream.name.lower() in catalog.forecasts:
            yield f"is of a query over forecast {stream.name}, whose rows share futures"
        if by_model:
            yield from _of_model(forecast, stream, catalog, partition_by)
        elif stream.name.lower() in catalog.inferred or stream.markov is not None:
            yield f"is of a query over stream {stream.name}, whose events hang together"
        if stream.order_by is not None and len(query.streams) > 1:
            yield "is of a query over several streams with tie-breakers, which order no two of them"


def untaught(forecast: CheckedForecast) -> Iterator[str]:
    """Yield why there is no event of which futures can be drawn."""
    if forecast.future.kind != "MARKOV":
        kind = forecast.future.kind
        yield f"has APPROXIMATE, and goes by {kind}, of which no events can be drawn"
    if forecast.online or forecast.learn_from is None:
        yield "draws futures of a history, and learns online: what goes by is counted, not kept"


def undrawn(
    forecast: CheckedForecast,
    pattern: Pattern,
    catalog: Catalog,
    machine: Machine,
    partition_by: Columns,
) -> Iterator[str]:
    """Yield why futures that are drawn would not tell what is asked."""
    query = forecast.query
    if len(query.streams) > 1:
        yield "draws futures of a history, which has events of one stream"
    yield from _of_keys(query, machine, partition_by)
    uncertain = any(s.probability is not None or s.alternatives for s in query.streams)
    if uncertain and not forecast.by_time:
        yield "draws futures BY MATCH of uncertain events, which do not tell its confidence"
    yield from _of_drawn_alternatives(forecast, catalog)
    open_end = ends_late(pattern) and query.within is None
    if open_end and next(undecided(query), None) is not None:
        yield "draws futures, and waits for the end of a run that no window ends"


def _of_drawn_alternatives(forecast: CheckedForecast, catalog: Catalog) -> Iterator[str]:
    history = catalog.stream(forecast.learn_from) if forecast.learn_from else None
    if history is not None and history.alternatives:
        yield f"draws futures of alternatives, which stream {history.name} has: they are no events"
    for stream in (each for each in forecast.query.streams if each.alternatives):
        if stream.id is not None or stream.order_by is not None:
            yield f"reads alternatives of stream {stream.name} that may be of different times"
        if forecast.future.order:
            yield f"counts what follows alternatives, which stream {stream.name} has"


def is_decided(forecast: CheckedForecast) -> bool:
    """Return whether nothing has to be sampled: then APPROXIMATE allows more than is needed."""
    if forecast.future.kind == "EDGES" or next(undecided(forecast.query), None) is not None:
        return False
    window = forecast.query.within
    expires = forecast.by_time and window is not None and not window.events
    if not expires or forecast.arrivals == "STEADY":
        return True
    assert window is not None
    return not forecast.horizon.events and forecast.horizon.length <= window.length


def _of_conditions(forecast: CheckedForecast, pattern: Pattern) -> Iterator[str]:
    """Yield the conditions that cannot be tried as soon as their events are bound."""
    query = forecast.query
    uncertain = any(s.probability is not None or s.alternatives for s in query.streams)
    for conjunct in undecided(query):
        tried = forecast.future.kind == "EDGES" and _is_tried(conjunct, query, pattern)
        if not tried or (uncertain and forecast.by_time):
            yield f"is of a query with the condition {expression_text(conjunct.expression)}"


def _is_tried(conjunct: Conjunct, query: CheckedQuery, pattern: Pattern) -> bool:
    """Return whether what is bound decides a condition, whatever else will be.

    Of a repetition that is one about b[i], b[i-1] and b[1]: the whole of it is known when it ends.
    What is negated is looked at when it comes, beside what is bound by then.
    """
    named = [query.components[c] for c in conjunct.components]
    read = list(attributes_into(conjunct.expression))
    whole = any(isinstance(node, ex.Aggregate) for node in walk_into(conjunct.expression))
    whole |= any(a.index is not None and not _is_of_item(a.index) for a in read)
    repeated = [c for c in named if c.maximum != 1]
    negated = [c for c in named if c.negated]
    if conjunct.after or whole or len(repeated) > 1 or any(a.default is not None for a in read):
        return False
    if not negated:
        return True
    before = pattern.before[negated[0].index]
    others = [c for c in named if not c.negated]
    return len(negated) == 1 and not repeated and all(before >> c.index & 1 for c in others)


def _is_of_item(index: ex.Index) -> bool:
    return index.kind in ("each", "previous") or (index.kind == "number" and index.number == 1)


def _of_model(
    forecast: CheckedForecast, stream: StreamSchema, catalog: Catalog, partition_by: Columns
) -> Iterator[str]:
    """Yield what a hidden Markov model does not decide: it goes on for one KEY, by its states."""
    query, how = forecast.query, catalog.inferred[stream.name.lower()].statement
    if how.correlated:
        yield f"is of a query over stream {stream.name}, which is CORRELATED"
    if len(query.streams) > 1:
        yield "goes on by a model, and is of a query over several streams"
    parting = {name.lower() for name in partition_by.get(stream.name, ())}
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


def _of_alternatives(
    forecast: CheckedForecast, catalog: Catalog, partition_by: Columns
) -> Iterator[str]:
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
        parting = {name.lower() for names in partition_by.values() for name in names}
        if any(name.lower() in parting for name in stream.alternatives):
            yield f"is of a query that parts the alternatives of stream {stream.name}"


def unmade(
    forecast: CheckedForecast,
    catalog: Catalog,
    machine: Machine,
    pattern: Pattern,
    partition_by: Columns,
) -> Iterator[str]:
    """Yield what no machine over symbols decides."""
    query = forecast.query
    if forecast.future.kind != "MODEL":
        yield from _of_alternatives(forecast, catalog, partition_by)
    yield from _of_conditions(forecast, pattern)
    yield from _of_negations(forecast, machine, pattern)
    yield from _of_keys(query, machine, partition_by)
    if machine.strategy != "ANY" and _reopens(machine):
        yield "is of a pattern that may end with nothing or with more"
    if forecast.future.kind == "EDGES":
        yield from _of_edges(forecast, machine)


def _of_keys(query: CheckedQuery, machine: Machine, partition_by: Columns) -> Iterator[str]:
    """Yield where events of other partitions matter, of which the model says nothing."""
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
    if machine.leading and timed and forecast.arrivals == "POISSON":
        yield "has POISSON arrivals and is of a pattern with a negation at its start"
    if machine.trailing and timed and forecast.arrivals == "POISSON" and forecast.by_time:
        yield "has POISSON arrivals, BY TIME, and is of a pattern with a negation at its end"
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

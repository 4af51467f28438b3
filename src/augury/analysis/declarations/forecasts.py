"""CREATE FORECAST: how likely partial matches of a query complete within a horizon.

What symbols decide is exact under a model of symbols; a condition over several events, other than
one that equates the same attribute of all components, they do not decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from augury.analysis import places
from augury.analysis.checked import Branch, CheckedQuery, CheckedWindow, Conjunct, EqualityClass
from augury.analysis.declarations.catalog import Column, DataType, StreamSchema
from augury.analysis.declarations.durations import microseconds
from augury.analysis.declarations.ledger import Ledger
from augury.analysis.declarations.streams import check_length
from augury.analysis.expressions.walk import attributes_into, walk_into
from augury.analysis.findings import Findings, suggest
from augury.errors import NOWHERE, Span
from augury.language import expressions as ex
from augury.language.text.expressions import expression_text
from augury.language.tree import Approximate, CreateForecast, Future, Having

BY_MATCH = "match_id", "start_ts", "ts", "confidence", "forecast", "expected"


@dataclass(frozen=True, slots=True)
class CheckedForecast:
    """A forecast that has passed every rule; `query` is what it forecasts.

    `horizon` is in events, or in microseconds or ticks; `of_stream` counts the events of all
    partitions. `future` says how the stream goes on, learned from the stream `learn_from`, from
    what has gone by (`online`), or both; a count weighs half as much after `half_life`. `by` are
    columns whose values have counts of their own.
    """

    name: str
    query: CheckedQuery
    horizon: CheckedWindow
    of_stream: bool
    future: Future
    smoothing: float
    learn_from: str | None
    online: bool
    half_life: int | None
    by: tuple[str, ...]
    arrivals: Literal["POISSON", "STEADY"]
    having: Having | None
    by_time: bool
    approximate: Approximate | None
    keys: tuple[Column, ...]
    schema: StreamSchema
    span: Span = NOWHERE


def read_forecast(
    statement: CreateForecast, query: CheckedQuery | None, ledger: Ledger, findings: Findings
) -> CheckedForecast | None:
    """Return the checked forecast; None where a rule found a fault, or its query has one."""
    before = findings.error_count
    horizon = _horizon(statement, query, findings)
    _check_numbers(statement, findings)
    _check_model(statement, ledger, findings)
    if query is None:
        return None
    _check_query(statement, query, findings)
    _check_history(statement, query, ledger, findings)
    _check_by(statement, query, findings)
    fades = _half_life(statement, query, findings)
    future = _future(statement, query, findings)
    by_model = statement.future is not None and statement.future.kind == "MODEL"
    known = ((statement.future and statement.future.model) or "").lower() in ledger.models
    if by_model and known:
        _check_inferred(statement, query, ledger, findings)
    # A hidden Markov model has a step of its own.
    arrivals: Literal["POISSON", "STEADY"] = "STEADY" if by_model else "POISSON"
    arrivals = statement.arrivals or arrivals
    if horizon is not None:
        _check_exact(statement, query, horizon, arrivals, findings)
    if findings.error_count > before or horizon is None:
        return None
    keys = forecast_keys(query)
    return CheckedForecast(
        name=statement.name,
        query=query,
        horizon=horizon,
        of_stream=statement.of_stream,
        future=future,
        smoothing=statement.smoothing or 0.0,
        learn_from=statement.learn_from,
        online=not by_model and (statement.online or statement.learn_from is None),
        half_life=fades,
        by=statement.by,
        arrivals=arrivals,
        having=statement.having,
        by_time=bool(statement.by_time),
        approximate=statement.approximate,
        keys=keys,
        schema=_schema(statement, query, keys),
        span=statement.span,
    )


# What a forecast is of ------------------------------------------------------------------------


def partition_classes(query: CheckedQuery) -> tuple[EqualityClass, ...]:
    """Return the equalities that tell a partition: over all components, by one column a stream."""
    return tuple(
        e for e in query.equalities if e.covers_all and len(e.members) > 1 and _cuts(query, e)
    )


def _cuts(query: CheckedQuery, equality: EqualityClass) -> bool:
    columns: dict[str, set[str]] = {}
    for component, name in equality.members:
        for by in query.components[component].played_by:
            columns.setdefault(by.stream, set()).add(name.lower())
    return all(len(columns.get(stream.name, ())) == 1 for stream in query.streams)


def goes_by_key(query: CheckedQuery) -> bool:
    """Return whether the KEY is part of what a partition is."""
    at_top = isinstance(query.shape, Branch) and query.shape.operator == "NEXT"
    return query.strategy == "PARTITION" or at_top


def forecast_keys(query: CheckedQuery) -> tuple[Column, ...]:
    """Return the key columns of a forecast: those of the query, and the KEY where it parts."""
    found = {column.name.lower(): column for column in query.keys}
    if goes_by_key(query):
        for stream in query.streams:
            columns = [stream.column(name) for name in stream.key]
            found |= {c.name.lower(): c for c in columns if c is not None}
    return tuple(found.values())


def undecided(query: CheckedQuery) -> Iterator[Conjunct]:
    """Yield the conditions that symbols do not decide."""
    classes = partition_classes(query)
    for conjunct in query.conjuncts:
        if not (_of_one_event(conjunct) or any(_equates(conjunct, query, c) for c in classes)):
            yield conjunct


def _of_one_event(conjunct: Conjunct) -> bool:
    if conjunct.after or len(conjunct.components) != 1:
        return False
    nodes = list(walk_into(conjunct.expression))
    indexed = any(isinstance(n, ex.Attribute) and n.index is not None for n in nodes)
    return not indexed and not any(isinstance(n, ex.Aggregate) for n in nodes)


def _equates(conjunct: Conjunct, query: CheckedQuery, equality: EqualityClass) -> bool:
    node = conjunct.expression
    if not isinstance(node, ex.Binary) or node.operator != "=":
        return False
    numbers = {c.name: c.index for c in query.components}
    sides = [s for s in (node.left, node.right) if isinstance(s, ex.Attribute) and not s.default]
    members = [(numbers.get(s.component or "", -1), s.name) for s in sides]
    return len(members) == 2 and all(m in equality.members for m in members)


# Rules ----------------------------------------------------------------------------------------


def _place(statement: CreateForecast, keyword: str) -> Span:
    found = (span for key, span in statement.places if key == keyword)
    return next(found, statement.span)


def _horizon(
    statement: CreateForecast, query: CheckedQuery | None, findings: Findings
) -> CheckedWindow | None:
    within = statement.within
    if within is None:
        message = f"forecast {statement.name} has no horizon"
        findings.error("A101", message, statement.span, "add WITHIN, for example: WITHIN 10 EVENTS")
        return None
    length, place = within.length, _place(statement, "WITHIN")
    amount = length.amount if isinstance(length, ex.Duration) else length
    before = findings.error_count
    if not amount > 0:
        message = f"a horizon of {amount:g} looks nowhere: what was just read is no part of it"
        findings.error("A023", message, place, "write a length above 0")
    elif not within.events and query is not None:
        check_length(length, query.streams[0].time_is_ticks, "WITHIN", place, findings)
    if findings.error_count > before:
        return None
    units = microseconds(length) if isinstance(length, ex.Duration) else int(length)
    return CheckedWindow(units, within.events)


def _half_life(statement: CreateForecast, query: CheckedQuery, findings: Findings) -> int | None:
    """Return after what time a count weighs half as much."""
    if statement.half_life is None:
        return None
    length, place = statement.half_life.length, _place(statement, "ONLINE")
    amount = length.amount if isinstance(length, ex.Duration) else length
    if not amount > 0:
        message = f"after a half life of {amount:g} nothing is left of any count"
        findings.error("A023", message, place, "write a length above 0")
        return None
    check_length(length, query.streams[0].time_is_ticks, "HALF LIFE", place, findings)
    return microseconds(length) if isinstance(length, ex.Duration) else int(length)


def _check_numbers(statement: CreateForecast, findings: Findings) -> None:
    having = statement.having
    if having is not None and not 0 <= having.threshold <= 1:
        message = f"the threshold {having.threshold:g} is not a probability"
        findings.error("A057", message, _place(statement, "HAVING"), "write a number from 0 to 1")
    asked = statement.approximate
    for what, value in (("error", asked.error), ("risk", asked.risk)) if asked else ():
        if not 0 < value < 1:
            message = f"the {what} of APPROXIMATE is {value:g}; it lies between 0 and 1"
            place, hint = _place(statement, "APPROXIMATE"), "for example APPROXIMATE (0.05, 0.05)"
            findings.error("A059", message, place, hint)
    smoothing = statement.smoothing
    if smoothing is not None and statement.future is not None and statement.future.kind != "MARKOV":
        message = f"SMOOTHING adds to counts of symbols, and {statement.future.kind} has none"
        hint = "remove SMOOTHING, or write USING MARKOV"
        findings.error("A102", message, _place(statement, "SMOOTHING"), hint)


def _check_model(statement: CreateForecast, ledger: Ledger, findings: Findings) -> None:
    name = statement.future.model if statement.future else None
    if name is None or name.lower() in ledger.models or ledger.has_failed(name):
        return
    known = [model.name for model in ledger.models.values()]
    span = places.word(findings.source, _place(statement, "USING"), name)
    hint = suggest(name, known, "declare it with CREATE MODEL")
    findings.error("A102", f"USING MODEL names {name}, which is no model", span, hint)


def _check_inferred(
    statement: CreateForecast, query: CheckedQuery, ledger: Ledger, findings: Findings
) -> None:
    """Refuse a model that did not filter what is read, and what would be learned beside it."""
    name = (statement.future and statement.future.model) or ""
    place = _place(statement, "USING")
    for stream in query.streams:
        how = ledger.inferred.get(stream.name.lower())
        own = how.statement if how is not None else None
        if own is None or own.model.lower() != name.lower() or own.method != "FILTER":
            message = f"{name} did not infer stream {stream.name} AS FILTER, so it cannot go on"
            hint = f"declare CREATE STREAM ... AS FILTER ... USING {name}, and ask the query ON it"
            findings.error("A102", message, place, hint)
            return
    given = [statement.learn_from is not None and "LEARN FROM", statement.online and "ONLINE"]
    given += [bool(statement.by) and "BY", statement.arrivals is not None and "ARRIVALS"]
    for clause in (each for each in given if each):
        message = f"{clause} is about what is learned, and model {name} is given"
        findings.error("A102", message, _place(statement, clause), f"remove {clause}")


def _check_query(statement: CreateForecast, query: CheckedQuery, findings: Findings) -> None:
    span = places.word(findings.source, statement.span, statement.query, "ON")
    for what, hint in _unforecast(query):
        message = f"forecast {statement.name} is of query {query.name}, which {what}"
        findings.error("A100", message, span, hint)


def _unforecast(query: CheckedQuery) -> Iterator[tuple[str, str]]:
    if query.returns != "MATCHES":
        yield f"returns {query.returns}", "forecast a query that returns matches"
    if query.allow:
        yield "lets components be missed", "forecast a query without ALLOW ... MISSED"
    if query.correlated_by is not None:
        yield f"is CORRELATED BY {query.correlated_by}", "forecast a query without CORRELATED BY"


def _check_history(
    statement: CreateForecast, query: CheckedQuery, ledger: Ledger, findings: Findings
) -> None:
    name = statement.learn_from
    if name is None:
        return
    span = places.word(findings.source, statement.span, name, "FROM")
    history = ledger.streams.get(name.lower())
    if history is None:
        if not ledger.has_failed(name):
            what = "is a table" if ledger.is_table(name) else "is no declared stream"
            known = [s.name for s in ledger.streams.values()]
            hint = suggest(name, known, "declare it with CREATE STREAM before the forecast")
            findings.error("A103", f"LEARN FROM names {name}, which {what}", span, hint)
        return
    for fault in _misfits(history, query, statement.by):
        message = f"a forecast of {query.name} cannot learn from {name}: {fault}"
        findings.error("A103", message, span, f"declare {name} like {query.streams[0].name}")


def _misfits(history: StreamSchema, query: CheckedQuery, by: tuple[str, ...]) -> Iterator[str]:
    """Yield what a history lacks of the stream whose events it has."""
    stream = query.streams[0]
    if len(query.streams) > 1:
        yield "the query reads several streams, and whose events it has is not known"
        return
    if history.time_is_ticks != stream.time_is_ticks:
        yield "it has another kind of time"
    if (history.type is None) != (stream.type is None):
        yield "the one has TYPE, and the other has none"
    for name in sorted({name.lower() for name in _columns_read(query, stream, by)}):
        own, theirs = stream.column(name), history.column(name)
        if own is None:
            continue
        if theirs is None:
            yield f"it has no column {own.name}"
        elif theirs.type is not own.type:
            yield f"its column {theirs.name} is {theirs.type.value}, not {own.type.value}"


def _columns_read(query: CheckedQuery, stream: StreamSchema, by: tuple[str, ...]) -> Iterator[str]:
    yield from by
    yield from (name for e in partition_classes(query) for _, name in e.members)
    if goes_by_key(query):
        yield from stream.key
    for conjunct in query.conjuncts:
        yield from (a.name for a in attributes_into(conjunct.expression))


def _check_by(statement: CreateForecast, query: CheckedQuery, findings: Findings) -> None:
    for name in statement.by:
        for stream in query.streams:
            if stream.column(name) is None:
                span = places.word(findings.source, _place(statement, "BY"), name)
                message = f"BY names {name}, which stream {stream.name} does not have"
                hint = suggest(name, [c.name for c in stream.columns])
                findings.error("A013", message, span, hint)


def _future(statement: CreateForecast, query: CheckedQuery, findings: Findings) -> Future:
    """Return how the stream goes on; where symbols do not decide, EDGES unless written."""
    left = list(undecided(query))
    written = statement.future
    is_sampled = statement.approximate is not None
    if written is None:
        return Future("EDGES") if left and not is_sampled else Future("MARKOV")
    if written.kind == "MARKOV" and not is_sampled:
        for conjunct in left:
            text = expression_text(conjunct.expression)
            message = f"symbols do not decide {text}, which looks at several events"
            hint = (
                f"write USING EDGES, or APPROXIMATE (0.05, 0.05) with LEARN FROM a history, or "
                f"leave {text} out of query {query.name}"
            )
            findings.error("A104", message, _place(statement, "USING"), hint)
    return written


def _check_exact(
    statement: CreateForecast,
    query: CheckedQuery,
    horizon: CheckedWindow,
    arrivals: str,
    findings: Findings,
) -> None:
    """BY TIME with Poisson arrivals is exact while no partial match of the future can expire."""
    window = query.within
    if not statement.by_time or arrivals != "POISSON" or window is None or window.events:
        return
    if statement.approximate is not None or statement.future == Future("EDGES"):
        return
    if horizon.events or horizon.length > window.length:
        message = (
            "BY TIME is not exact here: partial matches that begin within the horizon may leave "
            f"the window of query {query.name}"
        )
        hint = "take a horizon in time no longer than that window, ARRIVALS STEADY, or APPROXIMATE"
        findings.error("A105", message, _place(statement, "WITHIN"), hint)


def _schema(statement: CreateForecast, query: CheckedQuery, keys: Iterable[Column]) -> StreamSchema:
    """Return the columns under which a forecast is a stream of certain events."""
    time = DataType.LONG if query.streams[0].time_is_ticks else DataType.TIMESTAMP
    kinds = {"match_id": DataType.STRING, "start_ts": time, "ts": time}
    names = ("ts", "forecast", "expected") if statement.by_time else BY_MATCH
    own = [Column(name, kinds.get(name, DataType.DOUBLE)) for name in names]
    first = 0 if statement.by_time else 1
    columns = (*own[:first], *keys, *own[first:])
    key = tuple(column.name for column in keys)
    return StreamSchema(statement.name, columns, key=key, time="ts", certain=True)

"""Tree to text: the canonical spelling of every statement, pattern and expression.

Law: reading what is printed gives an equal tree. Clauses are printed in the order of the reference,
and what a dialect implies is printed as the clause that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from augury.language.expressions import Node
from augury.language.text.expressions import expression_text
from augury.language.text.patterns import (
    component_text,
    condition_text,
    pattern_text,
    subgoal_text,
    term_text,
)
from augury.language.text.words import (
    is_plain,
    length_text,
    name_text,
    names_text,
    string_text,
    value_text,
)
from augury.language.tree import (
    Allow,
    Change,
    ColumnDefinition,
    Combines,
    Compares,
    Component,
    CreateCorrelation,
    CreateForecast,
    CreateGaps,
    CreateModel,
    CreateMoves,
    CreatePolicy,
    CreateQuery,
    CreateRule,
    CreateStore,
    CreateStream,
    CreateTable,
    Delete,
    Edge,
    Explain,
    External,
    Future,
    Gap,
    Group,
    Having,
    Holds,
    IdentifyStream,
    InferStream,
    Insert,
    MissRate,
    Not,
    Option,
    Return,
    Setting,
    Skip,
    Statement,
    Strategy,
    Subgoal,
    Subgoals,
    SuppressStream,
    Variable,
    WeightedQuery,
    Window,
    Write,
)

_STRATEGIES: dict[Strategy, str] = {
    "ANY": "SKIP TILL ANY MATCH",
    "NEXT": "SKIP TILL NEXT MATCH",
    "STRICT": "STRICT",
    "PARTITION": "PARTITION CONTIGUITY",
}


def to_text(node: Statement | Node) -> str:
    """Return the canonical text of a statement (with its `;`), a pattern or an expression."""
    if isinstance(node, Statement):
        return "\n".join(_STATEMENTS[type(node)](node)) + ";"
    for kinds, text in _PARTS:
        if isinstance(node, kinds):
            return text(node)
    expression: Any = node
    return expression_text(expression)


def script_text(statements: tuple[Statement, ...]) -> str:
    """Return a whole script, with an empty line between statements."""
    return "\n\n".join(map(to_text, statements)) + "\n" if statements else ""


_PARTS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    ((Group, Not, Edge, Subgoals), pattern_text),
    (Component, component_text),
    (Subgoal, subgoal_text),
    ((Holds, Compares, Combines), condition_text),
    (Variable, term_text),
)

# Streams and tables ------------------------------------------------------------------------------


def _stream(node: CreateStream) -> Iterator[str]:
    yield f"CREATE STREAM {name_text(node.name)} ({_columns(node.columns)})"
    if node.id is not None:
        yield f"ID {name_text(node.id)}"
    if node.key:
        yield f"KEY {names_text(node.key)}"
    if node.time is not None:
        tie = "" if node.order_by is None else f" ORDER BY {name_text(node.order_by)}"
        yield f"TIME {name_text(node.time)}{tie}"
    if node.type is not None:
        yield f"TYPE {name_text(node.type)}"
    yield from _uncertainty(node)
    yield from _source(node.source)


def _uncertainty(node: CreateStream) -> Iterator[str]:
    if node.alternatives:
        yield f"ALTERNATIVES {names_text(node.alternatives)}"
    if node.probability is not None:
        yield f"PROBABILITY {name_text(node.probability)}"
    if node.markov is not None:
        yield f"MARKOV {name_text(node.markov)}"
    if node.miss_rate is not None:
        yield _miss_rate(node.miss_rate)
    if node.lateness is not None:
        yield f"LATENESS {length_text(node.lateness)}"
    if node.idle is not None:
        yield f"IDLE AFTER {length_text(node.idle)}"


def _table(node: CreateTable) -> Iterator[str]:
    yield f"CREATE TABLE {name_text(node.name)} ({_columns(node.columns)})"
    if node.key:
        yield f"KEY {names_text(node.key)}"
    if node.store is not None:
        yield f"STORE {name_text(node.store)}"
    if node.uncertain:
        yield "UNCERTAIN"
    yield from _source(node.source)


def _store(node: CreateStore) -> Iterator[str]:
    yield f"CREATE STORE {name_text(node.name)} AT {string_text(node.url)}"


def _columns(columns: tuple[ColumnDefinition, ...]) -> str:
    return ", ".join(f"{name_text(column.name)} {column.type}" for column in columns)


def _miss_rate(node: MissRate) -> str:
    if node.column is None:
        return f"MISS RATE {node.overall!r}"
    rates = ", ".join(f"{string_text(rate.of)} {rate.rate!r}" for rate in node.rates)
    return f"MISS RATE BY {name_text(node.column)} ({rates})"


def _source(node: External | None) -> Iterator[str]:
    if node is not None:
        yield f"FROM {_external(node)}"


def _external(node: External) -> str:
    path = "" if node.path is None else f" {string_text(node.path)}"
    options = f" {_options(node.options)}" if node.options else ""
    return f"{name_text(node.format)}{path}{options}"


def _options(options: tuple[Option, ...]) -> str:
    pairs = (f"{_key(option.key)} = {value_text(option.value)}" for option in options)
    return f"OPTIONS ({', '.join(pairs)})"


def _key(key: str) -> str:
    return key if all(map(is_plain, key.split("."))) else string_text(key)


# Queries -----------------------------------------------------------------------------------------


def _query(node: CreateQuery) -> Iterator[str]:
    on = f"ON {names_text(node.streams)}" if node.streams else ""
    lahar = isinstance(node.pattern, Subgoals)
    body = pattern_text(node.pattern)
    if node.name is not None:
        head = f"CREATE QUERY {name_text(node.name)} {on}".rstrip()
        yield f"{head} AS" if lahar else head
    yield body if lahar else f"PATTERN {body}"
    if node.name is None and on:
        yield on
    for clause in _CLAUSES:
        yield from clause(node)


def _conditions(node: CreateQuery) -> Iterator[str]:
    if node.where is not None:
        yield f"WHERE {expression_text(node.where)}"
    if node.after_where is not None:
        yield f"AFTER WHERE {expression_text(node.after_where)}"


def _selection(node: CreateQuery) -> Iterator[str]:
    if node.strategy is not None:
        yield f"USING {_STRATEGIES[node.strategy]}"
    if node.after_match is not None:
        yield f"AFTER MATCH SKIP {skip_text(node.after_match)}"
    if node.within is not None:
        yield f"WITHIN {_window(node.within)}"
    if node.every is not None:
        yield f"EVERY {_window(node.every)}"


def skip_text(node: Skip) -> str:
    """Return where the search goes on after a match, as AFTER MATCH SKIP says it."""
    if node.to == "PAST LAST":
        return "PAST LAST EVENT"
    return (
        "TO NEXT EVENT" if node.component is None else f"TO {node.to} {name_text(node.component)}"
    )


def _window(node: Window) -> str:
    return f"{length_text(node.length)} EVENTS" if node.events else length_text(node.length)


def _missing(node: CreateQuery) -> Iterator[str]:
    if node.allow is not None:
        yield _allow(node.allow)
    if node.miss_rates:
        rates = ", ".join(f"{name_text(rate.of)} {rate.rate!r}" for rate in node.miss_rates)
        yield f"MISS RATE ({rates})"
    if node.correlated_by is not None:
        yield f"CORRELATED BY {name_text(node.correlated_by)}"


def _allow(node: Allow) -> str:
    count = "ALL" if node.count is None else str(node.count)
    return f"ALLOW {count} MISSED" + (f" OF ({names_text(node.of)})" if node.of else "")


def _answers(node: CreateQuery) -> Iterator[str]:
    if node.group_by:
        yield f"GROUP BY {', '.join(map(expression_text, node.group_by))}"
    if node.having is not None:
        yield _having(node.having)
    if node.returns is not None:
        yield f"RETURN {_returned(node.returns)}"
    if node.each_event:
        yield "ALL EVENTS PER MATCH"


def _having(node: Having) -> str:
    return f"HAVING {node.measure} {'>' if node.strict else '>='} {node.threshold!r}"


def _returned(node: Return) -> str:
    if node.over is not None:
        return f"{node.kind} OVER {_window(node.over)}"
    if node.kind != "COLUMNS":
        return "*" if node.kind == "STAR" else node.kind
    return ", ".join(
        expression_text(column.value)
        + ("" if column.alias is None else f" AS {name_text(column.alias)}")
        for column in node.columns
    )


def _settings(node: CreateQuery) -> Iterator[str]:
    if node.approximate is not None:
        yield f"APPROXIMATE ({node.approximate.error!r}, {node.approximate.risk!r})"
    if node.match_limit is not None:
        yield f"MATCH LIMIT {node.match_limit}"
    if node.scoring is not None:
        yield f"SCORING {node.scoring}"
    if node.options:
        yield _options(node.options)


_CLAUSES = (_conditions, _selection, _missing, _answers, _settings)

# Gaps and models ----------------------------------------------------------------------------------


def _gaps(node: CreateGaps) -> Iterator[str]:
    head = f"CREATE GAPS {name_text(node.name)} ON {name_text(node.query)}"
    if node.learn_from is not None:
        yield f"{head} LEARN FROM {name_text(node.learn_from)}"
    else:
        yield f"{head} ({', '.join(map(_gap, node.gaps))})"


def _correlation(node: CreateCorrelation) -> Iterator[str]:
    yield f"CREATE CORRELATION {name_text(node.name)} LEARN FROM {name_text(node.learn_from)}"


def _gap(node: Gap) -> str:
    order = "BEFORE" if node.backward else "TO"
    family = f"{node.family}({', '.join(map(length_text, node.parameters))})"
    reaches = "" if node.reaches is None else f" REACHES {node.reaches!r}"
    return f"{name_text(node.earlier)} {order} {name_text(node.later)} {family}{reaches}"


def _model(node: CreateModel) -> Iterator[str]:
    parts = (
        ("STATES", node.states),
        ("INITIAL", node.initial),
        ("TRANSITION", node.transition),
        ("EMISSION", node.emission),
        ("CELLS", node.cells),
        ("WALLS", node.walls),
        ("ANTENNAS", node.antennas),
    )
    given = [f"{word} {name_text(name)}" for word, name in parts if name is not None]
    numbers = (("SPEED", node.speed), ("REST", node.rest))
    given += [f"{word} {number!r}" for word, number in numbers if number is not None]
    given += [f"STEP {length_text(node.step)}"] if node.step is not None else []
    head = f"CREATE MODEL {name_text(node.name)} {node.kind}"
    yield head + (f" ({', '.join(given)})" if given else "")
    if node.learn_from is not None:
        on = "" if node.learn_on is None else f" ON {name_text(node.learn_on)}"
        yield f"LEARN FROM {name_text(node.learn_from)}{on}"


def _inferred(node: InferStream) -> Iterator[str]:
    of = f"{name_text(node.readings)} USING {name_text(node.model)}"
    count = "" if node.particles is None else f" ({node.particles})"
    yield f"CREATE STREAM {name_text(node.name)} AS {node.method}{count} {of}"
    if node.smoothed:
        yield "SMOOTHED"
    if node.lag is not None:
        yield f"LAG {node.lag}"
    if node.correlated:
        yield "CORRELATED"
    if node.prune is not None:
        yield f"PRUNE {node.prune!r}"


# Forecasts ---------------------------------------------------------------------------------------


def _forecast(node: CreateForecast) -> Iterator[str]:
    yield f"CREATE FORECAST {name_text(node.name)} ON {name_text(node.query)}"
    if node.within is not None:
        yield f"WITHIN {_window(node.within)}{' OF STREAM' if node.of_stream else ''}"
    yield from _learning(node)
    if node.arrivals is not None:
        yield f"ARRIVALS {node.arrivals}"
    if node.having is not None:
        yield _having(node.having)
    if node.by_time is not None:
        yield f"RETURN FORECAST BY {'TIME' if node.by_time else 'MATCH'}"
    if node.approximate is not None:
        yield f"APPROXIMATE ({node.approximate.error!r}, {node.approximate.risk!r})"


def _learning(node: CreateForecast) -> Iterator[str]:
    if node.future is not None:
        yield f"USING {_future(node.future)}"
    if node.smoothing is not None:
        yield f"SMOOTHING {node.smoothing!r}"
    online = "ONLINE" if node.online else ""
    if node.half_life is not None:
        online += f" HALF LIFE {_window(node.half_life)}"
    if node.learn_from is not None:
        yield f"LEARN FROM {name_text(node.learn_from)} {online}".rstrip()
    elif node.online:
        yield f"LEARN {online}"
    if node.by:
        yield f"BY {names_text(node.by)}"


def _future(node: Future) -> str:
    if node.model is not None:
        return f"MODEL {name_text(node.model)}"
    return f"MARKOV {node.order}" if node.kind == "MARKOV" else node.kind


# Rules -------------------------------------------------------------------------------------------


def _rule(node: CreateRule) -> Iterator[str]:
    replace = "OR REPLACE " if node.replaces else ""
    yield f"CREATE {replace}RULE {name_text(node.name)} ON OUTPUT {name_text(node.query)}"
    yield f"REFERENCING NEW AS {name_text(node.event)} FOR EACH EVENT"
    if node.waits:
        yield "AFTER REVISIONS"
    if node.when is not None:
        yield f"WHEN {expression_text(node.when)}"
    if node.throttle is not None:
        by = f" BY {names_text(node.throttle.by)}" if node.throttle.by else ""
        yield f"THROTTLE {node.throttle.most} PER {_window(node.throttle.per)}{by}"
    if node.rejects:
        yield "ON ERROR REJECT"
    yield "BEGIN"
    for change in node.changes:
        yield f"    {_change(change)};"
    yield "END"


def _change(node: Change) -> str:
    table = name_text(node.table)
    if isinstance(node, Insert):
        columns = f" ({names_text(node.columns)})" if node.columns else ""
        rows = ", ".join(f"({', '.join(map(expression_text, row))})" for row in node.rows)
        return f"INSERT INTO {table}{columns} VALUES {rows}{_conflict(node)}"
    where = "" if node.condition is None else f" WHERE {expression_text(node.condition)}"
    if isinstance(node, Delete):
        return f"DELETE FROM {table}{where}"
    return f"UPDATE {table} SET {_sets(node.settings)}{where}"


def _conflict(node: Insert) -> str:
    if node.conflict is None:
        return ""
    if node.conflict == "NOTHING":
        return " ON CONFLICT DO NOTHING"
    sets = f" SET {_sets(node.settings)}" if node.conflict == "UPDATE" else ""
    return f" ON CONFLICT DO UPDATE{sets}"


def _sets(settings: tuple[Setting, ...]) -> str:
    return ", ".join(f"{name_text(s.column)} = {expression_text(s.value)}" for s in settings)


# Identities --------------------------------------------------------------------------------------


def _moves(node: CreateMoves) -> Iterator[str]:
    names = (("OBJECTS", node.objects), ("OWNER", node.owner), ("PLACE", node.place))
    given = [f"{word} {name_text(name)}" for word, name in names if name is not None]
    values = (("ENTER", node.enter), ("EXIT", node.exit), ("HALL", node.hall))
    given += [f"{word} {value_text(value)}" for word, value in values if value is not None]
    for word, table in (("DOORS", node.doors), ("PREFER", node.prefer)):
        if table is not None:
            name, *columns = map(name_text, table)
            given.append(f"{word} {name} ({', '.join(columns)})")
    others = (("FROM_PLACE", node.from_place), ("BY", node.by))
    given += [f"{word} {name_text(name)}" for word, name in others if name is not None]
    given += ["IMPOSSIBLE REJECT"] if node.rejects_impossible else []
    given += [f"STEP {_window(node.step)}"] if node.step is not None else []
    yield f"CREATE MODEL {name_text(node.name)} MOVES ({', '.join(given)})"


def _identified(node: IdentifyStream) -> Iterator[str]:
    of = f"{name_text(node.readings)} USING {name_text(node.model)}"
    yield f"CREATE STREAM {name_text(node.name)} AS IDENTIFY {of}"
    if node.within is not None:
        yield f"WITHIN {_window(node.within)}"
    yield f"REVISE BY {node.by!r}" if node.revise == "BY" else f"REVISE {node.revise}"


# Explain and write -------------------------------------------------------------------------------
def _policy(node: CreatePolicy) -> Iterator[str]:
    yield f"CREATE POLICY {name_text(node.name)} ON {name_text(node.stream)}"
    for word, queries in (("PUBLIC", node.public), ("PRIVATE", node.private)):
        if queries:
            yield f"{word} {', '.join(map(_weighted, queries))}"
    if node.method is not None:
        yield f"USING {node.method}"
    if node.period is not None:
        yield f"PERIOD {_window(node.period)}"
    if node.wang:
        yield "ESTIMATES WANG"
    if node.patience is not None:
        yield f"PATIENCE {node.patience}"
    if node.learn_from is not None:
        online = " ONLINE" if node.online else ""
        yield f"LEARN FROM {name_text(node.learn_from)}{online}"
    elif node.online:
        yield "LEARN ONLINE"
    if node.over is not None:
        yield f"OVER {_window(node.over)}"
    if node.by is not None:
        yield f"BY {name_text(node.by)}"


def _weighted(node: WeightedQuery) -> str:
    weight = "" if node.weight is None else f" WEIGHT {node.weight!r}"
    return name_text(node.query) + (" NEVER" if node.never else weight)


def _suppressed(node: SuppressStream) -> Iterator[str]:
    of = f"{name_text(node.stream)} USING {name_text(node.policy)}"
    yield f"CREATE STREAM {name_text(node.name)} AS SUPPRESS {of}"


def _explain(node: Explain) -> Iterator[str]:
    form = "" if node.format == "TEXT" else f" FORMAT {node.format}"
    analyze = "ANALYZE " if node.measured else ""
    yield f"EXPLAIN {analyze}{name_text(node.query)}{form}"


def _write(node: Write) -> Iterator[str]:
    yield f"WRITE {name_text(node.query)} TO {_external(node.target)}"


_STATEMENTS: dict[type, Callable[[Any], Iterator[str]]] = {
    CreateStream: _stream,
    CreateTable: _table,
    CreateStore: _store,
    CreateRule: _rule,
    CreateQuery: _query,
    CreateGaps: _gaps,
    CreateCorrelation: _correlation,
    CreateModel: _model,
    InferStream: _inferred,
    CreateForecast: _forecast,
    CreateMoves: _moves,
    IdentifyStream: _identified,
    CreatePolicy: _policy,
    SuppressStream: _suppressed,
    Explain: _explain,
    Write: _write,
}

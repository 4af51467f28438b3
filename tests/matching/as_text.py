"""Oracle queries as augury text, events as Arrow tables, and augury's answers as the oracle's.

One case runs through the parser, the checker, the planner and the engine on one side, and through
the possible worlds on the other; this module is the bridge, and knows nothing of either's inside.

Every stream has the columns `id, kind, t, tie, p, g` and the attributes of the case. Where some
event has a group, rows are alternatives: `g`, the group or else the event's own id, is the ID.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from augury import QueryError, Session
from oracles.model import Comp, Event, Expr, First, Last, Not, Query, Rounds

MatchKey = frozenset[tuple[str, tuple[Hashable, ...]]]
ARROW = {"LONG": pa.int64(), "DOUBLE": pa.float64(), "STRING": pa.string(), "BOOLEAN": pa.bool_()}
DAY = datetime(2026, 1, 1, tzinfo=UTC)
TIES: dict[str, tuple[Callable[[int], Any], pa.DataType]] = {
    "LONG": (int, pa.int64()),
    "DOUBLE": (lambda tie: tie / 4, pa.float64()),
    "STRING": ("{:03}".format, pa.string()),
    "TIMESTAMP": (lambda tie: DAY + timedelta(seconds=tie), pa.timestamp("us", "UTC")),
    "DATE": (lambda tie: (DAY + timedelta(days=tie)).date(), pa.date32()),
}
STRATEGY = {
    "any": "SKIP TILL ANY MATCH",
    "next": "SKIP TILL NEXT MATCH",
    "strict": "STRICT",
    "partition": "PARTITION CONTIGUITY",
}


class Refused(Exception):  # noqa: N818
    """The checker refused a script; the text holds its findings."""


@dataclass(frozen=True, eq=False)
class Case:
    """Queries over queries, and the events they are asked about.

    Fields:
        queries: the last is the one that is asked; it may name the others in ON.
        attributes: name to SQL type, the same for all streams.
        key: the attributes that are each stream's KEY; an event's own key is made of them.
        ties: whether streams have a tie-breaker; `untied` ones have none all the same.
        tie_type: the SQL type of tie-breakers; the oracle's are numbers.
        streams: those that are declared, also where no event is of them.
        certain: whether streams are declared without PROBABILITY.
    """

    queries: tuple[Query, ...]
    events: tuple[Event, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)
    key: tuple[str, ...] = ()
    ties: bool = False
    streams: tuple[str, ...] = ("s",)
    untied: tuple[str, ...] = ()
    tie_type: str = "LONG"
    certain: bool = False


# --- text ---


def script(case: Case) -> str:
    """Return the CREATE statements of a case."""
    tables = [_table_text(name, *table) for name, table in _tables(case)]
    streams = [_stream_text(case, name) for name in case.streams]
    return "\n".join([*tables, *streams, *(query_text(q) for q in case.queries)])


def _stream_text(case: Case, name: str) -> str:
    columns = ["id STRING", "kind STRING", "t LONG", f"tie {case.tie_type}", "p DOUBLE", "g STRING"]
    columns += [f"{column} {kind}" for column, kind in case.attributes.items()]
    grouped = has_alternatives(case, name)
    clauses = [
        f"CREATE STREAM {name} ({', '.join(columns)})",
        "ID g ALTERNATIVES id" if grouped else "ID id",
        f"KEY {', '.join(case.key)}" if case.key else "",
        "TIME t ORDER BY tie" if case.ties and name not in case.untied else "TIME t",
        "TYPE kind;" if case.certain else "TYPE kind PROBABILITY p;",
    ]
    return " ".join(filter(None, clauses))


def has_alternatives(case: Case, stream: str) -> bool:
    """Tell whether rows of the stream exclude each other."""
    return any(e.group is not None for e in case.events if e.stream == stream)


def query_text(query: Query) -> str:
    """Return CREATE QUERY."""
    clauses = [
        f"CREATE QUERY {query.name} ON {', '.join(query.streams)}",
        f"PATTERN {pattern_text(query.pattern)}",
        _where(query),
        _after_where(query),
        f"USING {STRATEGY[query.strategy]}",
        _after_match(query),
        _within(query),
        _having(query),
        _returns(query),
    ]
    return "\n".join(filter(None, clauses)) + ";"


def _where(query: Query) -> str:
    conjuncts = [f"[{name}]" for name in query.equate] + [expression_text(e) for e in query.where]
    return f"WHERE {' AND '.join(conjuncts)}" if conjuncts else ""


def _after_where(query: Query) -> str:
    conjuncts = [expression_text(e) for e in query.after_where]
    return f"AFTER WHERE {' AND '.join(conjuncts)}" if conjuncts else ""


def _after_match(query: Query) -> str:
    match query.after_match:
        case None:
            return ""
        case ("past last",):
            return "AFTER MATCH SKIP PAST LAST EVENT"
        case ("next",):
            return "AFTER MATCH SKIP TO NEXT EVENT"
        case (which, name):
            return f"AFTER MATCH SKIP TO {which.upper()} {name}"
    raise ValueError(query.after_match)


def _within(query: Query) -> str:
    if query.within is None:
        return ""
    kind, size = query.within
    return f"WITHIN {size}{' EVENTS' if kind == 'events' else ''}"


def _having(query: Query) -> str:
    if query.threshold is None:
        return ""
    value, strict = query.threshold
    return f"HAVING CONFIDENCE {'>' if strict else '>='} {value!r}"


def _returns(query: Query) -> str:
    if isinstance(query.returns, str):
        return f"RETURN {query.returns}"
    columns = [f"{expression_text(e)} AS {name}" for name, e in query.returns.items()]
    return f"RETURN {', '.join(columns)}" if columns else ""


def pattern_text(node: Any) -> str:
    """Return a pattern."""
    match node:
        case Comp():
            return _component_text(node)
        case Not():
            return f"!{'NEXT ' if node.neighbour else ''}{pattern_text(node.part)}"
        case Rounds():
            times = _repetition(node.minimum, node.maximum)
            return f"({pattern_text(node.part)}){times} {node.name}"
        case First() | Last():
            return f"{type(node).__name__.upper()}({_component_text(node.comp)})"
        case _:
            return f"{type(node).__name__.upper()}({', '.join(map(pattern_text, node.parts))})"


def _component_text(comp: Comp) -> str:
    condition = f" ({expression_text(comp.filter)})" if comp.filter else ""
    until = f" UNTIL ({expression_text(comp.until)})" if comp.until else ""
    times = _repetition(comp.minimum, comp.maximum)
    return f"{comp.type or '_'}{times} {comp.name}{condition}{until}"


def _repetition(least: int, most: int | None) -> str:
    known = {(1, 1): "", (1, None): "+", (0, None): "*", (0, 1): "?"}
    if (least, most) in known:
        return known[least, most]
    return f"{{{least},{'' if most is None else most}}}"


def expression_text(expr: Expr) -> str:  # noqa: PLR0911, PLR0912 - one form each
    """Return an expression, with brackets around every operation."""
    match expr:
        case ("lit", value):
            return literal_text(value)
        case ("attr", name, attribute, *index):
            return f"{_owner(name, *index)}.{attribute}"
        case ("round", group, ("attr", name, attribute, *index)):
            return f"{_owner(group, *index)}.{name}.{attribute}"
        case ("running", function, name, attribute):
            return f"{function}({name}[..i].{attribute})"
        case ("default", read, other):
            return f"{expression_text(read)}[{expression_text(other)}]"
        case ("count", name):
            return f"COUNT({name})"
        case ("agg", function, name, attribute):
            return f"{function}({name}.{attribute})"
        case ("neg", part):
            return f"(- {expression_text(part)})"
        case ("not", part):
            return f"(NOT {expression_text(part)})"
        case ("is null" | "is not null", part):
            return f"({expression_text(part)} {expr[0].upper()})"
        case ("in", value, members):
            return f"({expression_text(value)} IN ({', '.join(map(_member, members))}))"
        case ("in table", columns, rows):
            return f"({_row(columns)} IN {table_name(rows)})"
        case ("column", number):
            return f"c{number}"
        case ("select", function, column, table, condition):
            asked = "*" if column is None else f"c{column}"
            asked = f"{function}({asked})" if function else asked
            return f"(SELECT {asked} FROM {table_name(*table)} WHERE {expression_text(condition)})"
        case (operator, *parts):
            return f"({f' {operator.upper()} '.join(map(expression_text, parts))})"
    raise ValueError(expr)


def _row(columns: Sequence[Expr]) -> str:
    inside = ", ".join(map(expression_text, columns))
    return inside if len(columns) == 1 else f"({inside})"


def _member(value: Any) -> str:
    return expression_text(value) if isinstance(value, tuple) else literal_text(value)


def _owner(name: str, index: Any = None) -> str:
    if index is None:
        return name
    return f"LAST({name})" if index == "last" else f"{name}[{index}]"


def literal_text(value: Any) -> str:
    """Return a literal."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"(- {-value!r})" if value < 0 else repr(value)


# --- tables ---


def table_name(rows: Any, key: tuple[int, ...] = ()) -> str:
    """Return the name of a relation, which follows from its rows."""
    words = ["_".join(map(str, row)) for row in sorted(rows, key=repr)]
    words += [f"by_{k}" for k in key]
    return "_".join(["tab", *words]).replace("-", "m").replace(".", "d")


def _table_text(name: str, rows: Any, key: tuple[int, ...]) -> str:
    by = f" KEY {', '.join(f'c{k}' for k in key)}" if key else ""
    return f"CREATE TABLE {name} ({_table_columns(rows)}){by};"


def _tables(case: Case) -> list[tuple[str, tuple[Any, tuple[int, ...]]]]:
    """Return the tables of a case by name: rows, and the places of the KEY."""
    found: dict[str, tuple[Any, tuple[int, ...]]] = {}
    for query in case.queries:
        parts = [*query.where, *query.after_where, *_filters(query.pattern)]
        for table in (table for e in parts for table in _relations(e)):
            found[table_name(*table)] = table
    return list(found.items())


def _filters(node: Any) -> Iterator[Expr]:
    if isinstance(node, Comp):
        yield from [node.filter] if node.filter else []
    elif isinstance(node, Not | Rounds):
        yield from _filters(node.part)
    elif isinstance(node, First | Last):
        yield from _filters(node.comp)
    else:
        for part in node.parts:
            yield from _filters(part)


def _relations(expr: Any) -> Iterator[Any]:
    if isinstance(expr, tuple | list):
        if expr and expr[0] == "in table":
            yield expr[2], ()
        if expr and expr[0] == "select":
            yield expr[3]
        for part in expr:
            yield from _relations(part)


def _table_columns(rows: Any) -> str:
    first = next(iter(rows))
    return ", ".join(f"c{k} {_sql_type(value)}" for k, value in enumerate(first))


def _sql_type(value: Any) -> str:
    kinds = {bool: "BOOLEAN", int: "LONG", float: "DOUBLE", str: "STRING"}
    return kinds[type(value)]


# --- rows ---


def bindings(case: Case) -> dict[str, pa.Table]:
    """Return the tables and streams of a case by lower-case name; `contracts` pushes their rows."""
    bound = {name: _relation_table(rows) for name, (rows, _) in _tables(case)}
    bound |= {stream: stream_table(case, stream) for stream in case.streams}
    return {name.lower(): table for name, table in bound.items()}


def _relation_table(rows: Any) -> pa.Table:
    columns = list(zip(*rows, strict=True))
    return pa.table({f"c{k}": list(column) for k, column in enumerate(columns)})


def stream_table(case: Case, stream: str) -> pa.Table:
    """Return the events of one stream, in the order of the case."""
    events = [e for e in case.events if e.stream == stream]
    columns = {
        "id": pa.array([str(e.id) for e in events], pa.string()),
        "kind": pa.array([e.type for e in events], pa.string()),
        "t": pa.array([e.ts for e in events], pa.int64()),
        "tie": tie_column(case, [e.tie for e in events]),
        "p": pa.array(_chances(events), pa.float64()),
        "g": pa.array([str(e.id if e.group is None else e.group) for e in events], pa.string()),
    }
    for name, kind in case.attributes.items():
        columns[name] = pa.array([e.attrs.get(name) for e in events], ARROW[kind])
    return pa.table(columns)


def _chances(events: Sequence[Event]) -> list[float]:
    """Return probabilities, by which alternatives of one event and time can be told apart."""
    alike: dict[Hashable, list[int]] = {}
    for k, event in enumerate(events):
        if event.group is not None:
            alike.setdefault((event.group, event.ts, event.p), []).append(k)
    found = [event.p for event in events]
    for same in alike.values():
        for place, k in enumerate(same):
            # By next to nothing, and their sum stays what it is.
            found[k] += (place - (len(same) - 1) / 2) * 1e-12
    return found


def tie_column(case: Case, ties: Sequence[int | None]) -> pa.Array:
    """Return tie-breakers as values of the case's type that have the order of the numbers."""
    value, kind = TIES[case.tie_type]
    return pa.array([None if tie is None else value(tie) for tie in ties], kind)


# --- answers ---


def engine_answers(case: Case) -> dict[str, dict[MatchKey, float]]:
    """Return what augury answers to each query of a case, in the oracle's form."""
    ag = session_of(case)
    names: dict[Hashable, Hashable] = {str(e.id): e.id for e in case.events}
    for stream in filter(lambda s: has_alternatives(case, s), case.streams):
        names |= {_alternative(row["events"][0]): row["row"] for row in _each_row(ag, stream)}
    answers = {}
    for query in case.queries:
        found = _keyed(ag.table(query.name), names)
        names |= {match_id: (query.name, key) for match_id, (key, _) in found.items()}
        answers[query.name] = dict(found.values())
    return answers


def session_of(case: Case) -> Session:
    """Return a session with the statements and rows of a case."""
    ag = declared(case)
    for stream in case.streams:
        ag.bind(stream, stream_table(case, stream))
    return ag


def declared(case: Case) -> Session:
    """Return a session with the statements and tables of a case, and no events."""
    ag = Session(engine="local")
    try:
        ag.sql(script(case))
    except QueryError as problem:
        raise Refused(str(problem)) from problem
    for name, (rows, _) in _tables(case):
        ag.bind(name, _relation_table(rows))
    return ag


def _each_row(ag: Session, stream: str) -> list[dict[str, Any]]:
    """Return every event of a stream as a match, with its own id: alternatives share the ID."""
    ag.sql(f"CREATE QUERY each_{stream} ON {stream} PATTERN _ x RETURN x.id AS row;")
    return ag.table(f"each_{stream}").to_pylist()


def _alternative(item: Mapping[str, Any]) -> Hashable:
    """Return what tells an alternative from the others of its event."""
    return item["event_id"], item["ts"], item["probability"]


def _keyed(
    table: pa.Table, names: Mapping[Hashable, Hashable]
) -> dict[str, tuple[MatchKey, float]]:
    found = {}
    for row in table.select(["match_id", "events", "confidence"]).to_pylist():
        taken: dict[str, list[Hashable]] = {}
        for item in row["events"]:
            name = names.get(_alternative(item), names.get(item["event_id"]))
            taken.setdefault(item["component"], []).append(name)
        key = frozenset((name, tuple(ids)) for name, ids in taken.items())
        if row["match_id"] in found:
            raise AssertionError(f"{row['match_id']} is the id of two rows")
        found[row["match_id"]] = (key, row["confidence"])
    return found

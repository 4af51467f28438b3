"""From a session to a question: which rows matter, and a session of its own for the trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, Column, DataType, StreamSchema
from augury.analysis.listed import listed
from augury.errors import AuguryError
from augury.evaluation.encoding import rows_of_table
from augury.language.tree import Statement
from augury.planning.base_streams import below
from augury.planning.physical import plan_query
from augury.planning.refusal import PlanError
from augury.why.asked import Asked, length_of, narrowed
from augury.why.trials import Rows, trials_of

# Of streams that are inferred, or whose events get owners, so many readings are changed: each
# change makes the whole stream anew.
MOST_READINGS = 400


@dataclass(frozen=True)
class Opened:
    """What a session gives away of itself: declarations, rows, and how to make another one.

    `rows` returns the good rows of a stream as readers see them, `aside` those that were put aside,
    with the reasons.
    """

    catalog: Catalog
    statements: Sequence[Statement]
    queries: Mapping[str, CheckedQuery]
    bound: Mapping[str, Any]
    rows: Callable[[str], pa.Table]
    aside: Callable[[str], Mapping[str, pa.Table]]
    table: Callable[[str], pa.Table]
    empty: Callable[[], Any]


def asked_of(
    opened: Opened, checked: CheckedQuery, key: Any = None, around: Any = None
) -> tuple[Asked, frozenset[str]]:
    """Return what is asked, and which equated columns the rows have in common."""
    catalog = opened.catalog
    streams = _declared(opened, checked)
    made = _made(opened, checked)
    far = {name for name in made.values() if opened.rows(name).num_rows > MOST_READINGS}
    made = {name: base for name, base in made.items() if base not in far}
    streams |= {base: catalog.streams[base] for base in made.values()}
    given = _key(checked, key)
    at = _time(checked, around)
    shared = _shared(opened, checked, given)
    tables = {name: opened.rows(name) for name in streams}
    _refuse_empty(given, tables)
    window = checked.within is not None and not checked.within.events
    # What was read before decides what is inferred, or who somebody was.
    plain = window and _is_plain(checked) and not made
    near = at if checked.after_match is None and plain else None
    fixed = frozenset(column.lower() for pairs in shared.values() for column, _ in pairs)
    length = length_of(checked)
    rows = Rows(narrowed(tables, streams, shared, near, length))
    asked = Asked(
        listed(catalog.queries[checked.name.lower()]),
        checked,
        trials_of(opened.empty, opened.statements, catalog, opened.bound, rows),
        rows,
        streams,
        given,
        at,
        _latest(tables, streams),
        _relations(opened),
        below(checked, opened.queries),
        made,
        tuple(
            f"other readings of {opened.catalog.streams[name].name}, for there are more than "
            f"{MOST_READINGS:,}"
            for name in sorted(far)
        ),
    )
    return asked, fixed


def _declared(opened: Opened, checked: CheckedQuery) -> dict[str, StreamSchema]:
    """Return the streams of rows below a query that nothing infers, and that have rows."""
    catalog = opened.catalog
    made = {*catalog.inferred, *catalog.identified, *catalog.forecast_streams}
    return {
        stream.name.lower(): stream
        for query in below(checked, opened.queries).values()
        for stream in query.streams
        if stream.query is None and stream.name.lower() not in made and stream.markov is None
    }


def _made(opened: Opened, checked: CheckedQuery) -> dict[str, str]:
    """Return the streams below a query that are made of readings, and of which; in lower case.

    What stands behind a policy is left out.
    """
    catalog = opened.catalog
    readings = {
        **{name: each.statement.readings for name, each in catalog.inferred.items()},
        **{name: each.statement.readings for name, each in catalog.identified.items()},
    }
    return {
        stream.name.lower(): readings[stream.name.lower()].lower()
        for query in below(checked, opened.queries).values()
        for stream in query.streams
        if stream.name.lower() in readings
        and readings[stream.name.lower()].lower() not in catalog.guarded
    }


def _latest(tables: Mapping[str, pa.Table], streams: Mapping[str, StreamSchema]) -> Any:
    """Return the latest time of all rows; some time, where there are none."""
    found = [pc.max(tables[name].column(each.time)).as_py() for name, each in streams.items()]
    known = [at for at in found if at is not None]
    if known:
        return max(known)
    ticks = any(each.time_is_ticks for each in streams.values())
    return 0 if ticks else datetime(2000, 1, 1, tzinfo=UTC)


def _is_plain(checked: CheckedQuery) -> bool:
    return all(stream.query is None for stream in checked.streams)


def _relations(opened: Opened) -> dict[str, list[tuple[Any, ...]]]:
    return {
        name: rows_of_table(schema, opened.bound[name])
        for name, schema in opened.catalog.tables.items()
        if name in opened.bound and isinstance(opened.bound[name], pa.Table)
    }


def _shared(
    opened: Opened, checked: CheckedQuery, key: Mapping[str, Any]
) -> dict[str, list[tuple[str, Any]]]:
    """Return by which columns the rows of a key can be taken without changing what is found."""
    if not key or not _is_plain(checked):
        return {}
    try:
        columns = dict(plan_query(checked, opened.catalog).partitioning.columns)
    except PlanError:
        return {}
    found: dict[str, list[tuple[str, Any]]] = {}
    for name, value in key.items():
        places = {
            k for own in columns.values() for k, column in enumerate(own) if column.lower() == name
        }
        for stream, own in columns.items():
            found.setdefault(stream.lower(), []).extend((own[k], value) for k in places)
    return found


def _key(checked: CheckedQuery, key: Any) -> dict[str, Any]:
    """Return the values of a key by lower-case column."""
    if key is None:
        return {}
    columns = {c.name.lower(): c for stream in checked.streams for c in stream.columns}
    if not isinstance(key, Mapping):
        names = [name for stream in checked.streams[:1] for name in stream.key]
        names = names or [column.name for column in checked.keys]
        if len(names) != 1:
            raise AuguryError(
                f"query {checked.name} has {len(names)} columns of keys; name them: "
                "key={'column': value}"
            )
        key = {names[0]: key}
    found = {}
    for name, value in key.items():
        if name.lower() not in columns:
            known = ", ".join(column.name for column in columns.values())
            raise AuguryError(f"query {checked.name} reads no column {name}; it reads {known}")
        found[name.lower()] = _of_type(value, columns[name.lower()], checked.name)
    return found


def _refuse_empty(key: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
    """Refuse an empty text that no row has: what was to stand there was left out."""
    for name, value in key.items():
        columns = [
            t.column(n) for t in tables.values() for n in t.column_names if n.lower() == name
        ]
        if value == "" and columns and not any(pc.any(pc.equal(c, "")).as_py() for c in columns):
            raise AuguryError(f"no row has an empty {name}; give a value for it")


def _of_type(value: Any, column: Column, query: str) -> Any:
    """Return a value as a column has it; texts are read, as they come from a command line."""
    try:
        return _READ[column.type](value)
    except (ValueError, TypeError, KeyError) as problem:
        raise AuguryError(
            f"{column.name} of query {query} is a {column.type.value}, and {value!r} is none"
        ) from problem


def _time(checked: CheckedQuery, around: Any) -> Any:
    if around is None:
        return None
    try:
        return int(around) if checked.streams[0].time_is_ticks else _moment(around)
    except (ValueError, TypeError) as problem:
        kind = (
            "a whole number" if checked.streams[0].time_is_ticks else "a time, as 2026-01-01T12:00"
        )
        raise AuguryError(f"around is {around!r}; expected {kind}") from problem


def _moment(value: Any) -> datetime:
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        raise ValueError(value)
    return value if value.tzinfo else value.replace(tzinfo=UTC)


_READ: dict[DataType, Callable[[Any], Any]] = {
    DataType.LONG: int,
    DataType.DOUBLE: float,
    DataType.STRING: str,
    DataType.BOOLEAN: lambda value: {"true": True, "false": False}[str(value).lower()],
    DataType.TIMESTAMP: _moment,
    DataType.DATE: lambda value: date.fromisoformat(value) if isinstance(value, str) else value,
    DataType.NULL: lambda value: value,
}

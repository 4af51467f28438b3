"""What came of rules, as Arrow tables: contents, firings, changes, and what was put aside."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, Column, DataType, TableSchema
from augury.analysis.declarations.rules import groups_of
from augury.analysis.settled import dynamic_tables
from augury.errors import DataError
from augury.evaluation.answers.match_answers import moment_type
from augury.evaluation.encoding import rows_of_table
from augury.language.tree import CreateRule
from augury.planning.graph import stage_of
from augury.rules.contents import Contents, RefusedKeyError, Row
from augury.rules.plan import World
from augury.rules.stage import Changed, Firing, State
from augury.sources.columns import ARROW_TYPES
from augury.sources.values import stored

CHANGE = pa.struct(
    [(name, pa.string()) for name in ("table", "operation", "key", "before", "after")]
)


def start(world: World, catalog: Catalog, bound: Mapping[str, pa.Table]) -> State:
    """Return the state before anything happens: tables with the rows that are bound."""
    return State({name: contents_of(name, catalog, bound) for name in world.tables})


def contents_of(name: str, catalog: Catalog, bound: Mapping[str, pa.Table]) -> Contents:
    """Return the contents of a table at the start; one that rules write may have none."""
    table = catalog.tables[name.lower()]
    if name.lower() not in bound and name.lower() not in dynamic_tables(catalog):
        raise DataError(f"table {table.name} has no data; bind it: bind({table.name!r}, ...)")
    rows = rows_of_table(table, bound[name.lower()]) if name.lower() in bound else []
    places = {column.name: k for k, column in enumerate(table.columns)}
    try:
        return Contents.of(table.name, tuple(places[each] for each in table.key), rows)
    except RefusedKeyError as error:
        raise DataError(f"table {table.name} cannot begin so: {error}") from error


def contents_table(table: TableSchema, contents: Contents) -> pa.Table:
    """Return the rows of a table, in the order in which they came."""
    return rows_table(table, (row for _, row in contents.rows()))


def rows_table(table: TableSchema, rows: Iterable[Row], **more: Any) -> pa.Table:
    """Return rows of a table, which are as they are inside, as Arrow has them."""
    held = list(rows)
    columns = dict(more)
    for k, column in enumerate(table.columns):
        kind = column.type.value
        columns[column.name] = pa.array([stored(r[k], kind) for r in held], ARROW_TYPES[kind])
    return pa.table(columns)


def changes_table(
    table: TableSchema,
    firings: Iterable[Firing],
    catalog: Catalog,
    queries: Mapping[str, CheckedQuery],
) -> pa.Table:
    """Return the changes of a table that firings made, in order."""
    rules = [r for r in catalog.rules.values() if any(c.table == table.name for c in r.changes)]
    query_time = head_of(rules[0], catalog, queries).time if rules else pa.int64()
    found = [c for f in firings for c in f.changes if c.table == table.name]
    return rows_table(
        table,
        (c.after if c.after is not None else c.before or () for c in found),
        ts=_moments((c.ts for c in found), query_time),
        seq=pa.array([c.seq for c in found], pa.int64()),
        firing_id=pa.array([c.firing_id for c in found], pa.string()),
        operation=pa.array([c.operation for c in found], pa.string()),
    )


def _moments(times: Iterable[int], kind: Any) -> Any:
    return pa.array(list(times), pa.int64()).cast(kind)


class Head(NamedTuple):
    """The columns by which a firing says what it is about, and the type of its moment."""

    keys: tuple[Column, ...]
    time: Any


def head_of(rule: CreateRule, catalog: Catalog, queries: Mapping[str, CheckedQuery]) -> Head:
    """Return what the firings of a rule are about."""
    forecast = catalog.forecast_streams.get(rule.query.lower())
    if forecast is not None:
        keys = (forecast.column(name) for name in forecast.key)
        query = queries[catalog.forecasts[rule.query.lower()].query.lower()]
        return Head(tuple(each for each in keys if each is not None), moment_type(query))
    query = queries[rule.query.lower()]
    keys_of = groups_of(query) if stage_of(query, catalog).tells == "times" else query.keys
    return Head(keys_of, moment_type(query))


def firings_table(rule: str, firings: Iterable[Firing], head: Head, catalog: Catalog) -> pa.Table:
    """Return those of some firings that are of a rule, in order."""
    found = [each for each in firings if each.rule == rule]
    changes = [[_change(c, catalog) for c in each.changes] for each in found]
    return pa.table(
        {
            **_head(found, head),
            "changes": pa.array(changes, pa.list_(CHANGE)),
            "held_back": pa.array([each.held_back for each in found], pa.int64()),
            "script": pa.array([each.script for each in found], pa.string()),
        },
    )


def rejected_table(rule: str, rejected: Iterable[Firing], head: Head) -> pa.Table:
    """Return those firings of a rule that were put aside, with the reasons."""
    found = [each for each in rejected if each.rule == rule]
    reasons = pa.array([each.reason for each in found], pa.string())
    return pa.table({**_head(found, head), "reason": reasons})


def _head(found: list[Firing], head: Head) -> dict[str, Any]:
    columns: dict[str, Any] = {
        name: pa.array([getattr(each, name) for each in found], pa.string())
        for name in ("rule", "firing_id", "match_id")
    }
    for key in head.keys:
        kind = key.type.value
        values = [stored(each.match[key.name], kind) for each in found]
        columns[key.name] = pa.array(values, ARROW_TYPES[kind])
    columns["ts"] = _moments((each.ts for each in found), head.time)
    confidences = [each.match.get("confidence") for each in found]
    columns["confidence"] = pa.array(confidences, pa.float64())
    return columns


def _change(change: Changed, catalog: Catalog) -> dict[str, str | None]:
    table = catalog.tables[change.table.lower()]
    return {
        "table": table.name,
        "operation": change.operation,
        "key": _text(table, dict(zip(table.key, change.key, strict=True))) if table.key else None,
        "before": _row_text(table, change.before),
        "after": _row_text(table, change.after),
    }


def _row_text(table: TableSchema, row: Row | None) -> str | None:
    names = (column.name for column in table.columns)
    return None if row is None else _text(table, dict(zip(names, row, strict=True)))


def _text(table: TableSchema, values: Mapping[str, Any]) -> str:
    kinds = {column.name: column.type for column in table.columns}
    shown = {name: _shown(value, kinds[name]) for name, value in values.items()}
    return json.dumps(shown, ensure_ascii=False)


def _shown(value: Any, kind: DataType) -> Any:
    is_time = kind in (DataType.TIMESTAMP, DataType.DATE)
    return str(stored(value, kind.value)) if is_time and value is not None else value

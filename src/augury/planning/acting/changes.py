"""Rules as they are checked, to rules as they are carried out."""

from __future__ import annotations

from collections.abc import Mapping

from augury.analysis.declarations.catalog import Catalog, DataType, TableSchema
from augury.analysis.declarations.durations import microseconds
from augury.language import expressions as ex
from augury.language import tree
from augury.planning.acting.values import Names, value_of, where_of
from augury.rules.plan import (
    Change,
    Delete,
    Insert,
    Rule,
    Set,
    TablePlan,
    Throttle,
    Update,
    Value,
)


def table_plan(table: TableSchema) -> TablePlan:
    """Return a table as rules write it."""
    columns = tuple(column.name for column in table.columns)
    return TablePlan(table.name, columns, tuple(columns.index(name) for name in table.key))


def rule_plan(
    rule: tree.CreateRule, catalog: Catalog, match: Mapping[str, DataType], *, waits: bool
) -> Rule:
    """Return a rule whose match has columns of these types."""
    names = Names(catalog.tables, match, rule.event)
    when = None if rule.when is None else value_of(rule.when, names)
    changes = tuple(_change(each, names) for each in rule.changes)
    throttle = None if rule.throttle is None else _throttle(rule.throttle, names)
    uses, reads = frozenset(names.used), tuple(names.lookups)
    return Rule(rule.name, rule.query, changes, when, rule.rejects, uses, reads, waits, throttle)


def _throttle(node: tree.Throttle, names: Names) -> Throttle:
    length = node.per.length
    span = microseconds(length) if isinstance(length, ex.Duration) else int(length)
    by = (value_of(ex.Attribute(names.event, name), names) for name in node.by)
    return Throttle(node.most, span, tuple(by))


def _change(change: tree.Change, names: Names) -> Change:
    table = names.tables[change.table.lower()]
    if isinstance(change, tree.Insert):
        rows = tuple(_new_row(row, change.columns, names, table) for row in change.rows)
        sets = _sets(change.settings, names.of_row(table), table)
        return Insert(table.name, rows, change.conflict, sets)
    where = where_of(change.condition, names, table)
    if isinstance(change, tree.Delete):
        return Delete(table.name, where)
    return Update(table.name, _sets(change.settings, names.of_row(table), table), where)


def _new_row(
    row: tuple[ex.Expression, ...], columns: tuple[str, ...], names: Names, table: TableSchema
) -> tuple[Value, ...]:
    given = dict(zip(columns, row, strict=True))
    return tuple(
        value_of(given.get(column.name, ex.Literal(None)), names, column.type)
        for column in table.columns
    )


def _sets(settings: tuple[tree.Setting, ...], names: Names, table: TableSchema) -> tuple[Set, ...]:
    places = {column.name: k for k, column in enumerate(table.columns)}
    return tuple(
        Set(
            places[each.column],
            value_of(each.value, names, table.columns[places[each.column]].type),
        )
        for each in settings
    )

"""Conditions with subqueries: which of them search, and which are tested on the whole match.

A table is dynamic if a rule writes it or it lies in a STORE; what reads one is tested last. A
subquery of a table that stays as it is says the same at all times, so its condition is one like
others, as soon as it can have but one answer: a function of rows, or a row by its whole KEY. By
other columns two rows would stop the run, and whether they are asked for would hang on how far a
search has looked; so these, too, are tested on whole matches. A condition that names no component
is a constant, which filters all events or none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from augury.analysis.checked import CheckedQuery, Conjunct
from augury.analysis.clauses.conjuncts import split
from augury.analysis.declarations.catalog import Catalog, DataType, TableSchema
from augury.analysis.expressions.walk import has_lookup, tables_read, walk, walk_into
from augury.language import expressions as ex


def dynamic_tables(catalog: Catalog) -> frozenset[str]:
    """Return the tables, in lower case, that a rule writes or that lie in a STORE."""
    written = {change.table.lower() for rule in catalog.rules.values() for change in rule.changes}
    return frozenset(written | {name for name, table in catalog.tables.items() if table.store})


def settled(query: CheckedQuery, catalog: Catalog) -> CheckedQuery:
    """Return a query that searches by the subqueries that it may; the others are its `lookups`."""
    found = [c for c in (*query.conjuncts, *query.lookups) if has_lookup(c.expression)]
    if not found:
        return query
    dynamic = dynamic_tables(catalog)
    asking = list(dict.fromkeys(_as_written(each) for each in found))
    own = [each for each in asking if _searches(each, query, catalog, dynamic)]
    plain = [each for each in query.conjuncts if each not in found]
    placed = (part for each in own for part in _placed(each, query))
    later = tuple(each for each in asking if each not in own)
    return replace(query, conjuncts=(*plain, *placed), lookups=later)


def _as_written(conjunct: Conjunct) -> Conjunct:
    """Return a conjunct with the components that it names: a constant has none."""
    if any(_is_of_component(node) for node in walk_into(conjunct.expression)):
        return conjunct
    return replace(conjunct, components=(), after=False)


def _placed(conjunct: Conjunct, query: CheckedQuery) -> Iterator[Conjunct]:
    """Yield a conjunct for each event that it filters: a constant holds for all, or for none."""
    if conjunct.components:
        yield conjunct
        return
    for component in query.components:
        if not component.negated:
            yield replace(conjunct, components=(component.index,))


def _is_of_component(node: ex.Expression) -> bool:
    return isinstance(node, ex.Attribute | ex.Aggregate) and node.component is not None


def _searches(
    conjunct: Conjunct, query: CheckedQuery, catalog: Catalog, dynamic: frozenset[str]
) -> bool:
    read = (name.lower() for name in tables_read(conjunct.expression))
    if not dynamic.isdisjoint(read):
        return False
    return all(
        _has_one_answer(node, query, catalog.tables[node.table.lower()])
        for node in walk(conjunct.expression)
        if isinstance(node, ex.Lookup)
    )


def _has_one_answer(node: ex.Lookup, query: CheckedQuery, table: TableSchema) -> bool:
    if node.function is not None or node.column is None:
        return True
    asked = set[str]()
    for part in [] if node.condition is None else split(node.condition):
        if not isinstance(part, ex.Binary) or part.operator != "=":
            continue
        for column, value in ((part.left, part.right), (part.right, part.left)):
            if _is_of_row(column) and isinstance(column, ex.Attribute):
                declared = table.column(column.name)
                if declared is not None and _names_one(declared.type, value, query):
                    asked.add(declared.name)
    return bool(table.key) and set(table.key) <= asked


def _names_one(kind: DataType, value: ex.Expression, query: CheckedQuery) -> bool:
    """Return whether one value of a column, at most, equals a value that is of no row."""
    if any(map(_is_of_row, walk_into(value))):
        return False
    if kind is not DataType.LONG:
        return True
    # Several large LONGs may equal one DOUBLE.
    if isinstance(value, ex.Attribute):
        numbers = {component.name: component.index for component in query.components}
        number = numbers.get(value.component or "", 0)
        return query.type_of_attribute(number, value.name) is DataType.LONG
    if isinstance(value, ex.Aggregate):
        return value.function == "COUNT"
    return isinstance(value, ex.Literal) and isinstance(value.value, int)


def _is_of_row(node: ex.Expression) -> bool:
    return isinstance(node, ex.Attribute) and node.component is None

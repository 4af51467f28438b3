"""Expressions over a match, a row and tables: as functions of a `Reading`.

Subqueries and memberships become reads of their own; the rest is lowered and compiled as everywhere
else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from augury.analysis.clauses.conjuncts import split
from augury.analysis.declarations.catalog import Column, DataType, TableSchema
from augury.analysis.expressions.walk import attributes, rewritten
from augury.errors import Span
from augury.language import expressions as ex
from augury.planning.expressions.lower import lower
from augury.planning.expressions.scalar import scalar
from augury.planning.expressions.typed import Aggregated, Input, Typed
from augury.planning.expressions.types import cast, refuse
from augury.rules.plan import Value, Where
from augury.rules.reading import Member, Subquery

MATCH, ROW, EXCLUDED, READ = range(4)
# What a match is called where no rule gives it a name, and the names of reads: no user has them.
A_MATCH, A_READ = "\0match", "\0read"
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Names:
    """What names mean: `event` is the match with its columns, a name alone a column of `row`.

    `used` are the columns of the match that were asked for, `lookups` the reads of tables.
    """

    tables: Mapping[str, TableSchema]
    match: Mapping[str, DataType]
    event: str = A_MATCH
    row: TableSchema | None = None
    reads: list[tuple[Value, DataType]] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    lookups: list[Subquery | Member] = field(default_factory=list)

    def component(self, name: str | None, span: Span) -> int:
        """Return whose column is meant."""
        known = {None: ROW, self.event: MATCH, "excluded": EXCLUDED, A_READ: READ}
        if name not in known:
            raise refuse(f"{name} has no value here", span)
        return known[name]

    def column_of(self, component: int, attribute: str) -> Column | None:
        """Return the column that a name is."""
        if component == READ:
            return Column(attribute, self.reads[int(attribute)][1])
        if component == MATCH:
            return Column(attribute, self.match[attribute]) if attribute in self.match else None
        return self.row.column(attribute) if self.row else None

    def of_row(self, row: TableSchema) -> Names:
        """Return the names where a row of a table is looked at."""
        return Names(self.tables, self.match, self.event, row, used=self.used, lookups=self.lookups)

    def reader(self, node: Input | Aggregated) -> Value:
        """Return how a name is read."""
        assert isinstance(node, Input)
        if node.component == READ:
            return self.reads[int(node.column)][0]
        if node.component == MATCH:
            name = node.column
            self.used.add(name)
            return lambda reading: reading.match[name]
        assert self.row is not None
        place = [column.name for column in self.row.columns].index(node.column)
        if node.component == EXCLUDED:
            return lambda reading: reading.excluded[place]
        return lambda reading: reading.row[place]


def value_of(expression: ex.Expression, names: Names, kind: DataType | None = None) -> Value:
    """Return an expression as a function, in the type `kind` if one is given."""
    own = replace(names, reads=[])
    typed = lower(_with_reads(_tolerant(expression, names.event), own), own)
    return _function(typed if kind is None else cast(typed, kind), own)


def _function(typed: Typed, names: Names) -> Value:
    made: Value = scalar(typed, {}, names.reader)
    return made


def where_of(condition: ex.Expression | None, names: Names, table: TableSchema) -> Where:
    """Return which rows of a table a condition takes."""
    if condition is None:
        return Where()
    inside = names.of_row(table)
    asked = asked_key(condition, inside, table)
    if asked is None:
        return Where(value_of(condition, inside))
    key = tuple(value_of(value, inside) for value, _ in asked)
    # A row that is found by its key and nothing else needs no second look.
    rest = None if _is_key_alone(condition, asked, table) else value_of(condition, inside)
    return Where(rest, key)


Asked = tuple[tuple[ex.Expression, ex.Expression], ...]


def asked_key(condition: ex.Expression | None, names: Names, table: TableSchema) -> Asked | None:
    """Return the values of the KEY that a condition asks for, each with the part that says so.

    None where it leaves one open. `names` are those of a row of the table.
    """
    found: dict[str, tuple[ex.Expression, ex.Expression]] = {}
    for part in [] if condition is None else split(condition):
        if not isinstance(part, ex.Binary) or part.operator != "=":
            continue
        for column, value in ((part.left, part.right), (part.right, part.left)):
            alone = isinstance(column, ex.Attribute) and column.component is None
            if not alone or not isinstance(column, ex.Attribute) or _is_of_row(value):
                continue
            declared, own = table.column(column.name), replace(names, reads=[])
            # Others are compared after a cast, which a key does not know.
            if declared and lower(_with_reads(value, own), own).type is declared.type:
                found.setdefault(declared.name, (value, part))
    if not table.key or not set(table.key) <= set(found):
        return None
    return tuple(found[name] for name in table.key)


def _is_key_alone(condition: ex.Expression, asked: Asked, table: TableSchema) -> bool:
    """Return whether a condition says what the key is, and nothing more."""
    # Equal numbers need not be the same: a DOUBLE is looked at again.
    if any(c.type is DataType.DOUBLE for c in table.columns if c.name in table.key):
        return False
    parts = [part for _, part in asked]
    return all(part in parts for part in split(condition))


def _is_of_row(value: ex.Expression) -> bool:
    return any(each.component is None for each in attributes(value))


def _with_reads(expression: ex.Expression, names: Names) -> ex.Expression:
    """Return an expression in which every read of a table has a name."""

    def change(node: ex.Node) -> ex.Node | None:
        if isinstance(node, ex.Lookup):
            return _named(names, *_subquery(node, names))
        if isinstance(node, ex.InTable):
            table = names.tables[node.table.lower()]
            pairs = zip(node.operands, table.columns, strict=True)
            values = tuple(value_of(each, names, column.type) for each, column in pairs)
            read = _named(names, Member(table.name, values), DataType.BOOLEAN)
            return ex.Unary("NOT", read) if node.negated else read
        return None

    return rewritten(expression, change)


def _named(names: Names, read: Subquery | Member, kind: DataType) -> ex.Attribute:
    names.reads.append((read, kind))
    names.lookups.append(read)
    return ex.Attribute(A_READ, str(len(names.reads) - 1))


def _subquery(node: ex.Lookup, names: Names) -> tuple[Subquery, DataType]:
    table = names.tables[node.table.lower()]
    where = where_of(node.condition, names, table)
    if node.column is None:
        return Subquery(table.name, None, None, where.condition, where.key), DataType.LONG
    place = [column.name for column in table.columns].index(node.column)
    kind = DataType.DOUBLE if node.function == "AVG" else table.columns[place].type
    return Subquery(table.name, place, node.function, where.condition, where.key), kind


# Confidence --------------------------------------------------------------------------------------


def _tolerant(expression: ex.Expression, event: str) -> ex.Expression:
    """Return an expression in which confidences are compared as HAVING does."""

    def is_confidence(node: ex.Expression) -> bool:
        return isinstance(node, ex.Attribute) and (node.component, node.name) == (
            event,
            "confidence",
        )

    def change(node: ex.Node) -> ex.Node | None:
        if isinstance(node, ex.Binary) and node.operator in _SLACK:
            if is_confidence(node.left):
                return _slack(node.left, node.operator, node.right)
            if is_confidence(node.right):
                return _slack(node.right, _TURNED.get(node.operator, node.operator), node.left)
        if isinstance(node, ex.Between) and is_confidence(node.operand):
            return replace(node, low=_moved(node.low, -1), high=_moved(node.high, 1))
        return None

    return rewritten(expression, change)


_SLACK: dict[str, int] = {">=": -1, ">": 1, "<=": 1, "<": -1, "=": 0, "<>": 0}
_TURNED: Mapping[str, Any] = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}


def _slack(confidence: ex.Expression, operator: Any, bound: ex.Expression) -> ex.Expression:
    if operator in ("=", "<>"):
        return ex.Between(confidence, _moved(bound, -1), _moved(bound, 1), operator == "<>")
    return ex.Binary(operator, confidence, _moved(bound, _SLACK[operator]))


def _moved(bound: ex.Expression, sign: int) -> ex.Expression:
    return ex.Binary("+", bound, ex.Literal(sign * TOLERANCE))

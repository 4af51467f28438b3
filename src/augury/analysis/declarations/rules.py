"""CREATE STORE and CREATE RULE: what a rule listens to, when it acts, and what it changes.

A rule that passes comes back as the same statement, with the names of tables and columns as they
are declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from augury.analysis import places
from augury.analysis.checked import CheckedQuery
from augury.analysis.clauses.active import refuse_open_count
from augury.analysis.declarations.catalog import Column, DataType, StreamSchema, TableSchema
from augury.analysis.declarations.ledger import Ledger
from augury.analysis.declarations.misnamed import misnamed
from augury.analysis.declarations.streams import check_length
from augury.analysis.expressions.typecheck import RowChecker
from augury.analysis.expressions.walk import tables_read
from augury.analysis.findings import Findings, counted, listing, suggest
from augury.errors import Span
from augury.language import expressions as ex
from augury.language.tree import (
    Change,
    CreateRule,
    CreateStore,
    Delete,
    Insert,
    Setting,
    Throttle,
    Update,
)

SCHEMES = ("sqlite", "postgresql")
# Further columns of forecasts and of probabilities, as rules name them.
_HOW = Column("method", DataType.STRING), Column("error_bound", DataType.DOUBLE)
Checked = Callable[[str], CheckedQuery | None]


def read_store(statement: CreateStore, findings: Findings) -> bool:
    """Return whether the address of a store can be read; report it where not."""
    scheme, separator, _ = statement.url.partition("://")
    if separator and scheme.partition("+")[0] in SCHEMES:
        return True
    span = places.word(findings.source, statement.span, statement.url)
    hint = "write sqlite:///file.db, or postgresql://user:${PASSWORD}@host/database"
    findings.error("A115", f"store {statement.name} lies at no known kind of place", span, hint)
    return False


def read_rule(
    statement: CreateRule, ledger: Ledger, findings: Findings, checked: Checked
) -> CreateRule | None:
    """Return a rule with its names resolved; None where something is wrong.

    `checked` gives a declared query as it was checked.
    """
    before = findings.error_count
    matches = _listens_to(statement, ledger, findings, checked)
    if matches is None:
        return None
    rule = _Rule(statement, ledger, findings, matches)
    when, throttle = rule.when(), rule.throttle()
    found = [rule.change(each) for each in statement.changes]
    changes = tuple(each for each in found if each is not None)
    if len(changes) == len(statement.changes):
        rule.writes_one_store(when, changes)
    if findings.error_count > before or len(changes) < len(statement.changes):
        return None
    return replace(
        statement, query=matches.query or matches.name, when=when, changes=changes,
        event=statement.event.lower(), throttle=throttle,
    )  # fmt: skip


def forecast_schema(declared: StreamSchema) -> StreamSchema:
    """Return the columns of a forecast as rules name them."""
    return replace(declared, columns=(*declared.columns, *_HOW))


def by_time_schema(query: CheckedQuery) -> StreamSchema:
    """Return the columns of PROBABILITY BY TIME as rules name them."""
    time = DataType.LONG if query.streams[0].time_is_ticks else DataType.TIMESTAMP
    columns = (*groups_of(query), Column("ts", time), Column("probability", DataType.DOUBLE), *_HOW)
    return StreamSchema(query.name, columns, key=query.group_names, time="ts", certain=True)


def groups_of(query: CheckedQuery) -> tuple[Column, ...]:
    """Return the columns that a query groups by."""
    numbers = {component.name: component.index for component in query.components}
    groups = []
    for name, node in zip(query.group_names, query.group_by, strict=True):
        assert isinstance(node, ex.Attribute)
        number = numbers[node.component or ""]
        groups.append(Column(name, query.type_of_attribute(number, node.name)))
    return tuple(groups)


def _listens_to(
    statement: CreateRule, ledger: Ledger, findings: Findings, checked: Checked
) -> StreamSchema | None:
    name = statement.query
    if ledger.has_failed(name):
        return None
    if (forecast := ledger.forecast_streams.get(name.lower())) is not None:
        return forecast_schema(forecast)
    return _matches_of(statement, ledger, findings, checked)


def _matches_of(
    statement: CreateRule, ledger: Ledger, findings: Findings, checked: Checked
) -> StreamSchema | None:
    """Return the rows of the query that a rule listens to."""
    name, span = statement.query, statement.query_span
    declared = ledger.queries.get(name.lower())
    if declared is None:
        known = [each.name for each in ledger.forecasts.values()]
        known += [query.name for query in ledger.queries.values() if query.name]
        otherwise = "declare it before the rule, with CREATE QUERY"
        message, hint = misnamed(name, "query", ledger, known, otherwise)
        findings.error("A029", message, span, hint)
        return None
    matches = ledger.outputs.get(name.lower())
    if matches is None:
        query = checked(name)
        if query is not None and query.returns == "PROBABILITY BY TIME":
            return by_time_schema(query)
        message = f"rule {statement.name} listens to {name}, which has no row at any moment"
        hint = "rules act on matches, on forecasts, and on RETURN PROBABILITY BY TIME"
        findings.error("A111", message, span, hint)
        return None
    if matches.column("ts") is not None:
        message = f"query {name} returns a column ts, which in a rule is the moment of a match"
        findings.error("A111", message, span, "give the column another name with AS")
        return None
    return matches if refuse_open_count(declared, statement, findings) else None


@dataclass(frozen=True)
class _Rule:
    """A rule while it is read: `matches` is what its query gives."""

    statement: CreateRule
    ledger: Ledger
    findings: Findings
    matches: StreamSchema

    @property
    def time_is_ticks(self) -> bool:
        return self.matches.time_is_ticks

    @property
    def _match(self) -> tuple[Column, ...]:
        if self.matches.column("ts") is not None:
            return self.matches.columns
        time = DataType.LONG if self.time_is_ticks else DataType.TIMESTAMP
        more = (
            Column("ts", time),
            Column("revision", DataType.LONG),
            Column("n_missed", DataType.LONG),
        )
        return (*self.matches.columns, *more)

    def _checker(self, table: TableSchema | None, *, excluded: bool = False) -> RowChecker:
        rows: dict[str, Sequence[Column]] = {self.statement.event.lower(): self._match}
        if excluded and table is not None:
            rows["excluded"] = table.columns
        return RowChecker(self, table, rows)

    def when(self) -> ex.Expression | None:
        """Return the condition of the rule."""
        if self.statement.when is None:
            return None
        rows: Mapping[str, Sequence[Column]] = {self.statement.event.lower(): self._match}
        return RowChecker(self, None, rows, takes_lookups=True).condition(self.statement.when)

    def throttle(self) -> Throttle | None:
        """Return how many firings go through, for each value of columns of the match."""
        node = self.statement.throttle
        if node is None:
            return None
        if node.most < 1:
            self.findings.error("A023", "THROTTLE lets no firing through", node.span, "write 1")
        check_length(node.per.length, self.time_is_ticks, "PER", node.span, self.findings)
        columns = {column.name.lower(): column.name for column in self._match}
        known = [*columns.values()]
        for name in node.by:
            if name.lower() not in columns:
                span = places.word(self.findings.source, node.span, name)
                message = f"the rows that rule {self.statement.name} hears have no column {name}"
                hint = suggest(name, known, f"they have {listing(known)}")
                self.findings.error("A113", message, span, hint)
        return replace(node, by=tuple(columns.get(name.lower(), name) for name in node.by))

    def change(self, node: Change) -> Change | None:
        """Return one of its changes; None where it does not fit its table."""
        before = self.findings.error_count
        table = self._checker(None).declared_table(node.table, node)
        if table is None:
            return None
        if isinstance(node, Insert):
            made: Change = self._insert(node, table)
        elif isinstance(node, Update):
            settings = self._settings(node.settings, table)
            condition = self._condition(node.condition, table)
            made = Update(table.name, settings, condition, span=node.span)
        else:
            made = Delete(table.name, self._condition(node.condition, table), span=node.span)
        return made if self.findings.error_count == before else None

    def _condition(self, node: ex.Expression | None, table: TableSchema) -> ex.Expression | None:
        return None if node is None else self._checker(table).condition(node)

    def _insert(self, node: Insert, table: TableSchema) -> Insert:
        columns = self._columns(node, table)
        rows = []
        for row in node.rows:
            if len(row) != len(columns):
                message = f"{counted(len(row), 'value')} for {counted(len(columns), 'column')}"
                names = listing([c.name for c in columns])
                self._error(node, f"INSERT INTO {table.name} gives {message}", f"give {names}")
                continue
            checker = self._checker(None)
            pairs = zip(row, columns, strict=True)
            rows.append(tuple(self._value(checker, value, to, node) for value, to in pairs))
        if node.conflict is not None and not table.key:
            message = f"ON CONFLICT needs a KEY, and table {table.name} has none"
            self._error(node, message, "declare a KEY, or leave ON CONFLICT out")
        settings = self._settings(node.settings, table, excluded=True)
        names_of = tuple(c.name for c in columns)
        return Insert(table.name, tuple(rows), names_of, node.conflict, settings, span=node.span)

    def _columns(self, node: Insert, table: TableSchema) -> list[Column]:
        if not node.columns:
            return list(table.columns)
        found = [self._column(name, node, table) for name in node.columns]
        known = [column for column in found if column is not None]
        if len({column.name for column in known}) < len(known):
            self._error(node, f"INSERT INTO {table.name} names a column twice", "name it once")
        lacking = [key for key in table.key if key not in {column.name for column in known}]
        if lacking and len(known) == len(found):
            message = f"INSERT INTO {table.name} gives no value for its KEY {listing(lacking)}"
            self._error(node, message, "a KEY is never NULL; give it a value")
        return known

    def _settings(
        self, settings: tuple[Setting, ...], table: TableSchema, *, excluded: bool = False
    ) -> tuple[Setting, ...]:
        made: list[Setting] = []
        checker = self._checker(table, excluded=excluded)
        for setting in settings:
            column = self._column(setting.column, setting, table)
            if column is None:
                continue
            if column.name in table.key:
                message = f"SET changes {column.name}, a KEY column of {table.name}"
                self._error(setting, message, "DELETE the row, and INSERT the other")
            if column.name in {each.column for each in made}:
                self._error(setting, f"SET gives {column.name} twice", "give it once")
            value = self._value(checker, setting.value, column, setting)
            made.append(Setting(column.name, value, span=setting.span))
        return tuple(made)

    def _column(self, name: str, node: ex.Node, table: TableSchema) -> Column | None:
        column = table.column(name)
        if column is None:
            names = [c.name for c in table.columns]
            hint = suggest(name, names, f"it has {listing(names)}")
            self._error(node, f"table {table.name} has no column {name}", hint)
        return column

    def _value(
        self, checker: RowChecker, value: ex.Expression, column: Column, node: ex.Node
    ) -> ex.Expression:
        resolved, type_ = checker.read(value)
        taken = {column.type, DataType.NULL, None}
        taken |= {DataType.LONG} if column.type is DataType.DOUBLE else set()
        if type_ not in taken:
            label = type_.value if type_ else "value"
            message = f"column {column.name} is a {column.type.value}, and is given a {label}"
            span = value.span if value.span.end else node.span
            self.findings.error("A112", message, span, f"CAST(... AS {column.type.value})")
        return resolved

    def _error(self, node: ex.Node, message: str, hint: str) -> None:
        self.findings.error("A112", message, node.span, hint)

    def writes_one_store(self, when: ex.Expression | None, changes: tuple[Change, ...]) -> None:
        """Report tables of two stores: what a firing changes is one transaction."""
        written = {change.table for change in changes}
        tables = [self.ledger.tables[name.lower()] for name in written]
        stores = {table.store.lower() if table.store else None for table in tables}
        for name in _read(when, changes):
            store = self.ledger.tables[name.lower()].store
            stores |= {store.lower()} if store else set()
        if len(stores) > 1:
            shown = listing(sorted(store or "the embedded one" for store in stores))
            message = f"rule {self.statement.name} uses tables of several stores: {shown}"
            self.findings.error("A114", message, self._name, "write a rule for each store")

    @property
    def _name(self) -> Span:
        return places.word(self.findings.source, self.statement.span, self.statement.name)


def _read(when: ex.Expression | None, changes: tuple[Change, ...]) -> Iterator[str]:
    """Yield the tables that a rule reads."""
    if when is not None:
        yield from tables_read(when)
    for change in changes:
        if not isinstance(change, Insert) and change.condition is not None:
            yield from tables_read(change.condition)

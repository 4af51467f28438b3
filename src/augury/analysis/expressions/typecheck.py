"""Types of expressions: every name is resolved and every operator judged, in one walk.

`ExpressionChecker.read` returns the expression with its names resolved, and its type; the type is
None where something below was already reported, so that one mistake gives one finding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any, Protocol

from augury.analysis.declarations.catalog import Column, DataType, TableSchema
from augury.analysis.declarations.columns import TYPE_NAMES
from augury.analysis.declarations.ledger import Ledger
from augury.analysis.declarations.misnamed import misnamed
from augury.analysis.expressions.comparable import arithmetic_type, common_type
from augury.analysis.expressions.functions import FUNCTIONS, describe, fits
from augury.analysis.findings import Findings, counted, listing, suggest
from augury.language import expressions as ex
from augury.language.keywords import AGGREGATES

Typed = tuple[ex.Expression, DataType | None]

BOOLEAN = DataType.BOOLEAN


class Context(Protocol):
    """What expressions are judged against: what is declared, and where findings go."""

    @property
    def findings(self) -> Findings: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def time_is_ticks(self) -> bool | None: ...


class ExpressionChecker:
    """Reads expressions; what names mean is for those that inherit from it.

    `unknown` tells that a name could not be resolved, whether that was reported or not.
    `takes_lookups` tells whether subqueries may stand here.
    """

    def __init__(self, context: Context, *, takes_lookups: bool = False) -> None:
        self.context, self.takes_lookups = context, takes_lookups
        self.unknown = False

    def read(self, node: ex.Expression) -> Typed:
        """Return the resolved expression and its type."""
        reader: Callable[[Any], Typed] = getattr(self, _READERS[type(node)])
        return reader(node)

    def attribute(self, node: ex.Attribute) -> Typed:
        """Return what an attribute means."""
        raise NotImplementedError

    def aggregate(self, node: ex.Aggregate) -> Typed:
        """Return what an aggregate means."""
        raise NotImplementedError

    def condition(self, node: ex.Expression) -> ex.Expression | None:
        """Return a condition, resolved; None where it is faulty."""
        before = self.context.findings.error_count
        resolved, type_ = self.read(node)
        if type_ not in (BOOLEAN, DataType.NULL, None):
            self._error(
                "A042", f"{self._show(node, type_)} is not true or false", node, _BOOLEAN_HINT
            )
        faulty = self.unknown or self.context.findings.error_count > before
        return None if faulty else resolved

    # Reporting --------------------------------------------------------------------------------

    def _error(self, code: str, message: str, node: ex.Node, hint: str = "") -> None:
        self.context.findings.error(code, message, node.span, hint)

    def _show(self, node: ex.Node, type_: DataType | None) -> str:
        text = self.context.findings.text_of(node)
        if isinstance(node, ex.Attribute) and node.name not in text:
            text = f"column {node.name}"
        label = type_.value if type_ else "value"
        return f"{text} ({label})" if text else f"a {label}"

    # Leaves -----------------------------------------------------------------------------------

    def literal(self, node: ex.Literal) -> Typed:
        value = node.value
        if isinstance(value, bool):
            return node, BOOLEAN
        if isinstance(value, int):
            if not -(2**63) <= value < 2**63:
                self._error("A046", f"{value} does not fit into a LONG", node, "write it as 1e19")
            return node, DataType.LONG
        if isinstance(value, float):
            return node, DataType.DOUBLE
        return node, DataType.STRING if isinstance(value, str) else DataType.NULL

    def duration(self, node: ex.Duration) -> Typed:
        return node, DataType.INTERVAL

    def typed_literal(self, node: ex.TypedLiteral) -> Typed:
        try:
            parse = datetime.fromisoformat if node.type == "TIMESTAMP" else date.fromisoformat
            parse(node.text.strip())
        except ValueError:
            form = "2026-01-31 12:00:00" if node.type == "TIMESTAMP" else "2026-01-31"
            message = f"'{node.text}' is not a {node.type}"
            self._error("A046", message, node, f"write it as {node.type} '{form}'")
        return node, DataType(node.type)

    def equate(self, node: ex.Equate) -> Typed:
        names = ", ".join(node.attributes)
        message = f"[{names}] stands inside another condition"
        self._error("A047", message, node, "join it to the other conditions with AND")
        return node, None

    def lookup(self, node: ex.Lookup) -> Typed:
        """Return a subquery with the names of its table, and the type of its value."""
        if not self.takes_lookups:
            message = f"a SELECT from {node.table} stands where no subquery may"
            hint = "subqueries stand in WHERE and AFTER WHERE of a query, and in WHEN of a rule"
            self._error("A050", message, node, hint)
            return node, None
        table = self.declared_table(node.table, node)
        if table is None:
            self.unknown = True
            return node, None
        condition = None
        if node.condition is not None:
            inside = RowChecker(self.context, table, outer=self)
            condition = inside.condition(node.condition)
            self.unknown |= inside.unknown
        column, type_ = self._selected(node, table)
        resolved = replace(node, column=column, table=table.name, condition=condition)
        return resolved, type_

    def _selected(self, node: ex.Lookup, table: TableSchema) -> tuple[str | None, DataType | None]:
        if node.column is None:
            return None, DataType.LONG
        column = table.column(node.column)
        if column is None:
            names = [each.name for each in table.columns]
            hint = suggest(node.column, names, f"it has {listing(names)}")
            message = f"table {table.name} has no column {node.column}"
            self._error("A050", message, node, hint)
            return node.column, None
        if node.function in ("SUM", "AVG") and not column.type.is_number:
            message = f"{node.function} needs numbers, but {column.name} is a {column.type.value}"
            self._error("A050", message, node, "use MIN, MAX or COUNT(*), or another column")
            return column.name, None
        return column.name, DataType.DOUBLE if node.function == "AVG" else column.type

    def declared_table(self, name: str, node: ex.Node) -> TableSchema | None:
        """Return a table; report it where it is not declared."""
        ledger = self.context.ledger
        table = ledger.tables.get(name.lower())
        if table is None and not ledger.has_failed(name):
            known = [t.name for t in ledger.tables.values()]
            message, hint = misnamed(name, "table", ledger, known, "declare it with CREATE TABLE")
            self._error("A028", message, node, hint)
        return table

    # Operators --------------------------------------------------------------------------------

    def unary(self, node: ex.Unary) -> Typed:
        operand, type_ = self.read(node.operand)
        resolved = replace(node, operand=operand)
        if node.operator == "NOT":
            self._expect_boolean("NOT", node.operand, type_)
            return resolved, BOOLEAN
        if type_ and not (type_.is_number or type_ in (DataType.INTERVAL, DataType.NULL)):
            message = f"- needs a number or an interval, not {self._show(node.operand, type_)}"
            self._error("A041", message, node, "negate numbers and intervals only")
            return resolved, None
        return resolved, type_

    def _expect_boolean(self, what: str, node: ex.Expression, type_: DataType | None) -> None:
        if type_ not in (BOOLEAN, DataType.NULL, None):
            message = f"{what} needs conditions, not {self._show(node, type_)}"
            self._error("A042", message, node, _BOOLEAN_HINT)

    def logic(self, node: ex.Logic) -> Typed:
        operands = []
        for operand in node.operands:
            resolved, type_ = self.read(operand)
            self._expect_boolean(node.operator, operand, type_)
            operands.append(resolved)
        return replace(node, operands=tuple(operands)), BOOLEAN

    def binary(self, node: ex.Binary) -> Typed:
        left, left_type = self.read(node.left)
        right, right_type = self.read(node.right)
        resolved = ex.Binary(node.operator, left, right, span=node.span)
        if node.operator in _COMPARISONS:
            self._compare((node.left, left_type), (node.right, right_type), node)
            return resolved, BOOLEAN
        if left_type is None or right_type is None:
            return resolved, None
        type_ = arithmetic_type(node.operator, left_type, right_type)
        if type_ is None:
            shown = self._show(node.left, left_type)
            shown += f" {node.operator} {self._show(node.right, right_type)}"
            self._error(
                "A041",
                f"{shown} has no meaning",
                node,
                _arithmetic_hint(left_type, right_type, self.context),
            )
        return resolved, type_

    def _compare(self, left: Typed, right: Typed, node: ex.Node) -> None:
        (left_node, left_type), (right_node, right_type) = left, right
        if left_type is None or right_type is None:
            return
        if common_type(left_type, right_type) is None:
            message = (
                f"{self._show(left_node, left_type)} and {self._show(right_node, right_type)} "
                "cannot be compared"
            )
            self._error(
                "A040", message, node, _comparison_hint(left_type, right_type, self.context)
            )
        elif DataType.NULL in (left_type, right_type):
            message = "a comparison with NULL is never true"
            self.context.findings.warning(
                "W002", message, node.span, "write IS NULL or IS NOT NULL"
            )

    def is_null(self, node: ex.IsNull) -> Typed:
        operand, _ = self.read(node.operand)
        return replace(node, operand=operand), BOOLEAN

    def between(self, node: ex.Between) -> Typed:
        operand, type_ = self.read(node.operand)
        low, low_type = self.read(node.low)
        high, high_type = self.read(node.high)
        self._compare((node.operand, type_), (node.low, low_type), node)
        self._compare((node.operand, type_), (node.high, high_type), node)
        return replace(node, operand=operand, low=low, high=high), BOOLEAN

    def in_list(self, node: ex.InList) -> Typed:
        operand, type_ = self.read(node.operand)
        items = []
        for item in node.items:
            resolved, item_type = self.read(item)
            self._compare((node.operand, type_), (item, item_type), item)
            items.append(resolved)
        return replace(node, operand=operand, items=tuple(items)), BOOLEAN

    def in_table(self, node: ex.InTable) -> Typed:
        read = [self.read(operand) for operand in node.operands]
        name = self._table(node, [type_ for _, type_ in read])
        return replace(node, operands=tuple(e for e, _ in read), table=name), BOOLEAN

    def _table(self, node: ex.InTable, types: list[DataType | None]) -> str:
        table = self.declared_table(node.table, node)
        if table is None:
            return node.table
        if len(types) != len(table.columns):
            columns = listing([c.name for c in table.columns])
            message = (
                f"{counted(len(types), 'value')} tested in table {table.name}, "
                f"which has {counted(len(table.columns), 'column')}"
            )
            self._error("A049", message, node, f"give one value each for {columns}")
            return table.name
        for operand, type_, column in zip(node.operands, types, table.columns, strict=True):
            if type_ and common_type(type_, column.type) is None:
                message = (
                    f"{self._show(operand, type_)} is tested in column {column.name} "
                    f"of table {table.name}, a {column.type.value}"
                )
                self._error(
                    "A049", message, operand, "give the values in the order of the table's columns"
                )
        return table.name

    def like(self, node: ex.Like) -> Typed:
        operand, type_ = self.read(node.operand)
        if type_ not in (DataType.STRING, DataType.NULL, None):
            message = f"LIKE needs text, not {self._show(node.operand, type_)}"
            self._error("A041", message, node, "use a comparison, or CAST(... AS STRING)")
        return replace(node, operand=operand), BOOLEAN

    # Case, calls, casts -----------------------------------------------------------------------

    def case(self, node: ex.Case) -> Typed:
        branches, results = [], []
        for when, then in node.branches:
            condition, condition_type = self.read(when)
            self._expect_boolean("WHEN", when, condition_type)
            value, type_ = self.read(then)
            branches.append((condition, value))
            results.append((then, type_))
        otherwise = None
        if node.otherwise is not None:
            otherwise, type_ = self.read(node.otherwise)
            results.append((node.otherwise, type_))
        resolved = replace(node, branches=tuple(branches), otherwise=otherwise)
        return resolved, self._common(results, "CASE", "A041")

    def _common(self, parts: list[Typed], what: str, code: str) -> DataType | None:
        """Return the common type of branches or arguments; report the first that has none."""
        known: DataType = DataType.NULL
        for node, type_ in parts:
            if type_ is None:
                return None
            common = common_type(known, type_)
            if common is None:
                message = f"{what} mixes a {known.value} and {self._show(node, type_)}"
                self._error(code, message, node, f"make every one a {known.value}, or CAST it")
                return None
            known = common
        return known

    def time_of(self, node: ex.Call) -> ex.Attribute | None:
        """Return the time of the event that `t(x)` names, where the text is about components."""
        return None

    def call(self, node: ex.Call) -> Typed:
        if node.function == "T" and (time := self.time_of(node)) is not None:
            return (time, None) if self.unknown else self.read(time)
        arguments = [self.read(argument) for argument in node.arguments]
        resolved = replace(node, arguments=tuple(e for e, _ in arguments))
        signature = FUNCTIONS.get(node.function)
        if signature is None and node.function in AGGREGATES:
            # The parser has said how an aggregate is written.
            self.unknown = True
            return resolved, None
        if node.function == "MATCH_NUMBER":
            message = "MATCH_NUMBER() stands in a condition or in an expression"
            hint = "it is a column of its own: RETURN MATCH_NUMBER() AS n"
            self._error("A084", message, node, hint)
            return resolved, None
        if signature is None:
            hint = _BESIDE.get(node.function) or suggest(
                node.function, FUNCTIONS, f"the functions are {listing(list(FUNCTIONS))}"
            )
            self._error("A043", f"function {node.function} is unknown", node, hint)
            return resolved, None
        if not signature.accepts_count(len(arguments)):
            message = f"{node.function} got {counted(len(arguments), 'argument')}"
            self._error("A044", message, node, f"write {describe(node.function)}")
            return resolved, None
        return resolved, self._call_type(node, [type_ for _, type_ in arguments])

    def _call_type(self, node: ex.Call, types: list[DataType | None]) -> DataType | None:
        signature = FUNCTIONS[node.function]
        for i, (argument, type_) in enumerate(zip(node.arguments, types, strict=True)):
            if type_ is not None and not fits(signature.kind_at(i), type_):
                message = f"{node.function} got {self._show(argument, type_)}"
                self._error("A044", message, argument, f"write {describe(node.function)}")
                return None
        if signature.result != "same":
            return DataType(signature.result)
        if signature.kind_at(0) == "any":
            return self._common(
                list(zip(node.arguments, types, strict=True)), node.function, "A044"
            )
        return types[0]

    def cast(self, node: ex.Cast) -> Typed:
        operand, type_ = self.read(node.operand)
        resolved = replace(node, operand=operand)
        target = TYPE_NAMES.get(node.type.upper())
        if target is None:
            hint = suggest(
                node.type,
                TYPE_NAMES,
                "the types are BOOLEAN, LONG, DOUBLE, STRING, TIMESTAMP and DATE",
            )
            self._error("A045", f"CAST to {node.type}, which is no type", node, hint)
            return resolved, None
        if type_ and target not in _CASTS[type_]:
            message = f"{self._show(node.operand, type_)} cannot become a {target.value}"
            allowed = listing(sorted(t.value for t in _CASTS[type_]), "or")
            hint = f"it can become {allowed}" if allowed else "an interval has no other type"
            self._error("A045", message, node, hint)
            return resolved, None
        return replace(resolved, type=target.value), target


_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_BOOLEAN_HINT = "compare it with something, for example = or >"
_TIMES = {DataType.TIMESTAMP, DataType.DATE, DataType.STRING}
_NUMBERS = {DataType.BOOLEAN, DataType.LONG, DataType.DOUBLE, DataType.STRING}
_CASTS: dict[DataType, set[DataType]] = {
    DataType.BOOLEAN: _NUMBERS,
    DataType.LONG: _NUMBERS,
    DataType.DOUBLE: _NUMBERS,
    DataType.STRING: _NUMBERS | _TIMES,
    DataType.TIMESTAMP: _TIMES,
    DataType.DATE: _TIMES,
    DataType.INTERVAL: set(),
    DataType.NULL: _NUMBERS | _TIMES,
}


def _interval_hint(context: Context) -> str:
    if context.time_is_ticks:
        return "TIME is a LONG tick here: write a bare number"
    return "write the number as an interval, such as INTERVAL 5 MINUTES"


def _comparison_hint(left: DataType, right: DataType, context: Context) -> str:
    types = {left, right}
    if DataType.INTERVAL in types and types & {DataType.LONG, DataType.DOUBLE}:
        return _interval_hint(context)
    if DataType.STRING in types and DataType.TIMESTAMP in types:
        return "write the text as TIMESTAMP '2026-01-31 12:00:00'"
    if DataType.STRING in types and DataType.DATE in types:
        return "write the text as DATE '2026-01-31'"
    if DataType.STRING in types and types & {DataType.LONG, DataType.DOUBLE}:
        return "quote the number, or CAST one side"
    return "compare values of one type, or CAST one side"


def _arithmetic_hint(left: DataType, right: DataType, context: Context) -> str:
    if DataType.INTERVAL in (left, right) and (left.is_number or right.is_number):
        return _interval_hint(context)
    if DataType.TIMESTAMP in (left, right):
        return "subtract two times, or add an INTERVAL"
    if left is right is DataType.STRING:
        return "join texts with ||"
    return "the operands must be numbers"


_READERS: dict[type, str] = {
    ex.Literal: "literal",
    ex.Duration: "duration",
    ex.TypedLiteral: "typed_literal",
    ex.Attribute: "attribute",
    ex.Aggregate: "aggregate",
    ex.Unary: "unary",
    ex.Binary: "binary",
    ex.Logic: "logic",
    ex.IsNull: "is_null",
    ex.InList: "in_list",
    ex.InTable: "in_table",
    ex.Between: "between",
    ex.Like: "like",
    ex.Case: "case",
    ex.Call: "call",
    ex.Cast: "cast",
    ex.Equate: "equate",
    ex.Lookup: "lookup",
}


# Rows of tables have no order.
_OF_EVENTS = "it is read of an event of a query: name it in RETURN, and read that here"
_BESIDE = {"PREV": _OF_EVENTS, "NEXT": _OF_EVENTS}


class RowChecker(ExpressionChecker):
    """Reads expressions about a row of a table: bare names are its columns.

    `rows` has the columns of what has a name, such as the match of a rule. Other names mean what
    they mean to `outer`, around a subquery.
    """

    def __init__(
        self,
        context: Context,
        table: TableSchema | None,
        rows: Mapping[str, Sequence[Column]] | None = None,
        outer: ExpressionChecker | None = None,
        *,
        takes_lookups: bool = False,
    ) -> None:
        super().__init__(context, takes_lookups=takes_lookups)
        self.table, self.rows, self.outer = table, rows or {}, outer

    def attribute(self, node: ex.Attribute) -> Typed:
        """Return a column of the table, or of what has a name."""
        columns: Sequence[Column] | None = None
        if node.component is None or self._is_table(node.component):
            columns = self.table.columns if self.table else ()
        elif node.component.lower() in self.rows:
            columns = self.rows[node.component.lower()]
        elif self.outer is not None:
            found = self.outer.read(node)
            self.unknown |= self.outer.unknown
            return found
        if columns is None or node.index is not None or node.default is not None:
            self._report_name(node)
            return node, None
        column = next((c for c in columns if c.name.lower() == node.name.lower()), None)
        if column is None:
            self._report_column(node, columns)
            return node, None
        bare = node.component is None or self._is_table(node.component)
        owner = None if bare else (node.component or "").lower()
        return replace(node, component=owner, name=column.name), column.type

    def aggregate(self, node: ex.Aggregate) -> Typed:
        """Return what it is around a subquery: a row has nothing to add up."""
        if self.outer is not None:
            found = self.outer.read(node)
            self.unknown |= self.outer.unknown
            return found
        hint = f"write (SELECT {node.function}(...) FROM table) in WHEN"
        self._error("A113", f"{node.function} adds up a repetition, and there is none", node, hint)
        return node, None

    def _is_table(self, name: str) -> bool:
        return self.table is not None and name.lower() == self.table.name.lower()

    def _report_name(self, node: ex.Attribute) -> None:
        known = list(self.rows)
        hint = suggest(node.component or "", known, f"the names here are {listing(known)}")
        self._error("A113", f"{node.component} is no name of this rule", node, hint)

    def _report_column(self, node: ex.Attribute, columns: Sequence[Column]) -> None:
        names = [c.name for c in columns]
        hint = suggest(node.name, names, f"there are {listing(names)}" if names else _NO_ROW)
        if node.component is None or self._is_table(node.component):
            where = f"table {self.table.name}" if self.table else "a value"
        else:
            where = node.component
        self._error("A113", f"{where} has no column {node.name}", node, hint)


_NO_ROW = "name the match: new.column, or what REFERENCING NEW AS calls it"

"""How candidates may be settled apart: by the KEY of the tables that they read and write.

Two candidates must meet if one may read or write a row that the other writes. Where every query and
rule that uses a table names its whole KEY, by values that the match has, candidates of different
values never meet. A table to which rules only add rows under a match's own id keeps nobody apart or
together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, Column, DataType, TableSchema
from augury.analysis.expressions.walk import rewritten, walk_into
from augury.analysis.settled import dynamic_tables
from augury.language import expressions as ex
from augury.language import tree
from augury.planning.acting.values import A_MATCH, Names, asked_key
from augury.planning.acting.whom import active_conjuncts
from augury.planning.acting.world import Acting

# What a value of a match is, whatever it is called: its id, what WHERE equates, or an attribute.
Origin = tuple[object, ...]
THE_MATCH: Origin = ("match",)
# What is counted is no table; users cannot write such names.
COUNTED = "\0"


@dataclass(frozen=True)
class Shards:
    """How candidates are cut: by columns of each query's candidates, in the order of a KEY, or not.

    `tables` has the columns by which the rows of a table go to the same shards; one that is not
    named is whole in each. `reason` is a sentence.
    """

    kind: str
    reason: str
    queries: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def shards_of(acting: Acting, catalog: Catalog, queries: Mapping[str, CheckedQuery]) -> Shards:
    """Return how the candidates of a session are cut; in one piece where that is not sound."""
    try:
        return _Cutting(acting, catalog, queries).shards()
    except _MeetError as reason:
        return Shards("single", f"all candidates are settled in one place: {reason}")


def settling_text(
    query: str, acting: Acting, catalog: Catalog, queries: Mapping[str, CheckedQuery]
) -> str:
    """Return what EXPLAIN says of how the candidates of a query are settled."""
    if query.lower() not in acting.candidates:
        return ""
    return f"\nacting\n  {shards_of(acting, catalog, queries).reason}\n"


def tables_used(
    acting: Acting, catalog: Catalog, queries: Mapping[str, CheckedQuery]
) -> dict[str, frozenset[str]]:
    """Return the tables that each query and its rules use, of those that change.

    A query uses what those below it use.
    """
    found: dict[str, frozenset[str]] = {}
    uses = list(_Cutting(acting, catalog, queries)._uses())
    for name, made in acting.candidates.items():
        own = {use.table.name for use in uses if use.query == name}
        own = {each for each in own if not each.startswith(COUNTED)}
        below = (found[lower.lower()] for lower in made.lower.values())
        found[name] = frozenset(own).union(*below)
    return found


class _MeetError(Exception):
    """Why candidates have to be settled together."""


@dataclass(frozen=True)
class _Use:
    """A use of a table by the matches of a query: the values that its KEY is asked for."""

    query: str
    table: TableSchema
    who: str
    key: tuple[Origin, ...] | None
    adds: bool = False


@dataclass(frozen=True)
class _Cutting:
    acting: Acting
    catalog: Catalog
    queries: Mapping[str, CheckedQuery]

    def shards(self) -> Shards:
        for name, made in self.acting.candidates.items():
            if made.rows is not None:
                raise _MeetError(f"{made.name} gives rows that are no matches")
            if made.lower:
                raise _MeetError(f"{self.queries[name].name} is made of matches of other queries")
        uses = list(self._uses())
        free = self._only_added_to(uses)
        by: dict[str, tuple[Origin, ...]] = {}
        for use in uses:
            if use.table.name in free:
                continue
            if use.key is None:
                raise _MeetError(self._open(use))
            known = by.setdefault(use.query, use.key)
            if known != use.key:
                name = self.queries[use.query].name
                raise _MeetError(f"matches of {name} use rows under different values")
        columns = {name: self._columns(name, by) for name in self.acting.candidates}
        tables = {
            use.table.name: use.table.key
            for use in uses
            if use.table.name not in free and not use.table.name.startswith(COUNTED)
        }
        shown = " and ".join(f"{name} by {', '.join(key)}" for name, key in sorted(tables.items()))
        reason = f"candidates are settled apart by the KEY of tables: {shown}"
        if not tables:
            reason = "candidates are settled apart: no table is read, or written but by adding"
        return Shards("key", reason, columns, tables)

    @staticmethod
    def _open(use: _Use) -> str:
        if use.table.name.startswith(COUNTED):
            return f"{use.who} is throttled, and not by values of its matches that cut them"
        if not use.table.key:
            return f"{use.who} uses table {use.table.name}, which has no KEY"
        key = ", ".join(use.table.key)
        return f"{use.who} uses table {use.table.name}, and not by values of its whole KEY {key}"

    def _only_added_to(self, uses: list[_Use]) -> frozenset[str]:
        """Return the tables that only get rows, each under the id of its match."""
        bound = {use.table.name for use in uses if not (use.adds and THE_MATCH in (use.key or ()))}
        return frozenset(use.table.name for use in uses if use.table.name not in bound)

    def _columns(self, name: str, by: Mapping[str, tuple[Origin, ...]]) -> tuple[str, ...]:
        """Return the columns of a query's candidates that have the values they are cut by."""
        if name not in by:
            return ("match_id",)
        found = []
        for origin in by[name]:
            column = next((c for c, o in self._origins(name).items() if o == origin), None)
            if column is None:
                raise _MeetError(f"matches of {self.queries[name].name} do not show their KEY")
            found.append(column)
        return tuple(found)

    # Values -----------------------------------------------------------------------------------

    def _origins(self, name: str) -> dict[str, Origin]:
        """Return what the columns of a query's candidates are."""
        query = self.acting.candidates[name].query
        found: dict[str, Origin] = {"match_id": THE_MATCH}
        if self.acting.candidates[name].rows is not None:
            return {}
        for key in query.keys:
            found[key.name] = self._key_origin(query, key.name)
        for output in query.outputs:
            found.setdefault(output.column.name, self._origin(query, output.value))
        return found

    def _origin(self, query: CheckedQuery, value: ex.Expression) -> Origin:
        plain = isinstance(value, ex.Attribute) and value.index is None and value.default is None
        if not plain or not isinstance(value, ex.Attribute):
            return ("value", value)
        numbers = {component.name: component.index for component in query.components}
        member = (numbers.get(value.component or "", -1), value.name)
        return self._member(query, member)

    @staticmethod
    def _member(query: CheckedQuery, member: tuple[int, str]) -> Origin:
        for number, each in enumerate(query.equalities):
            # Values that are equal and of one type are the same.
            types = {query.type_of_attribute(*other) for other in each.members}
            if member in each.members and len(types) == 1:
                return ("equal", number)
        return ("attribute", *member)

    def _key_origin(self, query: CheckedQuery, key: str) -> Origin:
        positive = [c for c in query.components if not c.negated]
        return self._member(query, (positive[0].index, key))

    # Uses of tables ---------------------------------------------------------------------------

    def _uses(self) -> Iterator[_Use]:
        for name in self.acting.candidates:
            if self.acting.candidates[name].rows is not None:
                continue
            query = self.queries[name]
            user = _User(name, query.name, self.catalog)
            for conjunct in active_conjuncts(query, user.dynamic):
                yield from user.reads(self._labelled(query, conjunct.expression, user))
        for rule in self.catalog.rules.values():
            yield from self._of_rule(rule)

    def _labelled(
        self, query: CheckedQuery, expression: ex.Expression, user: _User
    ) -> ex.Expression:
        """Return an expression in which every value of a match has a name of its own."""
        numbers = {component.name: component.index for component in query.components}

        def change(node: ex.Node) -> ex.Node | None:
            is_attribute = isinstance(node, ex.Attribute) and node.component is not None
            if not is_attribute and not isinstance(node, ex.Aggregate):
                return None
            label = str(len(user.types))
            user.types[label] = DataType.LONG
            if isinstance(node, ex.Attribute):
                number = numbers[node.component or ""]
                user.types[label] = query.type_of_attribute(number, node.name)
                user.origins[label] = self._origin(query, node)
            return ex.Attribute(A_MATCH, label)

        return rewritten(expression, change)

    def _of_rule(self, rule: tree.CreateRule) -> Iterator[_Use]:
        name = rule.query.lower()
        user = _User(name, f"rule {rule.name}", self.catalog, rule.event)
        user.types.update(self.acting.candidates[name].columns)
        user.origins.update(self._origins(name))
        if rule.when is not None:
            yield from user.reads(rule.when)
        if rule.throttle is not None:
            yield user.counts(rule.name, rule.throttle.by)
        for change in rule.changes:
            if isinstance(change, tree.Insert):
                yield from user.adds(change)
                continue
            yield user.use(change.table, user.asked(change.condition, change.table))
            if change.condition is not None:
                yield from user.reads(change.condition)


@dataclass(frozen=True)
class _User:
    """Who uses tables: a query or a rule, by the values of its matches."""

    query: str
    who: str
    catalog: Catalog
    event: str = A_MATCH
    types: dict[str, DataType] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)

    @property
    def dynamic(self) -> frozenset[str]:
        return dynamic_tables(self.catalog)

    def counts(self, rule: str, by: tuple[str, ...]) -> _Use:
        """Return how often a rule acted as if it were a table: whoever counts must meet."""
        origins = _whole([self.origins.get(name) for name in by])
        columns = tuple(Column(name, self.types[name]) for name in by)
        counted = TableSchema(f"{COUNTED}{rule}", columns, key=by)
        return _Use(self.query, counted, self.who, origins)

    def use(self, table: str, key: tuple[Origin, ...] | None, *, adds: bool = False) -> _Use:
        return _Use(self.query, self.catalog.tables[table.lower()], self.who, key, adds)

    def reads(self, expression: ex.Expression) -> Iterator[_Use]:
        """Yield the reads of tables that change."""
        for node in walk_into(expression):
            if (
                not isinstance(node, ex.Lookup | ex.InTable)
                or node.table.lower() not in self.dynamic
            ):
                continue
            if isinstance(node, ex.InTable):
                columns = self.catalog.tables[node.table.lower()].columns
                given = {c.name: each for c, each in zip(columns, node.operands, strict=True)}
                yield self.use(node.table, self._given(given, node.table))
            else:
                yield self.use(node.table, self.asked(node.condition, node.table))

    def adds(self, change: tree.Insert) -> Iterator[_Use]:
        """Yield the rows that a rule adds."""
        for row in change.rows:
            key = self._given(dict(zip(change.columns, row, strict=True)), change.table)
            yield self.use(change.table, key, adds=change.conflict is None)

    def asked(self, condition: ex.Expression | None, table: str) -> tuple[Origin, ...] | None:
        """Return the values of the KEY that a condition asks for; None where it leaves one open."""
        schema = self.catalog.tables[table.lower()]
        names = Names(self.catalog.tables, self.types, self.event).of_row(schema)
        asked = asked_key(condition, names, schema)
        return None if asked is None else _whole([self._of(value) for value, _ in asked])

    def _given(self, given: Mapping[str, ex.Expression], table: str) -> tuple[Origin, ...] | None:
        key = self.catalog.tables[table.lower()].key
        return _whole([self._of(given.get(column)) for column in key])

    def _of(self, value: ex.Expression | None) -> Origin | None:
        plain = isinstance(value, ex.Attribute) and value.index is None and value.default is None
        if not plain or not isinstance(value, ex.Attribute) or value.component != self.event:
            return None
        return self.origins.get(value.name)


def _whole(key: list[Origin | None]) -> tuple[Origin, ...] | None:
    known = tuple(each for each in key if each is not None)
    return known if known and len(known) == len(key) else None

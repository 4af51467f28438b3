"""Whom rules and active conjuncts concern: the queries whose matches are settled by moment.

A conjunct is active if it has a subquery, or reads a table that a rule writes or that lies in a
STORE. The search leaves it out: it finds candidates, with the values that are needed to test them
as further columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from augury.analysis.checked import Branch, CheckedQuery, Conjunct, Leaf, Output, Shape
from augury.analysis.declarations.catalog import Catalog, Column, DataType
from augury.analysis.expressions.walk import rewritten, tables_read, walk_into
from augury.language import expressions as ex
from augury.language.tree import CreateRule, Insert
from augury.matching.retention import ends_late
from augury.planning.acting.changes import rule_plan, table_plan
from augury.planning.acting.values import A_MATCH, Names, value_of
from augury.planning.match_plan import plan_match
from augury.planning.refusal import NOT_EVALUATED, PlanError
from augury.rules.plan import ActiveQuery, Condition, TablePlan, World

# Columns of candidates that no answer shows; users cannot write such names.
HIDDEN = "\0"
# When a match is known: with its last event, at the end of its window, or at that end unless a
# repetition has taken all it may.
End = Literal["event", "window", "full"]


@dataclass(frozen=True)
class Candidates:
    """How the matches of a query become candidates: `query` finds them.

    `ties` has the column of each component's tie-breaker, and the number of its stream; `lower` the
    query of each component whose events are matches. `window` is added to the first event where the
    end is open, `lag` to every moment. `count` is the column of how many events the last repetition
    has, and `most` how many it may have.
    """

    query: CheckedQuery
    columns: Mapping[str, DataType]
    ties: Mapping[str, tuple[str | None, int]]
    lower: Mapping[str, str]
    end: End = "event"
    window: int = 0
    lag: int = 0
    count: str = ""
    most: int = 0

    @property
    def delay(self) -> int:
        """How long after its moment a match may be found."""
        return self.window if self.end == "full" else 0


@dataclass(frozen=True)
class Acting:
    """What acts in a session, if anything; queries by name in lower case.

    `refused` are queries that are not evaluated, and why. Nothing acts where one of them lists
    matches: `fault` is its name, or that of a rule.
    """

    candidates: Mapping[str, Candidates] = field(default_factory=dict)
    world: World = field(default_factory=lambda: World({}, {}, ()))
    refused: Mapping[str, PlanError] = field(default_factory=dict)
    fault: str | None = None

    def fault_of(self, query: str | None = None) -> str | None:
        """Return for whose sake a query, or what rules do, is not evaluated; None where it is."""
        if query is not None and query.lower() in self.refused:
            return query.lower()
        return self.fault


def dynamic_tables(catalog: Catalog) -> frozenset[str]:
    """Return the tables, in lower case, that a rule writes or that lie in a STORE."""
    written = {change.table.lower() for rule in catalog.rules.values() for change in rule.changes}
    return frozenset(written | {name for name, table in catalog.tables.items() if table.store})


def active_conjuncts(query: CheckedQuery, catalog: Catalog) -> tuple[Conjunct, ...]:
    """Return the conjuncts that are tested on the whole match, at its moment."""
    dynamic = dynamic_tables(catalog)
    return (*query.lookups, *(c for c in query.conjuncts if _reads(c, dynamic)))


def _reads(conjunct: Conjunct, tables: frozenset[str]) -> bool:
    return any(name.lower() in tables for name in tables_read(conjunct.expression))


def acting_names(catalog: Catalog, queries: Mapping[str, CheckedQuery]) -> frozenset[str]:
    """Return the queries whose matches are settled by moment, in lower case.

    Those that have active conjuncts, those over them, those that rules listen to, and all that
    these are made of.
    """
    tested = {name for name, query in queries.items() if active_conjuncts(query, catalog)}
    for name, query in queries.items():
        # Queries come after those that they read.
        if any(stream.query and stream.query.lower() in tested for stream in query.streams):
            tested.add(name)
    found = tested | {rule.query.lower() for rule in catalog.rules.values()}
    for name in reversed(list(queries)):
        if name in found:
            found |= {s.query.lower() for s in queries[name].streams if s.query}
    return frozenset(found)


def acting_of(catalog: Catalog, queries: Mapping[str, CheckedQuery]) -> Acting:
    """Return what acts in a session."""
    names = acting_names(catalog, queries)
    return _Planning(catalog, queries, names).acting() if names else Acting()


@dataclass
class _Planning:
    """The world while it is put together."""

    catalog: Catalog
    queries: Mapping[str, CheckedQuery]
    names: frozenset[str]
    made: dict[str, Candidates] = field(default_factory=dict)
    active: dict[str, ActiveQuery] = field(default_factory=dict)
    tested: set[str] = field(default_factory=set)

    def acting(self) -> Acting:
        """Return the whole, or what keeps it from acting."""
        refused: dict[str, PlanError] = {}
        for name, query in self.queries.items():
            if name in self.names:
                try:
                    self._add(name, query)
                except PlanError as error:
                    refused[name] = error
        listing = [name for name in refused if self.queries[name].returns == "MATCHES"]
        for name, rule in self.catalog.rules.items():
            try:
                for change in rule.changes:
                    _refuse_places([change.table], self.catalog)
            except PlanError as error:
                refused[name] = error
                listing.append(name)
        if listing:
            return Acting(refused=refused, fault=listing[0])
        rules = tuple(
            rule_plan(rule, self.catalog, self.made[rule.query.lower()].columns)
            for rule in self.catalog.rules.values()
        )
        return Acting(self.made, World(self._tables(), self.active, rules), refused)

    def _tables(self) -> dict[str, TablePlan]:
        """Return the tables that are written, or read by what acts."""
        names = set(dynamic_tables(self.catalog))
        for name in self.names:
            for conjunct in active_conjuncts(self.queries[name], self.catalog):
                names |= {table.lower() for table in tables_read(conjunct.expression)}
        for rule in self.catalog.rules.values():
            for part in _conditions(rule):
                names |= {table.lower() for table in tables_read(part)}
        tables = (table for name, table in self.catalog.tables.items() if name in names)
        return {table.name: table_plan(table) for table in tables}

    def _add(self, name: str, query: CheckedQuery) -> None:
        conjuncts = active_conjuncts(query, self.catalog)
        lower = [stream.query.lower() for stream in query.streams if stream.query]
        if conjuncts or self.tested & set(lower):
            self.tested.add(name)
        _refuse_places((t for c in conjuncts for t in tables_read(c.expression)), self.catalog)
        _refuse_unsettled(query, conjuncts, bool(self.tested & set(lower)))
        _refuse_selection(query, conjuncts, self.catalog)
        hidden = _Hidden(query)
        conditions = [hidden.condition(c, self.catalog) for c in conjuncts]
        ties, lowers = _ties(query, self.catalog, hidden)
        active = frozenset(conjuncts)
        found = replace(
            query,
            conjuncts=tuple(c for c in query.conjuncts if c not in active),
            lookups=(),
            outputs=(*query.outputs, *hidden.outputs),
        )
        made = Candidates(found, _columns(query), ties, lowers, lag=self._lag(lower))
        self.made[name] = _ending(made, self.catalog, hidden)
        self.active[query.name] = ActiveQuery(
            query.name,
            tuple(conditions),
            tuple(self.queries[each].name for each in lower),
            self._memory(),
            any(s.query == query.name for q in self.queries.values() for s in q.streams),
            _clock(query),
        )

    def _lag(self, lower: list[str]) -> int:
        """Return how much later than its own end a match is known, for those that it is made of."""
        return max((self._late(self.made[each]) for each in lower), default=0)

    def _late(self, made: Candidates) -> int:
        return made.lag + (made.window if made.end != "event" else 0)

    def _memory(self) -> int | None:
        """Return for how long a match may be needed: all windows, one after another."""
        windows = [self.queries[name].within for name in self.names]
        if any(window is None or window.events for window in windows):
            return None
        return 2 * sum(window.length for window in windows if window is not None)


def _conditions(rule: CreateRule) -> list[ex.Expression]:
    parts = [rule.when] if rule.when is not None else []
    conditions = (c.condition for c in rule.changes if not isinstance(c, Insert))
    return [*parts, *(condition for condition in conditions if condition is not None)]


# What is not evaluated ---------------------------------------------------------------------------


def _refuse(message: str, hint: str = "docs/status.md lists what can be evaluated") -> PlanError:
    return PlanError(NOT_EVALUATED, message, hint)


def _refuse_places(tables: Iterable[str], catalog: Catalog) -> None:
    for name in tables:
        table = catalog.tables[name.lower()]
        if table.store is not None:
            message = f"table {table.name} lies in STORE {table.store}, which is not used yet"
            raise _refuse(message, "leave STORE out: the table is kept with the run's own state")
        if table.uncertain:
            message = f"table {table.name} is UNCERTAIN, which is not evaluated yet"
            raise _refuse(message, "leave UNCERTAIN out: what rules write is then the same always")


def _refuse_unsettled(
    query: CheckedQuery, conjuncts: tuple[Conjunct, ...], over_tested: bool
) -> None:
    """Refuse queries whose matches are not candidates that are tested one by one."""
    what = "a condition that reads what rules write" if conjuncts else "matches that are tested"
    if query.returns != "MATCHES":
        raise _refuse(f"query {query.name} returns {query.returns} of {what}")
    if query.allow:
        raise _refuse(f"query {query.name} acts or is tested, with ALLOW ... MISSED")
    if query.correlated_by is not None:
        raise _refuse(f"query {query.name} acts or is tested, with CORRELATED BY")
    if over_tested and not _takes_any(query):
        raise _refuse(
            f"query {query.name} selects, forbids or counts matches that are tested by what rules "
            "write",
            "such matches may be read under SKIP TILL ANY MATCH, without negation and NEXT",
        )


def _takes_any(query: CheckedQuery) -> bool:
    """Return whether leaving out an event leaves out the matches with it, and nothing else."""
    counted = query.within is not None and query.within.events
    negated = any(component.negated for component in query.components)
    return query.strategy == "ANY" and not counted and not negated and not _has_next(query.shape)


def _has_next(shape: Shape) -> bool:
    if not isinstance(shape, Branch):
        return False
    return shape.operator == "NEXT" or any(map(_has_next, shape.parts))


def _refuse_selection(
    query: CheckedQuery, conjuncts: tuple[Conjunct, ...], catalog: Catalog
) -> None:
    dynamic = dynamic_tables(catalog)
    for conjunct in conjuncts:
        if not _reads(conjunct, dynamic) and query.strategy != "ANY" and not conjunct.after:
            raise PlanError(
                NOT_EVALUATED,
                f"query {query.name} selects by a subquery of a table that no rule writes",
                "ask under SKIP TILL ANY MATCH, after the choice with AFTER WHERE, or by IN",
                conjunct.span,
            )
        for index in conjunct.components:
            component = query.components[index]
            many = component.maximum != 1 and _names_each(conjunct, component.name)
            if component.negated or many:
                raise PlanError(
                    NOT_EVALUATED,
                    f"the condition on {component.name} reads a table that rules write, and is "
                    "tested on whole matches, where it has no single event",
                    f"name a positive component, or LAST({component.name})",
                    conjunct.span,
                )


def _names_each(conjunct: Conjunct, component: str) -> bool:
    return any(
        isinstance(node, ex.Attribute)
        and node.component == component
        and (node.index is None or node.index.kind in ("each", "previous"))
        for node in walk_into(conjunct.expression)
    )


# Further columns ---------------------------------------------------------------------------------


@dataclass
class _Hidden:
    """The values that candidates carry for tests and moments."""

    query: CheckedQuery
    known: dict[ex.Expression, str] = field(default_factory=dict)
    types: dict[str, DataType] = field(default_factory=dict)

    @property
    def outputs(self) -> tuple[Output, ...]:
        return tuple(Output(Column(n, self.types[n]), value) for value, n in self.known.items())

    def column(self, value: ex.Attribute | ex.Aggregate) -> str:
        """Return the name of the column that has a value."""
        if value not in self.known:
            name = f"{HIDDEN}{len(self.known)}"
            self.known[value], self.types[name] = name, self._type(value)
        return self.known[value]

    def _type(self, value: ex.Attribute | ex.Aggregate) -> DataType:
        if isinstance(value, ex.Aggregate):
            return DataType.LONG
        numbers = {c.name: c.index for c in self.query.components}
        return self.query.type_of_attribute(numbers[value.component or ""], value.name)

    def condition(self, conjunct: Conjunct, catalog: Catalog) -> Condition:
        """Return an active conjunct as it is tested."""
        needs = set[str]()

        def change(node: ex.Node) -> ex.Node | None:
            if isinstance(node, ex.Attribute) and node.component is not None:
                if node.default is None:
                    needs.add(node.component)
                return ex.Attribute(A_MATCH, self.column(node))
            if isinstance(node, ex.Aggregate):
                return ex.Attribute(A_MATCH, self.column(node))
            return None

        expression = rewritten(conjunct.expression, change)
        names = Names(catalog.tables, self.types)
        return Condition(value_of(expression, names), frozenset(needs))


def _ties(
    query: CheckedQuery, catalog: Catalog, hidden: _Hidden
) -> tuple[dict[str, tuple[str | None, int]], dict[str, str]]:
    """Return where the tie-breaker of each component is, and whose matches others are."""
    numbers = {name: k for k, name in enumerate(catalog.streams)}
    schemas = {stream.name: stream for stream in query.streams}
    ties: dict[str, tuple[str | None, int]] = {}
    lower: dict[str, str] = {}
    for component in query.components:
        if component.negated:
            continue
        streams = {by.stream for by in component.played_by}
        if len(streams) > 1:
            raise _refuse(
                f"component {component.name} of {query.name} may be an event of several streams, "
                "so its place among them is not known",
                "say by the stream's name in PATTERN which events are meant",
            )
        stream = schemas[streams.pop()]
        if stream.query is not None:
            lower[component.name] = stream.query
            continue
        tie = None
        if stream.order_by is not None:
            last = ex.Index("last") if component.maximum != 1 else None
            tie = hidden.column(ex.Attribute(component.name, stream.order_by, last))
        ties[component.name] = (tie, numbers[stream.name.lower()])
    return ties, lower


def _columns(query: CheckedQuery) -> dict[str, DataType]:
    """Return the types of what a rule may name of a match."""
    time = _time(query)
    return {
        "match_id": DataType.STRING,
        "revision": DataType.LONG,
        **{key.name: key.type for key in query.keys},
        "start_ts": time,
        "end_ts": time,
        "ts": time,
        "confidence": DataType.DOUBLE,
        "n_missed": DataType.LONG,
        **{output.column.name: output.column.type for output in query.outputs},
    }


def _time(query: CheckedQuery) -> DataType:
    return DataType.LONG if query.streams[0].time_is_ticks else DataType.TIMESTAMP


def _clock(query: CheckedQuery) -> Callable[[int], str]:
    return str if query.streams[0].time_is_ticks else time_text


def time_text(microseconds: int) -> str:
    """Return a time as people read it."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
    return moment.isoformat(sep=" ").removesuffix("+00:00")


# Moments -----------------------------------------------------------------------------------------


def _ending(made: Candidates, catalog: Catalog, hidden: _Hidden) -> Candidates:
    """Return candidates with the moment at which each is known."""
    query = made.query
    pattern = plan_match(replace(query, learn_gaps_from=None), catalog).pattern
    if not ends_late(pattern):
        return made
    if query.within is None or query.within.events:
        raise _refuse(f"query {query.name} has an open end, and no window of time")
    window = query.within.length
    if all(way.waits for way in pattern.ways):
        return replace(made, end="window", window=window)
    last = _last(query.shape)
    if query.strategy != "NEXT" or last is None or any(way.waits for way in pattern.ways):
        raise _refuse(
            f"query {query.name} acts or is tested, and the end of its matches may be open or not",
            "end the pattern with one event, or with a negation",
        )
    component = query.components[last]
    if component.maximum is None:
        return replace(made, end="window", window=window)
    count = hidden.column(ex.Aggregate("COUNT", component.name))
    found = replace(query, outputs=(*query.outputs, *_new(query, hidden)))
    return replace(
        made, query=found, end="full", window=window, count=count, most=component.maximum
    )


def _new(query: CheckedQuery, hidden: _Hidden) -> tuple[Output, ...]:
    known = {output.column.name for output in query.outputs}
    return tuple(output for output in hidden.outputs if output.column.name not in known)


def _last(shape: Shape) -> int | None:
    """Return the component at the end of a sequence, whose other parts are all taken before it."""
    if isinstance(shape, Leaf):
        return shape.component
    if isinstance(shape, Branch) and shape.operator == "SEQ":
        return _last(shape.parts[-1])
    return None

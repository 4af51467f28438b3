"""What acts in a session: candidates of queries, and the world of tables and rules.

The search leaves active conjuncts out: it finds candidates, with the values that are needed to test
them as further columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from augury.analysis.checked import CheckedQuery, Tellings
from augury.analysis.declarations.catalog import Catalog
from augury.analysis.expressions.walk import tables_read
from augury.analysis.settled import dynamic_tables, settled
from augury.language import expressions as ex
from augury.language.tree import CreateRule, Insert
from augury.planning.acting.changes import rule_plan, table_plan
from augury.planning.acting.columns import Hidden, clock_of, columns_of, ties_of
from augury.planning.acting.heard import forecast_rows, rows_by_time
from augury.planning.acting.moments import Candidates, ending
from augury.planning.acting.refusals import (
    refuse_places,
    refuse_selection,
    refuse_unsettled,
    refused_in_worlds,
)
from augury.planning.acting.whom import (
    acting_names,
    active_conjuncts,
    heard_names,
    tested_names,
)
from augury.planning.answer_kinds import tells
from augury.planning.evaluated import reads_owners, refuse_identified, refuse_unfollowed
from augury.planning.refusal import PlanError
from augury.rules.plan import ActiveQuery, TablePlan, World


@dataclass(frozen=True)
class Acting:
    """What acts in a session, if anything; queries by name in lower case.

    `refused` are queries that are not evaluated, and why. Nothing acts where a rule needs one of
    them, or is refused itself: `fault` is its name. Each world has its own copy of tables where one
    of them is `uncertain`.
    """

    candidates: Mapping[str, Candidates] = field(default_factory=dict)
    world: World = field(default_factory=lambda: World({}, {}, ()))
    refused: Mapping[str, PlanError] = field(default_factory=dict)
    fault: str | None = None
    uncertain: str | None = None

    @property
    def searched(self) -> dict[str, CheckedQuery]:
        """The queries that find candidates, as they are searched."""
        return {name: made.query for name, made in self.candidates.items() if made.is_searched}

    @property
    def forecasts(self) -> tuple[str, ...]:
        """The forecasts that rules listen to, in lower case."""
        return tuple(name for name, made in self.candidates.items() if not made.is_searched)

    def fault_of(self, query: str | None = None) -> str | None:
        """Return for whose sake a query, or what rules do, is not evaluated; None where it is."""
        if query is not None and query.lower() in self.refused:
            return query.lower()
        return self.fault


def acting_of(catalog: Catalog, queries: Mapping[str, CheckedQuery]) -> Acting:
    """Return what acts in a session."""
    queries = {name: settled(query, catalog) for name, query in queries.items()}
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
    refused: dict[str, PlanError] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.dynamic = dynamic_tables(self.catalog)
        self.tested = tested_names(self.catalog, self.queries)

    def acting(self) -> Acting:
        """Return the whole, or what keeps it from acting."""
        for name, query in self.queries.items():
            if name in self.names:
                try:
                    self._add(name, query)
                except PlanError as error:
                    self.refused[name] = error
        for name in sorted(self.names & set(self.catalog.forecasts)):
            self._hear(name, forecast_rows(name, self.catalog, self.queries))
        faults = [name for name in heard_names(self.catalog, self.queries) if name in self.refused]
        for name, rule in self.catalog.rules.items():
            try:
                heard = self.made.get(rule.query.lower())
                rows = heard.name if heard is not None and heard.rows is not None else None
                refuse_places((change.table for change in rule.changes), self.catalog, rows)
            except PlanError as error:
                self.refused[name] = error
                faults.append(name)
        if faults:
            return Acting(refused=self.refused, fault=min(faults))
        rules = tuple(
            rule_plan(
                rule,
                self.catalog,
                self.made[rule.query.lower()].columns,
                waits=rule.waits and self._is_revised(rule.query.lower()),
            )
            for rule in self.catalog.rules.values()
        )
        tables = self._tables()
        uncertain = (name for name in tables if self.catalog.tables[name.lower()].uncertain)
        world, table = World(tables, self.active, rules), next(uncertain, None)
        for name, made in self.made.items():
            if table is not None and made.rows is None and made.query.after_match is not None:
                self.refused[name] = refused_in_worlds(made.query, table)
                return Acting(refused=self.refused, fault=name)
        return Acting(self.made, world, self.refused, uncertain=table)

    def _hear(self, name: str, made: Candidates) -> None:
        """Let rows be heard that are no matches, and that nothing tests."""
        self.made[name] = made
        assert made.rows is not None
        self.active[made.name] = ActiveQuery(
            made.name, clock=clock_of(made.query), once=made.rows.once, memory=self._memory()
        )

    def _is_revised(self, name: str) -> bool:
        return name in self.queries and self._revised(self.queries[name]) is not None

    def _tables(self) -> dict[str, TablePlan]:
        """Return the tables that are written, or read by what acts."""
        names = set(self.dynamic)
        for name in self.made:
            if self.made[name].rows is not None:
                continue
            for conjunct in active_conjuncts(self.queries[name], self.dynamic):
                names |= {table.lower() for table in tables_read(conjunct.expression)}
        for rule in self.catalog.rules.values():
            for part in _conditions(rule):
                names |= {table.lower() for table in tables_read(part)}
        tables = (table for name, table in self.catalog.tables.items() if name in names)
        return {table.name: table_plan(table) for table in tables}

    def _add(self, name: str, query: CheckedQuery) -> None:
        conjuncts = active_conjuncts(query, self.dynamic)
        if tells(query) == "times" and not conjuncts and name not in self.tested:
            self._hear(name, rows_by_time(query))
            return
        lower = [stream.query.lower() for stream in query.streams if stream.query]
        for each in lower:
            if each in self.refused:
                raise self.refused[each]
        over_tested = not self.tested.isdisjoint(lower)
        asked = (t for c in conjuncts for t in tables_read(c.expression))
        refuse_places(asked, self.catalog)
        refuse_unsettled(query, conjuncts, over_tested, self.catalog)
        refuse_identified(self.queries[each] for each in lower)
        if reads_owners(query):
            refuse_unfollowed({name: query})
        refuse_selection(query, conjuncts, self.catalog)
        hidden = Hidden(query)
        conditions = [hidden.condition(c, self.catalog) for c in conjuncts]
        ties, lowers, which = ties_of(query, self.catalog, hidden)
        active = frozenset(conjuncts)
        found = replace(
            query,
            conjuncts=tuple(c for c in query.conjuncts if c not in active),
            lookups=(),
            outputs=(*query.outputs, *hidden.outputs),
            tellings=self._tellings(name, query),
        )
        made = Candidates(found, columns_of(query), ties, lowers, lag=self._lag(lower), which=which)
        self.made[name] = ending(made, self.catalog, hidden)
        self.active[query.name] = ActiveQuery(
            query.name,
            tuple(conditions),
            tuple(self.queries[each].name for each in lower),
            self._memory(),
            any(s.query == query.name for q in self.queries.values() for s in q.streams),
            clock_of(query),
            self._revised(query),
        )

    def _revised(self, query: CheckedQuery) -> int | None:
        """Return for how long after its last event a match may be told again; None: it is not."""
        owners = self.catalog.identified
        found = [owners[s.name.lower()] for s in query.streams if s.name.lower() in owners]
        return next((own.within for own in found if own.statement.revise != "NEVER"), None)

    def _tellings(self, name: str, query: CheckedQuery) -> Tellings:
        if not reads_owners(query):
            return "LAST"
        rules = [rule for rule in self.catalog.rules.values() if rule.query.lower() == name]
        waits = self._revised(query) is not None and any(rule.waits for rule in rules)
        return "EVERY AND FINAL" if waits else "EVERY"

    def _lag(self, lower: list[str]) -> int:
        """Return how much later than its own end a match is known, for those that it is made of."""
        return max((self._late(self.made[each]) for each in lower), default=0)

    def _late(self, made: Candidates) -> int:
        return made.lag + (made.window if made.end != "event" else 0)

    def _memory(self) -> int | None:
        """Return for how long a match may be needed: all windows, one after another."""
        of = {name: self.catalog.forecasts[name].query.lower() for name in self.names
              if name in self.catalog.forecasts}  # fmt: skip
        windows = [self.queries[of.get(name, name)].within for name in self.names]
        if any(window is None or window.events for window in windows):
            return None
        return 2 * sum(window.length for window in windows if window is not None)


def _conditions(rule: CreateRule) -> list[ex.Expression]:
    parts = [rule.when] if rule.when is not None else []
    conditions = (c.condition for c in rule.changes if not isinstance(c, Insert))
    return [*parts, *(condition for condition in conditions if condition is not None)]

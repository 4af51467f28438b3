"""What rules have done in a session: their firings, the tables they write, and every change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from augury.errors import AuguryError, QueryError
from augury.session.columns import some_columns

if TYPE_CHECKING:
    from augury.analysis.declarations.catalog import TableSchema
    from augury.evaluation.asked import Kind
    from augury.language.tree import CreateRule
    from augury.rules.stage import State
    from augury.runners.local.acting import ActingRun
    from augury.session.bound import BoundRows
    from augury.session.declared import Declared
    from augury.session.notices import Notices
    from augury.session.pushed import PushedRows


class Acted:
    """What rules do over the bound rows, or have done so far where events are pushed."""

    def __init__(
        self, declared: Declared, bound: BoundRows, pushed: PushedRows, notices: Notices
    ) -> None:
        self._declared, self._bound = declared, bound
        self._pushed, self._notices = pushed, notices
        self._run: ActingRun | None = None

    def run(self, query: str | None = None) -> ActingRun:
        """Return what acts over the bound rows."""
        from augury.runners.local.acting import ActingRun

        acting, runner = self._declared.acting_for(query), self._bound.local_runner()
        if self._run is None or self._run.runner is not runner:
            self._run = ActingRun(self._pushed.used(acting, runner.bound), runner)
        return self._run

    def state(self) -> State:
        """Return what rules have done: so far, where events are pushed, or over the bound rows."""
        if self._pushed.live is None:
            run = self.run()
            self._notices.announce_firings(run.state)
            self._notices.announce_passed_over(run.passed_over)
            return run.state
        live = self._pushed.runner().acting
        if live is None:
            raise AuguryError("nothing acts in this session; declare a rule with CREATE RULE")
        return live.state

    def _on_spark(self, kind: Kind, name: str, columns: Sequence[str] | None = None) -> Any:
        """Return what rules do, or what comes of a table, over Spark's rows."""
        acting, table = self._declared.acting_for(), self._declared.catalog.table(name)
        if table is not None and table.name not in acting.world.tables:
            raise AuguryError(
                f"no rule writes table {table.name}; its rows are those it was bound to"
            )
        return self._bound.asked_on_spark(kind, name, columns)

    def tested(self, query: str, columns: Sequence[str] | None) -> Any:
        """Return the matches of a query that are tested by tables which change."""
        if self._bound.engine == "spark":
            self._declared.acting_for(query)
            return self._bound.asked_on_spark("settled", query, columns)
        return some_columns(self.run(query).table(query), columns)

    def table(self, name: str, columns: Sequence[str] | None = None) -> Any:
        """Return the contents of a table, or the firings of a rule."""
        catalog = self._declared.catalog
        rule, table = catalog.rules.get(name.lower()), catalog.table(name)
        if self._bound.engine == "spark":
            return self._on_spark("contents" if rule is None else "firings", name, columns)
        if rule is not None:
            return some_columns(self._firings(rule), columns)
        assert table is not None
        return some_columns(self._contents(table), columns)

    def _firings(self, rule: CreateRule) -> Any:
        from augury.evaluation.acting.tables import firings_table, head_of

        catalog = self._declared.catalog
        head = head_of(rule, catalog, self._declared.checked_queries)
        return firings_table(rule.name, self.state().firings, head, catalog)

    def _contents(self, table: TableSchema) -> Any:
        from augury.evaluation.acting import tables

        catalog = self._declared.catalog
        acting = self._declared.acting_for()
        if table.name in acting.world.tables and acting.uncertain:
            return self.run().contents(table.name)
        if table.name in acting.world.tables:
            return tables.contents_table(table, self.state().tables[table.name])
        if table.store is None:
            held = tables.contents_of(table.name, catalog, self._bound.rows)
            return tables.contents_table(table, held)
        from augury.evaluation.acting.opened import opened

        alone = opened(catalog, [table.name])
        assert alone is not None
        alone.load()
        return alone.bound()[table.name.lower()]

    def changes(self, table: str) -> Any:
        """Return every change that rules made to a table."""
        from augury.evaluation.acting.tables import changes_table

        declared = self._declared.catalog.table(table)
        if declared is None:
            raise QueryError([self._declared.unbound(table, "table")])
        if declared.uncertain:
            raise AuguryError(
                f"table {declared.name} is UNCERTAIN: each world has changes of its own; ask for "
                f"its contents: table({declared.name!r})"
            )
        if self._bound.engine == "spark":
            return self._on_spark("changes", table)
        queries = self._declared.checked_queries
        return changes_table(declared, self.state().firings, self._declared.catalog, queries)

    def rejected(self, rule: CreateRule) -> Any:
        """Return the firings of a rule that could not be done."""
        from augury.evaluation.acting.tables import head_of, rejected_table

        if self._bound.engine == "spark":
            return self._on_spark("aside", rule.name)
        head = head_of(rule, self._declared.catalog, self._declared.checked_queries)
        return rejected_table(rule.name, self.state().rejected, head)

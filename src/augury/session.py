"""Session: the one facade. It keeps a catalog, adds scripts to it, and explains queries.

A script is taken as a whole or not at all: `sql` collects every error of it, raises one
`QueryError`, and leaves the catalog as it was.

>>> ag = Session(engine="local")
>>> ag.sql("CREATE STREAM reads (tag STRING, at TIMESTAMP) KEY tag TIME at;")
()
>>> ag.streams
('reads',)
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from augury.errors import AuguryError, Diagnostic, QueryError

if TYPE_CHECKING:
    from augury.analysis.catalog import Catalog
    from augury.analysis.checked import CheckedQuery

Engine = Literal["local"]
Format = Literal["text", "json", "svg", "mermaid"]


class Session:
    """A catalog of streams, tables and queries, and what can be asked of it.

    The engine `local` works in this process and needs no Java.
    """

    def __init__(self, *, engine: Engine = "local") -> None:
        if engine not in get_args(Engine):
            raise AuguryError(f"there is no engine {engine!r}; expected 'local'")
        self.engine = engine
        self._catalog: Catalog | None = None
        self._queries: dict[str, CheckedQuery] = {}
        self._warnings: tuple[Diagnostic, ...] = ()

    def sql(self, text: str, *, name: str = "<text>") -> tuple[str, ...]:
        """Add the statements of a script; return what its EXPLAIN statements give, in order.

        `name` is what diagnostics call the script.
        """
        from augury.analysis.script import check_text

        checked = check_text(text, name, self._catalog)
        if any(found.severity == "error" for found in checked.diagnostics):
            raise QueryError(checked.diagnostics)
        self._catalog = checked.catalog
        self._queries |= {query.name.lower(): query for query in checked.queries}
        self._warnings += checked.diagnostics
        return ()

    def run_file(self, path: str | Path) -> tuple[str, ...]:
        """Add the statements of a script file; see `sql`."""
        return self.sql(Path(path).read_text(encoding="utf-8-sig"), name=str(path))

    def explain(self, query: str, format: Format = "text") -> str:  # noqa: A002
        """Return how a query will be evaluated, and why."""
        from augury.planning.explain import explain

        return explain(self._query(query), format)

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the declared streams, in order."""
        declared = self._catalog.streams.values() if self._catalog else ()
        return tuple(stream.name for stream in declared if stream.query is None)

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries, in order."""
        return tuple(query.name for query in self._queries.values())

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Every warning so far, in the order of the scripts."""
        return self._warnings

    def _query(self, name: str) -> CheckedQuery:
        found = self._queries.get(name.lower())
        if found is None:
            raise QueryError([self._unknown(name)])
        return found

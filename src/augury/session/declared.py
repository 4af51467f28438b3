"""What a session has declared: its catalog, queries and forecasts, and what acts among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from augury.errors import AuguryError, Diagnostic, QueryError, Source, Span

if TYPE_CHECKING:
    from augury.analysis.checked import CheckedQuery
    from augury.analysis.declarations.catalog import Catalog
    from augury.analysis.declarations.forecasts import CheckedForecast
    from augury.analysis.script import Checked
    from augury.language.tree import Statement
    from augury.planning.acting.moments import Candidates
    from augury.planning.acting.world import Acting

Engine = Literal["spark", "local"]


def refuse_no_text(name: object) -> None:
    """Raise for what stands where a name is needed, and is none."""
    if not isinstance(name, str):
        kind = type(name).__name__
        raise AuguryError(f"a name is needed here, as text; got {name!r:.60}, which is {kind}")


class Declared:
    """The catalog with its checked queries; a script is taken as a whole or not at all."""

    def __init__(self) -> None:
        from augury.analysis.declarations.catalog import Catalog

        self.catalog: Catalog = Catalog()
        self.queries: dict[str, tuple[CheckedQuery, Source]] = {}
        self.forecasts: dict[str, tuple[CheckedForecast, Source]] = {}
        self.warnings: tuple[Diagnostic, ...] = ()
        self.statements: tuple[Statement, ...] = ()
        self.texts: tuple[str, ...] = ()
        self._acting: Acting | None = None

    def check(self, source: Source) -> tuple[tuple[Statement, ...], Checked, list[Diagnostic]]:
        """Return the statements of a script, what they declare, and its warnings."""
        from augury.analysis.findings import in_text_order
        from augury.analysis.script import check
        from augury.language.parser import parse

        parsed = parse(source)
        checked = check(parsed.statements, source, self.catalog, parsed.unread)
        found = in_text_order((*parsed.diagnostics, *checked.diagnostics))
        if any(each.severity == "error" for each in found):
            raise QueryError(found)
        return parsed.statements, checked, list(found)

    def take(self, checked: Checked, source: Source, found: Sequence[Diagnostic]) -> None:
        """Take in what a script declares."""
        self.catalog, self._acting = checked.catalog, None
        for query in checked.queries:
            name = query.name.lower()
            self.queries[name] = (query, checked.catalog.sources.get(name, source))
        for forecast in checked.forecasts:
            self.forecasts[forecast.name.lower()] = (forecast, source)
        self._settle()
        own = (self.queries[query.name.lower()] for query in checked.queries)
        self.warnings += (*found, *(each for query in own for each in _planned(*query)))

    def _settle(self) -> None:
        """Tell anew which conditions search: a rule makes a table one that changes."""
        from augury.analysis.settled import settled

        for name, (query, source) in self.queries.items():
            self.queries[name] = (settled(query, self.catalog), source)
        for name, (forecast, source) in self.forecasts.items():
            own = replace(forecast, query=settled(forecast.query, self.catalog))
            self.forecasts[name] = (own, source)

    @property
    def checked_queries(self) -> dict[str, CheckedQuery]:
        """The queries by name, in lower case."""
        return {name: query for name, (query, _) in self.queries.items()}

    @property
    def checked_forecasts(self) -> dict[str, CheckedForecast]:
        """The forecasts by name, in lower case."""
        return {name: forecast for name, (forecast, _) in self.forecasts.items()}

    # Names --------------------------------------------------------------------------------------

    def query(self, name: str) -> tuple[CheckedQuery, Source]:
        """Return a query and where it was written; raise where there is none."""
        found = self.queries.get(name.lower())
        if found is None:
            known = [query.name for query, _ in self.queries.values()]
            known += [forecast.name for forecast, _ in self.forecasts.values()]
            raise QueryError([self._misnamed("A029", name, "query", known)])
        return found

    def readable(self, name: str) -> tuple[CheckedQuery, Source]:
        """Return a query whose answers may be read."""
        found = self.query(name)
        self.refuse_private(found[0].name)
        return found

    def refuse_private(self, name: str) -> None:
        """Raise where a policy keeps the matches of a query private."""
        policy = self.catalog.is_private(name)
        if policy is not None:
            message = f"query {name} is private by the policy {policy}, and cannot be read"
            place, hint = Span(0, len(name)), "read it in a session without the policy"
            raise QueryError([Diagnostic("A124", message, place, Source("<query>", name), hint)])

    def refuse_history(self, stream: str) -> None:
        """Raise where a stream is what a policy learns from."""
        policy = self.catalog.is_history(stream)
        if policy is not None:
            message = (
                f"{stream} is the history of the policy {policy}, and as private as its stream"
            )
            place, hint = Span(0, len(stream)), "read it in a session without the policy"
            raise QueryError([Diagnostic("A125", message, place, Source("<stream>", stream), hint)])

    def forecast(self, name: str) -> tuple[CheckedForecast, Source]:
        """Return a forecast and where it was written; raise where there is none."""
        found = self.forecasts.get(name.lower())
        if found is None:
            known = ", ".join(each.name for each, _ in self.forecasts.values()) or "none yet"
            raise AuguryError(f"there is no forecast {name}; declared: {known}")
        return found

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the declared streams, in order."""
        return tuple(s.name for s in self.catalog.streams.values() if s.query is None)

    def stream_name(self, name: str) -> str:
        """Return the name of a stream in lower case; raise where there is none."""
        if self.catalog.stream(name) is None:
            raise QueryError([self.unbound(name, "stream")])
        return name.lower()

    def unbound(self, name: str, needed: str = "stream or table") -> Diagnostic:
        """Return what to say of a name that is no stream, or no table."""
        tables = [table.name for table in self.catalog.tables.values()]
        known = [
            *(self.streams if "stream" in needed else ()),
            *(tables if "table" in needed else ()),
        ]
        return self._misnamed("A011", name, needed, known)

    def _misnamed(self, code: str, name: str, needed: str, known: Sequence[str]) -> Diagnostic:
        from augury.analysis.declarations.ledger import Ledger
        from augury.analysis.declarations.misnamed import misnamed

        otherwise = f"declared: {', '.join(known) or 'nothing yet'}"
        message, hint = misnamed(name, needed, Ledger.of(self.catalog), known, otherwise)
        return Diagnostic(code, message, Span(0, len(name)), Source("<name>", name), hint)

    # What acts ----------------------------------------------------------------------------------

    @property
    def acting(self) -> Acting:
        """What acts, with what is refused of it."""
        if self._acting is None:
            from augury.planning.acting.world import acting_of

            self._acting = acting_of(self.catalog, self.checked_queries)
        return self._acting

    def acting_for(self, query: str | None = None) -> Acting:
        """Return what acts; raise where something that a query rests on is not evaluated."""
        fault = self.acting.fault_of(query)
        if fault is not None:
            span = (self.catalog.rules.get(fault) or self.queries[fault][0]).span
            raise self.acting.refused[fault].at(self.catalog.sources[fault], span)
        return self.acting

    @property
    def candidates(self) -> Mapping[str, Candidates]:
        """The queries that act as they are searched; none where something is refused."""
        return self.acting.candidates

    @property
    def searched(self) -> Mapping[str, CheckedQuery]:
        """The queries that act, as they are searched for candidates."""
        return self.acting.searched

    def is_tested(self, query: str) -> bool:
        """Return whether tables that change decide what a query finds."""
        from augury.planning.acting.whom import tested_names

        return query.lower() in tested_names(self.catalog, self.checked_queries)

    def refuse_tested(self, query: str, asked: str) -> None:
        """Raise where a query is asked for by itself whose matches are tested by tables."""
        if self.is_tested(query):
            from augury.planning.refusal import NOT_EVALUATED, PlanError

            message = (
                f"query {query} is tested by tables that rules write, so {asked} cannot have it"
            )
            raise PlanError(NOT_EVALUATED, message, f"ask for its table: table({query!r})")


@contextmanager
def blamed(source: Source, statement: Any) -> Iterator[None]:
    """Give the place of its statement to what is found while that is planned."""
    from augury.planning.refusal import PlanError

    try:
        yield
    except PlanError as error:
        raise error.at(source, statement.span) from error


def _planned(query: CheckedQuery, source: Source) -> tuple[Diagnostic, ...]:
    """Return what only planning finds out about a query that may miss events."""
    if not (query.allow and query.gaps):
        return ()
    from augury.planning.missed.unreachable import warnings_of

    return warnings_of(query, source)

"""A whole script: every statement checked, every finding at once, in the order of the text.

A faulty statement hides no other and causes no noise: what refers to a name whose declaration
failed is not judged on that account. Nothing raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from augury.analysis import places
from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog
from augury.analysis.declarations.forecasts import CheckedForecast, read_forecast
from augury.analysis.declarations.ledger import Ledger
from augury.analysis.declarations.misnamed import misnamed
from augury.analysis.declarations.models import read_inferred, read_model
from augury.analysis.declarations.moves import read_identified, read_moves
from augury.analysis.declarations.rules import read_rule, read_store
from augury.analysis.declarations.streams import read_stream, read_table
from augury.analysis.declarations.targets import HOOK, check_hooked, check_write
from augury.analysis.expired import waiting_of
from augury.analysis.expressions.conditional import history_is_declared, markov_names_transitions
from augury.analysis.findings import Findings, in_text_order
from augury.analysis.policies.declared import read_policy, read_suppressed
from augury.analysis.policies.uses import Uses
from augury.analysis.query import read_query
from augury.analysis.settled import settled
from augury.errors import AuguryError, Diagnostic, Source, Span
from augury.language.parser import parse
from augury.language.tree import (
    CreateCorrelation,
    CreateForecast,
    CreateGaps,
    CreateModel,
    CreateMoves,
    CreatePolicy,
    CreateQuery,
    CreateRule,
    CreateStore,
    CreateStream,
    CreateTable,
    Explain,
    IdentifyStream,
    InferStream,
    Statement,
    SuppressStream,
    Write,
)

_DECLARED = (
    CreateStream,
    CreateTable,
    InferStream,
    IdentifyStream,
    CreateCorrelation,
    CreatePolicy,
    SuppressStream,
)


_NO_WAITING = "ask for them of a SEQ of single events within a time, or declare what is missing"


def _read_by_name(statement: Statement) -> tuple[str, ...]:
    """Return the queries that a statement reads by their names."""
    if isinstance(statement, CreateQuery):
        return statement.streams
    return (statement.query,) if isinstance(statement, Write | Explain | CreateRule) else ()


def _kind_of(statement: Statement) -> str:
    if isinstance(statement, CreateCorrelation | CreatePolicy):
        return "correlation" if isinstance(statement, CreateCorrelation) else "policy"
    return "table" if isinstance(statement, CreateTable) else "stream"


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome: the new catalog, the queries that passed, and every finding.

    `queries` are those of the script, and earlier ones that its gaps changed.
    """

    catalog: Catalog
    queries: tuple[CheckedQuery, ...]
    diagnostics: tuple[Diagnostic, ...]
    forecasts: tuple[CheckedForecast, ...] = ()

    @property
    def has_errors(self) -> bool:
        return any(d.severity == "error" for d in self.diagnostics)


def check_text(text: str, name: str = "<text>", catalog: Catalog | None = None) -> Checked:
    """Parse and check a script; syntax errors and the others come together."""
    source = Source(name, text)
    parsed = parse(source)
    checked = check(parsed.statements, source, catalog or Catalog(), parsed.unread)
    found = in_text_order((*parsed.diagnostics, *checked.diagnostics))
    return Checked(checked.catalog, checked.queries, found, checked.forecasts)


def check(
    statements: Sequence[Statement],
    source: Source,
    catalog: Catalog,
    unread: Iterable[str] = (),
) -> Checked:
    """Check statements in order; `unread` are names of statements that could not be parsed."""
    script = _Script(Ledger.of(catalog), Findings(source))
    script.ledger.failed |= {name.lower() for name in unread}
    script.name_all(statements)
    for statement in statements:
        script.check(statement)
    for statement in statements:
        if isinstance(statement, CreateStream):
            markov_names_transitions(statement, script.ledger, script.findings)
    script.check_gaps_of_earlier_queries()
    if script.ledger.policies:
        script.check_policies(statements)
    found = in_text_order(script.findings.found)
    known = script.ledger.catalog()
    queries = tuple(settled(each, known) for each in script.queries)
    own = tuple(replace(each, query=settled(each.query, known)) for each in script.forecasts)
    return Checked(known, queries, found, own)


@dataclass(slots=True)
class _Script:
    """A script while it is checked; gaps wait for the query they are about."""

    ledger: Ledger
    findings: Findings
    queries: list[CheckedQuery] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    new_gaps: dict[str, list[CreateGaps]] = field(default_factory=dict)
    writes: list[Write] = field(default_factory=list)
    forecasts: list[CheckedForecast] = field(default_factory=list)

    def name_all(self, statements: Sequence[Statement]) -> None:
        """Give nameless queries names, and note what is declared later and all gaps."""
        written = {s.name.lower() for s in statements if isinstance(s, CreateQuery) and s.name}
        count = 0
        for statement in statements:
            if isinstance(statement, CreateQuery):
                name = statement.name
                while name is None or (statement.name is None and self._is_taken(name, written)):
                    count += 1
                    name = f"query_{count}"
                self.names[id(statement)] = name
                self.ledger.later[name.lower()] = "query"
            elif isinstance(statement, CreateGaps):
                self._note_gaps(statement)
            elif isinstance(statement, CreateForecast):
                self.ledger.later[statement.name.lower()] = "forecast"
            elif isinstance(statement, _DECLARED):
                self.ledger.later[statement.name.lower()] = _kind_of(statement)

    def _is_taken(self, name: str, written: set[str]) -> bool:
        return name in written or self.ledger.holder(name) is not None

    def _note_gaps(self, statement: CreateGaps) -> None:
        if statement.name.lower() in self.ledger.gaps:
            self._report_taken("gaps", statement.name, statement.span)
        else:
            self.ledger.gaps[statement.name.lower()] = statement
            self.new_gaps.setdefault(statement.query.lower(), []).append(statement)

    # Statements -------------------------------------------------------------------------------

    def check(self, statement: Statement) -> None:
        """Check one statement; one that is nested beyond measure becomes a finding too."""
        try:
            self._declare_waiting(statement)
            self._check(statement)
        except RecursionError:
            message = "the statement is nested too deeply to be checked"
            self.findings.error("A077", message, statement.span, "split it into smaller queries")
            self.ledger.failed.add(self._name(statement).lower())

    def _check(self, statement: Statement) -> None:  # noqa: PLR0912
        match statement:
            case CreateStream() | CreateTable():
                self._declare(statement)
            case CreateQuery():
                self._query(statement)
            case CreateStore():
                self._store(statement)
            case CreateRule():
                self._rule(statement)
            case CreateModel():
                self._model(statement)
            case CreateCorrelation():
                self._correlation(statement)
            case InferStream():
                self._infer(statement)
            case CreateForecast():
                self._forecast(statement)
            case CreateMoves():
                self._moves(statement)
            case IdentifyStream():
                self._identify(statement)
            case CreatePolicy():
                self._policy(statement)
            case SuppressStream():
                self._suppress(statement)
            case Write():
                self._write(statement)
            case CreateGaps() | Explain():
                self._refers(statement)

    def _declare_waiting(self, statement: Statement) -> None:
        """Declare the partial matches that a statement names, `q_without_b`, as queries."""
        for name in _read_by_name(statement):
            base, _, last = name.lower().rpartition("_without_")
            query = self.ledger.queries.get(base)
            taken = self.ledger.holder(name.lower()) or name.lower() in self.ledger.later
            if query is None or not last or taken:
                continue
            try:
                found = waiting_of(replace(query, name=query.name or base))
            except AuguryError as error:
                self.findings.error("A088", str(error), statement.span, _NO_WAITING)
                self.ledger.failed.add(name.lower())
                continue
            for each in found:
                if (each.query.name or "").lower() == name.lower():
                    # What is to be said of it was said of the whole query.
                    findings, self.findings = self.findings, Findings(self.findings.source)
                    self._query(each.query)
                    self.findings = findings

    def _name(self, statement: Statement) -> str:
        if isinstance(statement, Explain | Write):
            return ""
        return self.names.get(id(statement)) or statement.name or ""

    def _declare(self, statement: CreateStream | CreateTable) -> None:
        name = statement.name.lower()
        self.ledger.later.pop(name, None)
        free = self._claim(statement.name, statement.span)
        if isinstance(statement, CreateStream):
            stream = read_stream(statement, self.findings)
            if stream is not None and free:
                self.ledger.streams[name] = stream
        else:
            table = read_table(statement, self.ledger, self.findings)
            if table is not None and free:
                self.ledger.tables[name] = table
        if self.ledger.holder(name) is None:
            self.ledger.failed.add(name)

    def _model(self, statement: CreateModel) -> None:
        free = self._claim(statement.name, statement.span)
        model = read_model(statement, self.ledger, self.findings)
        if model is not None and free:
            self.ledger.models[statement.name.lower()] = model
        elif free:
            self.ledger.failed.add(statement.name.lower())

    def _store(self, statement: CreateStore) -> None:
        right = read_store(statement, self.findings)
        free = self._claim(statement.name, statement.span)
        if free and right:
            self.ledger.stores[statement.name.lower()] = statement
        elif free:
            self.ledger.failed.add(statement.name.lower())

    def _rule(self, statement: CreateRule) -> None:
        name = statement.name.lower()
        again = statement.replaces and self.ledger.holder(name) == "rule"
        free = again or self._claim(statement.name, statement.span)
        rule = read_rule(statement, self.ledger, self.findings, self._checked)
        if rule is not None and free:
            # One that is replaced keeps its place among the rules.
            self.ledger.rules[name] = rule
            self.ledger.sources[name] = self.findings.source

    def _correlation(self, statement: CreateCorrelation) -> None:
        name = statement.name.lower()
        self.ledger.later.pop(name, None)
        if self._claim(statement.name, statement.span):
            self.ledger.correlations[name] = statement
            history_is_declared(statement, self.ledger, self.findings)

    def _infer(self, statement: InferStream) -> None:
        name = statement.name.lower()
        self.ledger.later.pop(name, None)
        free = self._claim(statement.name, statement.span)
        found = read_inferred(statement, self.ledger, self.findings)
        if found is None or not free:
            self.ledger.failed |= {name} if free else set()
            return
        how, *streams = found
        for stream in streams:
            if stream.name.lower() == name or self._claim(stream.name, statement.span):
                self.ledger.streams[stream.name.lower()] = stream
                self.ledger.inferred[stream.name.lower()] = how

    def _moves(self, statement: CreateMoves) -> None:
        free = self._claim(statement.name, statement.span)
        model = read_moves(statement, self.ledger, self.findings)
        if model is not None and free:
            self.ledger.moves[statement.name.lower()] = model
        elif free:
            self.ledger.failed.add(statement.name.lower())

    def _identify(self, statement: IdentifyStream) -> None:
        name = statement.name.lower()
        self.ledger.later.pop(name, None)
        free = self._claim(statement.name, statement.span)
        found = read_identified(statement, self.ledger, self.findings)
        if found is None or not free:
            self.ledger.failed |= {name} if free else set()
            return
        self.ledger.identified[name], self.ledger.streams[name] = found

    def _policy(self, statement: CreatePolicy) -> None:
        name = statement.name.lower()
        self.ledger.later.pop(name, None)
        free = self._claim(statement.name, statement.span)
        policy = read_policy(statement, self.ledger, self._all_queries(), self.findings)
        if policy is not None and free:
            self.ledger.policies[name] = policy
        elif free:
            self.ledger.failed.add(name)

    def _suppress(self, statement: SuppressStream) -> None:
        name = statement.name.lower()
        self.ledger.later.pop(name, None)
        free = self._claim(statement.name, statement.span)
        stream = read_suppressed(statement, self.ledger, self.findings)
        if stream is None or not free:
            self.ledger.failed |= {name} if free else set()
            return
        policy = self.ledger.policies[statement.policy.lower()].name
        self.ledger.streams[name] = stream
        self.ledger.suppressed[name] = replace(statement, policy=policy)

    def _all_queries(self) -> dict[str, CheckedQuery]:
        """Return every query declared so far, those of earlier scripts read again."""
        own = {query.name.lower(): query for query in self.queries}
        found = {}
        for name, statement in self.ledger.queries.items():
            aside = Findings(self.ledger.sources.get(name, self.findings.source))
            query = own.get(name) or read_query(
                statement.name or name, statement, self.ledger, aside
            )
            if query is not None:
                found[name] = query
        return found

    def check_policies(self, statements: Sequence[Statement]) -> None:
        """Look at all readers of streams under a policy, and bind what they need."""
        uses = Uses(self.ledger, self._all_queries(), statements, self.findings)
        self.ledger.policies |= uses.policies()

    def _query(self, statement: CreateQuery) -> None:
        name = self._name(statement)
        self.ledger.later.pop(name.lower(), None)
        free = self._claim(name, statement.span)
        checked = read_query(name, statement, self.ledger, self.findings)
        if not free:
            return
        self.new_gaps.pop(name.lower(), None)
        if checked is None:
            self.ledger.failed.add(name.lower())
            return
        self.queries.append(checked)
        self.ledger.queries[name.lower()] = statement
        self.ledger.sources[name.lower()] = self.findings.source
        if checked.output_schema is not None:
            self.ledger.outputs[name.lower()] = checked.output_schema

    def _forecast(self, statement: CreateForecast) -> None:
        name = statement.name.lower()
        self.ledger.later.pop(name, None)
        free = self._claim(statement.name, statement.span)
        query = self._query_of(statement)
        # What it decides hangs on all conditions that search.
        query = None if query is None else settled(query, self.ledger.catalog())
        checked = read_forecast(statement, query, self.ledger, self.findings)
        if checked is None or not free:
            self.ledger.failed |= {name} if free else set()
            return
        self.forecasts.append(checked)
        self.ledger.forecasts[name] = statement
        self.ledger.forecast_streams[name] = checked.schema
        self.ledger.sources[name] = self.findings.source

    def _checked(self, query: str) -> CheckedQuery | None:
        """Return a query of this script or an earlier one; None where none has that name."""
        name = query.lower()
        own = next((query for query in self.queries if query.name.lower() == name), None)
        earlier = self.ledger.queries.get(name)
        if own is None and earlier is not None:
            source = self.ledger.sources.get(name, self.findings.source)
            return read_query(earlier.name or name, earlier, self.ledger, Findings(source))
        return own

    def _query_of(self, statement: CreateForecast) -> CheckedQuery | None:
        """Return the query that a forecast is of."""
        own = self._checked(statement.query)
        if own is None and not self.ledger.has_failed(statement.query.lower()):
            span = places.word(self.findings.source, statement.span, statement.query, "ON")
            self.findings.error("A029", *self._no_query(statement.query, span))
        return own

    def _claim(self, name: str, span: Span) -> bool:
        holder = self.ledger.holder(name)
        if holder is not None:
            self._report_taken(holder, name, span)
        return holder is None

    def _report_taken(self, holder: str, name: str, span: Span) -> None:
        place = places.word(self.findings.source, span, name)
        message = f"the name {name} is already taken by a {holder}".replace("a gaps", "other gaps")
        self.findings.error("A010", message, place, "choose another name; names ignore case")

    def _write(self, statement: Write) -> None:
        before, name = self.findings.error_count, statement.query.lower()
        if statement.target.format == HOOK:
            if self.ledger.has_failed(name):
                return
            check_hooked(statement, self.ledger, self.findings)
        else:
            self._refers(statement)
        check_write(statement, self.writes, self.findings)
        if statement.target.format == HOOK and self.findings.error_count == before:
            known = self.ledger.hooks.get(name, ())
            self.ledger.hooks[name] = (*known, statement.target)

    def _refers(self, statement: CreateGaps | Explain | Write) -> None:
        name = statement.query.lower()
        kinds = {"query"}
        if isinstance(statement, Explain):
            kinds |= {"forecast", "policy"}
        kind = self.ledger.holder(name) or self.ledger.later.get(name)
        is_told = isinstance(statement, Write) and self._can_be_written(name, kind)
        if kind not in kinds and not is_told and not self.ledger.has_failed(name):
            span = places.word(self.findings.source, statement.span, statement.query)
            self.findings.error("A029", *self._no_query(statement.query, span))

    def _can_be_written(self, name: str, kind: str | None) -> bool:
        """Whether something that is no query has rows of its own: told, kept, fired or changed."""
        if kind in ("forecast", "rule"):
            return True
        changed = {c.table.lower() for rule in self.ledger.rules.values() for c in rule.changes}
        return name in {*self.ledger.suppressed, *self.ledger.identified, *changed}

    def _no_query(self, name: str, span: Span) -> tuple[str, Span, str]:
        """Return what is said where a query is needed."""
        otherwise = "declare it with CREATE QUERY"
        message, hint = misnamed(name, "query", self.ledger, self._query_names(), otherwise)
        return message, span, hint

    def _query_names(self) -> list[str]:
        earlier = [q.name for q in self.ledger.queries.values() if q.name]
        return [*self.names.values(), *earlier]

    def check_gaps_of_earlier_queries(self) -> None:
        """Check again the queries of earlier scripts that this one gave gaps, and their readers.

        Of the findings, those about the gaps belong to this text, and errors are of both; warnings
        stay with the query.
        """
        changed: set[str] = set()
        for name in list(self.ledger.queries) if self.new_gaps else ():
            if name in self.new_gaps or self._reads(name, changed):
                checked = self._checked_again(name)
                if checked is not None and self._takes(name, checked):
                    changed.add(name)

    def _reads(self, name: str, changed: set[str]) -> bool:
        # Where ON is not written, the words of the pattern may name queries.
        streams = self.ledger.queries[name].streams or changed
        return any(stream.lower() in changed for stream in streams)

    def _checked_again(self, name: str) -> CheckedQuery | None:
        statement = self.ledger.queries[name]
        earlier = Findings(self.ledger.sources.get(name, self.findings.source))
        checked = read_query(statement.name or name, statement, self.ledger, earlier, self.findings)
        self.findings.found += [each for each in earlier.found if each.severity == "error"]
        return checked

    def _takes(self, name: str, checked: CheckedQuery) -> bool:
        """Put a query in the place of its earlier self; return whether its output is another."""
        self.queries = [query for query in self.queries if query.name != checked.name]
        self.queries.append(checked)
        before = self.ledger.outputs.get(name)
        if checked.output_schema is not None:
            self.ledger.outputs[name] = checked.output_schema
        return checked.output_schema != before

"""CREATE POLICY and CREATE STREAM ... AS SUPPRESS: from the statement to its schema."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from augury.analysis import places
from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import PolicySchema, StreamSchema
from augury.analysis.declarations.durations import microseconds
from augury.analysis.declarations.ledger import Ledger
from augury.analysis.declarations.misnamed import misnamed
from augury.analysis.declarations.streams import check_length
from augury.analysis.findings import Findings, suggest
from augury.analysis.policies.weighable import parts_of, unweighable
from augury.errors import Span
from augury.language.expressions import Duration
from augury.language.tree import CreatePolicy, SuppressStream, WeightedQuery, Window


def read_policy(
    statement: CreatePolicy,
    ledger: Ledger,
    queries: Mapping[str, CheckedQuery],
    findings: Findings,
) -> PolicySchema | None:
    """Return the policy; None where something is wrong. Bound types are found afterwards."""
    before = findings.error_count
    task = _Task(statement, ledger, queries, findings)
    stream = task.stream()
    if stream is None:
        return None
    task.queries_fit(stream)
    task.learning_fits(stream)
    period, over = task.length(statement.period, "PERIOD", stream), None
    if statement.over is not None:
        over = task.length(statement.over, "OVER", stream)
    task.clauses_apply()
    if findings.error_count > before or task.is_incomplete:
        return None
    return PolicySchema(statement.name, stream.name, statement, period, over)


def read_suppressed(
    statement: SuppressStream, ledger: Ledger, findings: Findings
) -> StreamSchema | None:
    """Return the stream of kept events; None where something is wrong."""
    policy = ledger.policies.get(statement.policy.lower())
    if policy is None:
        if not ledger.has_failed(statement.policy):
            known = [each.name for each in ledger.policies.values()]
            otherwise = "declare it with CREATE POLICY"
            message, hint = misnamed(statement.policy, "policy", ledger, known, otherwise)
            span = places.word(findings.source, statement.span, statement.policy, "USING")
            findings.error("A120", message, span, hint)
        return None
    if policy.stream.lower() != statement.stream.lower():
        span = places.word(findings.source, statement.span, statement.stream, "SUPPRESS")
        message = f"policy {policy.name} is on {policy.stream}, and not on {statement.stream}"
        findings.error("A120", message, span, f"write AS SUPPRESS {policy.stream}")
        return None
    stream = ledger.streams[policy.stream.lower()]
    return replace(stream, name=statement.name, source=None)


@dataclass
class _Task:
    """What `read_policy` was asked to do."""

    statement: CreatePolicy
    ledger: Ledger
    queries: Mapping[str, CheckedQuery]
    findings: Findings
    is_incomplete: bool = False

    def stream(self) -> StreamSchema | None:
        """Return the stream, if a policy can stand before it."""
        name = self.statement.stream
        found = self.ledger.streams.get(name.lower())
        if found is None:
            if not self.ledger.has_failed(name):
                known = [each.name for each in self.ledger.streams.values()]
                otherwise = "declare it with CREATE STREAM, before the policy"
                message, hint = misnamed(name, "stream", self.ledger, known, otherwise)
                self._report("A120", message, "ON", name, hint)
            return None
        reason = self._unprotectable(found)
        if reason:
            message = f"stream {found.name} {reason}"
            hint = "docs/status.md lists what policies take"
            if name.lower() in self.ledger.inferred:
                readings = self.ledger.inferred[name.lower()].statement.readings
                hint = f"put it before the readings: CREATE POLICY ... ON {readings}"
            self._report("A120", message, "ON", name, hint)
            return None
        return found

    def _unprotectable(self, stream: StreamSchema) -> str:
        name = stream.name.lower()
        reasons = (
            (
                name in self.ledger.inferred,
                "is inferred: a belief about a state has no type by which it could be dropped",
            ),
            (name in self.ledger.suppressed, "is what a policy has kept"),
            (stream.type is None, "has no TYPE, and what a policy keeps is decided by types"),
            (stream.type in stream.alternatives, "has alternatives of its TYPE"),
            (
                stream.markov is not None,
                "is MARKOV: from the steps beside it follows what was left out",
            ),
        )
        policies = self.ledger.policies.values()
        holders = [
            *(f"is under the policy {p.name} already" for p in policies if _is(p.stream, name)),
            *(
                f"is the history of the policy {p.name}"
                for p in policies
                if _is(p.statement.learn_from, name)
            ),
        ]
        return next((reason for holds, reason in reasons if holds), "") or "".join(holders[:1])

    # Queries ----------------------------------------------------------------------------------

    def queries_fit(self, stream: StreamSchema) -> None:
        """PUBLIC and PRIVATE name queries that can be weighed, each once."""
        node = self.statement
        seen = set[str]()
        if not node.private:
            hint = "name the queries that must not be put together: PRIVATE therapy"
            self._report("A122", f"policy {node.name} has no PRIVATE", "POLICY", node.name, hint)
        for each in (*node.public, *node.private):
            if each.query.lower() in seen:
                message = f"query {each.query} is named twice"
                self.findings.error("A121", message, each.span, "keep one of them")
            seen.add(each.query.lower())
            self._query_fits(each, stream)
        for each in node.public:
            if each.never:
                message = f"query {each.query} is public, and NEVER is for private ones"
                self.findings.error("A122", message, each.span, "write a WEIGHT")

    def _query_fits(self, each: WeightedQuery, stream: StreamSchema) -> None:
        query = self.queries.get(each.query.lower())
        if query is None:
            self.is_incomplete = True
            if not self.ledger.has_failed(each.query):
                known = [own.name for own in self.queries.values()]
                otherwise = "declare it with CREATE QUERY, before the policy"
                message, hint = misnamed(each.query, "query", self.ledger, known, otherwise)
                self.findings.error("A121", message, each.span, hint)
            return
        private = each in self.statement.private
        reason = unweighable(query, stream.name, private=private)
        if reason:
            hint = f"a policy weighs patterns of events of {stream.name} within a time"
            self.findings.error("A121", f"query {query.name} {reason}", each.span, hint)
        if each.weight is not None and not math.isfinite(each.weight):
            self.findings.error("A122", "the weight is no number", each.span, "write a number")

    # Clauses ----------------------------------------------------------------------------------

    def learning_fits(self, stream: StreamSchema) -> None:
        """LEARN FROM names a history like the stream; BY one of its columns."""
        node = self.statement
        if node.learn_from is not None:
            self._history_fits(stream, node.learn_from)
        if node.by is not None and stream.column(node.by) is None:
            hint = suggest(node.by, [c.name for c in stream.columns], "name one of its columns")
            message = f"stream {stream.name} has no column {node.by}"
            self._report("A122", message, "BY", node.by, hint)

    def _history_fits(self, stream: StreamSchema, name: str) -> None:
        history = self.ledger.streams.get(name.lower())
        if history is None:
            self.is_incomplete = True
            if not self.ledger.has_failed(name):
                known = [each.name for each in self.ledger.streams.values()]
                otherwise = "declare it with CREATE STREAM, before the policy"
                message, hint = misnamed(name, "stream", self.ledger, known, otherwise)
                self._report("A122", message, "FROM", name, hint)
            return
        reason = self._other_shape(stream, history)
        if reason:
            hint = f"declare it with the columns of {stream.name}, a TYPE and a TIME like it"
            self._report("A122", f"history {history.name} {reason}", "FROM", name, hint)

    def _other_shape(self, stream: StreamSchema, history: StreamSchema) -> str:
        name = history.name.lower()
        other = [p.name for p in self.ledger.policies.values() if _is(p.stream, name)]
        lacks = [
            f"{column.name} {column.type.value}"
            for column in stream.columns
            if (own := history.column(column.name)) is None or own.type is not column.type
        ]
        reasons = (
            (name == stream.name.lower(), "is the stream itself, which LEARN ONLINE learns from"),
            (name in self.ledger.inferred or history.markov, "is inferred or MARKOV"),
            (name in self.ledger.suppressed, "is what a policy has kept"),
            (other, f"is under the policy {', '.join(other)}"),
            (history.type in (None, *history.alternatives), "has no TYPE that is certain"),
            (history.time_is_ticks != stream.time_is_ticks, "has another kind of TIME"),
            (lacks, f"has no column {', '.join(lacks)}"),
        )
        return next((reason for holds, reason in reasons if holds), "")

    def length(self, window: Window | None, keyword: str, stream: StreamSchema) -> int | None:
        """Return a length in the unit of the stream's time."""
        if window is None:
            return None
        length, before = window.length, self.findings.error_count
        amount = length.amount if isinstance(length, Duration) else length
        span = self._clause(keyword)
        if not amount > 0:
            message = f"{keyword} {amount:g} is not positive"
            self.findings.error("A122", message, span, "write a length above 0")
        else:
            check_length(length, stream.time_is_ticks, keyword, span, self.findings)
        if self.findings.error_count > before:
            return None
        return microseconds(length) if isinstance(length, Duration) else int(length)

    def clauses_apply(self) -> None:
        """Clauses about learning stand where something is learned."""
        node = self.statement
        method = node.method or "HYBRID"
        learns = node.learn_from is not None or node.online
        if method != "GREEDY" and not learns:
            message = f"policy {node.name} decides by {method}, and has nothing to learn from"
            hint = "add LEARN FROM a history or LEARN ONLINE, or write USING GREEDY"
            span = places.word(self.findings.source, node.span, node.name, "POLICY")
            self.findings.error("A122", message, span, hint)
        self._formula_applies()
        if node.period is not None and method != "HYBRID PERIODIC":
            hint = "write USING HYBRID PERIODIC PERIOD ..."
            self.findings.error("A122", f"PERIOD is not for {method}", self._clause("PERIOD"), hint)
        if node.over is not None and not node.online:
            hint = "write LEARN ONLINE OVER ..., or leave it out"
            self.findings.error("A122", "OVER is for LEARN ONLINE", self._clause("OVER"), hint)
        if node.by is not None and not learns:
            hint = "write LEARN FROM ... BY, or leave it out"
            self.findings.error("A122", "BY is for what is learned", self._clause("BY"), hint)
        if isinstance(node.patience, float) and not 0.0 <= node.patience <= 1.0:
            message = f"PATIENCE {node.patience:g} is outside [0, 1]"
            hint = "write a number between 0 and 1, or PATIENCE LEARNED"
            self.findings.error("A122", message, self._clause("PATIENCE"), hint)

    def _formula_applies(self) -> None:
        """ESTIMATES WANG counts sequences only."""
        node = self.statement
        for private, named in ((False, node.public), (True, node.private)):
            for each in named if node.wang else ():
                query = self.queries.get(each.query.lower())
                if query is not None and parts_of(query, private=private) is None:
                    message = f"ESTIMATES WANG is for sequences, and {query.name} is none"
                    hint = "leave it out: what is expected is then exact"
                    self.findings.error("A122", message, each.span, hint)

    def _clause(self, keyword: str) -> Span:
        found = (span for key, span in self.statement.places if key == keyword)
        return next(found, self.statement.span)

    def _report(self, code: str, message: str, after: str, name: str, hint: str) -> None:
        span = places.word(self.findings.source, self.statement.span, name, after)
        self.findings.error(code, message, span, hint)


def _is(name: str | None, lower: str) -> bool:
    return name is not None and name.lower() == lower

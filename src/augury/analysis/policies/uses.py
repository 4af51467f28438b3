"""What the statements of a session make of a policy: bound types, and what may not be read.

It is looked at when a whole script has been read, for a policy stands before all readers of its
stream, whether they were declared before it or after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from augury.analysis import places
from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import (
    BoundType,
    PolicySchema,
    StreamSchema,
    TableSchema,
)
from augury.analysis.declarations.ledger import Ledger
from augury.analysis.findings import Findings
from augury.analysis.policies.bindings import bound_by, reads
from augury.analysis.policies.elsewhere import is_one_place
from augury.analysis.policies.lasting import bound_by_forecasts, bound_by_rules
from augury.analysis.policies.shapes import is_made_of, positive_shape
from augury.errors import Span
from augury.language.tree import (
    CreateCorrelation,
    CreateForecast,
    CreateGaps,
    CreateModel,
    CreatePolicy,
    CreateQuery,
    CreateRule,
    Explain,
    InferStream,
    Statement,
    Write,
)


@dataclass(frozen=True)
class Uses:
    """A script after it was read: `statements` are its own, `queries` those of the session."""

    ledger: Ledger
    queries: Mapping[str, CheckedQuery]
    statements: Sequence[Statement]
    findings: Findings

    def policies(self) -> dict[str, PolicySchema]:
        """Return all policies with the types that are bound now; refuse what cannot be promised."""
        found = {}
        for name, policy in self.ledger.policies.items():
            self._private_queries_are_not_used(policy)
            self._history_is_not_read(policy)
            bound = tuple(dict.fromkeys(self._bound(policy)))
            found[name] = replace(policy, bound=bound)
            self._never_can_be_kept(found[name])
            self._what_is_below_is_not_read(policy)
            self._no_other_reads_the_place(policy)
        return found

    # Bound types ------------------------------------------------------------------------------

    def _bound(self, policy: PolicySchema) -> Iterator[BoundType]:
        names = self._names(policy)
        private = {each.query.lower() for each in policy.statement.private}
        for name, query in self.queries.items():
            if name not in private:
                yield from bound_by(query, names, self.queries)
        for text, learns in self._learners():
            if text.lower() not in self.ledger.forecasts and names & _low(learns):
                yield BoundType(None, text, "it is learned from them")
        for inferred in self.ledger.inferred.values():
            if inferred.statement.readings.lower() in names:
                yield BoundType(None, inferred.statement.name, "it is inferred from them")
        for known in self.ledger.identified.values():
            if known.statement.readings.lower() in names:
                yield BoundType(None, known.statement.name, "it tells their owners")
        yield from bound_by_forecasts(names, self.queries, self.ledger)
        yield from bound_by_rules(names, self._readable(policy), self.queries, self.ledger)

    def _readable(self, policy: PolicySchema) -> dict[str, CheckedQuery]:
        private = {each.query.lower() for each in policy.statement.private}
        return {name: own for name, own in self.queries.items() if name not in private}

    def _names(self, policy: PolicySchema) -> frozenset[str]:
        """Return the names under which the kept events of a policy are read."""
        own = (n for n, each in self.ledger.suppressed.items() if each.policy == policy.name)
        return frozenset((policy.stream.lower(), *own))

    def _learners(self) -> Iterator[tuple[str, list[str]]]:
        for each in self.ledger.correlations.values():
            yield each.name, [each.learn_from]
        for model in self.ledger.models.values():
            learned = (model.statement.learn_from, model.statement.learn_on)
            yield model.name, [name for name in learned if name is not None]
        for gaps in self.ledger.gaps.values():
            yield gaps.name, [gaps.learn_from] if gaps.learn_from else []
        for forecast in self.ledger.forecasts.values():
            yield forecast.name, [forecast.learn_from] if forecast.learn_from else []

    # What is refused --------------------------------------------------------------------------

    def _never_can_be_kept(self, policy: PolicySchema) -> None:
        bound = policy.bound_types
        for each in policy.statement.private:
            query = self.queries.get(each.query.lower())
            if query is None or each.weight is not None:
                continue
            types = {by.type for c in query.components if not c.negated for by in c.played_by}
            shape = positive_shape(query.shape)
            if (
                shape is None
                or bound is None
                or is_made_of(shape, query.components, bound.issuperset)
            ):
                by = sorted({own.by for own in policy.bound if own.type in (None, *types)})
                message = (
                    f"policy {policy.name} cannot promise that {query.name} is never put together: "
                    f"nothing of it may be dropped"
                )
                hint = f"its types are bound by {', '.join(by)}; give it a WEIGHT, or change these"
                self.findings.error("A123", message, self._place(policy, each.query), hint)

    def _private_queries_are_not_used(self, policy: PolicySchema) -> None:
        for each in policy.statement.private:
            name = each.query.lower()
            for statement in self.statements:
                if any(_is_made_of(own, name) for own in _uses(statement)):
                    span = places.word(self.findings.source, statement.span, each.query)
                    self._refuse_use(policy, each.query, span)
            readers = [own for own, query in self.queries.items() if _reads(query, name)]
            readers += [own for own in self.queries if own != name and _is_made_of(own, name)]
            readers += [g.name for g in self.ledger.gaps.values() if g.query.lower() == name]
            readers += [r.name for r in self.ledger.rules.values() if r.query.lower() == name]
            readers += [f.name for f in self.ledger.forecasts.values() if f.query.lower() == name]
            used = (each for own in self.statements for each in _uses(own))
            if readers and not any(_is_made_of(each, name) for each in used):
                self._refuse_use(policy, each.query, self._place(policy, each.query))

    def _refuse_use(self, policy: PolicySchema, query: str, span: Span) -> None:
        message = f"query {query} is private by the policy {policy.name}, and cannot be used"
        hint = "read it in a session without the policy"
        self.findings.error("A124", message, span, hint)

    def _history_is_not_read(self, policy: PolicySchema) -> None:
        history = policy.statement.learn_from
        if history is None:
            return
        readers = self._readers_of(history.lower())
        readers += [
            each.statement.name
            for each in self.ledger.identified.values()
            if each.statement.readings.lower() == history.lower()
        ]
        targets = (own for own in self.statements if isinstance(own, Write))
        readers += ["WRITE" for own in targets if own.query.lower() == history.lower()]
        for reader in dict.fromkeys(readers):
            message = (
                f"{reader} reads {history}, which is the history of the policy {policy.name} and "
                "as private as its stream"
            )
            hint = "declare the rows that it may read as a stream of its own, under a policy"
            self.findings.error("A125", message, self._of(reader, policy), hint)

    def _what_is_below_is_not_read(self, policy: PolicySchema) -> None:
        """Refuse readers of the stream whose events get owners, where these are under a policy."""
        for name in (policy.stream, policy.statement.learn_from or ""):
            known = self.ledger.identified.get(name.lower())
            if known is None:
                continue
            below = known.statement.readings
            others = [
                other.statement.name
                for other in self.ledger.identified.values()
                if other is not known and other.statement.readings.lower() == below.lower()
            ]
            for reader in dict.fromkeys([*self._readers_of(below.lower()), *others]):
                message = (
                    f"{reader} reads {below}, whose events {name} tells the owners of, and {name} "
                    f"is under the policy {policy.name}"
                )
                hint = f"read {policy.stream}, or {below} in a session without the policy"
                self.findings.error("A126", message, self._of(reader, policy), hint)

    def _no_other_reads_the_place(self, policy: PolicySchema) -> None:
        """Refuse streams and tables that come from where the rows of a policy come from."""
        own = {policy.stream.lower(), (policy.statement.learn_from or "").lower()} - {""}
        known = self.ledger.identified
        own |= {known[name].statement.readings.lower() for name in own & {*known}}
        secret = [source for name in own if (source := self.ledger.streams[name].source)]
        if not secret:
            return
        others: list[StreamSchema | TableSchema] = list(self.ledger.tables.values())
        others += [each for name, each in self.ledger.streams.items() if name not in own]
        for other in others:
            place = other.source
            if place is not None and any(is_one_place(place, each) for each in secret):
                message = (
                    f"{other.name} comes from the place that {policy.stream} comes from, which is "
                    f"under the policy {policy.name}"
                )
                hint = f"read {policy.stream}, or {other.name} in a session without the policy"
                self.findings.error("A126", message, self._of(other.name, policy), hint)

    def _readers_of(self, stream: str) -> list[str]:
        """Return the statements that read a stream, or learn from it; not those that own it."""
        own = frozenset((stream,))
        found = [query.name for n, query in self.queries.items() if reads(n, own, self.queries)]
        found += [text for text, learns in self._learners() if stream in _low(learns)]
        inferred = (each.statement for each in self.ledger.inferred.values())
        return found + [each.name for each in inferred if each.readings.lower() == stream]

    # Places -----------------------------------------------------------------------------------

    def _place(self, policy: PolicySchema, word: str) -> Span:
        """Return where a policy names something; the start of the text if it is another text."""
        return self._of(policy.name, None, word)

    def _of(self, name: str, policy: PolicySchema | None = None, word: str = "") -> Span:
        """Return the place of a statement of this script, else of a policy, else of the script."""
        for named in (name, policy.name if policy else name):
            for statement in self.statements:
                if getattr(statement, "name", None) and _is_named(statement, named):
                    after = "PRIVATE" if word else ""
                    return places.word(self.findings.source, statement.span, word or named, after)
        return self.statements[-1].span if self.statements else Span(0, 0)


def _is_named(statement: Statement, name: str) -> bool:
    own = getattr(statement, "name", None)
    return own is not None and own.lower() == name.lower()


def _is_made_of(name: str, query: str) -> bool:
    """Whether a name is that of a query, or of partial matches of it that ran out of time."""
    return name == query or name.startswith(f"{query}_without_")


def _reads(query: CheckedQuery, name: str) -> bool:
    return any((stream.query or "").lower() == name for stream in query.streams)


def _low(names: Iterable[str]) -> set[str]:
    return {name.lower() for name in names}


def _uses(statement: Statement) -> set[str]:
    """Return the names of what a statement reads, in lower case."""
    names: tuple[str | None, ...] = ()
    match statement:
        case CreateQuery():
            names = statement.streams
        case Write() | CreateGaps() | CreateRule():
            names = (statement.query,)
        case CreateForecast():
            names = (statement.query, statement.learn_from)
        case Explain():
            names = (statement.query,) if statement.measured else ()
        case CreateModel():
            names = (statement.learn_from, statement.learn_on)
        case CreateCorrelation():
            names = (statement.learn_from,)
        case InferStream():
            names = (statement.readings,)
        case CreatePolicy():
            names = (statement.stream, statement.learn_from)
    return _low(name for name in names if name is not None)

"""Lahar's spelling: subgoals by position become components, equalities and conditions.

A position is a declared column, in order, except TIME, PROBABILITY, ORDER BY and ID. Constants and
shared variables become equalities in WHERE (they decide what counts as a candidate); sigmas around
a prefix, and the condition of a Kleene plus, become AFTER WHERE (they judge the candidate chosen).
The result is an ordinary query, read like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from augury.analysis.declarations.catalog import Column, StreamSchema
from augury.analysis.declarations.ledger import Ledger
from augury.analysis.declarations.misnamed import misnamed
from augury.analysis.findings import Findings, counted, listing, suggest
from augury.errors import Span
from augury.language import expressions as ex
from augury.language import tree


@dataclass(frozen=True, slots=True)
class Lowered:
    """A query in our own clauses; `variables` has Lahar's name of (component, column)."""

    statement: tree.CreateQuery
    variables: dict[tuple[str, str], str]


def positions(stream: StreamSchema) -> tuple[Column, ...]:
    """Return the columns that a subgoal's terms stand for."""
    apart = {stream.time, stream.probability, stream.order_by, stream.id}
    return tuple(c for c in stream.columns if c.name not in apart)


def lower(statement: tree.CreateQuery, ledger: Ledger, findings: Findings) -> Lowered | None:
    """Return the query without subgoals; None where a subgoal is wrong (reported)."""
    pattern = statement.pattern
    if not isinstance(pattern, tree.Subgoals):
        return None
    before = findings.error_count
    lowering = _Lowering(ledger, findings)
    parts = [lowering.goal(i, goal) for i, goal in enumerate(pattern.goals)]
    if findings.error_count > before or None in parts:
        return None
    lowering.conditions(pattern)
    if findings.error_count > before:
        return None
    components = tuple(p for p in parts if p is not None)
    single = components[0] if len(components) == 1 else None
    changed = replace(
        statement,
        streams=statement.streams or lowering.streams(),
        pattern=single or tree.Group("SEQ", components, span=pattern.span),
        where=_joined(statement.where, lowering.where),
        after_where=_joined(statement.after_where, lowering.after),
        strategy=statement.strategy or "NEXT",
        returns=statement.returns or tree.Return("PROBABILITY BY TIME"),
    )
    return Lowered(changed, lowering.variables)


def _joined(written: ex.Expression | None, added: list[ex.Expression]) -> ex.Expression | None:
    parts = [*([written] if written is not None else []), *added]
    if len(parts) < 2:
        return parts[0] if parts else None
    return ex.Logic("AND", tuple(parts), span=parts[0].span)


@dataclass(slots=True)
class _Lowering:
    """Subgoals read so far: their names, columns, and where each variable is bound."""

    ledger: Ledger
    findings: Findings
    names: list[str] = field(default_factory=list)
    schemas: list[StreamSchema] = field(default_factory=list)
    bound: dict[str, ex.Attribute] = field(default_factory=dict)
    inside: list[dict[str, ex.Attribute]] = field(default_factory=list)
    hidden: dict[str, int] = field(default_factory=dict)
    variables: dict[tuple[str, str], str] = field(default_factory=dict)
    where: list[ex.Expression] = field(default_factory=list)
    after: list[ex.Expression] = field(default_factory=list)

    def streams(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(s.name for s in self.schemas))

    # Subgoals ---------------------------------------------------------------------------------

    def goal(self, index: int, goal: tree.Subgoal) -> tree.Component | None:
        """Take in one subgoal: its constants, its shared variables and its Kleene plus."""
        stream = self.ledger.readable(goal.relation)
        if stream is None:
            self._report_stream(goal)
            return None
        columns = positions(stream)
        if len(columns) != len(goal.terms):
            self._report_count(goal, columns)
            return None
        name = f"{stream.name.lower()}_{index + 1}"
        self.names.append(name)
        self.schemas.append(stream)
        self._terms(name, goal, columns)
        repetition = tree.Repetition(1, None, span=goal.kleene.span) if goal.kleene else None
        return tree.Component(stream.name, name, repetition, span=goal.span)

    def _terms(self, name: str, goal: tree.Subgoal, columns: tuple[Column, ...]) -> None:
        own: dict[str, ex.Attribute] = {}
        for term, column in zip(goal.terms, columns, strict=True):
            attribute = ex.Attribute(name, column.name, span=term.span)
            if not isinstance(term, tree.Variable):
                self.where.append(_equal(attribute, term))
            elif term.name != "_":
                self.variables[(name, column.name)] = term.name
                self._variable(term, attribute, own)
        self.inside.append(own)
        self._bind(goal, own)

    def _variable(
        self, term: tree.Variable, attribute: ex.Attribute, own: dict[str, ex.Attribute]
    ) -> None:
        if term.name in own:
            self.where.append(_equal(own[term.name], attribute))
            return
        own[term.name] = attribute
        if term.name in self.hidden:
            self._report_hidden(term.name, term.span)
        elif term.name in self.bound:
            self.where.append(_equal(self.bound[term.name], attribute))

    def _bind(self, goal: tree.Subgoal, own: dict[str, ex.Attribute]) -> None:
        """Export a subgoal's variables; a Kleene plus exports only those it shares."""
        shared = set(goal.kleene.shared) if goal.kleene else set(own)
        for name in sorted(shared - set(own)):
            message = f"the Kleene plus shares {name}, which is no variable of {goal.relation}(...)"
            hint = suggest(name, own, f"its variables are {listing(sorted(own))}" if own else "")
            self.findings.error("A074", message, goal.span, hint)
        for name, attribute in own.items():
            if name in shared:
                if goal.kleene and name not in self.bound:
                    self._tie(attribute)
                self.bound.setdefault(name, attribute)
            elif name in self.bound:
                self._report_hidden(name, attribute.span)
            else:
                self.hidden[name] = len(self.names) - 1

    def _tie(self, attribute: ex.Attribute) -> None:
        each = replace(attribute, index=ex.Index("each"))
        first = replace(attribute, index=ex.Index("number", 1))
        self.where.append(_equal(each, first))

    # Conditions -------------------------------------------------------------------------------

    def conditions(self, pattern: tree.Subgoals) -> None:
        """Take in the conditions inside subgoals, of Kleene pluses and around prefixes."""
        for i, goal in enumerate(pattern.goals):
            self.where += [c for w in goal.inner for c in self._condition(w, i, inside=True)]
            kleene = goal.kleene.conditions if goal.kleene else ()
            self.after += [c for w in kleene for c in self._condition(w, i, inside=True)]
        for i, selections in enumerate(pattern.selections):
            self.after += [c for w in selections for c in self._condition(w, i, inside=False)]

    def _condition(
        self, condition: tree.LaharCondition, goal: int, inside: bool
    ) -> Iterator[ex.Expression]:
        if isinstance(condition, tree.Combines):
            parts = [list(self._condition(part, goal, inside)) for part in condition.parts]
            if all(parts):
                yield _combined(condition, tuple(part[0] for part in parts))
            return
        terms = (
            condition.terms
            if isinstance(condition, tree.Holds)
            else (condition.left, condition.right)
        )
        values = [self._term(t, goal, inside) for t in terms]
        known = tuple(v for v in values if v is not None)
        if len(known) < len(values):
            return
        if isinstance(condition, tree.Compares):
            yield ex.Binary(condition.operator, known[0], known[1], span=condition.span)
        elif condition.relation.lower() in self.ledger.tables:
            yield ex.InTable(known, condition.relation, span=condition.span)
        elif not self.ledger.has_failed(condition.relation):
            self._report_relation(condition)

    def _term(self, term: tree.Term, goal: int, inside: bool) -> ex.Expression | None:
        if not isinstance(term, tree.Variable):
            return term
        if inside and term.name in self.inside[goal]:
            return replace(self.inside[goal][term.name], span=term.span)
        attribute = self.bound.get(term.name)
        if attribute is not None and self.names.index(attribute.component or "") <= goal:
            return replace(attribute, span=term.span)
        self._report_unbound(term)
        return None

    # Reports ----------------------------------------------------------------------------------

    def _report_stream(self, goal: tree.Subgoal) -> None:
        if not self.ledger.has_failed(goal.relation):
            known = [s.name for s in self.ledger.streams.values()]
            otherwise = "declare it with CREATE STREAM"
            message, hint = misnamed(goal.relation, "stream", self.ledger, known, otherwise)
            span = Span(goal.span.start, goal.span.start + len(goal.relation))
            self.findings.error("A011", message, span, hint)

    def _report_count(self, goal: tree.Subgoal, columns: tuple[Column, ...]) -> None:
        names = ", ".join(c.name for c in columns)
        terms, known = counted(len(goal.terms), "term"), counted(len(columns), "position")
        message = f"{goal.relation}(...) has {terms}, but stream {goal.relation} has {known}"
        hint = f"write {goal.relation}({names})" if names else f"write {goal.relation}()"
        self.findings.error("A073", message, goal.span, hint)

    def _report_hidden(self, name: str, span: Span) -> None:
        message = f"variable {name} is also in a Kleene plus that does not share it"
        hint = f"share it: +<{{{name}}}>, or use another name for one of them"
        self.findings.error("A074", message, span, hint)

    def _report_unbound(self, term: tree.Variable) -> None:
        message = f"variable {term.name} is not bound by a subgoal here"
        hint = suggest(term.name, self.bound, f"the variables are {listing(list(self.bound))}")
        if term.name in self.hidden:
            hint = f"a Kleene plus keeps it to itself: share it with +<{{{term.name}}}>"
        elif term.name == "_":
            message, hint = "_ stands for anything, so it cannot be tested", "name the variable"
        self.findings.error("A074", message, term.span, hint)

    def _report_relation(self, condition: tree.Holds) -> None:
        known = [t.name for t in self.ledger.tables.values()]
        hint = suggest(condition.relation, known, "declare it with CREATE TABLE")
        message = f"the condition tests {condition.relation}, which is not a table"
        self.findings.error("A075", message, condition.span, hint)


def _equal(left: ex.Expression, right: ex.Expression) -> ex.Binary:
    return ex.Binary("=", left, right, span=right.span)


def _combined(condition: tree.Combines, parts: tuple[ex.Expression, ...]) -> ex.Expression:
    if condition.operator == "NOT":
        return ex.Unary("NOT", parts[0], span=condition.span)
    return ex.Logic(condition.operator, parts, span=condition.span)

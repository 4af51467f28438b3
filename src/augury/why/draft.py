"""A change while it is worked out: query and rows as they are so far, and what is broken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from augury.analysis.checked import CheckedQuery
from augury.analysis.expressions.walk import attributes
from augury.language import expressions as ex
from augury.language.expressions import Duration, Unit
from augury.language.printer import to_text
from augury.language.tree import Component, CreateQuery, Having, Window
from augury.why.asked import Asked
from augury.why.explanation import shown
from augury.why.patterns import nodes
from augury.why.relaxing import Constraint, conjunction, conjuncts, relaxed
from augury.why.trials import Match, Rows

NewRows = list[tuple[str, dict[str, Any]]]
_UNITS: dict[Unit, int] = {
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
}


@dataclass
class Budget:
    """How many questions may be asked until `stop`; `number` is the last id that was made up."""

    stop: int
    number: int = 10**15


@dataclass
class Draft:
    """A change while it is worked out.

    What is `broken` is still left out. What is `loosened` is given up for good, or, where it is in
    `tightened`, has another condition in its place.
    """

    asked: Asked
    budget: Budget
    broken: list[Constraint]
    rows: Rows
    window: Window | None = None
    having: Having | None = None
    says: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    added: NewRows = field(default_factory=list)
    loosened: list[Constraint] = field(default_factory=list)
    tightened: dict[Constraint, ex.Expression] = field(default_factory=dict)

    @property
    def is_enough(self) -> bool:
        """Whether no more may be asked."""
        return self.asked.trials.count >= self.budget.stop

    def broken_of(self, *kinds: str) -> list[Constraint]:
        return [each for each in self.broken if each.kind in kinds]

    def give_up(self, constraint: Constraint) -> None:
        """Leave a constraint out for good."""
        self.broken = [each for each in self.broken if each is not constraint]
        self.loosened = [*self.loosened, constraint]

    def statement(self) -> CreateQuery:
        """Return the query as it would have to be."""
        (query,) = relaxed(self.asked.query, self.loosened, self.asked.checked, self.window)
        return replace(self._tightened(query), having=self.having)

    def so_far(self) -> list[CreateQuery]:
        """Return the query without what is broken, one for each choice of the parts of an OR."""
        broken = [*self.broken, *self.loosened]
        found = relaxed(self.asked.query, broken, self.asked.checked, self.window)
        return [self._tightened(each) for each in found]

    def meets(self, rows: Rows) -> list[Match]:
        """Return the matches of what is worked out so far, over some rows."""
        return [match for each in self.so_far() for match in self.asked.matches(each, rows) or []]

    def _tightened(self, query: CreateQuery) -> CreateQuery:
        where = self._with(query.where, "WHERE")
        return replace(query, where=where, after_where=self._with(query.after_where, "AFTER WHERE"))

    def _with(self, where: ex.Expression | None, clause: str) -> ex.Expression | None:
        more = [e for c, e in self.tightened.items() if c.clause == clause]
        return conjunction([*conjuncts(where), *more]) if more else where

    def as_written(self) -> CreateQuery:
        """Return the statement with what the original returns."""
        original = self.asked.trials.catalog.queries[self.asked.checked.name.lower()]
        final = self.statement()
        return replace(
            original,
            pattern=final.pattern,
            where=final.where,
            after_where=final.after_where,
            strategy=final.strategy,
            after_match=final.after_match,
            within=final.within,
            having=final.having if self.asked.query.having else original.having,
        )


def values_of(asked: Asked, broken: Constraint, match: Match, rows: Rows) -> str:
    """Return the values that a condition is about, in words."""
    expression = expression_of(asked.query, broken)
    taken = taken_by(asked, match, rows)
    found = []
    if isinstance(expression, ex.Equate):
        every = [
            {name.lower(): value for name, value in row.items()}
            for own in taken.values()
            for row in own
        ]
        for name in expression.attributes:
            own_values = [row[name.lower()] for row in every if name.lower() in row]
            shown_values = dict.fromkeys(map(shown, own_values))
            found.append(f"{name} is {' and '.join(shown_values)}")
    for node in dict.fromkeys(attributes(expression)):
        for row in taken.get((node.component or broken.says).lower(), ())[-1:]:
            own = {name.lower(): value for name, value in row.items()}
            if node.name.lower() in own:
                found.append(f"{to_text(node)} is {shown(own[node.name.lower()])}")
    return ", ".join(dict.fromkeys(found))


def expression_of(query: CreateQuery, broken: Constraint) -> ex.Expression:
    """Return the expression of a condition."""
    if broken.clause in ("WHERE", "AFTER WHERE"):
        where = query.where if broken.clause == "WHERE" else query.after_where
        return conjuncts(where)[broken.number]
    part = dict(nodes(query.pattern))[broken.path]
    assert isinstance(part, Component)
    own = part.filter if broken.clause == "FILTER" else part.until
    assert own is not None
    return own


def taken_by(asked: Asked, match: Match | None, rows: Rows) -> dict[str, list[dict[str, Any]]]:
    """Return the rows that a match has taken, by lower-case component."""
    taken: dict[str, list[dict[str, Any]]] = {}
    for event in () if match is None else asked.events(match, rows):
        if event.row is not None:
            taken.setdefault(event.component.lower(), []).append(event.row)
    return taken


def conditions_with_values(
    asked: Asked, constraints: list[Constraint], match: Match
) -> Iterator[tuple[str, str]]:
    """Yield the conditions of a query with the values that a match gives to what they name."""
    for each in constraints:
        if each.kind == "condition":
            yield each.says, values_of(asked, each, match, asked.rows)


def columns_named(checked: CheckedQuery) -> set[str]:
    """Return the columns that conditions are about, in lower case."""
    named = {
        node.name.lower()
        for conjunct in checked.conjuncts
        for node in attributes(conjunct.expression)
    }
    return named | {c.lower() for each in checked.equalities for _, c in each.members}


def window_of(asked: Asked, length: int) -> Window:
    """Return a window as the query could have it."""
    within = asked.checked.within
    assert within is not None
    if within.events or asked.ticks:
        return Window(length, within.events)
    return Window(duration(length))


def duration(microseconds: int) -> Duration:
    """Return a length of time in the largest unit that is whole."""
    for unit, size in _UNITS.items():
        if microseconds % size == 0:
            return Duration(microseconds // size, unit)
    return Duration(microseconds / 1000, "MILLISECOND")

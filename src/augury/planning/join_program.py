"""A join plan with all that runners need to carry it out: filters and typed sides."""

from __future__ import annotations

from dataclasses import dataclass

from augury.analysis.checked import CheckedQuery
from augury.analysis.classes.joins import JoinPlan
from augury.analysis.declarations.catalog import Catalog, StreamSchema
from augury.language.expressions import Binary
from augury.planning.expressions.lower import Scope, lower
from augury.planning.expressions.typed import Apply, Typed
from augury.planning.match_plan import Play, plays_of
from augury.planning.physical import plan_query


@dataclass(frozen=True, slots=True)
class JoinProgram:
    """The plan of a type or rank query; `sides[k]` are both sides of inequality k, in one type."""

    query: CheckedQuery
    plan: JoinPlan
    plays: tuple[Play, ...]
    sides: tuple[tuple[Typed, Typed], ...]

    def play(self, component: int) -> Play:
        """Return who may play a component."""
        return next(play for play in self.plays if play.component == component)

    def stream(self, component: int) -> StreamSchema:
        """Return the stream whose events play a component."""
        name = self.play(component).stream
        return next(stream for stream in self.query.streams if stream.name == name)

    def side(self, component: int, number: int) -> Typed:
        """Return what an inequality reads of a component."""
        left, right = self.sides[number]
        return left if self.plan.inequalities[number].left_of == component else right

    def ties_of(self, component: int) -> tuple[int, ...]:
        """Return the inequalities that name a component."""
        ties = enumerate(self.plan.inequalities)
        return tuple(k for k, tie in ties if component in tie.components)


def join_program(query: CheckedQuery, catalog: Catalog) -> JoinProgram | None:
    """Return the program of a query that has a join plan; None of another."""
    plan = query.verdict.join
    if plan is None:
        return None
    scope = Scope(query, catalog.tables)
    sides = []
    for tie in plan.inequalities:
        both = lower(Binary("<", tie.left, tie.right), scope)
        assert isinstance(both, Apply)
        sides.append((both.operands[0], both.operands[1]))
    return JoinProgram(query, plan, plays_of(plan_query(query, catalog)), tuple(sides))

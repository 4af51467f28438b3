"""The safe plan of a type or rank query: project, join, project (DPCEP, figures 8 and 11).

`AND(o, x)` in a window has no order, so asking whether a match exists is asking whether a join has
a row. Over independent events the probability of that is a plan of four steps:

    Read       the events of one component, those of equal columns put together: 1 - prod(1 - p)
    Product    parts that share no event: their probabilities multiply
    Projected  a variable that every part has is projected away: its values share no event
    Extreme    a component that one inequality ties to the rest matters by its least (or greatest)
               value alone: the sum over that value of its probability times that of the rest

The steps apply as long as variables nest and inequalities form a tree without equalities at its
leaves. Where no step applies there is no such plan, and `join_plan` returns None.

Oracle: tests/oracles/worlds.py enumerates possible worlds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from augury.analysis.checked import Branch, Conjunct, Leaf
from augury.analysis.classes.joins import (
    Extreme,
    Inequality,
    JoinPlan,
    JoinStep,
    Product,
    Projected,
    Read,
    Shared,
)
from augury.analysis.classes.safe_plan import can_unify
from augury.analysis.classes.subgoals import constants_of, view
from augury.analysis.declarations.catalog import DataType
from augury.analysis.draft import Draft
from augury.analysis.expressions.equalities import equal_attributes
from augury.analysis.expressions.walk import attributes, attributes_into, has_lookup
from augury.language import expressions as ex

_ORDERS = ("<", "<=", ">", ">=")
# Ticks are not known to be small; a bound that fractions tell exactly is.
_MODERATE = 2**53


def join_plan(draft: Draft) -> JoinPlan | None:
    """Return the plan of a query that asks whether a join has a row; None where there is none."""
    if not _is_a_join(draft) or not _are_apart(draft):
        return None
    inequalities = _inequalities(draft)
    variables = _variables(draft)
    if inequalities is None or variables is None:
        return None
    groups = tuple(v.name for v in variables if v.is_group)
    root = _Search(variables, inequalities).step(
        frozenset(groups), tuple(c.index for c in draft.components)
    )
    return None if root is None else JoinPlan(root, variables, inequalities)


def dpcep_plan(draft: Draft) -> JoinPlan | None:
    """Return the plan of DPCEP's definitions 4.3 and 4.4; None where they have no formula.

    A type query multiplies over types that some event of each is there, and joins nothing. A rank
    query joins what WHERE equates. No condition but these, and those on one event, has a place.
    """
    shape = draft.shape
    is_branch = isinstance(shape, Branch) and shape.operator in ("AND", "SEQ")
    parts = shape.parts if is_branch and isinstance(shape, Branch) else (shape,)
    goals = tuple(c.index for c in draft.components)
    single = all(not c.repeats and len(c.played_by) == 1 for c in draft.components)
    if not single or not all(isinstance(part, Leaf) for part in parts):
        return None
    if not draft.group_by:
        return JoinPlan(Product(tuple(map(Read, goals))), (), ())
    variables = _variables(draft)
    if variables is None or _inequalities(draft) != ():
        return None
    groups = frozenset(v.name for v in variables if v.is_group)
    root = _Search(variables, ()).step(groups, goals)
    return None if root is None else JoinPlan(root, variables, ())


# What is a join -------------------------------------------------------------------------------


def _is_a_join(draft: Draft) -> bool:
    """Return whether the query asks for single events in any order, of independent streams."""
    shape, strategy = draft.shape, draft.statement.strategy or "ANY"
    parts = shape.parts if isinstance(shape, Branch) and shape.operator == "AND" else (shape,)
    plain = all(isinstance(part, Leaf) for part in parts)
    by_events = draft.within is not None and draft.within.events
    asks = draft.returns_probability and not draft.by_time and strategy == "ANY"
    return asks and plain and not by_events and not draft.allow and _is_independent(draft)


def _is_independent(draft: Draft) -> bool:
    single = all(not c.repeats and len(c.played_by) == 1 for c in draft.components)
    certain = all(not s.alternatives and s.markov is None for s in draft.streams)
    return single and certain and all(s.query is None for s in draft.streams)


def _are_apart(draft: Draft) -> bool:
    """Return whether no event can play two components."""
    goals = view(draft).subgoals
    return not any(can_unify(a, b) for a, b in combinations(goals, 2))


# Conditions -----------------------------------------------------------------------------------


def _inequalities(draft: Draft) -> tuple[Inequality, ...] | None:
    """Return the conditions that tie two components by order; None where one is of another make."""
    found = []
    for conjunct in draft.conjuncts:
        if conjunct.derived or _is_equality(conjunct, draft):
            continue
        read = attributes_into(conjunct.expression)
        if conjunct.after or any(each.default is not None for each in read):
            return None
        if len(conjunct.components) > 1:
            inequality = _inequality(conjunct, draft)
            if inequality is None:
                return None
            found.append(inequality)
    return tuple(found)


def _is_equality(conjunct: Conjunct, draft: Draft) -> bool:
    """Return whether the conjunct only says that two attributes of a class are equal."""
    node = conjunct.expression
    pair = equal_attributes(node) if isinstance(node, ex.Binary) and node.operator == "=" else None
    if pair is None or conjunct.after:
        return False
    members = {_member(attribute, draft) for attribute in pair}
    return any(members <= set(each.members) for each in draft.equalities)


def _member(attribute: ex.Attribute, draft: Draft) -> tuple[int, str]:
    component = draft.component_named(attribute.component or "")
    return (component.index if component else -1), attribute.name


def _inequality(conjunct: Conjunct, draft: Draft) -> Inequality | None:
    node = conjunct.expression
    if not isinstance(node, ex.Binary) or node.operator not in _ORDERS or has_lookup(node):
        return None
    left, right = _split(node, draft)
    mine, theirs = ({_member(a, draft)[0] for a in attributes(side)} for side in (left, right))
    if len(mine) != 1 or len(theirs) != 1:
        return None
    return Inequality(mine.pop(), left, node.operator, theirs.pop(), right)


def _split(node: ex.Binary, draft: Draft) -> tuple[ex.Expression, ex.Expression]:
    """Return both sides, a difference taken apart: a - b < c becomes a < b + c."""
    left, right = node.left, node.right
    if isinstance(left, ex.Binary) and _is_difference(left, right, draft):
        return left.left, ex.Binary("+", left.right, right)
    if isinstance(right, ex.Binary) and _is_difference(right, left, draft):
        return ex.Binary("+", right.right, left), right.left
    return left, right


def _is_difference(node: ex.Binary, bound: ex.Expression, draft: Draft) -> bool:
    """Return whether the node is a difference of times, which moving the bound leaves exact.

    Other whole numbers may be so large that a sum overflows where the difference does not.
    """
    if node.operator != "-" or any(attributes(bound)):
        return False
    if {draft.type_of(*_member(a, draft)) for a in attributes(node)} == {DataType.TIMESTAMP}:
        return True
    return _is_time(node.left, draft) and _is_time(node.right, draft) and _is_whole(bound)


def _is_time(node: ex.Expression, draft: Draft) -> bool:
    """Return whether the node is the time of its event."""
    if not isinstance(node, ex.Attribute):
        return False
    component, column = _member(node, draft)
    return component >= 0 and all(s.time == column for s in draft.streams_of(component))


def _is_whole(bound: ex.Expression) -> bool:
    """Return whether the bound is a moderate whole number, maybe with a sign."""
    inner = bound.operand if isinstance(bound, ex.Unary) and bound.operator == "-" else bound
    return (
        isinstance(inner, ex.Literal) and type(inner.value) is int and abs(inner.value) <= _MODERATE
    )


# Variables ------------------------------------------------------------------------------------


def _variables(draft: Draft) -> tuple[Shared, ...] | None:
    """Return the columns that components share or that groups are made of; None if not equatable.

    A class that constants pin is no variable: the constants are filters.
    """
    pinned = constants_of(draft.conjuncts)
    grouped = [_member(attribute, draft) for attribute in draft.group_by]
    found: list[Shared] = []
    for equality in draft.equalities:
        own = tuple(equality.members)
        is_group = any(member in grouped for member in own)
        if is_group or not all(member in pinned for member in own):
            found.append(Shared(_name(own, found), own, is_group))
    members = {member for variable in found for member in variable.members}
    for member in dict.fromkeys(grouped):
        if member not in members:
            found.append(Shared(_name((member,), found), (member,), is_group=True))
    return tuple(found) if all(_is_equatable(v, draft) for v in found) else None


def _name(members: tuple[tuple[int, str], ...], taken: list[Shared]) -> str:
    column = members[0][1]
    names = {variable.name for variable in taken}
    return column if column not in names else f"{column} {len(taken)}"


def _is_equatable(variable: Shared, draft: Draft) -> bool:
    """Return whether equal values are the same value everywhere: fractions may not be."""
    kinds = {draft.type_of(component, column) for component, column in variable.members}
    return len(variable.members) == 1 or (len(kinds) == 1 and DataType.DOUBLE not in kinds)


# The plan -------------------------------------------------------------------------------------

Env = frozenset[str]


@dataclass(frozen=True, slots=True)
class _Search:
    """Finds the steps; `env` are the variables that are fixed, `goals` the components left."""

    variables: tuple[Shared, ...]
    inequalities: tuple[Inequality, ...]

    def step(self, env: Env, goals: tuple[int, ...]) -> JoinStep | None:
        free = [v for v in self.variables if v.name not in env]
        common = next((v for v in free if all(v.column(g) for g in goals)), None)
        if common is not None:
            inner = self.step(env | {common.name}, goals)
            return inner and Projected(common.name, inner)
        islands = self._islands(env, goals)
        if len(islands) > 1:
            parts = [self.step(env, island) for island in islands]
            known = tuple(part for part in parts if part is not None)
            return Product(known) if len(known) == len(parts) else None
        if len(goals) == 1:
            return Read(goals[0])
        return self._extreme(env, goals)

    def _extreme(self, env: Env, goals: tuple[int, ...]) -> JoinStep | None:
        for goal in goals:
            own = [v for v in self.variables if v.name not in env and v.column(goal)]
            ties = list(self._ties(goal, goals))
            if not own and len(ties) == 1:
                rest = tuple(g for g in goals if g != goal)
                inner = self.step(env, rest)
                return inner and Extreme(goal, ties[0], inner)
        return None

    def _ties(self, goal: int, goals: tuple[int, ...]) -> Iterator[int]:
        for k, tie in enumerate(self.inequalities):
            if goal in tie.components and set(tie.components) <= set(goals):
                yield k

    def _islands(self, env: Env, goals: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Return the components in groups that neither variable nor inequality ties together."""
        ties = [{g for g in goals if v.column(g)} for v in self.variables if v.name not in env] + [
            set(t.components) for t in self.inequalities if set(t.components) <= set(goals)
        ]
        islands = [{g} for g in goals]
        for tie in ties:
            touched = [island for island in islands if island & tie]
            islands = [island for island in islands if not island & tie]
            islands += [set().union(*touched)] if touched else []
        return sorted(tuple(sorted(island)) for island in islands)

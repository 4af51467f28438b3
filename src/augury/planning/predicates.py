"""A conjunct as plans see it: typed, with the place where it is tested and what it may cost.

Cost counts operators. Selectivity is a guess by shape, there being no statistics: it only orders
predicates and scales the estimates that EXPLAIN marks as such.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from augury.analysis.checked import CheckedQuery, Conjunct
from augury.language.text.expressions import expression_text
from augury.planning.expressions.lower import Scope, lower
from augury.planning.expressions.spark_sql import can_be_pushed
from augury.planning.expressions.typed import (
    Aggregated,
    Apply,
    Constant,
    Input,
    Typed,
    nodes_within,
    tables_within,
    without_defaults,
)
from augury.planning.pattern.automaton import Automaton
from augury.planning.pattern.residual import components_always_bound


@dataclass(frozen=True, slots=True)
class Predicate:
    """One conjunct with its typed form."""

    conjunct: Conjunct
    expression: Typed

    @property
    def text(self) -> str:
        return expression_text(self.conjunct.expression)

    @property
    def components(self) -> tuple[int, ...]:
        return self.conjunct.components

    @property
    def reads_one_event(self) -> bool:
        """Whether each event alone decides it: one component, its own attributes, no aggregate."""
        if len(self.components) != 1 or self.conjunct.after:
            return False
        return reads_each(without_defaults(self.expression))

    @property
    def for_a_read_event(self) -> Predicate:
        """The predicate as a read event decides it: defaults are for missed ones."""
        return replace(self, expression=without_defaults(self.expression))

    def is_for_absent_ones(self, query: CheckedQuery) -> bool:
        """Whether a default may stand in, because its component may hold no event."""
        if without_defaults(self.expression) == self.expression:
            return False
        surely = components_always_bound(query.shape, query.components)
        return any(c in query.may_miss or c not in surely for c in self.components)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables it looks into."""
        return tuple(tables_within([self.expression]))

    @property
    def is_for_spark(self) -> bool:
        """Whether Spark can test it: tables' rows are known at run time only."""
        return not self.tables and can_be_pushed(self.expression)

    @property
    def cost(self) -> int:
        return sum(1 for _ in nodes_within(self.expression))

    @property
    def selectivity(self) -> float:
        return guess_selectivity(self.expression)


def predicates_of(scope: Scope) -> tuple[Predicate, ...]:
    """Return the conjuncts of the scope's query, in the order written."""
    return tuple(Predicate(c, lower(c.expression, scope)) for c in scope.query.conjuncts)


def reads_each(expression: Typed) -> bool:
    """Return whether the expression reads nothing but attributes of the event at hand."""
    return all(_is_of_the_event(node) for node in nodes_within(expression))


def _is_of_the_event(node: Typed) -> bool:
    if isinstance(node, Input):
        return node.kind == "each"
    return not isinstance(node, Aggregated)


_GUESSES = {"equal": 0.1, "less": 0.33, "less_equal": 0.33, "like": 0.25, "member": 0.2}


def guess_selectivity(expression: Typed) -> float:
    """Return a guess at the share of rows for which a condition is true."""
    if isinstance(expression, Constant):
        return 1.0 if expression.value is True else 0.0
    if not isinstance(expression, Apply):
        return 0.5
    return _guess(expression.operator, [guess_selectivity(o) for o in expression.operands])


def _guess(operator: str, parts: list[float]) -> float:
    if operator == "not":
        return 1.0 - parts[0]
    if operator == "and":
        return _product(parts)
    if operator == "or":
        return 1.0 - _product([1.0 - p for p in parts])
    if operator == "in_list":
        return min(0.5, 0.1 * (len(parts) - 1))
    return _GUESSES.get(operator, 0.5)


def _product(values: list[float]) -> float:
    result = 1.0
    for value in values:
        result *= value
    return result


def bound_with(predicate: Predicate, query: CheckedQuery) -> int | None:
    """Return the component whose event completes what the predicate names; None: a guard's.

    Components are bound in the order written, as far as the pattern fixes it; a repetition is
    complete when what follows it takes an event.
    """
    if any(query.components[c].negated for c in predicate.components):
        return None
    return max(predicate.components, default=0)


def last_bound(predicate: Predicate, automaton: Automaton) -> tuple[int, ...]:
    """Return the components that may be the last to be bound: several where none is ordered."""
    ordered = {(p.earlier, p.later) for p in automaton.precedences}
    named = predicate.components
    return tuple(c for c in named if not any((c, other) in ordered for other in named))

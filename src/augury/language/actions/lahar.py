"""Actions of Lahar's spelling: subgoals in sequence, selections around prefixes, Kleene plus.

Every part of a Lahar body is read as `Subgoals`, a sequence of one or more; a sigma or a plus that
follows changes its last goal. A sigma around one plain subgoal filters candidates (`inner`); one
around a longer prefix is applied once the successor is chosen (`selections`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from typing import Literal as Choice

from augury.errors import Span
from augury.language import codes
from augury.language.actions.words import Parts
from augury.language.expressions import Literal
from augury.language.findings import Findings
from augury.language.machine import Action
from augury.language.tree import (
    Combines,
    Compares,
    Holds,
    Kleene,
    LaharCondition,
    Subgoal,
    Subgoals,
    Variable,
)

Conditions = tuple[LaharCondition, ...]


def _subgoal(parts: Parts, span: Span, findings: Findings) -> Subgoals:
    relation, *terms = parts
    goal = Subgoal(relation.text, tuple(terms), span=span)
    return Subgoals((goal,), ((),), span=span)


def _sequence(parts: Parts, span: Span, findings: Findings) -> Subgoals:
    """Join the parts from the left; only the first may itself be a sequence."""
    first, *others = parts
    for other in others:
        if len(other.goals) > 1 or any(other.selections):
            message = "a sequence stands on the right of ;"
            hint = "a; b; c means (a; b); c, and the right of ; is one subgoal"
            findings.refuse(codes.FORM, other.span, message, hint)
    goals = tuple(goal for part in parts for goal in part.goals)
    selections = tuple(conditions for part in parts for conditions in part.selections)
    return Subgoals(goals, selections, span=span) if others else first


def _selected(parts: Parts, span: Span, findings: Findings) -> Subgoals:
    """Apply a sigma: to the candidates of a plain subgoal, else to the prefix as a whole."""
    _sigma, conditions, body = parts
    goal = body.goals[-1]
    if len(body.goals) == 1 and goal.kleene is None and not body.selections[0]:
        goal = replace(goal, inner=goal.inner + conditions, span=span)
        return Subgoals((goal,), ((),), span=span)
    around = body.selections[-1] + conditions
    return Subgoals(body.goals, (*body.selections[:-1], around), span=span)


def _repeated_goal(parts: Parts, span: Span, findings: Findings) -> Subgoals:
    body, plus = parts
    goal = body.goals[-1]
    if len(body.goals) > 1 or goal.kleene is not None or any(body.selections):
        message = "only one subgoal can be repeated"
        findings.refuse(codes.FORM, span, message, "put the + after the subgoal itself")
    goals = (*body.goals[:-1], replace(goal, kleene=plus, span=span))
    return Subgoals(goals, body.selections, span=span)


def _kleene_alone(parts: Parts, span: Span, findings: Findings) -> Kleene:
    return Kleene((), span=span)


def _kleene(parts: Parts, span: Span, findings: Findings) -> Kleene:
    return Kleene(parts[0], span=span)


def _kleene_where(parts: Parts, span: Span, findings: Findings) -> Kleene:
    return Kleene(parts[0], parts[1], span=span)


def _shared(parts: Parts, span: Span, findings: Findings) -> tuple[str, ...]:
    variables: tuple[str, ...] = parts[0]
    return variables


def _nothing_shared(parts: Parts, span: Span, findings: Findings) -> tuple[str, ...]:
    return ()


def _conditions(parts: Parts, span: Span, findings: Findings) -> Conditions:
    found: list[LaharCondition] = []
    for part in parts:
        if isinstance(part, Combines) and part.operator == "AND":
            found += part.parts
        elif part is not None:
            found.append(part)
    return tuple(found)


def _combined(operator: Choice["AND", "OR", "NOT"]) -> Action:
    def action(parts: Parts, span: Span, findings: Findings) -> LaharCondition | None:
        known = tuple(part for part in parts if part is not None)
        if operator == "AND" and len(known) < 2:
            # TRUE asks nothing.
            return known[0] if known else None
        if len(known) < len(parts):
            message = f"TRUE stands beside {operator} in a condition"
            findings.refuse(codes.FORM, span, message, "leave the condition out")
            return None
        return Combines(operator, known, span=span)

    return action


def _holds(parts: Parts, span: Span, findings: Findings) -> Holds:
    relation, *terms = parts
    return Holds(relation.text, tuple(terms), span=span)


def _compares(parts: Parts, span: Span, findings: Findings) -> Compares:
    left, operator, right = parts
    return Compares(operator, left, right, span=span)


def _always(parts: Parts, span: Span, findings: Findings) -> None:
    """Read the condition TRUE, which asks nothing."""


def _variable(parts: Parts, span: Span, findings: Findings) -> Variable:
    return Variable(parts[0].text, span=span)


def _anything(parts: Parts, span: Span, findings: Findings) -> Variable:
    return Variable("_", span=span)


def _negative_literal(parts: Parts, span: Span, findings: Findings) -> Literal:
    value: Any = parts[0]
    return Literal(-value, span=span)


ACTIONS: dict[str, Action] = {
    "lahar": _sequence,
    "subgoal": _subgoal,
    "selected": _selected,
    "repeated_goal": _repeated_goal,
    "kleene": _kleene,
    "kleene_alone": _kleene_alone,
    "kleene_where": _kleene_where,
    "shared": _shared,
    "nothing_shared": _nothing_shared,
    "conditions": _conditions,
    "either_condition": _combined("OR"),
    "both_conditions": _combined("AND"),
    "not_condition": _combined("NOT"),
    "holds": _holds,
    "compares": _compares,
    "always": _always,
    "variable": _variable,
    "anything": _anything,
    "negative_literal": _negative_literal,
}

"""Patterns in canonical spelling, Lahar's bodies among them."""

from __future__ import annotations

from augury.language.text.expressions import expression_text
from augury.language.text.words import called_text, name_text, names_text, relation_text
from augury.language.tree import (
    Combines,
    Component,
    Edge,
    Group,
    Holds,
    Kleene,
    LaharCondition,
    Not,
    Pattern,
    Repetition,
    Subgoal,
    Subgoals,
    Term,
    Variable,
)


def pattern_text(node: Pattern) -> str:
    """Return the canonical text of a pattern."""
    if isinstance(node, Component):
        return component_text(node)
    if isinstance(node, Group):
        return _group_text(node)
    if isinstance(node, Not):
        return f"!{'NEXT ' if node.neighbour else ''}{pattern_text(node.part)}"
    if isinstance(node, Edge):
        return f"{node.which}({component_text(node.component)})"
    return subgoals_text(node)


def _group_text(node: Group) -> str:
    text = f"{node.operator}({', '.join(map(pattern_text, node.parts))})"
    if node.repetition is None:
        return text
    name = "" if node.name is None else f" {name_text(node.name)}"
    return f"({text}){_repetition(node.repetition)}{name}"


def component_text(node: Component) -> str:
    """Return a component with its repetition, name and filter."""
    times = "" if node.repetition is None else _repetition(node.repetition)
    name = "" if node.name is None else f" {name_text(node.name)}"
    condition = "" if node.filter is None else f" ({expression_text(node.filter)})"
    until = "" if node.until is None else f" UNTIL ({expression_text(node.until)})"
    return f"{called_text(node.word)}{times}{name}{condition}{until}"


_SIGNS = {(1, None): "+", (0, None): "*", (0, 1): "?"}


def _repetition(node: Repetition) -> str:
    return _times(node) + ("?" if node.reluctant else "")


def _times(node: Repetition) -> str:
    low, high = node.minimum, node.maximum
    if (low, high) in _SIGNS:
        return _SIGNS[low, high]
    if high is None:
        return f"{{{low},}}"
    return f"{{{low}}}" if low == high else f"{{{low},{high}}}"


# Lahar -------------------------------------------------------------------------------------------


def subgoals_text(node: Subgoals) -> str:
    """Return a Lahar body; each selection stands around the prefix that it is applied to."""
    text = ""
    for goal, conditions in zip(node.goals, node.selections, strict=True):
        text = f"{text}; {subgoal_text(goal)}" if text else subgoal_text(goal)
        if conditions:
            text = f"SIGMA_{{{_conditions(conditions)}}}({text})"
    return text


def subgoal_text(node: Subgoal) -> str:
    """Return one subgoal of a Lahar body."""
    text = f"{relation_text(node.relation)}({_terms(node.terms)})"
    if node.inner:
        text = f"SIGMA_{{{_conditions(node.inner)}}}({text})"
    return text if node.kleene is None else text + _kleene(node.kleene)


def _kleene(node: Kleene) -> str:
    conditions = f", {_conditions(node.conditions)}" if node.conditions else ""
    return f"+<{{{names_text(node.shared)}}}{conditions}>"


def _conditions(conditions: tuple[LaharCondition, ...]) -> str:
    return ", ".join(map(condition_text, conditions))


def condition_text(node: LaharCondition) -> str:
    """Return a condition of a sigma or a plus."""
    if isinstance(node, Combines):
        return _combined_text(node)
    if isinstance(node, Holds):
        return f"{relation_text(node.relation)}({_terms(node.terms)})"
    return f"{term_text(node.left)} {node.operator} {term_text(node.right)}"


def _combined_text(node: Combines) -> str:
    parts = [condition_text(part) for part in node.parts]
    grouped = [
        f"({text})" if isinstance(part, Combines) and part.operator != "NOT" else text
        for text, part in zip(parts, node.parts, strict=True)
    ]
    return f"NOT {grouped[0]}" if node.operator == "NOT" else f" {node.operator} ".join(grouped)


def _terms(terms: tuple[Term, ...]) -> str:
    return ", ".join(map(term_text, terms))


def term_text(node: Term) -> str:
    """Return a variable or a constant."""
    return name_text(node.name) if isinstance(node, Variable) else expression_text(node)

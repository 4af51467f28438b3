"""EXPLAIN as a Mermaid flow chart of the automaton: for documents that render Mermaid."""

from __future__ import annotations

from collections.abc import Iterator

from augury.analysis.declarations.catalog import Catalog
from augury.planning.distribution.movement import Priced
from augury.planning.explain.words import guard_text, skip_text, transition_text
from augury.planning.physical import PhysicalPlan


def explain_as_mermaid(
    plan: PhysicalPlan, catalog: Catalog | None = None, priced: Priced | None = None
) -> str:
    """Return the automaton as a flow chart: solid edges seen, dotted edges missed."""
    return "\n".join(("flowchart LR", *(f"    {line}" for line in _lines(plan)))) + "\n"


def _lines(plan: PhysicalPlan) -> Iterator[str]:
    automaton, components = plan.automaton, plan.query.components
    names = [c.name for c in components]
    for state in automaton.states:
        shape = '((("{}")))' if state.accepting else '(("{}"))'
        yield f"s{state.index}" + shape.format(_escaped(state.label))
    for t in automaton.transitions:
        yield f's{t.source} -->|"{_escaped(transition_text(t, names))}"| s{t.target}'
    for s in automaton.skips:
        if not s.removed:
            yield f's{s.source} -.->|"{_escaped(skip_text(s, names))}"| s{s.target}'
    for number, guard in enumerate(automaton.guards):
        yield f'g{number}["{_escaped(guard_text(guard, components))}"]:::guard'
    if automaton.guards:
        yield "classDef guard stroke:#dc2626,color:#dc2626,stroke-dasharray:4 3"


def _escaped(text: str) -> str:
    return text.replace("#", "#35;").replace('"', "#quot;")

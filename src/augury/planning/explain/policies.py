"""EXPLAIN of a policy: how it decides, what it may not suppress, and what it cannot promise."""

from __future__ import annotations

from collections.abc import Mapping

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import PolicySchema
from augury.analysis.policies.weighable import parts_of
from augury.language.printer import to_text
from augury.language.text.expressions import expression_text
from augury.language.tree import WeightedQuery


def policy_text(policy: PolicySchema, queries: Mapping[str, CheckedQuery]) -> str:
    """Return what is known of a policy without data; `queries` are those of its session."""
    node = policy.statement
    lines = [f"policy {policy.name} on stream {policy.stream}", "", to_text(node), ""]
    lines += [
        f"public: {_weighted(node.public, '1')}",
        f"private: {_weighted(node.private, 'NEVER')}",
    ]
    lines += ["", *_bound(policy), *_stopped(policy, queries), *_undecided(policy, queries), ""]
    lines += [
        "promised: what is published are matches of the raw stream, with ids and confidences;",
        "          no match of what is NEVER put together can be made of the events that are kept.",
        "not promised: that nobody can guess. What always comes shows by its absence.",
    ]
    if any(each.weight is not None for each in node.private):
        soft = ", ".join(each.query for each in node.private if each.weight is not None)
        lines.append(f"not promised: that {soft} cannot be put together; a WEIGHT is weighed.")
    return "\n".join(lines)


def _weighted(queries: tuple[WeightedQuery, ...], default: str) -> str:
    return (
        ", ".join(
            f"{each.query} {default if each.weight is None else f'{each.weight:g}'}"
            for each in queries
        )
        or "none"
    )


def _bound(policy: PolicySchema) -> list[str]:
    """Return the types that are never suppressed, each with who binds it."""
    if not policy.bound:
        return ["bound types: none"]
    lines = ["bound types, which are never suppressed:"]
    for each in policy.bound:
        kind = "every type" if each.type is None else each.type
        lines.append(f"  {kind}: by {each.by}, {each.why}")
    return lines


def _stopped(policy: PolicySchema, queries: Mapping[str, CheckedQuery]) -> list[str]:
    """Return which events of a private query go, so that it is never put together."""
    lines, bound = list[str](), policy.bound_types
    for each in policy.statement.private:
        query = queries.get(each.query.lower())
        if each.weight is not None or query is None or bound is None:
            continue
        types = [by.type for c in query.components if not c.negated for by in c.played_by]
        free = [kind for kind in types if kind is not None and kind not in bound]
        if free and parts_of(query, private=True):
            lines.append(f"never put together: {query.name} is stopped at its {free[-1]}")
        elif free:
            names = ", ".join(dict.fromkeys(free))
            last = "the event without which bound types would be enough"
            lines.append(f"never put together: {query.name} is stopped at {last}: one of {names}")
    return lines


def _undecided(policy: PolicySchema, queries: Mapping[str, CheckedQuery]) -> list[str]:
    """Return the conditions that count as true by rates as long as they are not decided."""
    lines, node = list[str](), policy.statement
    if (node.method or "HYBRID") not in ("HYBRID", "HYBRID RATES", "HYBRID PERIODIC"):
        return []
    for each in (*node.public, *node.private):
        query = queries.get(each.query.lower())
        for conjunct in query.conjuncts if query else ():
            if len(conjunct.components) > 1 and not conjunct.derived:
                text = expression_text(conjunct.expression)
                if not _is_equated(query, conjunct.components):
                    lines.append(f"counts as true by rates until decided: {text}, in {each.query}")
    return lines


def _is_equated(query: CheckedQuery | None, named: tuple[int, ...]) -> bool:
    """Whether some components are those of one equality."""
    return query is not None and any(
        {*named} <= {component for component, _ in each.members} for each in query.equalities
    )

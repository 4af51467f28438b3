"""EXPLAIN of a policy: how it decides, what it may not suppress, and what it cannot promise."""

from __future__ import annotations

from augury.analysis.declarations.catalog import PolicySchema
from augury.language.printer import to_text
from augury.language.tree import WeightedQuery


def policy_text(policy: PolicySchema) -> str:
    """Return what is known of a policy without data."""
    node = policy.statement
    lines = [f"policy {policy.name} on stream {policy.stream}", "", to_text(node), ""]
    lines += [
        f"public: {_weighted(node.public, '1')}",
        f"private: {_weighted(node.private, 'NEVER')}",
    ]
    lines += ["", *_bound(policy), ""]
    lines += [
        "promised: what is published are matches of the raw stream, with ids and confidences;",
        "          no match of what is NEVER put together can be made of the events that are kept.",
        "not promised: that nobody can guess. What always comes shows by its absence.",
    ]
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

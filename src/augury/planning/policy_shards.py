"""By which columns the decisions of a policy may be cut into shards.

What becomes of an event depends on the kept events that it can stand in a match with, and on what
was learned. So rows may be cut by columns that every query of the policy equates, as long as all
that is learned comes from a history, which every shard can read.
"""

from __future__ import annotations

from dataclasses import dataclass

from augury.analysis.declarations.catalog import StreamSchema
from augury.planning.policy_plan import PolicyPlan


@dataclass(frozen=True, slots=True)
class PolicyCut:
    """The columns whose values tell shards apart; None where one shard decides, and why."""

    columns: tuple[str, ...] | None
    reason: str


def policy_cut(plan: PolicyPlan, stream: StreamSchema) -> PolicyCut:
    """Return by which columns of its stream a policy may be cut."""
    policy, name = plan.policy, plan.schema.name
    if policy.online and policy.method != "GREEDY":
        return PolicyCut(None, f"{name} learns online from all events that go by, in one order")
    columns = {column.name for column in stream.columns} - set(stream.alternatives)
    for pattern in policy.patterns:
        columns &= set(pattern.equated)
        if not columns:
            return PolicyCut(None, _lacking(name, plan, stream))
    found = tuple(sorted(columns))
    return PolicyCut(found, f"every query of {name} equates {', '.join(found)}")


def _lacking(name: str, plan: PolicyPlan, stream: StreamSchema) -> str:
    """Return which query of a policy stands in the way."""
    for pattern in plan.policy.patterns:
        if not pattern.equated:
            return f"{pattern.name} equates no attribute over all of its events"
        if set(pattern.equated) <= set(stream.alternatives):
            which = ", ".join(pattern.equated)
            return f"{pattern.name} equates {which}, of which one event has alternatives"
    return f"the queries of {name} equate no attribute in common"

"""What cannot be answered over rows that have no end, on whatever runner."""

from __future__ import annotations

from augury.evaluation.network import Network
from augury.planning.acting.refusals import refuse_worlds
from augury.planning.base_streams import below
from augury.planning.evaluated import (
    reads_owners,
    refuse_endless_skips,
    refuse_inferred,
    refuse_late_steps,
    refuse_unrevised,
)
from augury.planning.refusal import NEEDS_A_WINDOW, PlanError
from augury.planning.streamable import refuse_unstreamable


def refuse_endless(network: Network) -> None:
    """Raise where a query cannot be answered over rows that have no end."""
    if network.act is not None:
        refuse_worlds(network.act.acting)
        for name in network.act.acting.forecasts:
            refuse_late_steps("a rule", name, network.forecasts)
    for query in network.queries.values():
        for stream in query.streams:
            refuse_late_steps(f"query {query.name}", stream.name, network.forecasts)
    for name, query in network.queries.items():
        if any(map(reads_owners, below(query, network.queries).values())):
            refuse_unrevised(query)
        if network.graph.of(name).is_likely:
            refuse_unstreamable(query, network.catalog)
            continue
        refuse_inferred(query, network.catalog)
        refuse_endless_skips(query)
        pattern = network.plans[name].pattern
        if pattern.window is None and pattern.count_window is None:
            message = f"query {query.name} has no window, so its state would grow for ever"
            raise PlanError(NEEDS_A_WINDOW, message, "add WITHIN, or run it over bounded rows")

"""The part of EXPLAIN that says how rows are moved between the places of streams, at what price."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from augury.planning.distribution.layout import MOVEMENTS, Movement
from augury.planning.distribution.movement import Priced, asked_movement, asked_parts, is_moved
from augury.planning.physical import PhysicalPlan

TEXTS: dict[Movement, str] = {"events": "moving events", "results": "moving temporal results"}


def movement_lines(plan: PhysicalPlan, priced: Priced | None) -> Iterator[str]:
    """Yield what each plan moves, and which is taken and why."""
    asks = any(option.key.lower() in ("movement", "partitions") for option in plan.query.options)
    if not is_moved(plan.query, plan.partitioning):
        if asks:
            yield "OPTIONS says how, but only matches that time alone cuts apart are moved so"
        return
    if priced is None:
        yield from _unpriced(plan) if asks or len(plan.query.streams) > 1 else ()
        return
    for name, sketch in priced.sketches.items():
        yield f"{name}: {sketch.rows:,} rows, of which {sketch.entries:,} enter queues"
    for movement in MOVEMENTS:
        cost = priced.prices[movement]
        more = f", in {priced.fragments} fragments" if movement == "events" else ""
        yield f"{TEXTS[movement]}: {cost.rows:,.0f} rows, {cost.bytes:,.0f} bytes{more}"
    yield f"equation 4.2 (places of equal size): {priced.equation:,.0f} rows"
    yield f"chosen: {TEXTS[priced.chosen]}, because {priced.why}"


def _unpriced(plan: PhysicalPlan) -> Iterator[str]:
    asked, parts = asked_movement(plan.query), asked_parts(plan.query)
    why = "as OPTIONS asks" if asked else "which moves no row that enters no queue"
    into = f", in {parts} ranges" if parts else ""
    yield f"{TEXTS[asked or 'results']}{into}, {why}"
    if len(plan.query.streams) > 1 and not asked:
        yield "not priced: Session.analyze counts the rows of the streams, if you ask for it"


def movement_facts(plan: PhysicalPlan, priced: Priced | None) -> dict[str, Any] | None:
    """Return movement and costs as plain values; None where rows are not cut by time."""
    if not is_moved(plan.query, plan.partitioning):
        return None
    chosen = priced.chosen if priced else asked_movement(plan.query) or "results"
    costs = priced.prices if priced else {}
    return {
        "chosen": chosen,
        "estimates": {
            name: {"rows": round(cost.rows), "bytes": round(cost.bytes)}
            for name, cost in costs.items()
        },
    }

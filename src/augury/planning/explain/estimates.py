"""Estimates that EXPLAIN prints: how much is moved, and how much is kept.

There are no statistics yet, so shares of rows are guesses by the shape of predicates, and are
called so wherever they are shown.
"""

from __future__ import annotations

from math import prod

from augury.planning.explain.words import length_text, window_text
from augury.planning.logical import Marginalise
from augury.planning.physical import PhysicalPlan, Play

TYPE_SHARE = 0.1


def share_of_rows(plan: PhysicalPlan, stream: str) -> float:
    """Return a guess at the share of a stream's rows that are moved."""
    plays = [play for play in plan.plays if play.stream.name == stream]
    if not plan.drops_others:
        return 1.0
    return 1.0 - prod(1.0 - _share(play) for play in plays)


def _share(play: Play) -> float:
    typed = TYPE_SHARE if play.stream.type and f"`{play.stream.type}` =" in play.sql else 1.0
    return typed * prod(p.selectivity for p in (*play.pushed, *play.on_arrival))


def state_text(plan: PhysicalPlan) -> str:
    """Return what is kept between events, for one part of the stream."""
    query, search = plan.query, plan.search
    part = "per key" if plan.partitioning.kind == "key" else "in all"
    if isinstance(search, Marginalise) and search.method in ("chain", "chain per key"):
        return _chain_text(plan, part)
    size = plan.moved.bytes_per_row
    if query.verdict.join is not None:
        return "one probability for each value of what is joined, in each window"
    if query.within is None:
        return f"every event that can play a component, {size} bytes each: it grows with the input"
    if query.within.events:
        return f"at most {window_text(query.within, query)} of {size} bytes"
    recent = length_text(query.within.length, query)
    return f"the events of the last {recent}, {size} bytes each, {part}"


def _chain_text(plan: PhysicalPlan, part: str) -> str:
    # Events that may not have happened leave several states possible at once, and how many sets of
    # them, or hidden values, occur is known from the data only.
    least = len(plan.automaton.states) * open_windows(plan)
    hidden = [name for s in plan.query.streams for name in s.alternatives]
    more = "sets of states" + (f" and values of {', '.join(hidden)}" if hidden else "")
    if plan.query.over is not None:
        more += (
            f", and times since a match ended (within {length_text(plan.query.over, plan.query)})"
        )
    return (
        f"at least {least:,} probabilities ({8 * least:,} bytes) {part}, however long the stream; "
        f"more as {more} occur"
    )


def open_windows(plan: PhysicalPlan) -> int:
    """Return how many sliding windows are open at one time."""
    within, every = plan.query.within, plan.query.every
    if within is None or every is None or plan.query.returns != "PROBABILITY":
        return 1
    return -(-within.length // every.length)

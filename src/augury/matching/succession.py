"""Plain sequences of certain events, answered without a search (see `kernels.succession`)."""

from __future__ import annotations

import numpy as np

from augury.kernels import layout, succession
from augury.matching.pattern import Pattern
from augury.records import Events, Words


def is_plain(pattern: Pattern) -> bool:
    """Whether a pattern is one event of each component in turn, whatever these events hold."""
    n = len(pattern.components)
    steps = [(edge.source, edge.target, edge.component) for edge in pattern.edges]
    states = [*range(n), n]
    in_turn = steps == list(zip(states, states[1:], range(n), strict=False))
    joined = any(edge.adjacent or edge.yields for edge in pattern.edges)
    asked = pattern.rules or pattern.after or pattern.guards or pattern.repeats or pattern.waits
    scored = pattern.stretches or pattern.variants or pattern.missed
    return (
        pattern.strategy == "NEXT"
        and in_turn
        and not (joined or asked or scored)
        and pattern.count_window is None
        and pattern.accepting == (*(False,) * n, True)
        and pattern.match_limit > 0
        and (pattern.threshold < 1.0 or not pattern.strict_threshold)
    )


def are_followed(events: Events, order: Words) -> bool:
    """Whether each event has one successor: all happened, and none at the time of another."""
    certain: bool = succession.are_certain(events.p, events.group)
    return certain and bool(succession.are_apart(order, events.time, events.partition))


def followed(
    pattern: Pattern, events: Events, order: Words, span: tuple[int, int]
) -> tuple[Words, Words]:
    """Return the matches known in a span as (component, place in `order`), and when each is."""
    n, window = len(pattern.components), pattern.window
    after = succession.successors(order, events.partition, events.mask, n)
    starts = int(np.count_nonzero(events.mask[order] & 1)) + 1
    items, known = np.empty((starts, n, 2), np.int64), np.empty(starts, np.int64)
    reach = layout.FOREVER if window is None else window
    count = succession.follow(order, events.time, events.mask, after, reach, span, items, known)
    return items[:count].reshape(-1, 2), known[:count]

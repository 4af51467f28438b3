"""Plain sequences, answered without a search (see `kernels.succession`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from augury.kernels import layout, succession
from augury.kernels.succession import IN_VAIN, TOO_MANY
from augury.matching.arena import Report
from augury.matching.pattern import Pattern
from augury.records import Events, Reals, Words

# Events for each match that there is room for at first.
EVENTS_A_MATCH = 2


@dataclass(frozen=True, slots=True)
class Followed:
    """Matches as (component, place in the order), when each is known, and its confidence."""

    items: Words
    known: Words
    confidence: Reals


def is_plain(pattern: Pattern) -> bool:
    """Whether a pattern is one event of each component in turn, whatever these events hold."""
    n = len(pattern.components)
    steps = [(edge.source, edge.target, edge.component) for edge in pattern.edges]
    in_turn = steps == [(c, c + 1, c) for c in range(n)]
    joined = any(edge.adjacent or edge.yields for edge in pattern.edges)
    asked = pattern.rules or pattern.after or pattern.guards or pattern.repeats or pattern.waits
    scored = pattern.stretches or pattern.variants or pattern.missed
    return (
        pattern.strategy in ("ANY", "NEXT")
        and in_turn
        and not (joined or asked or scored)
        and pattern.count_window is None
        and pattern.accepting == (*(False,) * n, True)
    )


def can_follow(pattern: Pattern, events: Events, order: Words, report: Report) -> bool:
    """Whether the matches of a pattern are found by following, in these events."""
    if not report.independent or not is_plain(pattern):
        return False
    doubt = pattern.strategy == "NEXT" and not succession.are_certain(events.p)
    return (
        not doubt
        and bool(succession.are_free(events.group))
        and bool(succession.are_apart(order, events.time, events.partition))
    )


def follow(pattern: Pattern, events: Events, order: Words, report: Report) -> Followed | int:
    """Return the matches that become known in the span of a report; or what the kernel objects."""
    n, size = len(pattern.components), len(order)
    following, soonest = np.empty((size, n), np.int32), np.empty((size, n), np.int64)
    succession.look_back(order, events.partition, events.time, events.mask, following, soonest)
    window = layout.FOREVER if pattern.window is None else pattern.window
    rest = (
        (events.time, events.mask, events.p),
        (following, soonest),
        (window, pattern.match_limit, int(pattern.strategy == "NEXT")),
        (report.reported, report.horizon),
        (pattern.threshold, pattern.strict_threshold),
    )
    room = size // EVENTS_A_MATCH
    while True:
        found = Followed(np.empty((room, n, 2), np.int64), np.empty(room, np.int64), np.empty(room))
        count = succession.follow(order, *rest, found.items, found.known, found.confidence)
        if count in (TOO_MANY, IN_VAIN):
            return int(count)
        if count <= room:
            items = found.items[:count].reshape(-1, 2)
            return Followed(items, found.known[:count], found.confidence[:count])
        room = int(count)

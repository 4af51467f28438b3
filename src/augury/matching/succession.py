"""Plain sequences, answered without a search (see `kernels.succession`)."""

from __future__ import annotations

import numpy as np

from augury.kernels.search import layout
from augury.kernels.sequences import succession
from augury.kernels.sequences.succession import AT_ONCE, IN_VAIN, TOO_MANY, TOO_MANY_IN_ALL
from augury.matching.arena import Report
from augury.matching.find import Found, too_many
from augury.matching.pattern import Pattern
from augury.matching.step_limits import limits_of
from augury.records import Events, Reals, Words

# Events for each match that there is room for at first.
EVENTS_A_MATCH = 2
# Times that are further off are left to the search.
FAR = 2**61


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


def can_follow(pattern: Pattern, events: Events, report: Report) -> bool:
    """Whether the matches of a pattern are found by following, unless events are of one time."""
    if not report.independent or not is_plain(pattern) or not _is_within_reach(events.time):
        return False
    if pattern.first_only and pattern.strategy == "ANY":
        return False
    if pattern.strategy == "NEXT" and not _has_one_world(pattern, events):
        return False
    return bool(succession.are_free(events.group))


def _is_within_reach(time: Words) -> bool:
    """Whether differences of times, and of these and a horizon, are numbers of 64 bits."""
    return not len(time) or bool(time.min() > -FAR and time.max() < FAR)


def _has_one_world(pattern: Pattern, events: Events) -> bool:
    """Whether every event is certain, and so is every match, which is enough for the threshold."""
    enough = not pattern.strict_threshold or pattern.threshold + layout.TOLERANCE < 1.0
    return enough and bool(succession.are_certain(events.p))


def followed(pattern: Pattern, events: Events, report: Report) -> Found | None:
    """Return the matches of a plain sequence; None where they have to be searched for.

    Events are in the order of time. Positions in the result are theirs.
    """
    if pattern.strategy == "NEXT":
        return _first_ways(pattern, events, report)
    return _all_ways(pattern, events, report)


def _first_ways(pattern: Pattern, events: Events, report: Report) -> Found | None:
    """Return the matches of next-match over certain events, whose confidence is 1."""
    # No more than one match begins with each event; what is not written takes no memory.
    items = np.empty((len(events), len(pattern.components), 2), np.int64)
    known = np.empty(len(events), np.int64)
    count = succession.follow_first(
        events.partition,
        events.time,
        events.mask,
        _partitions(events),
        _window(pattern),
        (report.reported, report.horizon),
        items,
        known,
    )
    if count == AT_ONCE:
        return None
    first = len(events) - count
    return _found(items[first:], known[first:], np.ones(count))


def _all_ways(pattern: Pattern, events: Events, report: Report) -> Found | None:
    tables = _what_follows(pattern, events)
    if tables is None:
        return None
    limits, each = limits_of(pattern), len(pattern.components)
    rest = (
        (events.time, events.mask, events.p),
        tables,
        (_window(pattern), pattern.match_limit, limits.matches),
        (report.reported, report.horizon),
        (pattern.threshold, pattern.strict_threshold),
    )
    room = len(events) // EVENTS_A_MATCH
    while True:
        items = np.empty((room, each, 2), np.int64)
        known, confidence = np.empty(room, np.int64), np.empty(room)
        count = succession.follow(*rest, items, known, confidence)
        if count == TOO_MANY:
            raise too_many(pattern)
        if count == IN_VAIN:
            return None
        if count == TOO_MANY_IN_ALL:
            limits.check(limits.matches + 1, 0)
        limits.check(int(count), int(count) * each)
        if count <= room:
            return _found(items[:count], known[:count], confidence[:count])
        room = int(count)


def _what_follows(pattern: Pattern, events: Events) -> tuple[np.ndarray, Words] | None:
    """Return what may follow each event; None where two of a partition are of one time."""
    shape = len(events), len(pattern.components)
    following, soonest = np.empty(shape, np.int32), np.empty(shape, np.int64)
    apart = succession.look_back(
        events.partition, events.time, events.mask, _partitions(events), following, soonest
    )
    return (following, soonest) if apart else None


def _partitions(events: Events) -> int:
    return int(events.partition.max(initial=0)) + 1


def _window(pattern: Pattern) -> int:
    return layout.FOREVER if pattern.window is None else pattern.window


def _found(items: Words, known: Words, confidence: Reals) -> Found:
    n, each, _ = items.shape
    return Found(
        first_item=np.arange(n + 1) * each,
        items=items.reshape(-1, 2),
        first_absent=np.zeros(n + 1, np.int64),
        absents=np.zeros((0, layout.ABSENT_SIZE), np.int64),
        confidence=confidence,
        report_time=known,
        is_conditional=np.zeros(n, np.bool_),
        missed=np.zeros(n, np.int64),
    )

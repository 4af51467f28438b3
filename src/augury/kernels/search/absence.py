"""Absence: which events must not have happened for a match to be an answer.

Next-match selection would have taken what it passed over; contiguity tolerates nothing between; a
negation forbids what would play it. Each event counts once, whatever forbids it.
"""

from __future__ import annotations

from augury.kernels.jit import part
from augury.kernels.memory import get, put
from augury.kernels.search.layout import (
    ABSENT,
    ABSENT_ROOM,
    ABSENTS,
    ALSO_SINCE,
    ALSO_SKIPPED,
    ALWAYS_ABSENT,
    COUNT_WINDOW,
    FIXED,
    GUARD_COMPANY,
    GUARD_EARLIER,
    GUARD_KIND,
    GUARD_LATER,
    IN_MATCH,
    ITEM_COMPONENT,
    JOINT_ROWS,
    KEY,
    LANE,
    NEXT_TO,
    OWN,
    PARTITION,
    PASSED,
    SINCE,
    STAMP,
    STRATEGY,
    TIME,
    UNLESS_OUTSIDE,
    UNLESS_SKIPPED,
    UNTIL,
    WHO,
    WINDOW,
    absent_at,
    entry,
    event_at,
    frame_at,
    mark,
    of,
    passed_at,
)
from augury.kernels.search.neighbours import can_adjoin, facing, is_in_doubt
from augury.kernels.search.order import (
    follows_some,
    is_before,
    is_inside,
    last_of,
    lies_between,
    precedes_some,
    span_of,
    stands_beside_some,
)
from augury.kernels.search.until import is_breaking


@part
def forbid(s, event):
    """Note, once, that the event must be absent; an event of the match forbids nothing."""
    stamp = get(s.m, STAMP)
    if of(s, event, IN_MATCH) == stamp or of(s, event, ABSENT) == stamp:
        return
    mark(s, event, ABSENT, stamp)
    append_absent(s, event, ALWAYS_ABSENT)


@part
def append_absent(s, event, since):
    """Add a row to the absent events; beyond the room it is only counted."""
    n = get(s.m, ABSENTS)
    if n < get(s.m, ABSENT_ROOM):
        put(s.out, absent_at(s, n, WHO), event)
        put(s.out, absent_at(s, n, SINCE), since)
    put(s.m, ABSENTS, n + 1)


@part
def forbid_passed(s, depth, deadline):
    """Forbid what next-match selection would have taken instead."""
    for d in range(1, depth + 1):
        for i in range(get(s.m, frame_at(s, d, FIXED)), get(s.m, frame_at(s, d, OWN))):
            forbid_if(s, get(s.m, passed_at(s, i, WHO)), get(s.m, passed_at(s, i, SINCE)))
    if deadline:
        for i in range(get(s.m, frame_at(s, depth, OWN)), get(s.m, PASSED)):
            forbid_inside(s, get(s.m, passed_at(s, i, WHO)), get(s.m, passed_at(s, i, SINCE)))


@part
def forbid_if(s, event, since):
    """Forbid the event, under the condition that `since` says."""
    if since == ALWAYS_ABSENT:
        forbid(s, event)
    elif of(s, event, ABSENT) != get(s.m, STAMP):
        append_absent(s, event, since)


@part
def forbid_inside(s, event, since):
    """Forbid an event beyond the match; in a window of events, unless it lies outside."""
    if get(s.m, COUNT_WINDOW) == 0 or since in (ALSO_SINCE, ALSO_SKIPPED):
        forbid_if(s, event, since)
        return
    append_absent(s, event, UNLESS_OUTSIDE)
    # A neighbour in doubt has two excuses: the window, and what may lie between.
    if since == UNLESS_SKIPPED:
        append_absent(s, event, ALSO_SKIPPED)
    elif since != ALWAYS_ABSENT:
        append_absent(s, since, ALSO_SINCE)


@part
def forbid_skipped(s, depth):
    """Forbid what lies between events of the match and beside none (of its key, for PARTITION)."""
    first, last = span_of(s, depth)
    own_key, stamp = get(s.m, STRATEGY) == PARTITION, get(s.m, STAMP)
    for e in range(first + 1, last):
        if of(s, e, IN_MATCH) == stamp:
            continue
        if own_key and of(s, e, KEY) != of(s, first, KEY):
            continue
        if follows_some(s, depth, e) and precedes_some(s, depth, e):
            if not stands_beside_some(s, depth, e):
                forbid(s, e)


@part
def forbid_between_neighbours(s, depth):
    """Forbid what stands between the neighbours that a NEXT(...) asks for."""
    for d in range(2, depth + 1):
        event, lane = event_at(s, d), get(s.m, frame_at(s, d, LANE))
        for joint in range(entry(s, JOINT_ROWS, lane), entry(s, JOINT_ROWS, lane + 1)):
            before = facing(s, d - 1, joint, d, event)
            while before > 0:
                previous = event_at(s, before)
                for e in range(previous + 1, event):
                    if lies_between(s, previous, e, event):
                        forbid(s, e)
                before = facing(s, d - 1, joint, before, event)


@part
def gap_of(s, depth, earlier, later, begin, stop):
    """Return the range of events that can lie in a gap; an open side ends with the window."""
    first, last = span_of(s, depth)
    low, high, window = last, last, get(s.m, WINDOW)
    left = last_of(s, depth, earlier)
    if left > 0:
        low = event_at(s, left) + 1
    else:
        while low > begin and of(s, last, TIME) - of(s, low - 1, TIME) <= window:
            low -= 1
    if last_of(s, depth, later) == 0:
        while high < stop and of(s, high, TIME) - of(s, first, TIME) <= window:
            high += 1
    return low, high


@part
def forbid_guarded(s, depth, guard, begin, stop):
    """Forbid what would break one negated component; False if an event of the match does."""
    if last_of(s, depth, entry(s, GUARD_COMPANY, guard)) == 0:
        return True
    if entry(s, GUARD_KIND, guard) == UNTIL:
        return forbid_until(s, depth, guard)
    earlier, later = entry(s, GUARD_EARLIER, guard), entry(s, GUARD_LATER, guard)
    low, high = gap_of(s, depth, earlier, later, begin, stop)
    is_open = last_of(s, depth, earlier) == 0 or last_of(s, depth, later) == 0
    neighbour = entry(s, GUARD_KIND, guard) == NEXT_TO
    left = last_of(s, depth, earlier)
    for e in range(low, high):
        if is_breaking(s, guard, e) and is_inside(s, depth, earlier, later, e):
            since = ALWAYS_ABSENT
            if neighbour:
                previous = event_at(s, left) if left > 0 else -1
                if previous < 0 or not can_adjoin(s, depth, previous, e):
                    continue
                since = previous if is_in_doubt(s, previous, e) else ALWAYS_ABSENT
            if since == ALWAYS_ABSENT and of(s, e, IN_MATCH) == get(s.m, STAMP):
                return False
            if is_open:
                forbid_inside(s, e, since)
            else:
                forbid_if(s, e, since)
    return True


@part
def forbid_until(s, depth, guard):
    """Forbid what ends a repetition between its events; False if an event of the match does."""
    own = entry(s, GUARD_EARLIER, guard)
    first, last = -1, -1
    for d in range(1, depth + 1):
        if (own >> get(s.m, frame_at(s, d, ITEM_COMPONENT))) & 1:
            last = event_at(s, d)
            first = last if first < 0 else first
    for e in range(first + 1, last):
        if is_before(s, first, e) and is_before(s, e, last) and is_breaking(s, guard, e):
            if of(s, e, IN_MATCH) == get(s.m, STAMP):
                return False
            forbid(s, e)
    return True

"""Report: judge a finished match, and append it to the output if it is likely enough."""

from __future__ import annotations

from augury.kernels.jit import part
from augury.kernels.memory import get, get_real, put, put_real
from augury.kernels.search.absence import (
    forbid_between_neighbours,
    forbid_guarded,
    forbid_passed,
    forbid_skipped,
)
from augury.kernels.search.conditions import end_rules_hold, rules_hold
from augury.kernels.search.confidence import absence, presence, room_in_count_window
from augury.kernels.search.contiguity import chance_of_end, ends_plainly, is_contiguous
from augury.kernels.search.layout import (
    ABSENT_ROOM,
    ABSENTS,
    AFTER_COUNT,
    AFTER_RULES,
    ALWAYS_ABSENT,
    AMBIGUOUS,
    ANY,
    BARRIER,
    CONDITIONAL,
    CONFIDENCE,
    COUNT_WINDOW,
    FIRST_ABSENT,
    FIRST_ITEM,
    FOREVER,
    GUARD_COMPANY,
    GUARD_KIND,
    GUARD_LATER,
    HORIZON,
    INDEPENDENT,
    ITEM_COMPONENT,
    ITEM_ROOM,
    ITEM_SIZE,
    ITEMS,
    MATCH_ROOM,
    MATCHES,
    N_GUARDS,
    OUT_ITEMS,
    REPORT_TIME,
    REPORTED,
    SINCE,
    STAMP,
    STRATEGY,
    STRICT_THRESHOLD,
    THRESHOLD,
    TIME,
    TOLERANCE,
    UNTIL,
    WAITS,
    WANT_ABSENT,
    WINDOW,
    absent_at,
    entry,
    event_at,
    frame_at,
    match_at,
    of,
)
from augury.kernels.search.order import has_ties, last_of
from augury.kernels.search.scores import score_of


@part
def passes(s, confidence):
    """Whether a match of this confidence is reported."""
    if confidence <= 0.0:
        return False
    if get(s.m, STRICT_THRESHOLD):
        return confidence > get_real(s.m, THRESHOLD) + TOLERANCE
    return confidence >= get_real(s.m, THRESHOLD) - TOLERANCE


@part
def ends_with_negation(s, depth):
    """Whether a negation reaches to the end of the window, as nothing after it was taken."""
    for guard in range(get(s.m, N_GUARDS)):
        if entry(s, GUARD_KIND, guard) == UNTIL:
            continue
        if last_of(s, depth, entry(s, GUARD_LATER, guard)) == 0:
            if last_of(s, depth, entry(s, GUARD_COMPANY, guard)) > 0:
                return True
    return False


@part
def report_time(s, depth, deadline):
    """Return when the match is known: at its last event, or at the end of its window.

    What must be absent of a contiguous run is known where an event came that nothing can pass.
    """
    waits = get(s.m, WAITS) or ends_with_negation(s, depth)
    barrier = get(s.m, frame_at(s, depth, BARRIER))
    if deadline and not waits and is_contiguous(s) and barrier >= 0:
        return of(s, barrier, TIME)
    if deadline or waits:
        if get(s.m, WINDOW) == FOREVER:
            return FOREVER - 1
        return of(s, event_at(s, 1), TIME) + get(s.m, WINDOW)
    return of(s, event_at(s, depth), TIME)


@part
def emit(s, depth, deadline, begin, stop):
    """Report the bound match, if it is new, complete and likely enough; False if out of room."""
    at = report_time(s, depth, deadline)
    if at < get(s.m, REPORTED) or at >= get(s.m, HORIZON):
        return True
    if not end_rules_hold(s, depth):
        return True
    if not rules_hold(s, 0, get(s.m, AFTER_COUNT), AFTER_RULES):
        return True
    put(s.m, STAMP, get(s.m, STAMP) + 1)
    first_absent = get(s.m, ABSENTS)
    confidence = presence(s, depth) * score_of(s, depth)
    ends_in_itself = deadline and is_contiguous(s) and ends_plainly(s, depth)
    if get(s.m, STRATEGY) != ANY:
        forbid_passed(s, depth, deadline and not ends_in_itself)
    if is_contiguous(s):
        forbid_skipped(s, depth)
    forbid_between_neighbours(s, depth)
    for guard in range(get(s.m, N_GUARDS)):
        if not forbid_guarded(s, depth, guard, begin, stop):
            put(s.m, ABSENTS, first_absent)
            return True
    if get(s.m, ABSENTS) > get(s.m, ABSENT_ROOM):
        return False
    # Taken in another order, ties may make the same match on other conditions: any will do.
    united = get(s.m, AMBIGUOUS) and has_ties(s, depth)
    if get(s.m, INDEPENDENT):
        confidence *= 1.0 if united else absence(s, first_absent)
        if ends_in_itself:
            confidence *= chance_of_end(s, depth)
        if get(s.m, COUNT_WINDOW) > 0 and not united:
            confidence *= room_in_count_window(s, depth)
        if not passes(s, confidence):
            put(s.m, ABSENTS, first_absent)
            return True
    return write(s, depth, at, confidence, first_absent, united)


@part
def write(s, depth, at, confidence, first_absent, united):
    """Append the match to the output; False if there is no room."""
    m, i = get(s.m, MATCHES), get(s.m, ITEMS)
    if m >= get(s.m, MATCH_ROOM) or i + depth > get(s.m, ITEM_ROOM):
        return False
    put(s.out, match_at(s, m, FIRST_ITEM), i)
    put(s.out, match_at(s, m, REPORT_TIME), at)
    conditional = united
    for i_absent in range(first_absent, get(s.m, ABSENTS)):
        conditional |= get(s.out, absent_at(s, i_absent, SINCE)) != ALWAYS_ABSENT
    put(s.out, match_at(s, m, CONDITIONAL), conditional)
    if not conditional and not get(s.m, WANT_ABSENT):
        put(s.m, ABSENTS, first_absent)
    put(s.out, match_at(s, m, FIRST_ABSENT), first_absent)
    put_real(s.out, match_at(s, m, CONFIDENCE), confidence)
    for d in range(1, depth + 1):
        put(s.out, get(s.m, OUT_ITEMS) + i * ITEM_SIZE, get(s.m, frame_at(s, d, ITEM_COMPONENT)))
        put(s.out, get(s.m, OUT_ITEMS) + i * ITEM_SIZE + 1, event_at(s, d))
        i += 1
    put(s.m, MATCHES, m + 1)
    put(s.m, ITEMS, i)
    return True

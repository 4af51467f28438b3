"""Next-match runs: from one start, the earliest event that fits, in every world.

A run takes an event that fits, and also goes on without it, as in the worlds where it did not
happen. Under STRICT and PARTITION CONTIGUITY only a neighbour fits (see `contiguity`).
"""

from __future__ import annotations

from augury.kernels.jit import (
    part,
)
from augury.kernels.memory import (
    get,
    get_real,
    put,
    put_real,
)
from augury.kernels.search.bounds import (
    can_finish,
    wants_bounds,
)
from augury.kernels.search.contiguity import (
    is_contiguous,
    wall_off,
)
from augury.kernels.search.layout import (
    ACCEPTING,
    BARRIER,
    BEGIN,
    BEST_SCORE,
    DEPTH_ROOM,
    DOOMED,
    EDGE_ROWS,
    FIXED,
    KEY,
    LANE,
    OWN,
    PARTITION,
    PASSED,
    REFUSED,
    SCAN,
    STATE,
    STOP,
    STRATEGY,
    TIME,
    TRY,
    WEIGHT,
    WORK,
    P,
    entry,
    event_at,
    frame_at,
    of,
    real_of,
)
from augury.kernels.search.order import (
    is_before,
)
from augury.kernels.search.passing import (
    fix_passed,
    is_barred,
    pass_over,
    refuse_if_in_doubt,
)
from augury.kernels.search.report import (
    emit,
)
from augury.kernels.search.taking import (
    fits,
    give_back,
    is_bound,
    is_over,
    may_pass,
    preferred_lane,
)


@part
def first_abreast(s, event, begin):
    """Return the first event of the partition that does not lie before `event`."""
    while event > begin and of(s, event - 1, TIME) == of(s, event, TIME):
        event -= 1
    return event


@part
def settle(s, depth, begin):
    """Get a frame of a next-match run ready: nothing passed over yet, look from ties onwards."""
    put(s.m, frame_at(s, depth, SCAN), first_abreast(s, event_at(s, depth), begin))
    put(s.m, frame_at(s, depth, OWN), get(s.m, PASSED))
    put(s.m, frame_at(s, depth, BARRIER), -1)
    put(s.m, frame_at(s, depth, DOOMED), 0)
    put(s.m, frame_at(s, depth, REFUSED), 0)


NOTHING, TAKEN, ENDED, NO_ROOM = 0, 1, 2, 3


@part
def look_at(s, depth, event):
    """Let a next-match run look at one event: take it at depth + 1 (TAKEN), or leave it."""
    last = event_at(s, depth)
    if is_bound(s, depth, event) or is_before(s, event, last):
        return NOTHING
    if get(s.m, STRATEGY) == PARTITION and of(s, event, KEY) != of(s, last, KEY):
        return NOTHING
    if is_contiguous(s):
        wall_off(s, depth, event)
    lane = preferred_lane(s, depth, event)
    if lane < 0 and get(s.m, frame_at(s, depth, REFUSED)) == 0:
        return NOTHING
    while lane >= 0:
        outcome = try_lane(s, depth, lane, event)
        if outcome != NOTHING:
            return outcome
        # Where the neighbour is in doubt, the event may play the next transition that it fits.
        lane = preferred_lane(s, depth, event) if refuse_if_in_doubt(s, depth, lane, event) else -1
    put(s.m, frame_at(s, depth, REFUSED), 0)
    return NOTHING if pass_over(s, depth, event) else NO_ROOM


@part
def try_lane(s, depth, lane, event):
    """Keep an event that was bound at depth + 1 (TAKEN) if that may lead to a match."""
    if not is_barred(s, depth, event):
        if not fix_passed(s, depth, event):
            give_back(s, depth + 1)
            return NO_ROOM
        if may_pass(s, get_real(s.m, frame_at(s, depth + 1, WEIGHT))):
            so_far = get_real(s.m, frame_at(s, depth, WEIGHT))
            if can_finish(s, event_at(s, 1), lane, event, so_far):
                return TAKEN
        put(s.m, PASSED, get(s.m, frame_at(s, depth + 1, FIXED)))
    give_back(s, depth + 1)
    return NOTHING


@part
def advance_run(s, depth, begin, stop):
    """Look at events until one is taken (TAKEN) or the run has nowhere to go (ENDED)."""
    start = event_at(s, 1)
    wants_bounds(s, start, stop)
    ends_open = entry(s, ACCEPTING, get(s.m, frame_at(s, depth, STATE)))
    while True:
        event = get(s.m, frame_at(s, depth, SCAN))
        if is_over(s, start, event, stop):
            return ENDED
        # Past a barrier nothing can be taken; only an open end still needs to know what fits, and
        # not even that where what is no neighbour does not fit.
        if (not ends_open or is_contiguous(s)) and is_barred(s, depth, event):
            return ENDED
        put(s.m, frame_at(s, depth, SCAN), event + 1)
        put(s.m, WORK, get(s.m, WORK) + 1)
        outcome = look_at(s, depth, event)
        if outcome == TAKEN:
            # Taking it is one way; once that is searched, the run also goes on without it.
            put(s.m, frame_at(s, depth, TRY), event)
        if outcome != NOTHING:
            return outcome


@part
def search_next(s, start, lane):
    """Find all matches that begin with `start` by next-match selection; False if out of room."""
    begin, stop = of(s, start, BEGIN), of(s, start, STOP)
    put_real(s.m, frame_at(s, 0, WEIGHT), 1.0)
    if not fits(s, 0, lane, start):
        return True
    put_real(s.m, frame_at(s, 1, WEIGHT), real_of(s, start, P) * get_real(s.m, BEST_SCORE))
    put(s.m, PASSED, 0)
    put(s.m, frame_at(s, 1, FIXED), 0)
    depth, fine = 1, settle_in(s, 1, begin, stop)
    while depth > 0:
        outcome = advance_run(s, depth, begin, stop) if fine else NO_ROOM
        if outcome == TAKEN:
            depth += 1
            fine = settle_in(s, depth, begin, stop)
            continue
        fine = fine and outcome != NO_ROOM
        if fine and ends_here(s, depth):
            fine = emit(s, depth, True, begin, stop)
        give_back(s, depth)
        put(s.m, PASSED, get(s.m, frame_at(s, depth, FIXED)))
        depth -= 1
        if depth > 0 and fine:
            fine = leave(s, depth, get(s.m, frame_at(s, depth, TRY)))
    return fine


@part
def leave(s, depth, event):
    """Go on without what an event led to; False if out of room."""
    if refuse_if_in_doubt(s, depth, get(s.m, frame_at(s, depth + 1, LANE)), event):
        put(s.m, frame_at(s, depth, SCAN), event)
        return True
    put(s.m, frame_at(s, depth, REFUSED), 0)
    return pass_over(s, depth, event)


@part
def ends_here(s, depth):
    """Whether a run that found nothing more to take is a match."""
    state = get(s.m, frame_at(s, depth, STATE))
    open_end = entry(s, EDGE_ROWS, state) < entry(s, EDGE_ROWS, state + 1)
    return open_end and entry(s, ACCEPTING, state) and get(s.m, frame_at(s, depth, DOOMED)) == 0


@part
def settle_in(s, depth, begin, stop):
    """Get ready to go on from an item; a state with no way on is a match, or a dead end."""
    settle(s, depth, begin)
    if depth + 1 >= get(s.m, DEPTH_ROOM):
        return False
    state = get(s.m, frame_at(s, depth, STATE))
    if entry(s, EDGE_ROWS, state) < entry(s, EDGE_ROWS, state + 1):
        return True
    put(s.m, frame_at(s, depth, SCAN), stop)
    if entry(s, ACCEPTING, state):
        return emit(s, depth, False, begin, stop)
    return True

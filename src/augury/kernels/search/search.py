"""Enumerate matches: depth-first search over the automaton, forward from every start event.

The events of one partition lie next to each other, in (time, tie-breaker) order. From each event
that may start a match the search takes events state by state, tests every rule as soon as its
components are complete, and gives up when the window ends or when no continuation can still reach
the threshold. One search serves all four selection strategies, because a strategy only says which
events must be absent for the match to be an answer: those are collected, each counts once, and the
confidence is the product of what must be there and what must not.

Shapes: T events, D search depth, C components.
Invariant: a match is a map from components to events, and a component occurs once in the automaton,
so no two search paths give one match.
Oracle: tests/oracles/worlds.py enumerates possible worlds.
"""

from __future__ import annotations

from augury.kernels.jit import (
    kernel,
    part,
)
from augury.kernels.memory import (
    address,
    get,
    get_real,
    put,
    put_real,
)
from augury.kernels.search.best_completion import (
    count_work,
    look_ahead,
    may_lead_on,
    may_start,
)
from augury.kernels.search.bounds import (
    forget_bounds,
    is_bounded,
    next_hopeful,
    wants_bounds,
)
from augury.kernels.search.contiguity import (
    known_before,
)
from augury.kernels.search.count_window import (
    counted_end,
    most_items,
)
from augury.kernels.search.layout import (
    ABSENTS,
    ACCEPTING,
    ANY,
    BEGIN,
    BEST_SCORE,
    BUFFER_FULL,
    DEPTH_ROOM,
    DONE,
    EDGE_COMPONENT,
    EDGE_ROWS,
    FIRST_ONLY,
    FOREVER,
    ITEMS,
    LIMIT_REACHED,
    MASK,
    MATCH_LIMIT,
    MATCHES,
    QUEUE_ROWS,
    REPORTED,
    SCAN,
    STATE,
    STOP,
    STRATEGY,
    TIME,
    TRY,
    WEIGHT,
    WINDOW,
    WORK,
    Memory,
    P,
    entry,
    event_at,
    frame_at,
    of,
    real_of,
)
from augury.kernels.search.next_run import (
    search_next,
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
    weight_with,
)


@part
def begin_lanes(s, depth):
    """Point the frame at the first transition of its state."""
    put(s.m, frame_at(s, depth, TRY), entry(s, EDGE_ROWS, get(s.m, frame_at(s, depth, STATE))))
    put(s.m, frame_at(s, depth, SCAN), -1)


@part
def queue_position(s, component, event):
    """Return where in the component's queue the first event after `event` stands."""
    low, high = entry(s, QUEUE_ROWS, component), entry(s, QUEUE_ROWS, component + 1)
    while low < high:
        middle = (low + high) // 2
        if get(s.q, middle) <= event:
            low = middle + 1
        else:
            high = middle
    return low


@part
def next_any(s, depth, stop):
    """Take the next event that continues the match by any transition; False when all are tried."""
    state, start = get(s.m, frame_at(s, depth, STATE)), event_at(s, 1)
    if wants_bounds(s, start, stop):
        point_at_events(s, depth, stop)
    while get(s.m, frame_at(s, depth, TRY)) < entry(s, EDGE_ROWS, state + 1):
        lane = get(s.m, frame_at(s, depth, TRY))
        if is_bounded(s, start):
            if next_bounded(s, depth, lane, start):
                return True
        elif next_in_queue(s, depth, lane, stop):
            return True
        put(s.m, frame_at(s, depth, TRY), lane + 1)
        put(s.m, frame_at(s, depth, SCAN), -1)
    return False


@part
def next_in_queue(s, depth, lane, stop):
    """Take the next event of a transition's queue that fits; False when the window ends."""
    component, start = entry(s, EDGE_COMPONENT, lane), event_at(s, 1)
    if get(s.m, frame_at(s, depth, SCAN)) < 0:
        put(s.m, frame_at(s, depth, SCAN), queue_position(s, component, event_at(s, depth)))
    first, end = get(s.m, frame_at(s, depth, SCAN)), entry(s, QUEUE_ROWS, component + 1)
    i, so_far = first, get_real(s.m, frame_at(s, depth, WEIGHT))
    while i < end and not is_over(s, start, get(s.q, i), stop):
        event = get(s.q, i)
        i += 1
        weight = weight_with(s, depth, event)
        if not may_pass(s, weight) or not may_lead_on(s, lane, event, so_far):
            continue
        if not is_bound(s, depth, event):
            if fits(s, depth, lane, event):
                put(s.m, frame_at(s, depth, SCAN), i)
                put(s.m, WORK, get(s.m, WORK) + i - first)
                put_real(s.m, frame_at(s, depth + 1, WEIGHT), weight)
                return True
    put(s.m, WORK, get(s.m, WORK) + i - first)
    return False


@part
def next_bounded(s, depth, lane, start):
    """Take the next event on a transition that fits and may lead to a match; False if none does."""
    event = get(s.m, frame_at(s, depth, SCAN))
    if event < 0:
        event = event_at(s, depth) + 1
    so_far = get_real(s.m, frame_at(s, depth, WEIGHT))
    while True:
        event = next_hopeful(s, start, lane, event, so_far)
        if event < 0:
            return False
        if not is_bound(s, depth, event) and fits(s, depth, lane, event):
            put(s.m, frame_at(s, depth, SCAN), event + 1)
            put_real(s.m, frame_at(s, depth + 1, WEIGHT), so_far * real_of(s, event, P))
            return True
        event += 1


@part
def point_at_events(s, depth, stop):
    """Let frames that pointed into queues point at events, as the search with bounds reads them."""
    for d in range(1, depth + 1):
        i = get(s.m, frame_at(s, d, SCAN))
        if i >= 0:
            component = entry(s, EDGE_COMPONENT, get(s.m, frame_at(s, d, TRY)))
            end = entry(s, QUEUE_ROWS, component + 1)
            put(s.m, frame_at(s, d, SCAN), get(s.q, i) if i < end else stop)


@part
def search_any(s, start, lane):
    """Find all matches that begin with `start` on a transition; False if out of room."""
    begin, stop = of(s, start, BEGIN), of(s, start, STOP)
    end, most, before = counted_end(s, start, stop), most_items(s), get(s.m, MATCHES)
    put_real(s.m, frame_at(s, 0, WEIGHT), 1.0)
    if not fits(s, 0, lane, start):
        return True
    put_real(s.m, frame_at(s, 1, WEIGHT), real_of(s, start, P) * get_real(s.m, BEST_SCORE))
    depth, fine = 1, True
    fine = arrive(s, depth, begin, stop)
    while depth > 0:
        enough = get(s.m, FIRST_ONLY) and get(s.m, MATCHES) > before
        if fine and not enough and depth < most and next_any(s, depth, end):
            depth += 1
            fine = arrive(s, depth, begin, stop)
        else:
            give_back(s, depth)
            depth -= 1
    return fine


@part
def arrive(s, depth, begin, stop):
    """Report the match if the state accepts, and get ready to go on."""
    begin_lanes(s, depth)
    if depth + 1 >= get(s.m, DEPTH_ROOM):
        return False
    if entry(s, ACCEPTING, get(s.m, frame_at(s, depth, STATE))):
        return emit(s, depth, False, begin, stop)
    return True


@part
def search_from(s, start):
    """Find the matches of one start event, by every component it may play; False if out of room."""
    forget_bounds(s)
    look_ahead(s, start)
    for lane in range(entry(s, EDGE_ROWS, 0), entry(s, EDGE_ROWS, 1)):
        if (of(s, start, MASK) >> entry(s, EDGE_COMPONENT, lane)) & 1:
            if not may_start(s, lane, start):
                continue
            if get(s.m, STRATEGY) == ANY:
                fine = search_any(s, start, lane)
            else:
                fine = search_next(s, start, lane)
            if not fine:
                return False
    count_work(s)
    return True


@part
def search_all(s, first):
    """Find the matches of all starts from event `first` on.

    Returns (DONE, T), or (BUFFER_FULL or LIMIT_REACHED, the start at which to go on).
    """
    can_start = 0
    for lane in range(entry(s, EDGE_ROWS, 0), entry(s, EDGE_ROWS, 1)):
        can_start |= 1 << entry(s, EDGE_COMPONENT, lane)
    window, reported = get(s.m, WINDOW), get(s.m, REPORTED)
    partition, known = -1, -FOREVER
    for start in range(first, s.n_events):
        if of(s, start, STOP) != partition:
            partition, known = of(s, start, STOP), known_before(s, start)
        if of(s, start, TIME) < known:
            continue
        if of(s, start, MASK) & can_start == 0 or not may_pass(s, real_of(s, start, P)):
            continue
        if window != FOREVER and of(s, start, TIME) < reported - window:
            continue
        matches, items = get(s.m, MATCHES), get(s.m, ITEMS)
        absents = get(s.m, ABSENTS)
        fits_in = search_from(s, start)
        if get(s.m, MATCHES) - matches > get(s.m, MATCH_LIMIT):
            return LIMIT_REACHED, start
        if not fits_in:
            put(s.m, MATCHES, matches)
            put(s.m, ITEMS, items)
            put(s.m, ABSENTS, absents)
            return BUFFER_FULL, start
    return DONE, s.n_events


@kernel
def search(m, e, q, out, slots, slot_nulls, code, words, nulls, first):
    """Enter the search over arrays, which the caller keeps alive."""
    memory = Memory(
        address(m),
        address(e),
        address(q),
        address(out),
        address(slots),
        address(slot_nulls),
        address(code),
        address(words),
        address(nulls),
        e.shape[0],
        e.shape[1],
    )
    return search_all(memory, first)

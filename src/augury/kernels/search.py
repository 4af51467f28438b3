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

from augury.kernels.bounds import (
    can_finish,
    forget_bounds,
    is_bounded,
    next_hopeful,
    wants_bounds,
)
from augury.kernels.jit import cached_kernel, part
from augury.kernels.layout import (
    ABSENTS,
    ACCEPTING,
    ALSO_SINCE,
    ALWAYS_ABSENT,
    AMBIGUOUS,
    ANY,
    BARRIER,
    BEFORE,
    BEGIN,
    BUFFER_FULL,
    CLOSED_BY,
    COMPLETE,
    COUNT,
    COUNT_WINDOW,
    DEPTH_ROOM,
    DONE,
    DOOMED,
    EDGE_COMPONENT,
    EDGE_ROWS,
    EDGE_TARGET,
    EDGE_YIELDS,
    FIXED,
    FOREVER,
    GROUP,
    INDEPENDENT,
    ITEM_COMPONENT,
    ITEM_EVENT,
    ITEMS,
    JOINT_ROWS,
    KEY,
    LANE,
    LIMIT_REACHED,
    MASK,
    MATCH_LIMIT,
    MATCHES,
    OWN,
    PARTITION,
    PASSED,
    PASSED_ROOM,
    QUEUE_ROWS,
    REPORTED,
    SCAN,
    SINCE,
    STATE,
    STOP,
    STRATEGY,
    STRICT,
    THRESHOLD,
    TIME,
    TOLERANCE,
    TRY,
    WEIGHT,
    WHO,
    WINDOW,
    WORK,
    Memory,
    P,
    entry,
    event_at,
    frame_at,
    of,
    passed_at,
    real_of,
)
from augury.kernels.memory import address, get, get_real, put, put_real
from augury.kernels.neighbours import facing, is_in_doubt, is_neighbour
from augury.kernels.order import is_before, stands_beside_some
from augury.kernels.report import emit
from augury.kernels.rules import hold, newest_is_consistent


@part
def in_order(s, depth, component, event):
    """Whether `event` is after every item that `component` must follow, and before no item."""
    earlier = entry(s, BEFORE, component)
    for d in range(depth, 0, -1):
        item = event_at(s, d)
        if of(s, item, TIME) < of(s, event, TIME):
            return True
        follows = (earlier >> get(s.m, frame_at(s, d, ITEM_COMPONENT))) & 1
        if is_before(s, event, item) or (follows and not is_before(s, item, event)):
            return False
    return True


@part
def is_bound(s, depth, event):
    """Whether the event, or another alternative of it, is in the match."""
    group = of(s, event, GROUP)
    for d in range(1, depth + 1):
        item = event_at(s, d)
        if item == event or (group >= 0 and of(s, item, GROUP) == group):
            return True
    return False


@part
def take(s, depth, lane, event):
    """Bind the event at `depth` to the component of a transition."""
    component = entry(s, EDGE_COMPONENT, lane)
    put(s.m, frame_at(s, depth, ITEM_COMPONENT), component)
    put(s.m, frame_at(s, depth, ITEM_EVENT), event)
    put(s.m, frame_at(s, depth, LANE), lane)
    put(s.m, frame_at(s, depth, STATE), entry(s, EDGE_TARGET, lane))
    put(
        s.m,
        frame_at(s, depth, COMPLETE),
        get(s.m, frame_at(s, depth - 1, COMPLETE)) | entry(s, CLOSED_BY, component),
    )
    hold(s, component, event)


@part
def give_back(s, depth):
    """Unbind what was taken at `depth`."""
    put(
        s.m,
        get(s.m, COUNT) + get(s.m, frame_at(s, depth, ITEM_COMPONENT)),
        get(s.m, get(s.m, COUNT) + get(s.m, frame_at(s, depth, ITEM_COMPONENT))) - 1,
    )


@part
def fits(s, depth, lane, event):
    """Bind the event at depth + 1 if it may play the transition's component; tell if it did."""
    component = entry(s, EDGE_COMPONENT, lane)
    if not (of(s, event, MASK) >> component) & 1:
        return False
    if not in_order(s, depth, component, event) or not is_neighbour(s, depth, lane, event):
        return False
    take(s, depth + 1, lane, event)
    if newest_is_consistent(s, depth + 1):
        return True
    give_back(s, depth + 1)
    return False


@part
def weight_with(s, depth, event):
    """Return an upper bound of the confidence once the event is taken too."""
    if get(s.m, INDEPENDENT):
        return get_real(s.m, frame_at(s, depth, WEIGHT)) * real_of(s, event, P)
    return min(get_real(s.m, frame_at(s, depth, WEIGHT)), real_of(s, event, P))


@part
def is_over(s, start, event, stop):
    """Whether the event lies past the partition or the window of a match that starts at `start`."""
    if event >= stop:
        return True
    window = get(s.m, WINDOW)
    return window != FOREVER and of(s, event, TIME) - of(s, start, TIME) > window


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
    i = first
    while i < end and not is_over(s, start, get(s.q, i), stop):
        event = get(s.q, i)
        i += 1
        weight = weight_with(s, depth, event)
        if may_pass(s, weight) and not is_bound(s, depth, event):
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
def may_pass(s, weight):
    """Whether a match of at most this confidence can still be reported."""
    return weight > 0.0 and weight >= get_real(s.m, THRESHOLD) - TOLERANCE


@part
def search_any(s, start, lane):
    """Find all matches that begin with `start` on a transition; False if out of room."""
    begin, stop = of(s, start, BEGIN), of(s, start, STOP)
    put_real(s.m, frame_at(s, 0, WEIGHT), 1.0)
    if not fits(s, 0, lane, start):
        return True
    put_real(s.m, frame_at(s, 1, WEIGHT), real_of(s, start, P))
    depth, fine = 1, True
    fine = arrive(s, depth, begin, stop)
    while depth > 0:
        if fine and next_any(s, depth, stop):
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
def preferred_lane(s, depth, event):
    """Bind the event by the first transition, as written, that it fits; return it, or -1.

    A repetition past its minimum gives way to what the pattern puts after it.
    """
    state, chosen = get(s.m, frame_at(s, depth, STATE)), -1
    for lane in range(entry(s, EDGE_ROWS, state), entry(s, EDGE_ROWS, state + 1)):
        if chosen >= 0:
            after = entry(s, BEFORE, entry(s, EDGE_COMPONENT, lane))
            if not (after >> entry(s, EDGE_COMPONENT, chosen)) & 1:
                continue
            give_back(s, depth + 1)
        if fits(s, depth, lane, event):
            chosen = lane
        elif chosen >= 0:
            take(s, depth + 1, chosen, event)
        if chosen >= 0 and not entry(s, EDGE_YIELDS, chosen):
            return chosen
    return chosen


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


@part
def pass_over(s, depth, event, lane):
    """Note that an event that fits a transition was passed over; False if out of room."""
    noted = get(s.m, PASSED)
    for joint in range(entry(s, JOINT_ROWS, lane), entry(s, JOINT_ROWS, lane + 1)):
        d = facing(s, depth, joint, depth + 1, event)
        while d > 0:
            previous = event_at(s, d)
            if is_in_doubt(s, previous, event):
                if get(s.m, PASSED) == noted:
                    note_passed(s, event, previous)
                else:
                    note_passed(s, previous, ALSO_SINCE)
            d = facing(s, depth, joint, d, event)
    if get(s.m, PASSED) == noted:
        note_passed(s, event, ALWAYS_ABSENT)
        if real_of(s, event, P) >= 1.0:
            if get(s.m, COUNT_WINDOW) == 0:
                put(s.m, frame_at(s, depth, DOOMED), 1)
            raise_barrier(s, depth, event)
    return get(s.m, PASSED) <= get(s.m, PASSED_ROOM)


@part
def note_passed(s, event, since):
    """Append a passed-over event, if there is room; what is too much is counted."""
    n = get(s.m, PASSED)
    if n < get(s.m, PASSED_ROOM):
        put(s.m, passed_at(s, n, WHO), event)
        put(s.m, passed_at(s, n, SINCE), since)
    put(s.m, PASSED, n + 1)


@part
def raise_barrier(s, depth, event):
    """Let nothing after a certain event be taken."""
    if get(s.m, frame_at(s, depth, BARRIER)) < 0:
        put(s.m, frame_at(s, depth, BARRIER), event)


@part
def is_barred(s, depth, event):
    """Whether a certain event before this one keeps it from being taken."""
    # By time alone: beside a tie of another stream, an event need not count as passed.
    barrier = get(s.m, frame_at(s, depth, BARRIER))
    return barrier >= 0 and of(s, barrier, TIME) < of(s, event, TIME)


@part
def fix_passed(s, depth, event):
    """Start a child frame with what taking `event` passed over; False if out of room."""
    n = get(s.m, PASSED)
    put(s.m, frame_at(s, depth + 1, FIXED), n)
    weight = weight_with(s, depth, event)
    fixed = False
    for i in range(get(s.m, frame_at(s, depth, OWN)), n):
        other, since = get(s.m, passed_at(s, i, WHO)), get(s.m, passed_at(s, i, SINCE))
        fixed = fixed if since == ALSO_SINCE else is_before(s, other, event)
        if fixed:
            note_passed(s, other, since)
            if is_factor(s, i):
                weight *= 1.0 - real_of(s, other, P)
    put_real(s.m, frame_at(s, depth + 1, WEIGHT), weight)
    return get(s.m, PASSED) <= get(s.m, PASSED_ROOM)


@part
def is_factor(s, passed):
    """Whether the absence of a passed-over event is a factor of the confidence already."""
    # Alternatives exclude each other, and ties may have another way to the same match.
    if not get(s.m, INDEPENDENT) or get(s.m, AMBIGUOUS):
        return False
    plain = get(s.m, passed_at(s, passed, SINCE)) == ALWAYS_ABSENT
    return plain and of(s, get(s.m, passed_at(s, passed, WHO)), GROUP) < 0


NOTHING, TAKEN, ENDED, NO_ROOM = 0, 1, 2, 3


@part
def look_at(s, depth, event):
    """Let a next-match run look at one event: take it at depth + 1 (TAKEN), or leave it."""
    last = event_at(s, depth)
    if is_bound(s, depth, event) or is_before(s, event, last):
        return NOTHING
    if get(s.m, STRATEGY) == PARTITION and of(s, event, KEY) != of(s, last, KEY):
        return NOTHING
    lane = preferred_lane(s, depth, event)
    if lane < 0:
        if get(s.m, STRATEGY) >= STRICT and real_of(s, event, P) >= 1.0:
            if is_before(s, last, event) and not stands_beside_some(s, depth, event):
                raise_barrier(s, depth, event)
        return NOTHING
    usable = not is_barred(s, depth, event)
    if usable and not fix_passed(s, depth, event):
        give_back(s, depth + 1)
        return NO_ROOM
    if usable and may_pass(s, get_real(s.m, frame_at(s, depth + 1, WEIGHT))):
        so_far = get_real(s.m, frame_at(s, depth, WEIGHT))
        if can_finish(s, event_at(s, 1), lane, event, so_far):
            return TAKEN
    give_back(s, depth + 1)
    if usable:
        put(s.m, PASSED, get(s.m, frame_at(s, depth + 1, FIXED)))
    return NOTHING if pass_over(s, depth, event, lane) else NO_ROOM


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
        # Past a barrier nothing can be taken; only an open end still needs to know what fits.
        if not ends_open and is_barred(s, depth, event):
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
    put_real(s.m, frame_at(s, 1, WEIGHT), real_of(s, start, P))
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
            fine = pass_over(
                s, depth, get(s.m, frame_at(s, depth, TRY)), get(s.m, frame_at(s, depth + 1, LANE))
            )
    return fine


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


@part
def search_from(s, start):
    """Find the matches of one start event, by every component it may play; False if out of room."""
    forget_bounds(s)
    for lane in range(entry(s, EDGE_ROWS, 0), entry(s, EDGE_ROWS, 1)):
        if (of(s, start, MASK) >> entry(s, EDGE_COMPONENT, lane)) & 1:
            if get(s.m, STRATEGY) == ANY:
                fine = search_any(s, start, lane)
            else:
                fine = search_next(s, start, lane)
            if not fine:
                return False
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
    for start in range(first, s.n_events):
        if of(s, start, MASK) & can_start == 0 or not may_pass(s, real_of(s, start, P)):
            continue
        if window != FOREVER and of(s, start, TIME) < reported - window:
            continue
        matches, items = get(s.m, MATCHES), get(s.m, ITEMS)
        absents = get(s.m, ABSENTS)
        if not search_from(s, start):
            put(s.m, MATCHES, matches)
            put(s.m, ITEMS, items)
            put(s.m, ABSENTS, absents)
            return BUFFER_FULL, start
        if get(s.m, MATCHES) - matches > get(s.m, MATCH_LIMIT):
            return LIMIT_REACHED, start
    return DONE, s.n_events


@cached_kernel
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

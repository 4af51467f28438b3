"""Passing over: what next-match selection left out, and under which condition it may have been.

An event that fits would have been taken, so a run that goes on without it needs its absence. Where
a NEXT(...) or contiguity asks for a neighbour, and something uncertain lies between, it may have
fitted or not: then the event need only be absent, or be no neighbour.
"""

from __future__ import annotations

from augury.kernels.jit import (
    part,
)
from augury.kernels.memory import (
    get,
    put,
    put_real,
)
from augury.kernels.search.contiguity import (
    is_contiguous,
    may_skip,
)
from augury.kernels.search.layout import (
    ALSO_SINCE,
    ALSO_SKIPPED,
    ALWAYS_ABSENT,
    AMBIGUOUS,
    BARRIER,
    COUNT_WINDOW,
    DOOMED,
    EDGE_ROWS,
    FIXED,
    GROUP,
    INDEPENDENT,
    JOINT_ROWS,
    OWN,
    PASSED,
    PASSED_ROOM,
    REFUSED,
    SINCE,
    STATE,
    TIME,
    UNLESS_SKIPPED,
    WEIGHT,
    WHO,
    P,
    entry,
    event_at,
    frame_at,
    of,
    passed_at,
    real_of,
)
from augury.kernels.search.neighbours import (
    facing,
    is_in_doubt,
)
from augury.kernels.search.order import (
    is_before,
)
from augury.kernels.search.taking import (
    fits,
    give_back,
    weight_with,
)


@part
def pass_over(s, depth, event):
    """Note that an event that fits some transition was passed over; False if out of room."""
    noted, state = get(s.m, PASSED), get(s.m, frame_at(s, depth, STATE))
    lane, stop = entry(s, EDGE_ROWS, state), entry(s, EDGE_ROWS, state + 1)
    has_joints = entry(s, JOINT_ROWS, lane) < entry(s, JOINT_ROWS, stop)
    skips = is_contiguous(s) and may_skip(s, depth, event)
    in_doubt = has_joints or skips
    if skips and not has_joints:
        note_passed(s, event, UNLESS_SKIPPED)
        lane = stop
    while in_doubt and lane < stop:
        if fits(s, depth, lane, event):
            give_back(s, depth + 1)
            in_doubt = note_doubts(s, depth, lane, event)
            if skips:
                note_passed(s, event, ALSO_SKIPPED if in_doubt else UNLESS_SKIPPED)
                in_doubt = True
        lane += 1
    if not in_doubt:
        put(s.m, PASSED, noted)
        note_passed(s, event, ALWAYS_ABSENT)
        if real_of(s, event, P) >= 1.0:
            if get(s.m, COUNT_WINDOW) == 0:
                put(s.m, frame_at(s, depth, DOOMED), 1)
            raise_barrier(s, depth, event)
    return get(s.m, PASSED) <= get(s.m, PASSED_ROOM)


@part
def note_doubts(s, depth, lane, event):
    """Note that the event was no neighbour that a transition asks for; False if it surely is."""
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
    return get(s.m, PASSED) > noted


@part
def refuse_if_in_doubt(s, depth, lane, event):
    """Leave out a transition from now on if a neighbour that it asks for is in doubt."""
    noted = get(s.m, PASSED)
    in_doubt = note_doubts(s, depth, lane, event)
    put(s.m, PASSED, noted)
    if in_doubt:
        number = lane - entry(s, EDGE_ROWS, get(s.m, frame_at(s, depth, STATE)))
        put(
            s.m,
            frame_at(s, depth, REFUSED),
            get(s.m, frame_at(s, depth, REFUSED)) | (1 << number),
        )
    return in_doubt


@part
def note_refused(s, depth, event):
    """Note of each transition that was refused that the event was not the neighbour it needs."""
    refused = get(s.m, frame_at(s, depth, REFUSED))
    lane = entry(s, EDGE_ROWS, get(s.m, frame_at(s, depth, STATE)))
    while refused != 0:
        if refused & 1:
            note_doubts(s, depth, lane, event)
        refused, lane = refused >> 1, lane + 1


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
    fixed, plain = False, is_contiguous(s) and not get(s.m, AMBIGUOUS)
    for i in range(get(s.m, frame_at(s, depth, OWN)), n):
        other, since = get(s.m, passed_at(s, i, WHO)), get(s.m, passed_at(s, i, SINCE))
        if plain:
            # Between the run and what it takes nothing may lie, whatever it would have played.
            if since in (ALSO_SINCE, ALSO_SKIPPED):
                continue
            since = ALWAYS_ABSENT
        also = since in (ALSO_SINCE, ALSO_SKIPPED)
        fixed = fixed if also else is_before(s, other, event)
        if fixed:
            note_passed(s, other, since)
            if is_factor(s, other, since):
                weight *= 1.0 - real_of(s, other, P)
    note_refused(s, depth, event)
    put_real(s.m, frame_at(s, depth + 1, WEIGHT), weight)
    return get(s.m, PASSED) <= get(s.m, PASSED_ROOM)


@part
def is_factor(s, event, since):
    """Whether the absence of a passed-over event is a factor of the confidence already."""
    # Alternatives exclude each other, and ties may have another way to the same match.
    if not get(s.m, INDEPENDENT) or get(s.m, AMBIGUOUS):
        return False
    return since == ALWAYS_ABSENT and of(s, event, GROUP) < 0

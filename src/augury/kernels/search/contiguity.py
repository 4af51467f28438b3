"""Contiguity: runs that take neighbours only, and end where the neighbour fits nothing.

STRICT counts every event of the stream, PARTITION CONTIGUITY those of the run's key. Once an event
that is sure to exist has come, nothing after it is a neighbour: what is taken, and what a run that
has ended waits for, is settled there. Uncertain events leave it open: what fits would have been
taken, unless one of those before it exists and has ended the run.
"""

from __future__ import annotations

from augury.kernels.jit import part
from augury.kernels.memory import get, get_real, put
from augury.kernels.search.layout import (
    AMBIGUOUS,
    BARRIER,
    COUNT_WINDOW,
    EDGE_ROWS,
    FOREVER,
    GROUP,
    GROUP_ABSENT,
    GROUP_BLOCK,
    GROUP_MASS,
    GROUP_SEEN,
    GROUP_TAKEN,
    INDEPENDENT,
    JOINT_ROWS,
    KEY,
    MASK,
    N_GUARDS,
    OWN,
    PARTITION,
    PASSED,
    REPORTED,
    STAMP,
    STATE,
    STOP,
    STRATEGY,
    STRICT,
    TIME,
    WAITS,
    WANT_ABSENT,
    WHO,
    P,
    entry,
    event_at,
    frame_at,
    group_at,
    of,
    passed_at,
    real_of,
)
from augury.kernels.search.order import is_before, stands_beside_some

# As in `augury.records`, but kernels are compiled from what stands here.
SUM_ERROR = 1e-12


@part
def is_contiguous(s):
    """Whether runs take neighbours only."""
    return get(s.m, STRATEGY) >= STRICT


@part
def counts(s, depth, event):
    """Whether a run must not skip the event: it comes after the run's last, in its pool."""
    last = event_at(s, depth)
    if get(s.m, STRATEGY) == PARTITION and of(s, event, KEY) != of(s, last, KEY):
        return False
    return is_before(s, last, event) and not stands_beside_some(s, depth, event)


@part
def is_sure(s, depth, event):
    """Whether it, or an alternative of its time that was looked at before, is sure to exist."""
    if real_of(s, event, P) >= 1.0:
        return True
    group, mass, e = of(s, event, GROUP), 0.0, event
    if group < 0:
        return False
    while e > event_at(s, depth) and of(s, e, TIME) == of(s, event, TIME):
        if of(s, e, GROUP) == group and counts(s, depth, e):
            mass += real_of(s, e, P)
        e -= 1
    return mass >= 1.0 - SUM_ERROR


@part
def wall_off(s, depth, event):
    """Let nothing after an event that is sure to exist be taken: it would be no neighbour."""
    if get(s.m, frame_at(s, depth, BARRIER)) < 0:
        if is_sure(s, depth, event) and counts(s, depth, event):
            put(s.m, frame_at(s, depth, BARRIER), event)


@part
def may_skip(s, depth, event):
    """Whether something that the run must not skip may lie between it and the event."""
    for e in range(event_at(s, depth) + 1, event):
        if is_before(s, e, event) and counts(s, depth, e):
            return True
    return False


# Runs that are known --------------------------------------------------------------------------


@part
def known_before(s, start):
    """Return the time before which no start of a partition has a run that is not reported yet.

    `start` is the first that is looked at. What fits nothing, and is sure to exist, ends all runs.
    """
    if not is_contiguous(s) or get(s.m, WAITS) or get(s.m, WANT_ABSENT):
        return -FOREVER
    # Of several keys, or where a negation waits, an event does not end all.
    if get(s.m, COUNT_WINDOW) > 0 or get(s.m, N_GUARDS) > 0:
        return -FOREVER
    stop = of(s, start, STOP)
    for e in range(stop - 1, start, -1):
        if of(s, e, MASK) == 0 and real_of(s, e, P) >= 1.0 and of(s, e, TIME) < get(s.m, REPORTED):
            alone = e + 1 == stop or of(s, e, TIME) < of(s, e + 1, TIME)
            if alone and of(s, e - 1, TIME) < of(s, e, TIME):
                return of(s, e, TIME)
    return -FOREVER


# The chance that a run has ended ---------------------------------------------------------------


@part
def ends_plainly(s, depth):
    """Whether `chance_of_end` is right: nothing that it looks at matters elsewhere in the match."""
    if not get(s.m, INDEPENDENT) or get(s.m, WANT_ABSENT) or get(s.m, AMBIGUOUS):
        return False
    if get(s.m, COUNT_WINDOW) > 0 or get(s.m, N_GUARDS) > 0:
        return False
    state, passed = get(s.m, frame_at(s, depth, STATE)), get(s.m, PASSED)
    first, stop = entry(s, EDGE_ROWS, state), entry(s, EDGE_ROWS, state + 1)
    if entry(s, JOINT_ROWS, first) < entry(s, JOINT_ROWS, stop):
        return False
    if get(s.m, frame_at(s, depth, OWN)) == passed:
        return True
    end = get(s.m, passed_at(s, passed - 1, WHO))
    block = event_at(s, depth) + 1
    while block <= end:
        after = block_end(s, block)
        if after < 0 or not keeps_groups(s, depth, block, after):
            return False
        block = after
    return True


@part
def block_end(s, block):
    """Return where the events end that have equal order with the first; -1 if order is partial."""
    end, later = block + 1, 0
    while end < of(s, block, STOP) and of(s, end, TIME) == of(s, block, TIME):
        later += is_before(s, block, end)
        end += 1
    if later == end - block - 1:
        return block + 1
    for e in range(block, end):
        for other in range(e + 1, end):
            if is_before(s, e, other):
                return -1
    return end


@part
def keeps_groups(s, depth, block, end):
    """Whether no group of alternatives has members both here and in a block before."""
    stamp = get(s.m, STAMP)
    for e in range(block, end):
        group = of(s, e, GROUP)
        if group >= 0:
            if get(s.m, group_at(s, group, GROUP_SEEN)) == stamp:
                if get(s.m, group_at(s, group, GROUP_BLOCK)) != block:
                    return False
            put(s.m, group_at(s, group, GROUP_SEEN), stamp)
            put(s.m, group_at(s, group, GROUP_BLOCK), block)
    return True


@part
def chance_of_end(s, depth):
    """Return the chance that the run ends here, given the match.

    It does where nothing more comes, or where the first that comes is nothing that fits.
    """
    ended, clear = 0.0, 1.0
    row, rows = get(s.m, frame_at(s, depth, OWN)), get(s.m, PASSED)
    block = event_at(s, depth) + 1
    while row < rows:
        end = block_end(s, block)
        unfit, none = chances_of_block(s, depth, block, end, row)
        ended += clear * (unfit - none)
        clear *= none
        while row < rows and get(s.m, passed_at(s, row, WHO)) < end:
            row += 1
        block = end
    return ended + clear


@part
def chances_of_block(s, depth, block, end, row):
    """Return, of events of equal order, the chances that none that fits exists, and that none does.

    `row` is the first of the events passed over that may be among them.
    """
    unfit, none = 1.0, 1.0
    for e in range(block, end):
        group = of(s, e, GROUP)
        if not counts(s, depth, e) or (group >= 0 and is_of_earlier_group(s, block, e)):
            continue
        fitting, mass = 0.0, 0.0
        for other in range(e, end if group >= 0 else e + 1):
            if other == e or of(s, other, GROUP) == group:
                mass += real_of(s, other, P)
                if is_passed(s, row, other):
                    fitting += real_of(s, other, P)
        left = room_of_group(s, group)
        unfit *= rest(left, fitting)
        none *= rest(left, mass)
    return unfit, none


@part
def rest(left, mass):
    """Return the chance that alternatives do not exist, where `left` is all that may."""
    if left <= 0.0:
        return 1.0
    # Alternatives that are 1 together may be off by rounding: nothing else is possible.
    return (left - mass) / left if left - mass > SUM_ERROR else 0.0


@part
def room_of_group(s, group):
    """Return the chance that is left to alternatives by what the match takes and forbids."""
    stamp = get(s.m, STAMP)
    if group < 0:
        return 1.0
    if get(s.m, group_at(s, group, GROUP_TAKEN)) == stamp:
        return 0.0
    if get(s.m, group_at(s, group, GROUP_ABSENT)) == stamp:
        return 1.0 - get_real(s.m, group_at(s, group, GROUP_MASS))
    return 1.0


@part
def is_of_earlier_group(s, block, event):
    """Whether an alternative of the event stands before it in the block."""
    for e in range(block, event):
        if of(s, e, GROUP) == of(s, event, GROUP):
            return True
    return False


@part
def is_passed(s, row, event):
    """Whether the event is among those passed over from `row` on; these are in order."""
    while row < get(s.m, PASSED) and get(s.m, passed_at(s, row, WHO)) < event:
        row += 1
    return row < get(s.m, PASSED) and get(s.m, passed_at(s, row, WHO)) == event

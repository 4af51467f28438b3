"""Taking: bind an event to a component, if it may play it, and unbind it again."""

from __future__ import annotations

from augury.kernels.jit import (
    part,
)
from augury.kernels.memory import (
    get,
    get_real,
    put,
)
from augury.kernels.search.conditions import (
    hold,
    newest_is_consistent,
)
from augury.kernels.search.layout import (
    BEFORE,
    CLOSED_BY,
    COMPLETE,
    COUNT,
    EDGE_COMPONENT,
    EDGE_ROWS,
    EDGE_TARGET,
    EDGE_YIELDS,
    FOREVER,
    GROUP,
    INDEPENDENT,
    ITEM_COMPONENT,
    ITEM_EVENT,
    LANE,
    MASK,
    REFUSED,
    STATE,
    THRESHOLD,
    TIME,
    TOLERANCE,
    WEIGHT,
    WINDOW,
    P,
    entry,
    event_at,
    frame_at,
    of,
    real_of,
)
from augury.kernels.search.neighbours import (
    is_neighbour,
)
from augury.kernels.search.order import (
    is_before,
)
from augury.kernels.search.until import (
    has_ended,
)


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
    for d in range(depth, 0, -1):
        item = event_at(s, d)
        # Items are taken in the order of time; alternatives may be of any.
        if group < 0 and of(s, item, TIME) < of(s, event, TIME):
            return False
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
    if has_ended(s, component, event):
        return False
    if not in_order(s, depth, component, event) or not is_neighbour(s, depth, lane, event):
        return False
    take(s, depth + 1, lane, event)
    if newest_is_consistent(s, depth + 1):
        return True
    give_back(s, depth + 1)
    return False


@part
def preferred_lane(s, depth, event):
    """Bind the event by the first transition, as written, that it fits; return it, or -1.

    A repetition past its minimum gives way to what the pattern puts after it. Transitions that the
    frame has refused are left out.
    """
    state, chosen = get(s.m, frame_at(s, depth, STATE)), -1
    first, refused = entry(s, EDGE_ROWS, state), get(s.m, frame_at(s, depth, REFUSED))
    for lane in range(first, entry(s, EDGE_ROWS, state + 1)):
        if (refused >> (lane - first)) & 1:
            continue
        if chosen >= 0:
            # In a group that repeats, components come before and after each other, and none gives
            # way.
            own = entry(s, EDGE_COMPONENT, lane)
            after = entry(s, BEFORE, own) & entry(s, CLOSED_BY, own)
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
def weight_with(s, depth, event):
    """Return an upper bound of the confidence once the event is taken too."""
    if get(s.m, INDEPENDENT):
        return get_real(s.m, frame_at(s, depth, WEIGHT)) * real_of(s, event, P)
    return min(get_real(s.m, frame_at(s, depth, WEIGHT)), real_of(s, event, P))


@part
def may_pass(s, weight):
    """Whether a match of at most this confidence can still be reported."""
    return weight > 0.0 and weight >= get_real(s.m, THRESHOLD) - TOLERANCE


@part
def is_over(s, start, event, stop):
    """Whether the event lies past the partition or the window of a match that starts at `start`."""
    if event >= stop:
        return True
    window = get(s.m, WINDOW)
    return window != FOREVER and of(s, event, TIME) - of(s, start, TIME) > window

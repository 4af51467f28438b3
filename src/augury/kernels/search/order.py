"""Order: which event lies before which, and where in a match.

Order is partial: by time, then by tie-breaker within one stream. Events lie in an array that
respects it, so positions only decide where order does not.
"""

from __future__ import annotations

from augury.kernels.jit import part
from augury.kernels.memory import get
from augury.kernels.search.layout import (
    ITEM_COMPONENT,
    KEY,
    STREAM,
    TIE,
    TIME,
    event_at,
    frame_at,
    of,
)


@part
def is_before(s, a, b):
    """Whether event a lies strictly before b; tie-breakers compare within one stream only."""
    if of(s, a, TIME) != of(s, b, TIME):
        return of(s, a, TIME) < of(s, b, TIME)
    return of(s, a, STREAM) == of(s, b, STREAM) and of(s, a, TIE) < of(s, b, TIE)


@part
def last_of(s, depth, components):
    """Return the depth of the last item of the given components (bits), or 0."""
    for d in range(depth, 0, -1):
        if (components >> get(s.m, frame_at(s, d, ITEM_COMPONENT))) & 1:
            return d
    return 0


@part
def is_taken(s, depth, event):
    """Whether the event is in the match."""
    for d in range(1, depth + 1):
        if event_at(s, d) == event:
            return True
    return False


@part
def has_ties(s, depth):
    """Whether two items have equal order, so that they may have been taken in either."""
    for d in range(2, depth + 1):
        for other in range(d - 1, 0, -1):
            if of(s, event_at(s, other), TIME) < of(s, event_at(s, d), TIME):
                break
            if not is_before(s, event_at(s, other), event_at(s, d)):
                return True
    return False


@part
def span_of(s, depth):
    """Return the first and the last position of the items; ties may be taken in any order."""
    first = last = event_at(s, 1)
    for d in range(2, depth + 1):
        first, last = min(first, event_at(s, d)), max(last, event_at(s, d))
    return first, last


@part
def lies_between(s, a, e, b):
    """Whether e is of b's key and strictly between a and b."""
    return of(s, e, KEY) == of(s, b, KEY) and is_before(s, a, e) and is_before(s, e, b)


@part
def stands_beside_some(s, depth, event):
    """Whether the event has equal order with an event of the match."""
    for d in range(depth, 0, -1):
        item = event_at(s, d)
        # Items are taken in the order of time.
        if of(s, item, TIME) < of(s, event, TIME):
            return False
        if not is_before(s, item, event) and not is_before(s, event, item):
            return True
    return False


@part
def follows_some(s, depth, event):
    """Whether the event lies after an event of the match."""
    for d in range(1, depth + 1):
        if is_before(s, event_at(s, d), event):
            return True
    return False


@part
def precedes_some(s, depth, event):
    """Whether the event lies before an event of the match."""
    for d in range(depth, 0, -1):
        if is_before(s, event, event_at(s, d)):
            return True
    return False


@part
def is_inside(s, depth, earlier, later, event):
    """Whether the event lies after all items of `earlier` components and before all of `later`."""
    for d in range(1, depth + 1):
        component, item = get(s.m, frame_at(s, d, ITEM_COMPONENT)), event_at(s, d)
        if (earlier >> component) & 1 and not is_before(s, item, event):
            return False
        if (later >> component) & 1 and not is_before(s, event, item):
            return False
    return True

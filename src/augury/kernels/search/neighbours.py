"""Neighbours: what a NEXT(...) asks to stand side by side, of one key, with nothing between.

A joint ties a transition to the part before it: the event that it takes must be the neighbour of
each last event of that part (ties make several), if it is a first event of its own part.
"""

from __future__ import annotations

from augury.kernels.jit import part
from augury.kernels.memory import get
from augury.kernels.search.layout import (
    ITEM_COMPONENT,
    JOINT_OWN,
    JOINT_ROWS,
    JOINT_TO,
    KEY,
    TIME,
    P,
    entry,
    event_at,
    frame_at,
    of,
    real_of,
)
from augury.kernels.search.order import is_before, is_taken, last_of, lies_between


@part
def facing(s, depth, joint, below, event):
    """Return the depth of the next item under `below` that must be the event's neighbour, or 0."""
    components = entry(s, JOINT_TO, joint)
    last = last_of(s, depth, components)
    if last == 0 or follows_any(s, depth, entry(s, JOINT_OWN, joint), event):
        return 0
    for d in range(min(below - 1, last), 0, -1):
        if of(s, event_at(s, d), TIME) < of(s, event_at(s, last), TIME):
            return 0
        if (components >> get(s.m, frame_at(s, d, ITEM_COMPONENT))) & 1:
            if not precedes_any(s, d, depth, components):
                return d
    return 0


@part
def follows_any(s, depth, components, event):
    """Whether the event lies after an item of the components (bits)."""
    if components == 0:
        return False
    for d in range(1, depth + 1):
        if (components >> get(s.m, frame_at(s, d, ITEM_COMPONENT))) & 1:
            if is_before(s, event_at(s, d), event):
                return True
    return False


@part
def precedes_any(s, place, depth, components):
    """Whether the item at `place` lies before a later one of the components (bits)."""
    for d in range(place + 1, depth + 1):
        if (components >> get(s.m, frame_at(s, d, ITEM_COMPONENT))) & 1:
            if is_before(s, event_at(s, place), event_at(s, d)):
                return True
    return False


@part
def is_neighbour(s, depth, lane, event):
    """Whether the event can be the neighbour that the transition's joints ask for."""
    for joint in range(entry(s, JOINT_ROWS, lane), entry(s, JOINT_ROWS, lane + 1)):
        d = facing(s, depth, joint, depth + 1, event)
        while d > 0:
            if not can_adjoin(s, depth, event_at(s, d), event):
                return False
            d = facing(s, depth, joint, d, event)
    return True


@part
def can_adjoin(s, depth, previous, event):
    """Whether two events have one key, and nothing between them is sure to exist."""
    if of(s, previous, KEY) != of(s, event, KEY):
        return False
    for e in range(previous + 1, event):
        if real_of(s, e, P) >= 1.0 or is_taken(s, depth, e):
            if lies_between(s, previous, e, event):
                return False
    return True


@part
def is_in_doubt(s, previous, event):
    """Whether something may lie between two events of one key."""
    for e in range(previous + 1, event):
        if lies_between(s, previous, e, event):
            return True
    return False

"""AFTER MATCH SKIP in one world: matches are taken in the order of their starts.

A start inside what a taken match covers is passed over. Order is partial (by time, then by
tie-breaker within one stream), so an event lies inside a match if it is of it, or has an event of
it before and one after.

Shapes: M matches, in the order of their starts; I items. Oracle:
tests/oracles/skipping.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from augury.kernels.jit import kernel, part

NOBODY = -1


class Items(NamedTuple):
    """The events of matches: items `first[m]..first[m + 1]` are those of match m, by time."""

    first: np.ndarray  # int64 (M + 1,)
    row: np.ndarray  # int64 (I,)
    time: np.ndarray  # int64 (I,)
    stream: np.ndarray  # int64 (I,)
    tie: np.ndarray  # int64 (I,)


@part
def _is_before(items, a, b):
    if items.time[a] != items.time[b]:
        return items.time[a] < items.time[b]
    return items.stream[a] == items.stream[b] and items.tie[a] < items.tie[b]


@part
def _lies_inside(items, match, event):
    """Whether an item of some match is an event of another match, or between two of these."""
    earlier = later = False
    for k in range(items.first[match], items.first[match + 1]):
        if items.row[k] == items.row[event]:
            return True
        earlier = earlier or _is_before(items, k, event)
        later = later or _is_before(items, event, k)
    return earlier and later


@part
def covers(items, start, target, match, event):
    """Whether a taken match covers an event: up to its target, where it has one.

    Without a target all of it is covered; a target that is its start covers that event alone.
    """
    if items.row[start[match]] == items.row[event]:
        return True
    if target[match] == start[match] or not _lies_inside(items, match, event):
        return False
    return target[match] == NOBODY or _is_before(items, event, target[match])


@part
def _is_covered(items, start, target, last, head, until, match):
    """Whether a match that was taken, the last of its partition or one before, covers a start."""
    event = start[match]
    while last != NOBODY and until[last] >= items.time[event]:
        if covers(items, start, target, last, event):
            return True
        last = head[last]
    return False


@kernel
def take(items, partition, start, target, latest, span, head, until, taken):
    """Mark the matches that are taken, among those that are marked; they are in order of starts.

    `start` and `target` are items. `latest` (of each partition, NOBODY), `span` (of each partition,
    two times), `head` (M,) and `until` (M,) are for its own use.
    """
    for match in range(len(partition)):
        if not taken[match]:
            continue
        own, now = partition[match], items.time[start[match]]
        last = latest[own]
        if last != NOBODY:
            # Between the start of the last match and its end, or behind all: mostly that will do.
            if span[own, 0] < now < span[own, 1]:
                taken[match] = False
                continue
            if now <= until[last] and _is_covered(items, start, target, last, head, until, match):
                taken[match] = False
                continue
        end = items.first[match + 1] - 1 if target[match] == NOBODY else target[match]
        span[own, 0], span[own, 1] = now, items.time[end]
        until[match] = items.time[end]
        # How far it reaches, or one before it: none of them is passed by too early.
        if last != NOBODY:
            until[match] = max(until[match], until[last])
        head[match], latest[own] = last, match

"""Many standing queries in one pass: where in the stream a match of which query can end.

Queries are sequences of steps; a step asks that an event satisfies a predicate, and perhaps that it
is the neighbour of the event before it. Equal beginnings are one path of a trie. For each node the
latest start of a path that reaches it is carried along; that is enough to know whether some path
fits into a window. The answer never misses a match; the search looks at what remains.

Shapes: T events sorted by partition and time, N nodes, Q queries, P predicates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from augury.kernels.jit import kernel, part

NEVER = -(2**62)
_NONE, _ONE = np.uint64(0), np.uint64(1)


class Trie(NamedTuple):
    """Steps of all queries; equal beginnings are stored once.

    `nodes[node_rows[k]:node_rows[k + 1]]` ask for predicate k; the queries in
    `queries[end_rows[n]:end_rows[n + 1]]` end at node n. `reach[n]` is the longest window of the
    queries through node n.
    """

    parent: np.ndarray  # int64 (N,), -1: a first step
    is_neighbour: np.ndarray  # bool (N,)
    reach: np.ndarray  # int64 (N,)
    node_rows: np.ndarray  # int64 (P + 1,)
    nodes: np.ndarray  # int64 (N,)
    end_rows: np.ndarray  # int64 (N + 1,)
    queries: np.ndarray  # int64
    window: np.ndarray  # int64 (Q,)


class Progress(NamedTuple):
    """How far paths have come: when each node was reached last, and the latest start of its paths.

    `fresh` is the latest start of the paths that a neighbour may continue.
    """

    when: np.ndarray  # int64 (N,)
    fresh: np.ndarray  # int64 (N,)
    latest: np.ndarray  # int64 (N,)


@part
def _start_of(trie, progress, node, time, places):
    """Return the latest start of a path that the event takes to a node, or NEVER."""
    parent = trie.parent[node]
    if parent < 0:
        return time
    begin, barrier = places
    if progress.when[parent] < begin:
        return NEVER
    if not trie.is_neighbour[node]:
        start = progress.latest[parent]
    elif progress.when[parent] < barrier:
        return NEVER
    else:
        start = progress.fresh[parent]
    return start if time - start <= trie.reach[node] else NEVER


@part
def _arrive(progress, node, start, moment, places):
    """Note that a path of this start reaches a node."""
    begin, barrier = places
    if progress.when[node] < begin:
        progress.latest[node] = start
    else:
        progress.latest[node] = max(progress.latest[node], start)
    if progress.when[node] < max(begin, barrier):
        progress.fresh[node] = start
    else:
        progress.fresh[node] = max(progress.fresh[node], start)
    progress.when[node] = moment


@part
def _first_inside(time, begin, event, window):
    """Return the first event of the partition that shares a window with `event`."""
    low, high = begin, event
    while low < high:
        middle = (low + high) // 2
        if time[event] - time[middle] > window:
            low = middle + 1
        else:
            high = middle
    return low


@part
def _steps(trie, facts, event, progress, places, time, moved):
    """Find the nodes that an event reaches, all from the progress before it; return how many."""
    n, starts = 0, moved[1]
    for word in range(facts.shape[1]):
        true = facts[event, word]
        predicate = word * 64
        while true != _NONE:
            if true & _ONE:
                for k in range(trie.node_rows[predicate], trie.node_rows[predicate + 1]):
                    start = _start_of(trie, progress, trie.nodes[k], time, places)
                    if start != NEVER:
                        moved[0][n], starts[n] = trie.nodes[k], start
                        n += 1
            true >>= _ONE
            predicate += 1
    return n


@part
def _note(trie, time, place, start, ranges, current):
    """Note where a match that ends at (event, node) can lie; return how many ranges are new."""
    event, begin, node, n_ranges = place
    new = 0
    for q in range(trie.end_rows[node], trie.end_rows[node + 1]):
        query = trie.queries[q]
        if time[event] - start > trie.window[query]:
            continue
        first = _first_inside(time, begin, event, trie.window[query])
        last = current[query]
        if 0 <= last < len(ranges) and first <= ranges[last, 2]:
            ranges[last, 2] = event
            continue
        if n_ranges + new < len(ranges):
            ranges[n_ranges + new] = (query, first, event)
        current[query] = n_ranges + new
        new += 1
    return new


@kernel
def find_ranges(trie, facts, time, certain, begins, room):
    """Return ranges (query, first event, last event) that hold every match, and how many there are.

    `facts` (T, words, unsigned) has bit k set where predicate k is true; `begins[e]` is where the
    partition of e begins; `certain[e]` tells that e lies between others in every world. Ranges of
    one query do not overlap. If there are more than `room`, the number is no less than needed.
    """
    nodes = len(trie.parent)
    progress = Progress(
        np.full(nodes, -1, np.int64), np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    )
    moved = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    ranges, n_ranges = np.zeros((room, 3), np.int64), 0
    current = np.full(len(trie.window), -1, np.int64)
    # A moment is the first event of those at one time; a barrier is a moment with a certain event.
    moment, barrier, waiting = 0, 0, False
    for event in range(len(time)):
        begin = begins[event]
        if event == begin:
            moment, barrier, waiting = event, event, False
        elif time[event] != time[event - 1]:
            barrier = moment if waiting else barrier
            moment, waiting = event, False
        n = _steps(trie, facts, event, progress, (begin, barrier), time[event], moved)
        for k in range(n):
            node, start = moved[0][k], moved[1][k]
            _arrive(progress, node, start, moment, (begin, barrier))
            place = (event, begin, node, n_ranges)
            n_ranges += _note(trie, time, place, start, ranges, current)
        waiting = waiting or certain[event]
    return ranges, n_ranges

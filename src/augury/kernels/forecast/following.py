"""Partial matches and wholes, followed from event to event through tables of what becomes of them.

What is read is a *group*: the events of one order in one partition, as a symbol. A token is what a
partial match is, a context what the last symbols of its partition were; both go on by tables that
are made as they are asked for: an entry below 0 is not known, and ends a call, which is taken up
again once it is.

Partial matches stand in lists, one for each partition, in the order in which they arose. What they
have bound is a tree: a node for each event taken, which knows the one before it.

Oracle: `augury.forecast.past`, event by event, and through it tests/oracles/forecasts.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from augury.kernels.jit import kernel, part

# Why a call ended before the last group.
DONE, NO_CONTEXT, NO_WAY, NO_ROOM, TOLD_FULL, TOO_MANY = 0, 1, 2, 3, 4, 5
# Places in the marks of a pool.
FREE, FREED, NODES, BOUND, TOLD, WHY, WHICH = 0, 1, 2, 3, 4, 5, 6
N_MARKS = 7
# The end of what no window ends.
NEVER = np.int64(2**62)


class Groups(NamedTuple):
    """G groups; group g has the events `number[first[g]]..number[first[g + 1]]`."""

    partition: np.ndarray
    symbol: np.ndarray
    time: np.ndarray
    first: np.ndarray
    number: np.ndarray


class Ways(NamedTuple):
    """What tokens and contexts become, by symbol.

    The ways of a token are `begin..end`; way w leads to `target[w]` and takes the events
    `which[take[w]..take[w + 1]]` of the group as components. `starts` tells that it begins a match.
    """

    context: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    target: np.ndarray
    starts: np.ndarray
    take: np.ndarray
    component: np.ndarray
    which: np.ndarray
    is_told: np.ndarray


class Pool(NamedTuple):
    """Lists of partial matches by partition (-1: none yet), and the tree of what is bound."""

    head: np.ndarray
    context: np.ndarray
    token: np.ndarray
    end: np.ndarray
    bind: np.ndarray
    following: np.ndarray
    component: np.ndarray
    number: np.ndarray
    parent: np.ndarray
    depth: np.ndarray
    marks: np.ndarray


class Out(NamedTuple):
    """Partial matches that are alive after a group, one row each."""

    group: np.ndarray
    token: np.ndarray
    context: np.ndarray
    end: np.ndarray
    bind: np.ndarray


@kernel
def follow_wholes(begin, groups, tables, now, out):
    """Carry what lives in each partition over groups; return where a step is not known.

    `tables` are of readings and of contexts, `now` and `out` what they are, in partitions and after
    each group.
    """
    onward, context_onward = tables
    state, context = now
    states, contexts = out
    n = groups.partition.shape[0]
    for g in range(begin, n):
        p, symbol = groups.partition[g], groups.symbol[g]
        after, last = onward[state[p], symbol], context_onward[context[p], symbol]
        if after < 0 or last < 0:
            return g
        state[p], context[p] = after, last
        states[g], contexts[g] = after, last
    return n


@kernel
def follow_partial(begin, limits, groups, ways, pool, out):
    """Carry the partial matches of each partition over groups; return how far it came.

    `limits` are the window in time (0: none) and how many partial matches a partition may have.
    Why it ended stands in the marks.
    """
    window, most = limits
    marks = pool.marks
    for g in range(begin, groups.partition.shape[0]):
        p, symbol, time = groups.partition[g], groups.symbol[g], groups.time[g]
        after = ways.context[pool.context[p], symbol]
        if after < 0:
            marks[WHY], marks[WHICH] = NO_CONTEXT, pool.context[p]
            return g
        if marks[FREED] + pool.token.shape[0] - marks[NODES] < 1:
            marks[WHY] = NO_ROOM
            return g
        if pool.head[p] < 0:
            node = _taken(pool)
            pool.token[node], pool.end[node] = 0, NEVER
            pool.bind[node], pool.following[node] = -1, -1
            pool.head[p] = node
        why = _has_room(p, symbol, time, most, ways, pool, out)
        if why != DONE:
            marks[WHY] = why
            return g
        pool.context[p] = after
        _read(g, window, groups, ways, pool)
        _tell(g, p, ways, pool, out)
    marks[WHY] = DONE
    return groups.partition.shape[0]


@part
def _taken(pool):
    """Take a node that is free; there is one."""
    marks = pool.marks
    if marks[FREED] > 0:
        node = marks[FREE]
        marks[FREE] = pool.following[node]
        marks[FREED] -= 1
        return node
    marks[NODES] += 1
    return marks[NODES] - 1


@part
def _released(node, pool):
    pool.bind[node] = -1
    pool.following[node] = pool.marks[FREE]
    pool.marks[FREE] = node
    pool.marks[FREED] += 1


@part
def _has_room(p, symbol, time, most, ways, pool, out):
    """Tell whether all ways of a partition's tokens are known, and there is room for them."""
    marks = pool.marks
    more = takes = 0
    node = pool.head[p]
    while node >= 0:
        if pool.end[node] >= time:
            token = pool.token[node]
            first = ways.begin[token, symbol]
            if first < 0:
                marks[WHICH] = token
                return NO_WAY
            last = ways.end[token, symbol]
            more += last - first
            takes += ways.take[last] - ways.take[first]
        node = pool.following[node]
    if more > most:
        return TOO_MANY
    if marks[FREED] + pool.token.shape[0] - marks[NODES] < more + 1:
        return NO_ROOM
    if marks[BOUND] + takes > pool.parent.shape[0]:
        return NO_ROOM
    if marks[TOLD] + more > out.group.shape[0]:
        return TOLD_FULL
    return DONE


@part
def _read(g, window, groups, ways, pool):
    """Let every partial match of a partition become what it becomes with a group."""
    p, symbol, time = groups.partition[g], groups.symbol[g], groups.time[g]
    node, last = pool.head[p], np.int64(-1)
    pool.head[p] = -1
    while node >= 0:
        following = pool.following[node]
        if pool.end[node] >= time:
            token = pool.token[node]
            for w in range(ways.begin[token, symbol], ways.end[token, symbol]):
                fresh = _taken(pool)
                pool.token[fresh] = ways.target[w]
                ends = pool.end[node]
                if ways.starts[w] and window > 0:
                    ends = time + window
                pool.end[fresh] = ends
                pool.bind[fresh] = _bound(g, w, pool.bind[node], groups, ways, pool)
                pool.following[fresh] = -1
                if last < 0:
                    pool.head[p] = fresh
                else:
                    pool.following[last] = fresh
                last = fresh
        _released(node, pool)
        node = following


@part
def _bound(g, way, before, groups, ways, pool):
    """Return what is bound once a way has taken its events."""
    bind = before
    for k in range(ways.take[way], ways.take[way + 1]):
        fresh = pool.marks[BOUND]
        pool.marks[BOUND] += 1
        pool.component[fresh] = ways.component[k]
        pool.number[fresh] = groups.number[groups.first[g] + ways.which[k]]
        pool.parent[fresh] = bind
        pool.depth[fresh] = 1 if bind < 0 else pool.depth[bind] + 1
        bind = fresh
    return bind


@part
def _tell(g, p, ways, pool, out):
    """Write down the partial matches of a partition that wait for something."""
    node = pool.head[p]
    while node >= 0:
        token = pool.token[node]
        if ways.is_told[token]:
            row = pool.marks[TOLD]
            pool.marks[TOLD] += 1
            out.group[row], out.token[row] = g, token
            out.context[row], out.end[row] = pool.context[p], pool.end[node]
            out.bind[row] = pool.bind[node]
        node = pool.following[node]


@kernel
def forget(time, pool):
    """Let go partial matches whose window has ended; return how many partitions have some.

    A partition that has nothing bound is as new: its list goes, too.
    """
    alive = 0
    for p in range(pool.head.shape[0]):
        node, last = pool.head[p], np.int64(-1)
        bound = False
        pool.head[p] = -1
        while node >= 0:
            following = pool.following[node]
            if pool.end[node] >= time:
                bound = bound or pool.token[node] != 0
                pool.following[node] = -1
                if last < 0:
                    pool.head[p] = node
                else:
                    pool.following[last] = node
                last = node
            else:
                _released(node, pool)
            node = following
        if bound or pool.context[p] != 0:
            alive += 1
        elif pool.head[p] >= 0:
            _released(pool.head[p], pool)
            pool.head[p] = -1
    return alive


@kernel
def release(partition, pool):
    """Let all partial matches of a partition go, and what it was."""
    node = pool.head[partition]
    while node >= 0:
        following = pool.following[node]
        _released(node, pool)
        node = following
    pool.head[partition], pool.context[partition] = -1, 0


@kernel
def mark_bound(pool, is_used):
    """Flag what the partial matches that live have bound."""
    for p in range(pool.head.shape[0]):
        node = pool.head[p]
        while node >= 0:
            bind = pool.bind[node]
            while bind >= 0 and not is_used[bind]:
                is_used[bind] = True
                bind = pool.parent[bind]
            node = pool.following[node]


@kernel
def unroll(binds, first, pool, component, number):
    """Write what partial matches have bound, in the order taken: row r from `first[r]` on."""
    for r in range(binds.shape[0]):
        bind, at = binds[r], first[r + 1]
        while bind >= 0:
            at -= 1
            component[at], number[at] = pool.component[bind], pool.number[bind]
            bind = pool.parent[bind]

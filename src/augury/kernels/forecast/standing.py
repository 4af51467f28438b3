"""Partial matches of one partition, followed as sets: those that are alike go on as one.

What a partial match becomes hangs on its token and the end of its window alone, so that all that
have these in common are one *slot*. Which partial matches a slot has is a set: a node that adds an
event to every member of another set, or one that joins two. Extending a thousand partial matches by
an event is one node, joining them with those that waited is another; who asks for the members
unrolls them. Nodes come after those they are made of.

Events have codes, which many forecasts share, and each forecast its own symbol for each code. Where
an event has changed nothing, those behind it that are alike are passed by.

Oracle: `augury.forecast.past`, event by event, and through it tests/oracles/forecasts.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from augury.kernels.forecast.following import NEVER
from augury.kernels.jit import inner, kernel

# Why a call ended before the last group.
DONE, NO_CONTEXT, NO_WAY, NO_ROOM, OUT_FULL, NO_CLAIM = 0, 1, 2, 3, 4, 5
# Places in the marks.
SLOTS, SETS, CONTEXT, WHY, WHICH, ROWS = 0, 1, 2, 3, 4, 5
N_MARKS = 6
# The one partial match that has bound nothing; what joins no other set.
NOTHING = np.int64(-1)
# Of more members than that it is not known how many they are.
MANY = np.int64(2**60)
# Symbols that have a bit.
MOST_STILL = 62
# Pending joins of a set: each has more members than what is unrolled first.
DEEPEST = 128


class Passing(NamedTuple):
    """G groups; group g has the events `number[first[g]]..number[first[g + 1]]`.

    Its symbol is `symbol_of[code[g]]`.
    """

    code: np.ndarray
    symbol_of: np.ndarray
    time: np.ndarray
    first: np.ndarray
    number: np.ndarray


class Sets(NamedTuple):
    """Slots (token, end, set), and the nodes of sets.

    A node has the members of `parent`, each with an event more, or (`other` is a node) those of
    both. `count` says how many they are, `items` how many events these have, `deep` how many at
    most one of them has.
    """

    token: np.ndarray
    end: np.ndarray
    members: np.ndarray
    component: np.ndarray
    number: np.ndarray
    parent: np.ndarray
    other: np.ndarray
    count: np.ndarray
    items: np.ndarray
    deep: np.ndarray
    marks: np.ndarray


class Fresh(NamedTuple):
    """The slots after a group; `latest` is the newest of each token."""

    token: np.ndarray
    end: np.ndarray
    members: np.ndarray
    latest: np.ndarray


class Out(NamedTuple):
    """Slots that may claim enough after a group."""

    group: np.ndarray
    token: np.ndarray
    context: np.ndarray
    end: np.ndarray
    members: np.ndarray


@kernel
def follow_sets(begin, window_and_base, passing, ways, claims, sets, fresh, out):
    """Carry slots over groups; return how far it came. Why it ended stands in the marks.

    `claims` tells of token and context whether what is told may be enough. Numbers of events count
    from a base.
    """
    window, base = window_and_base
    marks, n, g = sets.marks, passing.code.shape[0], begin
    # Symbols, as bits, that leave the slots as they are until the soonest of them ends.
    still, soonest = np.int64(0), _soonest(sets)
    while g < n:
        symbol = passing.symbol_of[passing.code[g]]
        before = marks[CONTEXT]
        context = ways.context[before, symbol]
        if context < 0:
            marks[WHY], marks[WHICH] = NO_CONTEXT, before
            return g
        bit = np.int64(1) << symbol if symbol < MOST_STILL else np.int64(0)
        nodes = marks[SETS]
        is_still = still & bit != 0 and (soonest == NEVER or passing.time[g] <= soonest)
        if is_still:
            count, tokens = marks[SLOTS], sets.token
        else:
            count = _read(g, symbol, window, base, passing, ways, sets, fresh)
            tokens = fresh.token
        rows = _claiming(count, tokens, context, claims, marks)
        if rows >= 0 and marks[ROWS] + rows > out.group.shape[0]:
            marks[WHY], rows = OUT_FULL, np.int64(-1)
        if rows < 0:
            # As if the group had not been read.
            marks[SETS] = nodes
            return g
        if not is_still:
            if _is_alike(count, sets, fresh):
                still |= bit
            else:
                _settle(count, sets, fresh)
                still, soonest = np.int64(0), _soonest(sets)
        marks[CONTEXT] = context
        if rows > 0:
            _tell(g, context, claims, sets, out)
        g += 1
        if context == before and still & bit != 0:
            g = _passed_by(g, symbol, rows, soonest, passing, claims, sets, out)
    marks[WHY] = DONE
    return n


@inner
def _soonest(sets):
    """Return when the first of the slots ends."""
    found = NEVER
    for k in range(sets.marks[SLOTS]):
        found = min(found, sets.end[k])
    return found


@inner
def _read(g, symbol, window, base, passing, ways, sets, fresh):
    """Work out the slots after a group; return how many, or -1 where that cannot be."""
    marks, time, count = sets.marks, passing.time[g], np.int64(0)
    for k in range(marks[SLOTS]):
        if sets.end[k] < time:
            continue
        token = sets.token[k]
        first = ways.begin[token, symbol]
        if first < 0:
            marks[WHY], marks[WHICH] = NO_WAY, token
            return np.int64(-1)
        last = ways.end[token, symbol]
        takes = ways.take[last] - ways.take[first]
        more = last - first
        if marks[SETS] + takes + more > sets.parent.shape[0]:
            marks[WHY] = NO_ROOM
            return np.int64(-1)
        if count + more > fresh.token.shape[0]:
            marks[WHY] = NO_ROOM
            return np.int64(-1)
        for w in range(first, last):
            members = sets.members[k]
            for t in range(ways.take[w], ways.take[w + 1]):
                event = passing.first[g] + ways.which[t]
                number = passing.number[event] + base
                members = _extended(members, ways.component[t], number, sets)
            end = sets.end[k]
            if ways.starts[w] and window > 0:
                end = time + window
            count = _add(ways.target[w], end, members, count, sets, fresh)
    return count


@inner
def _add(token, end, members, count, sets, fresh):
    """Add a slot, or the members of one to those of an equal one; return how many there are."""
    at = fresh.latest[token]
    if at < count and fresh.token[at] == token and fresh.end[at] == end:
        fresh.members[at] = _joined(fresh.members[at], members, sets)
        return count
    fresh.token[count], fresh.end[count], fresh.members[count] = token, end, members
    fresh.latest[token] = count
    return count + 1


@inner
def _extended(members, component, number, sets):
    """Return the set of all members with an event more."""
    node = sets.marks[SETS]
    sets.marks[SETS] += 1
    sets.component[node], sets.number[node] = component, number
    sets.parent[node], sets.other[node] = members, NOTHING
    if members < 0:
        sets.count[node], sets.items[node], sets.deep[node] = 1, 1, 1
    else:
        sets.count[node] = sets.count[members]
        sets.items[node] = min(sets.items[members] + sets.count[members], MANY)
        sets.deep[node] = sets.deep[members] + 1
    return node


@inner
def _joined(one, another, sets):
    """Return the set of the members of both; the larger one is the parent."""
    node = sets.marks[SETS]
    sets.marks[SETS] += 1
    if sets.count[one] < sets.count[another]:
        one, another = another, one
    sets.component[node], sets.number[node] = -1, -1
    sets.parent[node], sets.other[node] = one, another
    sets.count[node] = min(sets.count[one] + sets.count[another], MANY)
    sets.items[node] = min(sets.items[one] + sets.items[another], MANY)
    sets.deep[node] = max(sets.deep[one], sets.deep[another])
    return node


@inner
def _claiming(count, tokens, context, claims, marks):
    """Return how many slots may claim enough; -1 where that is not known, or nothing was read."""
    rows = np.int64(0)
    for k in range(count):
        claim = claims[tokens[k], context]
        if claim < 0:
            marks[WHY], marks[WHICH] = NO_CLAIM, tokens[k]
            return np.int64(-1)
        rows += claim
    return rows if count >= 0 else np.int64(-1)


@inner
def _is_alike(count, sets, fresh):
    """Tell whether the fresh slots are what the slots are already."""
    if count != sets.marks[SLOTS]:
        return False
    for k in range(count):
        if fresh.token[k] != sets.token[k] or fresh.end[k] != sets.end[k]:
            return False
        if fresh.members[k] != sets.members[k]:
            return False
    return True


@inner
def _settle(count, sets, fresh):
    """Let the fresh slots be the slots; there is room for them."""
    sets.marks[SLOTS] = count
    for k in range(count):
        sets.token[k], sets.end[k] = fresh.token[k], fresh.end[k]
        sets.members[k] = fresh.members[k]


@inner
def _tell(g, context, claims, sets, out):
    """Write down the slots that may claim enough."""
    row = sets.marks[ROWS]
    for k in range(sets.marks[SLOTS]):
        if claims[sets.token[k], context] > 0:
            out.group[row], out.token[row], out.context[row] = g, sets.token[k], context
            out.end[row], out.members[row] = sets.end[k], sets.members[k]
            row += 1
    sets.marks[ROWS] = row


@inner
def _passed_by(g, symbol, rows, soonest, passing, claims, sets, out):
    """Pass by groups that change nothing, as the one before did not; return the next one."""
    marks, n = sets.marks, passing.code.shape[0]
    if rows == 0 and soonest == NEVER:
        while g < n and passing.symbol_of[passing.code[g]] == symbol:
            g += 1
        return g
    while g < n and passing.symbol_of[passing.code[g]] == symbol and passing.time[g] <= soonest:
        if marks[ROWS] + rows > out.group.shape[0]:
            return g
        if rows > 0:
            _tell(g, marks[CONTEXT], claims, sets, out)
        g += 1
    return g


@kernel
def follow_whole(begin, passing, tables, claims, now, out):
    """Carry what lives as a whole over groups; return how far it came, and how many are told.

    `tables` are of readings and of contexts, `now` is (state, context), `out` (group, state,
    context).
    """
    onward, context_onward = tables
    group, states, contexts = out
    n, g, rows = passing.code.shape[0], begin, 0
    while g < n:
        symbol = passing.symbol_of[passing.code[g]]
        after, last = onward[now[0], symbol], context_onward[now[1], symbol]
        if after < 0 or last < 0 or claims[after, last] < 0 or rows == group.shape[0]:
            break
        alike = after == now[0] and last == now[1]
        now[0], now[1] = after, last
        if claims[after, last] > 0:
            group[rows], states[rows], contexts[rows] = g, after, last
            rows += 1
            g += 1
            continue
        g += 1
        while alike and g < n and passing.symbol_of[passing.code[g]] == symbol:
            g += 1
    return g, rows


# What sets have in them ---------------------------------------------------------------------------


@kernel
def unroll_sets(asked, first_row, sets, path, first_item, component, number):
    """Write the members of sets: set k from row `first_row[k]` on, events in the order taken.

    Row r has the items `first_item[r]..first_item[r + 1]`; `first_item[0]` is there. `path` has
    room for two columns of the deepest member.
    """
    pending, lengths = np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64)
    for k in range(asked.shape[0]):
        row, waiting, length, node = first_row[k], 0, 0, asked[k]
        while True:
            while node >= 0:
                if sets.other[node] >= 0:
                    pending[waiting], lengths[waiting] = sets.parent[node], length
                    waiting += 1
                    node = sets.other[node]
                else:
                    path[0, length], path[1, length] = sets.component[node], sets.number[node]
                    length += 1
                    node = sets.parent[node]
            at = first_item[row]
            for back in range(length - 1, -1, -1):
                component[at], number[at] = path[0, back], path[1, back]
                at += 1
            row += 1
            first_item[row] = at
            if waiting == 0:
                break
            waiting -= 1
            node, length = pending[waiting], lengths[waiting]


@kernel
def compact(sets, place):
    """Let nodes go that no slot is made of; `place` has room for one number of each node."""
    n = sets.marks[SETS]
    place[:n] = 0
    for k in range(sets.marks[SLOTS]):
        if sets.members[k] >= 0:
            place[sets.members[k]] = 1
    for node in range(n - 1, -1, -1):
        if place[node] > 0:
            if sets.parent[node] >= 0:
                place[sets.parent[node]] = 1
            if sets.other[node] >= 0:
                place[sets.other[node]] = 1
    kept = 0
    for node in range(n):
        if place[node] == 0:
            continue
        place[node] = kept
        parent, other = sets.parent[node], sets.other[node]
        sets.parent[kept] = place[parent] if parent >= 0 else NOTHING
        sets.other[kept] = place[other] if other >= 0 else NOTHING
        sets.component[kept], sets.number[kept] = sets.component[node], sets.number[node]
        sets.count[kept], sets.items[kept] = sets.count[node], sets.items[node]
        sets.deep[kept] = sets.deep[node]
        kept += 1
    for k in range(sets.marks[SLOTS]):
        if sets.members[k] >= 0:
            sets.members[k] = place[sets.members[k]]
    sets.marks[SETS] = kept


@kernel
def count_members(sets):
    """Fill how many members nodes have, and of how many events, of what they are made of."""
    for node in range(sets.marks[SETS]):
        parent, other = sets.parent[node], sets.other[node]
        if other >= 0:
            sets.count[node] = min(sets.count[parent] + sets.count[other], MANY)
            sets.items[node] = min(sets.items[parent] + sets.items[other], MANY)
            sets.deep[node] = max(sets.deep[parent], sets.deep[other])
            if sets.count[parent] < sets.count[other]:
                sets.parent[node], sets.other[node] = other, parent
        elif parent >= 0:
            sets.count[node] = sets.count[parent]
            sets.items[node] = min(sets.items[parent] + sets.count[parent], MANY)
            sets.deep[node] = sets.deep[parent] + 1
        else:
            sets.count[node], sets.items[node], sets.deep[node] = 1, 1, 1

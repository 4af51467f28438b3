"""Count matches without listing them: how many paths there are, and the sum of their confidences.

Forward over the window of each start event, one sum per automaton state: paths that end in a state
are only told apart by their last event, because all that is asked of a further event (that it lies
after the last one, a rule over the two, nothing forbidden between them) looks no further back.

Shapes: T events, n in a window, S states, E transitions, R rules. Sums of counts stop at MOST.
Oracle: tests/oracles/worlds.py lists the matches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from augury.kernels.jit import kernel, part
from augury.kernels.search.layout import (
    FOREVER,
    KEY,
    MASK,
    NULLS,
    STOP,
    STREAM,
    TIE,
    TIME,
    VALUES,
    P,
)
from augury.kernels.search.predicates import Predicates, evaluate

MOST = 2**62

# Columns of `edges`; BREAKING are the components that must not play between (bits), ADJACENT tells
# that no event of the key may lie between.
SOURCE, TARGET, COMPONENT, BREAKING, ADJACENT, EDGE_WIDTH = range(6)


class Paths(NamedTuple):
    """An automaton whose rules look at two neighbours of a match at most.

    `rules[rule_rows[k]:rule_rows[k + 1]]` are the rules that transition k tests; rule r reads
    `slots[slot_rows[r]:slot_rows[r + 1]]`, each a component and a column.
    """

    edges: np.ndarray  # int64 (E, EDGE_WIDTH), sorted by source
    accepting: np.ndarray  # int64 (S,)
    rule_rows: np.ndarray  # int64 (E + 1,)
    rules: np.ndarray  # int64
    slot_rows: np.ndarray  # int64 (R + 1,)
    slots: np.ndarray  # int64 (slots, 2)
    window: int


@part
def _is_before(e, a, b):
    if e[a, TIME] != e[b, TIME]:
        return e[a, TIME] < e[b, TIME]
    return e[a, STREAM] == e[b, STREAM] and e[a, TIE] < e[b, TIE]


@part
def _plus(a, b):
    return MOST if a > MOST - b else a + b


@part
def _breaks(paths, e, lane, x, last):
    """Whether event x, lying before `last`, must be absent for the transition to take `last`."""
    if e[x, MASK] & paths.edges[lane, BREAKING]:
        return True
    return paths.edges[lane, ADJACENT] != 0 and e[x, KEY] == e[last, KEY]


@part
def _rules_hold(paths, predicates, e, lane, first, last):
    """Whether the rules of a transition hold for two neighbours."""
    slots, nulls = np.zeros(16, np.int64), np.zeros(16, np.bool_)
    for r in range(paths.rule_rows[lane], paths.rule_rows[lane + 1]):
        rule = paths.rules[r]
        begin = paths.slot_rows[rule]
        for slot in range(begin, paths.slot_rows[rule + 1]):
            component, column = paths.slots[slot]
            event = last if component == paths.edges[lane, COMPONENT] else first
            slots[slot - begin] = e[event, VALUES + column]
            nulls[slot - begin] = (e[event, NULLS] >> column) & 1
        if evaluate(predicates, rule, slots, nulls) != 1:
            return False
    return True


@part
def _own_group(paths, e, er, lane, pair):
    """Return the chance that nothing breaking lies between two events at the first one's time."""
    first, last = pair
    chance, x = 1.0, first + 1
    while x < last and e[x, TIME] == e[first, TIME]:
        if _is_before(e, first, x) and _is_before(e, x, last) and _breaks(paths, e, lane, x, last):
            chance *= 1.0 - er[x, P]
        x += 1
    return chance


@part
def _from_each(paths, predicates, e, er, lane, place, counts, weights):
    """Return the paths that a transition continues with an event, pair by pair."""
    start, last = place
    state = paths.edges[lane, SOURCE]
    # What must be absent later than the current time, and at it.
    later, now, time = 1.0, 1.0, e[last, TIME]
    count, weight = 0, 0.0
    for k in range(last - start - 1, -1, -1):
        first = start + k
        if e[first, TIME] != time:
            later, now, time = later * now, 1.0, e[first, TIME]
        if later <= 0.0:
            break
        if counts[k, state] > 0 and _is_before(e, first, last):
            if paths.edges[lane, ADJACENT] == 0 or e[first, KEY] == e[last, KEY]:
                chance = later * _own_group(paths, e, er, lane, (first, last))
                if chance > 0.0 and _rules_hold(paths, predicates, e, lane, first, last):
                    count = _plus(count, counts[k, state])
                    weight += weights[k, state] * chance
        if _is_before(e, first, last) and _breaks(paths, e, lane, first, last):
            now *= 1.0 - er[first, P]
    return count, weight


@part
def _from_sum(e, state, place, begin, counts, weights, sums):
    """Return the paths that an event continues, by the sum over all earlier times and by ties."""
    start, last = place
    whole, real = sums
    count, weight = whole[state], real[state]
    for k in range(begin, last - start):
        if counts[k, state] > 0 and _is_before(e, start + k, last):
            count = _plus(count, counts[k, state])
            weight += weights[k, state]
    return count, weight


@part
def _looks_at_pairs(paths, lane):
    """Whether a transition asks more of an event than to lie after the one before it."""
    if paths.edges[lane, BREAKING] != 0 or paths.edges[lane, ADJACENT] != 0:
        return True
    return paths.rule_rows[lane] < paths.rule_rows[lane + 1]


@part
def _take(paths, predicates, e, er, place, begin, counts, weights, sums):
    """Continue paths with an event by every transition; return the matches that end with it."""
    start, last = place
    k = last - start
    for lane in range(len(paths.edges)):
        if (e[last, MASK] >> paths.edges[lane, COMPONENT]) & 1:
            if _looks_at_pairs(paths, lane):
                n, x = _from_each(paths, predicates, e, er, lane, place, counts, weights)
            else:
                source = paths.edges[lane, SOURCE]
                n, x = _from_sum(e, source, place, begin, counts, weights, sums)
            target = paths.edges[lane, TARGET]
            counts[k, target] = _plus(counts[k, target], n)
            weights[k, target] += x * er[last, P]
    count, weight = 0, 0.0
    for q in range(len(paths.accepting)):
        if paths.accepting[q]:
            count = _plus(count, counts[k, q])
            weight += weights[k, q]
    return count, weight


@part
def _sum_up(first, stop, counts, weights, sums):
    """Add the paths that end at one time to the sums over all earlier times."""
    whole, real = sums
    for k in range(first, stop):
        for q in range(len(whole)):
            whole[q] = _plus(whole[q], counts[k, q])
            real[q] += weights[k, q]


@part
def _count_from(paths, predicates, e, er, place, counts, weights, sums):
    """Return how many matches begin with an event on a transition, and their total confidence."""
    start, first_lane = place
    sums[0][:], sums[1][:] = 0, 0.0
    counts[0, :], weights[0, :] = 0, 0.0
    state = paths.edges[first_lane, TARGET]
    counts[0, state], weights[0, state] = 1, er[start, P]
    count = np.int64(paths.accepting[state])
    weight = er[start, P] if paths.accepting[state] else 0.0
    begin, stop, last = 0, e[start, STOP], start + 1
    while last < stop and (
        paths.window == FOREVER or e[last, TIME] - e[start, TIME] <= paths.window
    ):
        k = last - start
        counts[k, :], weights[k, :] = 0, 0.0
        if e[last, TIME] != e[last - 1, TIME]:
            _sum_up(begin, k, counts, weights, sums)
            begin = k
        if e[last, MASK] != 0 and er[last, P] > 0.0:
            n, x = _take(paths, predicates, e, er, (start, last), begin, counts, weights, sums)
            count, weight = _plus(count, n), weight + x
        last += 1
    return count, weight


@part
def _longest_window(e, window):
    longest, last = 1, 0
    for start in range(len(e)):
        last = max(last, start)
        while last < e[start, STOP] and (
            window == FOREVER or e[last, TIME] - e[start, TIME] <= window
        ):
            last += 1
        longest = max(longest, last - start)
    return longest


@kernel
def count_paths(paths, code, words, nulls, e, er):
    """Return, for each transition of the start state and each event, count and total confidence."""
    predicates = Predicates(code, words, nulls)
    states = len(paths.accepting)
    n = _longest_window(e, paths.window)
    counts, weights = np.zeros((n, states), np.int64), np.zeros((n, states))
    sums = np.zeros(states, np.int64), np.zeros(states)
    lanes = 0
    while lanes < len(paths.edges) and paths.edges[lanes, SOURCE] == 0:
        lanes += 1
    found, expected = np.zeros((lanes, len(e)), np.int64), np.zeros((lanes, len(e)))
    for start in range(len(e)):
        for lane in range(lanes):
            if (e[start, MASK] >> paths.edges[lane, COMPONENT]) & 1 and er[start, P] > 0.0:
                found[lane, start], expected[lane, start] = _count_from(
                    paths, predicates, e, er, (start, lane), counts, weights, sums
                )
    return found, expected

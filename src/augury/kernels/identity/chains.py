"""Chains of open acts that one person may have done, in one state.

A chain leads from where somebody was last seen to where it is now. Of the acts that it passes by,
one candidate fewer is left: who was there and did not do it. How many chains there are, and what
they weigh together, follows from the last act to the first; so a sample can be drawn of them where
they are too many.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from augury.kernels.identity.layout import AT, LENGTH, OPENED, ORIGIN, TO
from augury.kernels.identity.room import larger
from augury.kernels.jit import part

# What a chain does with an open act.
PASSES, TAKES = 1, 2
# More chains are not counted.
COUNTLESS = 2**40


class Chains(NamedTuple):
    """Chains of a state, and memory to find them; M open acts."""

    marks: np.ndarray  # int64 (chains, M) what each does with each act
    factors: np.ndarray  # float64 (chains, 2) its part of the weight; how much a draw may change
    ahead: np.ndarray  # float64 (M + 1,) what all ways on weigh after each act; last: at first
    ways: np.ndarray  # int64 (M + 1,) how many they are
    reached: np.ndarray  # int64 (places,) the last state, by number from 1, in which one gets there


@part
def no_chains(n, places):
    """Return memory for chains of `n` acts."""
    return Chains(
        np.zeros((16, n), np.int64),
        np.zeros((16, 2)),
        np.empty(n + 1),
        np.empty(n + 1, np.int64),
        np.zeros(places, np.int64),
    )


@part
def no_way(marks, factors, length, is_there):
    """Write the one chain of somebody who took no act along; return how many there are."""
    for j in range(length):
        marks[0, j] = 0
    factors[0, 0], factors[0, 1] = 1.0, 0.0
    return np.int64(is_there)


@part
def ways_on(own, acts, head, ends, chains):
    """Return how many chains there are; write what all ways on weigh, from every act on."""
    words, s, counts = own
    ahead, ways, reached = chains.ahead, chains.ways, chains.reached
    length = words[s, LENGTH]
    reached[head[0]] = s + 1
    for j in range(length):
        act = words[s, OPENED + j]
        # Acts that nobody gets to from the head are left out.
        is_near = acts[act, AT] > head[1] and reached[acts[act, ORIGIN]] == s + 1
        ways[j] = 0 if is_near else -1
        if is_near:
            reached[acts[act, TO]] = s + 1
    for i in range(length - 1, -2, -1):
        if i >= 0 and ways[i] < 0:
            continue
        place, step = head
        if i >= 0:
            act = words[s, OPENED + i]
            place, step = acts[act, TO], acts[act, AT]
        passing, total, number = 1.0, 0.0, 0
        for j in range(i + 1, length):
            act = words[s, OPENED + j]
            if acts[act, ORIGIN] == place and acts[act, AT] > step:
                count = words[s, counts + j]
                total += passing / count * ahead[j]
                number += ways[j]
                passing *= (count - 1) / count
                if passing == 0.0:
                    break
        if ends[place] and passing > 0.0:
            total += passing
            number += 1
        at = i if i >= 0 else length
        ahead[at], ways[at] = total, min(number, COUNTLESS)
    return ways[length]


@part
def listed(own, acts, head, chains, drawn):
    """Write so many chains; return them. If there are more, they are drawn, evenly by weight."""
    n, start = drawn
    length = own[0][own[1], LENGTH]
    chains = _with_room(chains, n)
    marks, factors, ways = chains.marks, chains.factors, (chains.ahead, chains.ways)
    is_all, each = chains.ways[length] == n, chains.ahead[length] / max(n, 1)
    for c in range(n):
        # By its number, or by the weight of those before it.
        which = (c, np.inf) if is_all else (0, (c + start) * each)
        weight = _go(own, acts, head, (marks, c), (ways, which))
        factors[c, 0], factors[c, 1] = weight, 0.0
        if not is_all:
            if weight == 0.0:
                # Rounding led past the last one.
                weight = _go(own, acts, head, (marks, c), (ways, (0, np.inf)))
            factors[c, 0] = each
            factors[c, 1] = each * np.sqrt(max(1.0 - weight / each, 0.0))
    return chains


@part
def _with_room(chains, n):
    if n <= chains.marks.shape[0]:
        return chains
    more = 2 * n
    marks, factors = larger(chains.marks, more), larger(chains.factors, more)
    return Chains(marks, factors, chains.ahead, chains.ways, chains.reached)


@part
def _go(own, acts, head, to, which):
    """Write the marks of one chain, by its number or by the weight of those before it.

    Returns what it weighs; 0 where there is none.
    """
    words, s, counts = own
    place, step = head
    marks, c = to
    (ahead, ways), (number, before) = which
    factor = 1.0
    by_weight = before < np.inf
    for j in range(words[s, LENGTH]):
        act = words[s, OPENED + j]
        marks[c, j] = 0
        if acts[act, ORIGIN] != place or acts[act, AT] <= step:
            continue
        count = words[s, counts + j]
        own_weight = factor / count * ahead[j]
        if before < own_weight if by_weight else number < ways[j]:
            marks[c, j] = TAKES
            place, step = acts[act, TO], acts[act, AT]
            factor /= count
        else:
            marks[c, j] = PASSES
            number -= ways[j]
            before -= own_weight
            factor *= (count - 1) / count
    return 0.0 if by_weight and before >= factor else factor

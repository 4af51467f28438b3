"""How many completions of a prefix are expected: by rates, and by earlier cycles.

`augury.privacy.expectation` and `augury.privacy.cycles` say the same of one prefix; there it is
said why. Oracle: tests/oracles/policies.py integrates, and lists worlds.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

import numpy as np

from augury.kernels.jit import part
from augury.kernels.privacy.layout import GREEDY, WANG

# Terms of the series, for a matrix whose norm is at most one.
TERMS = 20


@part
def _power(base, exponent):
    result = 1.0
    for _ in range(exponent):
        result *= base
    return result


@part
def _between(one, other):
    """Return the divided difference of exp(-x) at two numbers, but for its sign."""
    apart = other - one
    return math.exp(-one) if apart == 0.0 else math.exp(-one) * -math.expm1(-apart) / apart


@part
def _bidiagonal(waits):
    """Return the upper right entry of exp of the matrix with -waits and, above them, ones."""
    count, shift = len(waits), waits.max()
    doublings = max(0, math.ceil(math.log2(shift + 1.0)))
    scale = 2.0**doublings
    total, term = np.eye(count), np.eye(count)
    for number in range(1, TERMS + 1):
        # A row is multiplied from its end on, so that what it is made of is still there.
        for i in range(count):
            for j in range(count - 1, i - 1, -1):
                value = term[i, j] * (shift - waits[j])
                if j > i:
                    value += term[i, j - 1]
                term[i, j] = value / scale / number
                total[i, j] += term[i, j]
    total *= math.exp(-shift / scale)
    for _ in range(doublings):
        total = _squared(total)
    return total[0, count - 1]


@part
def _squared(matrix):
    count = len(matrix)
    found = np.zeros((count, count))
    for i in range(count):
        for j in range(i, count):
            for k in range(i, j + 1):
                found[i, j] += matrix[i, k] * matrix[k, j]
    return found


@part
def _left(learned, size, flow, place, length, span):
    """Return the expected completions from a step on, where waits may be ended."""
    rates, leaving = flow * (size.width - 1), flow * size.width
    product = 1.0
    for step in range(place, length):
        product *= learned.rates[rates + step] * span
    if product == 0.0:
        return 0.0
    if place == length:
        return math.exp(-learned.leaving[leaving + place] * span)
    if place + 1 == length:
        one = learned.leaving[leaving + place] * span
        return product * _between(one, learned.leaving[leaving + length] * span)
    waits = np.empty(length - place + 1)
    for step in range(place, length + 1):
        waits[step - place] = learned.leaving[leaving + step] * span
    return product * _bidiagonal(waits)


@part
def _wang(learned, size, flow, place, length, span):
    """Return the same by equation 4.8 of Wang's thesis."""
    whole = learned.all_types[flow * size.width + place]
    if whole == 0.0:
        return 0.0 if place < length else 1.0
    chosen = 1.0
    for number in range(length - place):
        rate = learned.rates[flow * (size.width - 1) + place + number]
        chosen *= (whole * span - number) / (number + 1) * rate / whole
    return max(0.0, chosen)


@part
def by_rates(policy, learned, slots, size, which, now, event):
    """Return the expected matches of all prefixes of a chain, with one event more.

    `which` is the chain, and the step that the event plays.
    """
    chain, step = which
    p = chain // size.keys
    length, place, window = policy.lengths[p], step + 1, policy.windows[p]
    if learned.is_dead[p * size.width + place] != 0:
        return 0.0
    flow, rest = learned.flow[chain] + learned.per_event * (event - learned.base), length - place
    cell = flow * size.width + place
    if policy.method == GREEDY or (policy.method != WANG and learned.is_left[cell] == 0):
        if step == 0:
            return learned.product[cell] * _power(float(window), rest)
        return learned.product[cell] * _summed(slots, size, which, window - now, rest)
    if step == 0:
        return _ended(policy, learned, size, (flow, place, length), float(window))
    total, own = 0.0, step * size.slots
    for at in range(slots.begin[chain], slots.end[chain]):
        if slots.weight[own + at] > 0.0:
            span = float(window - now + slots.first[at])
            each = _ended(policy, learned, size, (flow, place, length), span)
            total += slots.weight[own + at] * each
    return total


@part
def _summed(slots, size, which, until, rest):
    """Return the weights of prefixes, each times a power of what is left of its window."""
    chain, step = which
    total, own = 0.0, step * size.slots
    if rest == 0:
        for at in range(slots.begin[chain], slots.end[chain]):
            total += slots.weight[own + at]
        return total
    for at in range(slots.begin[chain], slots.end[chain]):
        total += slots.weight[own + at] * _power(float(until + slots.first[at]), rest)
    return total


@part
def _ended(policy, learned, size, what, span):
    flow, place, length = what
    if policy.method == WANG:
        return _wang(learned, size, flow, place, length, span)
    return _left(learned, size, flow, place, length, span)


@part
def by_cycles(policy, learned, slots, size, which, now, states):
    """Return the same by the same stretch of earlier cycles, and how many there are."""
    total, count = 0.0, 0
    # The first stretch that ends inside the history.
    beyond = now + policy.windows[which[0] // size.keys] - learned.last
    shift = learned.period * max(1, -(-beyond // learned.period))
    while now - shift >= learned.first:
        count += 1
        total += _in_stretch(policy, learned, slots, size, which, (now, shift, states))
        shift += learned.period
    return total, count


@part
def _after(times, begin, end, time):
    """Return the first entry after a time."""
    while begin < end:
        middle = (begin + end) // 2
        if times[middle] <= time:
            begin = middle + 1
        else:
            end = middle
    return begin


@part
def _in_stretch(policy, learned, slots, size, which, when):
    """Return the completions that the events of one stretch give to the prefixes of a chain."""
    chain, step = which
    now, shift, states = when
    p = chain // size.keys
    length, window, own = policy.lengths[p], policy.windows[p], step * size.slots
    _begin(states, size.width, step + 1)
    # Slots by their first events, so by the ends of their windows: each is counted at its own.
    at, slot_end = (0, 1) if step == 0 else (slots.begin[chain], slots.end[chain])
    total, order, event = 0.0, -1, -1
    # A row has one entry more than there are keys.
    begin = learned.entries[chain + p]
    last = learned.entries[chain + p + 1]
    for entry in range(_after(learned.time, begin, last, now - shift), last):
        time = learned.time[entry] + shift
        if time > now + window:
            break
        if learned.event[entry] != event:
            _fold(states, size.width)
            event = learned.event[entry]
        if learned.order[entry] != order:
            _step(states, size.width)
            order = learned.order[entry]
        while at < slot_end and (now if step == 0 else slots.first[at]) + window < time:
            total += (1.0 if step == 0 else slots.weight[own + at]) * states[length]
            at += 1
        if at == slot_end:
            return total
        _take(policy, learned, states, size.width, p, entry)
    _fold(states, size.width)
    _step(states, size.width)
    while at < slot_end:
        total += (1.0 if step == 0 else slots.weight[own + at]) * states[length]
        at += 1
    return total


# Four rows: prefixes by length, what plays each step, what is left of waits, and the mass of the
# event at hand.


@part
def _begin(states, width, place):
    for cell in range(4 * width):
        states[cell] = 0.0
    for step in range(width):
        states[2 * width + step] = 1.0
    states[place] = 1.0


@part
def _take(policy, learned, states, width, p, entry):
    """Let an entry of the history wait: what it adds, and what it ends."""
    chance = learned.chance[entry]
    for step in range(policy.lengths[p] + 1):
        plays = (learned.steps[entry] >> step) & 1
        if plays:
            states[width + step] += chance
        ends = (learned.ends[entry] >> step) & 1
        if ends or (plays and step > 0 and policy.takes_next[p] != 0):
            states[3 * width + step] += chance


@part
def _fold(states, width):
    """End the event at hand: its alternatives exclude each other."""
    for step in range(width):
        states[2 * width + step] *= 1.0 - min(1.0, states[3 * width + step])
        states[3 * width + step] = 0.0


@part
def _step(states, width):
    """Let what waits be there, the longest first."""
    for length in range(width - 1, 0, -1):
        added = states[width + length - 1] * states[length - 1]
        states[length] = states[length] * states[2 * width + length] + added
    for step in range(width):
        states[width + step] = 0.0
        states[2 * width + step] = 1.0

"""Decisions of a policy, event by event, over slots; and the matches that a history has.

The slow twin is `augury.privacy.policy`, which keeps every prefix. Oracle: tests/oracles.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import math

from augury.kernels.jit import kernel, part
from augury.kernels.privacy.expectation import by_cycles, by_rates
from augury.kernels.privacy.layout import (
    AT,
    BOUND,
    BY_TYPE,
    DONE,
    ENDS,
    GREEDY,
    NEVER,
    NO_PLACES,
    NO_SLOTS,
    ORDER,
    PATTERN,
    PLACE,
    PLAY_WIDTH,
    TIME,
    TYPES,
    WEIGHED,
    batch_at,
    learned_at,
    reals,
    sizes_of,
    slots_at,
    waiting_at,
    weighing_at,
)
from augury.kernels.privacy.slots import chain_of, flush, forget, has_room, take_in

TOLERANCE = 1e-9


@part
def _expected(policy, learned, slots, size, which, when):
    """Return the expected matches of the prefixes of a chain, with the event at hand."""
    now, event, states = when
    chain, step = which
    if policy.method == GREEDY and step + 1 < policy.lengths[chain // size.keys]:
        return 0.0
    if learned.period > 0:
        total, count = by_cycles(policy, learned, slots, size, which, now, states)
        if count:
            return total / count
    return by_rates(policy, learned, slots, size, which, now, event)


@part
def _is_there(slots, size, chain, length):
    """Whether a prefix of a length may be there."""
    for at in range(slots.begin[chain], slots.end[chain]):
        if slots.weight[length * size.slots + at] > 0.0:
            return True
    return False


@part
def _weigh(policy, learned, batch, slots, waiting, size, event):
    """Return gain, penalty, and whether the event would complete what must never be."""
    gain, penalty, never, now = 0.0, 0.0, False, batch.time[event]
    kind = batch.kind[event]
    for row in range(batch.begin[event], batch.begin[event + 1]):
        for number in range(policy.begins[kind], policy.begins[kind + 1]):
            chain = chain_of(policy, batch, size, number, row)
            ends = policy.plays[number * PLAY_WIDTH + ENDS]
            if chain < 0 or ends or batch.chance[row] <= 0.0:
                continue
            p = policy.plays[number * PLAY_WIDTH + PATTERN]
            step = policy.plays[number * PLAY_WIDTH + PLACE]
            forget(policy, slots, size, chain, now)
            if step > slots.reach[chain]:
                continue
            if policy.never[p] == step and not never:
                never = step == 0 or _is_there(slots, size, chain, step)
            if policy.weights[p] == 0.0 or policy.method == TYPES:
                continue
            when = (now, event, waiting.states)
            whole = _expected(policy, learned, slots, size, (chain, step), when)
            whole *= batch.chance[row]
            if p < policy.public:
                gain += policy.weights[p] * whole
                continue
            if step + 1 < policy.lengths[p]:
                whole *= policy.patience
            if whole != 0.0:
                penalty -= policy.weights[p] * whole
    return gain, penalty, never


@part
def _rule(policy, kind, gain, penalty, never):
    """Return whether an event is kept, and by which rule."""
    if policy.bound[kind] != 0:
        return True, BOUND
    if never:
        return False, NEVER
    if policy.method == TYPES:
        return policy.dropped[kind] == 0, BY_TYPE
    if penalty == -math.inf:
        return False, NEVER
    return gain + penalty >= -TOLERANCE * max(gain, -penalty), WEIGHED


@part
def _last(policy, size):
    """Return the event to stop before."""
    return size.events if policy.until < 0 else policy.until


@part
def _goes_on(batch, slots, size, end):
    """Whether an event that is still to come has the order of the last one."""
    return end < size.events and batch.order[end] == slots.marks[ORDER]


@kernel
def decide(policy, learned, batch, slots, waiting, out):
    """Decide about events from `marks[AT]` on; return whether that is done, or what is wanting."""
    size, totals = sizes_of(batch, slots, waiting), reals(out.gain)
    policy, learned, batch = weighing_at(policy), learned_at(learned), batch_at(batch)
    slots, waiting = slots_at(slots), waiting_at(waiting)
    end = _last(policy, size)
    for event in range(slots.marks[AT], end):
        slots.marks[AT] = event
        if batch.order[event] != slots.marks[ORDER]:
            if not flush(policy, slots, waiting, size, False, totals):
                return NO_SLOTS
            slots.marks[ORDER], slots.marks[TIME] = batch.order[event], batch.time[event]
        if not has_room(policy, batch, slots, size, event):
            return NO_PLACES
        gain, penalty, never = _weigh(policy, learned, batch, slots, waiting, size, event)
        kept, rule = _rule(policy, batch.kind[event], gain, penalty, never)
        out.kept[event], out.rule[event] = kept, rule
        out.gain[event] = gain
        out.penalty[event] = -math.inf if rule == NEVER else penalty
        if kept:
            take_in(policy, batch, slots, waiting, size, event)
    slots.marks[AT] = end
    if _goes_on(batch, slots, size, end):
        return DONE
    return DONE if flush(policy, slots, waiting, size, False, totals) else NO_SLOTS


@kernel
def count(policy, batch, kept, slots, waiting, totals):
    """Count the matches over some of the events from `marks[AT]` on; return as `decide` does.

    Those that are out of their windows are in `totals`; others are still in slots.
    """
    size, sums = sizes_of(batch, slots, waiting), reals(totals)
    policy, batch = weighing_at(policy), batch_at(batch)
    slots, waiting = slots_at(slots), waiting_at(waiting)
    end = _last(policy, size)
    for event in range(slots.marks[AT], end):
        slots.marks[AT] = event
        if not kept[event]:
            continue
        if batch.order[event] != slots.marks[ORDER]:
            if not flush(policy, slots, waiting, size, True, sums):
                return NO_SLOTS
            slots.marks[ORDER], slots.marks[TIME] = batch.order[event], batch.time[event]
        if not has_room(policy, batch, slots, size, event):
            return NO_PLACES
        take_in(policy, batch, slots, waiting, size, event)
    slots.marks[AT] = end
    if _goes_on(batch, slots, size, end):
        return DONE
    return DONE if flush(policy, slots, waiting, size, True, sums) else NO_SLOTS


@kernel
def still_there(policy, slots, totals):
    """Add the weight of whole matches in slots."""
    for p in range(slots.begin.shape[0]):
        for key in range(slots.begin.shape[1]):
            for at in range(slots.begin[p, key], slots.end[p, key]):
                totals[p] += slots.weight[policy.lengths[p], at]

"""Slots: what kept events have begun, by the first of them; what is added; what is forgotten.

A chain is pattern times the number of keys, and key. Oracle: tests/oracles/policies.py lists the
prefixes of every world.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from augury.kernels.jit import kernel, part
from augury.kernels.privacy.layout import (
    CONDITION,
    ENDS,
    LEAST_ROOM,
    PATTERN,
    PLACE,
    PLAY_WIDTH,
    TIME,
    TOP,
    WAITING,
    slots_at,
    weighing_at,
)

# What is possible stays possible, however small its weight.
TINY = 5e-324


@part
def forget(policy, slots, size, chain, now):
    """Let go of slots that are out of the window; return the weight of whole matches in them."""
    p, at, whole = chain // size.keys, slots.begin[chain], 0.0
    oldest, end = now - policy.windows[p], slots.end[chain]
    row = policy.lengths[p] * size.slots
    while at < end and slots.first[at] < oldest:
        whole += slots.weight[row + at]
        at += 1
    slots.begin[chain] = at
    if at == end:
        slots.reach[chain] = 0
    return whole


@part
def chain_of(policy, batch, size, number, row):
    """Return the chain in which a row is what `plays` has there; -1 where it is not."""
    condition = policy.plays[number * PLAY_WIDTH + CONDITION]
    if condition >= 0 and batch.passes[condition * size.rows + row] == 0:
        return -1
    p = policy.plays[number * PLAY_WIDTH + PATTERN]
    key = batch.key[policy.keys[p] * size.rows + row]
    return -1 if key < 0 else p * size.keys + key


@part
def _entry(slots, waiting, size, chain):
    """Return where a chain waits."""
    at = slots.waits[chain]
    if at < 0:
        at = slots.marks[WAITING]
        slots.marks[WAITING] = at + 1
        slots.waits[chain] = at
        waiting.chain[at] = chain
        for cell in range(at * size.width, (at + 1) * size.width):
            waiting.added[cell] = 0.0
            waiting.left[cell] = 1.0
            waiting.mass[cell] = 0.0
    return at


@part
def has_room(policy, batch, slots, size, event):
    """Whether all chains that an event may touch can wait."""
    kind, rows = batch.kind[event], batch.begin[event + 1] - batch.begin[event]
    most = rows * (policy.begins[kind + 1] - policy.begins[kind])
    return slots.marks[WAITING] + most <= size.places


@part
def take_in(policy, batch, slots, waiting, size, event):
    """Let what a kept event adds wait."""
    kind, count = batch.kind[event], 0
    for row in range(batch.begin[event], batch.begin[event + 1]):
        chance = batch.chance[row]
        if chance <= 0.0:
            continue
        for number in range(policy.begins[kind], policy.begins[kind + 1]):
            chain = chain_of(policy, batch, size, number, row)
            if chain < 0:
                continue
            p = policy.plays[number * PLAY_WIDTH + PATTERN]
            place = policy.plays[number * PLAY_WIDTH + PLACE]
            ends = policy.plays[number * PLAY_WIDTH + ENDS] != 0
            # What nothing waits for changes nothing.
            if place > slots.reach[chain]:
                continue
            at = _entry(slots, waiting, size, chain)
            cell = at * size.width + place
            if not ends:
                waiting.added[cell] += chance
            if ends or (place > 0 and policy.takes_next[p] != 0):
                waiting.mass[cell] += chance
                waiting.touched[count] = at
                count += 1
    for number in range(count):
        at = waiting.touched[number]
        for cell in range(at * size.width, (at + 1) * size.width):
            # Its alternatives exclude each other; events do not.
            waiting.left[cell] *= 1.0 - min(1.0, waiting.mass[cell])
            waiting.mass[cell] = 0.0


@part
def _new_room(slots, chain, time):
    """Return how many slots a chain needs elsewhere to begin one more; 0 where it has room."""
    begin, end = slots.begin[chain], slots.end[chain]
    if end > begin and slots.first[end - 1] == time:
        return 0
    if end < slots.base[chain] + slots.room[chain]:
        return 0
    live = end - begin
    return 0 if 2 * live < slots.room[chain] else max(LEAST_ROOM, 2 * (live + 1))


@part
def _move(slots, size, chain, base, room):
    """Put the slots of a chain elsewhere."""
    begin, live = slots.begin[chain], slots.end[chain] - slots.begin[chain]
    for at in range(live):
        slots.first[base + at] = slots.first[begin + at]
    for row in range(0, size.width * size.slots, size.slots):
        for at in range(live):
            slots.weight[row + base + at] = slots.weight[row + begin + at]
    slots.base[chain], slots.room[chain] = base, room
    slots.begin[chain], slots.end[chain] = base, base + live


@part
def _begin(slots, size, chain, time, mass):
    """Begin prefixes with an event of that time."""
    end = slots.end[chain]
    if end > slots.begin[chain] and slots.first[end - 1] == time:
        slots.weight[size.slots + end - 1] += mass
        return
    if end == slots.base[chain] + slots.room[chain]:
        room = _new_room(slots, chain, time)
        if room == 0:
            _move(slots, size, chain, slots.base[chain], slots.room[chain])
        else:
            _move(slots, size, chain, slots.marks[TOP], room)
            slots.marks[TOP] += room
        end = slots.end[chain]
    slots.first[end] = time
    for row in range(0, size.width * size.slots, size.slots):
        slots.weight[row + end] = 0.0
    slots.weight[size.slots + end] = mass
    slots.end[chain] = end + 1
    slots.reach[chain] = max(slots.reach[chain], 1)


@part
def _grow(policy, slots, waiting, size, at, whole):
    """Lengthen the prefixes of a chain by what waits for it, the longest first."""
    chain, cell = waiting.chain[at], at * size.width
    p = chain // size.keys
    begin, end = slots.begin[chain], slots.end[chain]
    longest = policy.lengths[p] if whole else policy.lengths[p] - 1
    for length in range(min(longest, slots.reach[chain] + 1), 0, -1):
        left = waiting.left[cell + length]
        added = waiting.added[cell + length - 1] if length > 1 else 0.0
        own = length * size.slots
        shorter = own - size.slots
        if added > 0.0:
            slots.reach[chain] = max(slots.reach[chain], length)
            for k in range(begin, end):
                grown = added * slots.weight[shorter + k]
                slots.weight[own + k] = slots.weight[own + k] * left + grown
            if policy.never[p] >= 0:
                for k in range(begin, end):
                    if slots.weight[own + k] == 0.0 and slots.weight[shorter + k] > 0.0:
                        slots.weight[own + k] = TINY
        elif left != 1.0:
            for k in range(begin, end):
                slots.weight[own + k] *= left


@part
def flush(policy, slots, waiting, size, whole, totals):
    """Let what waits be there; with `whole`, matches are kept. False: there is no room for it.

    The weight of whole matches that are forgotten goes to `totals`.
    """
    time, need = slots.marks[TIME], 0
    for at in range(slots.marks[WAITING]):
        chain = waiting.chain[at]
        gone = forget(policy, slots, size, chain, time)
        if whole:
            totals[chain // size.keys] += gone
        if waiting.added[at * size.width] > 0.0:
            need += _new_room(slots, chain, time)
    if slots.marks[TOP] + need > size.slots:
        return False
    for at in range(slots.marks[WAITING]):
        chain, started = waiting.chain[at], waiting.added[at * size.width]
        _grow(policy, slots, waiting, size, at, whole)
        if started > 0.0 and (whole or policy.lengths[chain // size.keys] > 1):
            _begin(slots, size, chain, time, started)
        slots.waits[chain] = -1
    slots.marks[WAITING] = 0
    return True


@kernel
def repack(policy, old, new, totals):
    """Copy the live slots of chains to where there is room for twice as many."""
    top, now = 0, old.marks[TIME]
    for p in range(old.begin.shape[0]):
        oldest = now - policy.windows[p]
        for key in range(old.begin.shape[1]):
            begin, end = old.begin[p, key], old.end[p, key]
            while begin < end and old.first[begin] < oldest:
                totals[p] += old.weight[policy.lengths[p], begin]
                begin += 1
            live = end - begin
            new.base[p, key], new.room[p, key] = top, 2 * live
            new.begin[p, key], new.end[p, key] = top, top + live
            new.reach[p, key] = old.reach[p, key] if live else 0
            new.waits[p, key] = old.waits[p, key]
            new.first[top : top + live] = old.first[begin:end]
            new.weight[:, top : top + live] = old.weight[:, begin:end]
            top += 2 * live
    new.marks[:] = old.marks
    new.marks[TOP] = top


@kernel
def live_slots(policy, slots):
    """Return how many slots are live at the time of what waits."""
    live, now = 0, slots.marks[TIME]
    policy, own, keys = weighing_at(policy), slots_at(slots), slots.begin.shape[1]
    for chain in range(slots.begin.size):
        oldest = now - policy.windows[chain // keys]
        for at in range(own.begin[chain], own.end[chain]):
            live += own.first[at] >= oldest
    return live

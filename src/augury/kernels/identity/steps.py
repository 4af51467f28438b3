"""The steps of a ward, one after the other: rows in, what is told out.

Within a step badge reads are admitted first, then the others; then everything that is news is told.
Slow twin: augury/identity/owners.py, without sampling; oracle: tests/oracles/identities.py.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.admitting import admit, note
from augury.kernels.identity.closing import (
    doubt,
    given,
    is_anyone_moved,
    is_giving,
    longest,
    rescale,
    simplified,
    total_of,
)
from augury.kernels.identity.knowing import known_owners
from augury.kernels.identity.layout import (
    ACTS,
    ADMITTED,
    ASTRAY,
    BEFORE,
    CHANGED,
    EVEN,
    IMPOSSIBLE,
    IMPOSSIBLE_READ,
    LAST_OPEN,
    LINES,
    MADE,
    NEVER,
    RESET,
    SIGNS,
    TAKEN,
    TALES,
    States,
    World,
)
from augury.kernels.identity.reading import led
from augury.kernels.identity.room import (
    drop_acts,
    drop_lines,
    drop_tales,
    empty_like,
    more_acts,
    more_tales,
    resized,
)
from augury.kernels.identity.sampling import sample
from augury.kernels.identity.telling import (
    forget,
    forget_settled,
    is_news,
    nothing_told,
    tell,
    tell_read,
)
from augury.kernels.jit import kernel, part

# Between these the weight of all states is left as it is.
SMALL, LARGE = 1e-30, 1e30
# The least states whose spread tells how far off a sample is likely to be.
ENOUGH = 64
# So many times what the signs show is the likely error at most.
TIMES = 2.0


@kernel
def take_steps(world, law, rows, places):
    """Take rows in; return what the ward remembers, what became of each row, and what is told."""
    told = nothing_told()
    verdict = np.empty(rows.who.shape[0], np.int64)
    spare = empty_like(world.states)
    movers = np.full(world.head_place.shape[0], -1, np.int64)
    ends = np.zeros(places, np.bool_)
    first = 0
    while first < verdict.shape[0]:
        last = first
        world.counts[CHANGED] = 0
        before = world.counts[TALES]
        as_of, is_any = BEFORE, False
        while last < verdict.shape[0] and rows.step[last] == rows.step[first]:
            if rows.who[last] >= 0:
                world, spare, found = _read(world, law, spare, (rows, last), (movers, first, ends))
            else:
                world, spare, found = _admitted(world, law, spare, rows, last)
            verdict[last] = found
            if found in (TAKEN, RESET):
                is_any = True
                as_of = max(as_of, rows.time[last])
                world.counts[ADMITTED] += 1
            last += 1
        if is_any:
            when = (rows.step[first], as_of)
            told = _tell(world, law, (rows, verdict, first, last), (before, when), told)
            world, spare = _closed(world, law, spare)
        first = last
    return world, verdict, told


@part
def _with(world, states, pool):
    """Return the ward with other states."""
    return World(
        world.counts,
        world.lost,
        world.head_place,
        world.head_step,
        states,
        world.acts,
        world.tales,
        pool,
    )


@part
def _matching(states, spare, n):
    """Return spare arrays in which `n` such states have room."""
    if (
        spare.length.shape[0] < n
        or spare.opened.shape[1] != states.opened.shape[1]
        or spare.owner.shape[1] != states.owner.shape[1]
        or spare.place.shape[1] != states.place.shape[1]
    ):
        opened, told, people = _widths(states)
        n = max(n, states.length.shape[0])
        return resized(empty_like(states), n, opened, told, people)
    return spare


@part
def _widths(states):
    return states.opened.shape[1], states.owner.shape[1], states.place.shape[1]


@part
def _read(world, law, spare, row, turn):
    """Take in a badge read."""
    rows, k = row
    movers, now, ends = turn
    person, counts = rows.who[k], world.counts
    origins = rows.origins[rows.first_origin[k] : rows.first_origin[k + 1]]
    is_again = rows.moves[k] and movers[person] == now
    found = False
    spare = _matching(world.states, spare, 1)
    if not is_again:
        ends[:] = False
        for origin in origins:
            ends[origin] = True
        states, spare, pool, found = led(world, law, spare, person, ends)
        world = _with(world, states, pool)
    verdict = TAKEN
    if found:
        counts[EVEN] &= np.int64(origins.shape[0] == 1)
    elif law.rejects:
        if world.lost[0] > 0.0:
            doubt(world.states)
            counts[ASTRAY] = 1
        return world, spare, IMPOSSIBLE_READ
    else:
        verdict = RESET
        if world.lost[0] > 0.0:
            doubt(world.states)
        ends[:] = True
        states, spare, pool, _ = led(world, law, spare, person, ends)
        world = _with(world, states, pool)
        counts[EVEN] &= np.int64(states.size[0] == 1 and world.lost[0] == 0.0)
    world.head_place[person], world.head_step[person] = rows.place[k], rows.step[k]
    if rows.moves[k]:
        movers[person] = now
    world, spare = _limited(world, law, spare)
    return world, spare, verdict


@part
def _limited(world, law, spare):
    """Sample the states where they are too many."""
    if world.states.size[0] > law.most_states:
        spare = _matching(world.states, spare, law.kept_states + 2)
        sample(world, spare, law.kept_states)
        return _with(world, spare, world.pool), world.states
    return world, spare


@part
def _admitted(world, law, spare, rows, k):
    """Take in an act of somebody whose badge was not read."""
    origins = rows.origins[rows.first_origin[k] : rows.first_origin[k + 1]]
    world, spare = _roomy(world, law, spare, origins.shape[0])
    counts, tales = world.counts, world.tales
    act = (rows.place[k], rows.room[k], rows.step[k], counts[TALES])
    note(world.acts, counts, origins, act)
    states, spare, pool, found = admit(world, law, spare, origins, act)
    world = _with(world, states, pool)
    if not found:
        if world.lost[0] > 0.0:
            doubt(world.states)
            counts[LAST_OPEN] = rows.step[k]
        return world, spare, IMPOSSIBLE
    tale = counts[TALES]
    tales.event[tale], tales.time[tale], tales.revision[tale] = rows.event[k], rows.time[k], -1
    counts[TALES] += 1
    counts[ACTS] += origins.shape[0]
    counts[MADE] += origins.shape[0]
    world, spare = _limited(world, law, spare)
    return world, spare, TAKEN


@part
def _roomy(world, law, spare, origins):
    """Return the ward with room for one act more, in each state."""
    states, acts, tales, counts = world.states, world.acts, world.tales, world.counts
    opened, told, people = _widths(states)
    is_grown = False
    if longest(states) >= opened:
        opened, is_grown = 2 * opened + 8, True
    if counts[TALES] >= told:
        told, is_grown = 2 * told + 8, True
    if law.weights.shape[1] and people == 0:
        people, is_grown = world.head_place.shape[0], True
    if is_grown:
        states = resized(states, states.length.shape[0], opened, told, people)
    if counts[ACTS] + origins > acts.step.shape[0]:
        acts = more_acts(acts, 2 * (counts[ACTS] + origins) + 8)
    if counts[TALES] >= tales.time.shape[0]:
        tales = more_tales(tales, 2 * counts[TALES] + 8)
    world = World(
        counts, world.lost, world.head_place, world.head_step, states, acts, tales, world.pool
    )
    return world, _matching(states, spare, 1)


# What is told -------------------------------------------------------------------------------------


@part
def _tell(world, law, step, before, told):
    """Tell the events of a step, and those before it of which something is news."""
    rows, verdict, first, last = step
    n_before, when = before
    counts, tales = world.counts, world.tales
    for k in range(n_before):
        if tales.event[k] >= 0 and tales.time[k] < when[1] - law.within:
            forget(world, k)
    n, people = counts[TALES], world.head_place.shape[0]
    is_sampled = world.lost[0] > 0.0
    known = np.zeros((n, people))
    noise = np.zeros((SIGNS, n if is_sampled else 0, people))
    bound = 0.0
    if n > n_before or counts[CHANGED] or (is_sampled and law.rejects):
        known_owners(world, 0 if counts[CHANGED] else n_before, known, noise)
        if is_sampled:
            bound = _bound(world, law, known, noise)
    if counts[CHANGED]:
        for k in range(n_before):
            if tales.event[k] >= 0 and is_news(law, tales.told[k], known[k], bound):
                told = tell(told, tales, k, known[k], (when, bound))
    tale = n_before
    # Fresh tales stand in the order of their rows, by time and id.
    for at in range(first, last):
        k = rows.by_time[at]
        if verdict[k] not in (TAKEN, RESET):
            continue
        if rows.who[k] >= 0:
            # A read is what it says, unless it should have been rejected.
            own = bound if law.rejects else 0.0
            told = tell_read(told, rows.event[k], rows.who[k], when, own)
        else:
            told = tell(told, tales, tale, known[tale], (when, bound))
            tale += 1
    if law.strategy == NEVER:
        for k in range(n):
            forget(world, k)
    elif counts[CHANGED] or n > n_before:
        forget_settled(world)
    return told


@part
def _bound(world, law, known, noise):
    """Return how far off a probability is: at most, or most likely at most.

    Both the worlds and the states are a part that was never sampled and a rest, of whatever owners;
    they differ by no more than the larger of the two rests.
    """
    states, sure = world.states, 0.0
    total = total_of(states)
    for s in range(states.size[0]):
        sure += states.sure[s]
    certain = max(world.lost[0] / (sure + world.lost[0]), 1.0 - sure / total)
    if law.is_sure or law.kept_states < ENOUGH:
        return certain
    likely = 0.0
    for b in range(SIGNS):
        mean = 0.0
        for s in range(states.size[0]):
            mean += states.noise[s, b]
        mean /= total
        for k in range(known.shape[0]):
            for n in range(known.shape[1]):
                likely = max(likely, abs(noise[b, k, n] - mean * known[k, n]))
    return min(certain, TIMES * likely)


# Between steps ------------------------------------------------------------------------------------


@part
def _closed(world, law, spare):
    """Put the states in their simplest form after a step."""
    while is_giving(world.states, law):
        if world.states.place.shape[1] == 0:
            world = _with(world, _peopled(world, world.head_place.shape[0]), world.pool)
        spare = _matching(world.states, spare, 1)
        states, spare, pool = given(world, law, spare)
        world = _with(world, states, pool)
    if world.states.place.shape[1]:
        spare = _matching(world.states, spare, 1)
        states, spare, pool = simplified(world, spare)
        world = _with(world, states, pool)
        if not is_anyone_moved(states):
            world = _with(world, _peopled(world, 0), pool)
    world, spare = _limited(world, law, spare)
    if world.lost[0] > 0.0:
        world = _recovered(world)
    total = total_of(world.states)
    if not SMALL < total < LARGE:
        rescale(world)
    _drop(world)
    return world, spare


@part
def _peopled(world, people):
    """Return the states with or without room for who is elsewhere than the heads say."""
    states, n = world.states, world.states.length.shape[0]
    place = np.empty((n, people), np.int32)
    place[:] = -1
    return States(
        states.size,
        states.length,
        states.opened,
        states.counts,
        states.owner,
        place,
        np.zeros((n, people), np.int64),
        states.weight,
        states.sure,
        states.noise,
        states.key,
    )


@part
def _drop(world):
    """Leave out what no state needs any more."""
    counts, people = world.counts, world.head_place.shape[0]
    drop_acts(counts, world.states, world.acts)
    dead = 0
    for k in range(counts[TALES]):
        dead += world.tales.event[k] < 0
    if 2 * dead > counts[TALES]:
        drop_tales(counts, world.states, world.acts, world.tales, world.pool)
    if 2 * counts[LINES] > world.pool.line.shape[0]:
        drop_lines(counts, world.states, world.pool, people)


@part
def _recovered(world):
    """Leave sampling behind where everyone was read after the last act without a badge.

    Then all worlds are one from now on; of earlier acts no more will be known.
    """
    counts, states = world.counts, world.states
    if counts[ASTRAY]:
        return world
    for n in range(world.head_step.shape[0]):
        if world.head_step[n] < counts[LAST_OPEN]:
            return world
    for k in range(counts[TALES]):
        forget(world, k)
    counts[TALES] = counts[LINES] = counts[ACTS] = 0
    counts[EVEN] = 1
    states.size[0] = 1
    states.length[0] = 0
    states.weight[0] = states.sure[0] = 1.0
    for b in range(SIGNS):
        states.noise[0, b] = 0.0
    for n in range(states.place.shape[1]):
        states.place[0, n] = -1
    world.lost[0] = 0.0
    return world

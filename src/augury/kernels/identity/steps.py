"""The steps of a ward, one after the other: rows in, what is told out.

Within a step badge reads are admitted first, then the others; then everything that is news is told.
Slow twin: augury/identity/owners.py; oracle: tests/oracles/identities.py.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.admitting import admit, note
from augury.kernels.identity.bounds import HOPELESS, bound_of, certain_bound, note_likely
from augury.kernels.identity.closing import (
    doubt,
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
    BY_TIME,
    CHANGED,
    EVEN,
    EVENT,
    FIRST_ORIGIN,
    GOES_TO,
    IMPOSSIBLE,
    IMPOSSIBLE_READ,
    LAST_OPEN,
    LENGTH,
    LINES,
    LIVE,
    MADE,
    MOVES,
    N_ORIGINS,
    NEVER,
    PLACE,
    RESET,
    REVISION,
    ROOM,
    ROW_STEP,
    ROW_TIME,
    SIGNS,
    STEP,
    SURE,
    TAKEN,
    TALES,
    TIME,
    WEIGHT,
    WHO,
    World,
)
from augury.kernels.identity.reading import led
from augury.kernels.identity.room import (
    drop_acts,
    drop_lines,
    drop_tales,
    empty,
    larger,
    wider,
    widths,
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
# Of so many chains of one state some are drawn, where states are sampled anyway.
MOST_CHAINS = 64


@kernel
def take_steps(world, law, rows, places):
    """Take rows in; return what the ward remembers, what became of each row, and what is told."""
    told, words = nothing_told(), rows.words
    verdict = np.empty(words.shape[0], np.int64)
    spare = empty(1, 0, 0, 0)
    movers = np.full(world.heads.shape[0], -1, np.int64)
    ends = np.zeros(places, np.bool_)
    first = 0
    while first < verdict.shape[0]:
        last = first
        world.counts[CHANGED] = 0
        before = world.counts[TALES]
        as_of, is_any = BEFORE, False
        while last < verdict.shape[0] and words[last, ROW_STEP] == words[first, ROW_STEP]:
            if words[last, WHO] >= 0:
                world, spare, found = _read(world, law, spare, (rows, last), (movers, first, ends))
            else:
                world, spare, found = _admitted(world, law, spare, rows, last)
            verdict[last] = found
            if found in (TAKEN, RESET):
                is_any = True
                as_of = max(as_of, words[last, ROW_TIME])
                world.counts[ADMITTED] += 1
            last += 1
        if is_any:
            when = words[first, ROW_STEP], as_of
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
        world.heads,
        states,
        world.acts,
        world.tales,
        world.told,
        pool[0],
        pool[1],
    )


@part
def _matching(states, spare, n):
    """Return spare arrays in which `n` such states have room."""
    if (
        spare.words.shape[0] < n
        or spare.counts != states.counts
        or spare.owner != states.owner
        or spare.place != states.place
        or spare.step != states.step
    ):
        opened, tales, people = widths(states)
        return empty(max(n, states.words.shape[0]), opened, tales, people)
    return spare


@part
def _origins(rows, k):
    first = rows.words[k, FIRST_ORIGIN]
    return rows.origins[first : first + rows.words[k, N_ORIGINS]]


@part
def _read(world, law, spare, row, turn):
    """Take in a badge read."""
    rows, k = row
    movers, now, ends = turn
    words, counts = rows.words, world.counts
    person = words[k, WHO]
    origins = _origins(rows, k)
    is_apart = law.weights.shape[1] > 0
    found = False
    spare = _matching(world.states, spare, 1)
    ends[:] = False
    if not (words[k, MOVES] and movers[person] == now):
        for origin in origins:
            ends[origin] = True
    is_reset = False
    while True:
        most = 4 * law.most_states if world.lost[0] == 0.0 else MOST_CHAINS
        states, spare, pool, found = led(world, spare, (person, is_apart), ends, most)
        world = _with(world, states, pool)
        if found:
            break
        if world.lost[0] > 0.0:
            doubt(world.states)
        if law.rejects:
            counts[ASTRAY] |= np.int64(world.lost[0] > 0.0)
            return world, spare, IMPOSSIBLE_READ
        # Once more, wherever it ends.
        is_reset = True
        ends[:] = True
    if is_reset:
        counts[EVEN] &= np.int64(world.states.size[0] == 1 and world.lost[0] == 0.0)
    else:
        counts[EVEN] &= np.int64(origins.shape[0] == 1)
    world.heads[person, PLACE], world.heads[person, STEP] = words[k, GOES_TO], words[k, ROW_STEP]
    if words[k, MOVES]:
        movers[person] = now
    world, spare = _limited(world, law, spare)
    return world, spare, RESET if is_reset else TAKEN


@part
def _limited(world, law, spare):
    """Sample the states where they are too many; once more where they have doubled since."""
    is_sampled = world.lost[0] > 0.0
    if world.states.size[0] > (2 * law.kept_states if is_sampled else law.most_states):
        spare = _matching(world.states, spare, law.kept_states + 2)
        sample(world, spare, law.kept_states)
        states = world.states
        return _with(world, spare, (world.lines, world.line_tale)), states
    return world, spare


@part
def _admitted(world, law, spare, rows, k):
    """Take in an act of somebody whose badge was not read."""
    origins, words = _origins(rows, k), rows.words
    world, spare = _roomy(world, law, spare, origins.shape[0])
    counts, tales = world.counts, world.tales
    tale = counts[TALES]
    act = words[k, GOES_TO], words[k, ROOM], words[k, ROW_STEP], tale
    note(world.acts, counts, origins, act)
    counts[TALES] = tale + 1
    states, spare, pool, found = admit(world, law.weights, spare, origins, act)
    world = _with(world, states, pool)
    if not found:
        counts[TALES] = tale
        if world.lost[0] > 0.0:
            doubt(world.states)
            counts[LAST_OPEN] = words[k, ROW_STEP]
        return world, spare, IMPOSSIBLE
    tales[tale, EVENT], tales[tale, TIME] = rows.first_event + k, words[k, ROW_TIME]
    tales[tale, REVISION] = -1
    world.told[tale] = 0.0
    counts[ACTS] += origins.shape[0]
    counts[MADE] += origins.shape[0]
    world, spare = _limited(world, law, spare)
    return world, spare, TAKEN


@part
def _roomy(world, law, spare, origins):
    """Return the ward with room for one act more, in each state."""
    states, acts, tales, told = world.states, world.acts, world.tales, world.told
    counts = world.counts
    opened, known, people = widths(states)
    needs_people = law.weights.shape[1] > 0 and people == 0
    if longest(states) >= opened or counts[TALES] >= known or needs_people:
        if longest(states) >= opened:
            opened = 2 * opened + 8
        if counts[TALES] >= known:
            known = 2 * known + 8
        if needs_people:
            people = world.heads.shape[0]
        states = wider(states, opened, known, people)
    if counts[ACTS] + origins > acts.shape[0]:
        acts = larger(acts, 2 * (counts[ACTS] + origins) + 8)
    if counts[TALES] >= tales.shape[0]:
        tales, told = larger(tales, 2 * counts[TALES] + 8), larger(told, 2 * counts[TALES] + 8)
    world = World(
        counts,
        world.lost,
        world.heads,
        states,
        acts,
        tales,
        told,
        world.lines,
        world.line_tale,
    )
    return world, _matching(states, spare, 1)


# What is told -------------------------------------------------------------------------------------


@part
def _tell(world, law, step, before, told):
    """Tell the events of a step, and those before it of which something is news."""
    n_before, when = before
    counts, tales = world.counts, world.tales
    for k in range(n_before):
        if tales[k, EVENT] >= 0 and tales[k, TIME] < when[1] - law.within:
            forget(world, k)
    n, people = counts[TALES], world.heads.shape[0]
    is_sampled = world.lost[0] > 0.0
    known = np.zeros((n, people))
    noise = np.zeros((SIGNS, n if is_sampled else 0, people))
    certain = 0.0
    if n > n_before or counts[CHANGED] or (is_sampled and law.rejects):
        first = 0 if counts[CHANGED] else n_before
        known_owners(world, first, known, noise)
        if is_sampled:
            certain = certain_bound(world)
            note_likely(world, first, known, noise)
    if counts[CHANGED]:
        for k in range(n_before):
            bound = bound_of(world, law, k, certain)
            if tales[k, EVENT] >= 0 and is_news(law, world.told[k], known[k], bound):
                told = tell(told, world, k, known[k], (when, bound))
    told = _tell_fresh(world, law, step, (n_before, when, certain, known), told)
    if law.strategy == NEVER:
        for k in range(n):
            forget(world, k)
    elif counts[CHANGED] or n > n_before:
        forget_settled(world)
    return told


@part
def _tell_fresh(world, law, step, known_now, told):
    """Tell the events of a step, by time and id."""
    rows, verdict, first, last = step
    tale, when, certain, known = known_now
    words = rows.words
    for at in range(first, last):
        k = words[at, BY_TIME]
        if verdict[k] not in (TAKEN, RESET):
            continue
        if words[k, WHO] >= 0:
            # A read is what it says, unless it should have been rejected.
            bound = certain if law.rejects else 0.0
            told = tell_read(told, rows.first_event + k, words[k, WHO], when, bound)
        else:
            bound = bound_of(world, law, tale, certain)
            told = tell(told, world, tale, known[tale], (when, bound))
            tale += 1
    return told


# Between steps ------------------------------------------------------------------------------------


@part
def _closed(world, law, spare):
    """Put the states in their simplest form after a step."""
    gives = is_giving(world.states, law)
    while gives or world.states.step > world.states.place:
        opened, tales, people = widths(world.states)
        if people == 0:
            wide = wider(world.states, opened, tales, world.heads.shape[0])
            world = _with(world, wide, (world.lines, world.line_tale))
        spare = _matching(world.states, spare, 1)
        states, spare, pool = simplified(world, spare, law.most_open, gives)
        world = _with(world, states, pool)
        world, spare = _limited(world, law, spare)
        if not gives:
            if not is_anyone_moved(world.states):
                narrow = wider(world.states, opened, tales, 0)
                world = _with(world, narrow, (world.lines, world.line_tale))
            break
        gives = is_giving(world.states, law)
    if world.lost[0] > 0.0:
        _recover(world)
    total = total_of(world.states)
    # It never becomes less again, but for a new beginning.
    world.lost[0] = min(world.lost[0], 2.0 * HOPELESS * total)
    if not SMALL < total < LARGE:
        rescale(world)
    counts = world.counts
    drop_acts(world)
    dead = 0
    for k in range(counts[TALES]):
        dead += world.tales[k, EVENT] < 0
    if 2 * dead > counts[TALES]:
        drop_tales(world)
    if counts[LINES] > 2 * counts[LIVE] + 64:
        drop_lines(world)
    return world, spare


@part
def _recover(world):
    """Leave sampling behind where everyone was read after the last act without a badge.

    Then all worlds are one from now on; of earlier acts no more will be known.
    """
    counts, states, heads = world.counts, world.states, world.heads
    if counts[ASTRAY]:
        return
    for n in range(heads.shape[0]):
        if heads[n, STEP] < counts[LAST_OPEN]:
            return
    for k in range(counts[TALES]):
        forget(world, k)
    counts[TALES] = counts[LINES] = counts[ACTS] = counts[LIVE] = 0
    counts[EVEN] = 1
    states.size[0] = 1
    states.words[0, LENGTH] = 0
    states.words[0, states.place : states.step] = -1
    states.reals[0] = 0.0
    states.reals[0, WEIGHT] = states.reals[0, SURE] = 1.0
    world.lost[:] = 0.0

"""States beyond a limit are sampled (Fearnhead and Clifford): the heavy stay as they are.

What is drawn follows from the rows alone. The weight of those that were not kept as they are is
added to what is lost; and under each set of random signs a state that was drawn notes how much the
draw may have changed, from which the likely error of every probability follows (`knowing.py`).
"""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.closing import total_of
from augury.kernels.identity.layout import (
    ADMITTED,
    DRAWS,
    KEY,
    NOISE,
    SIGNS,
    SURE,
    TALES,
    WEIGHT,
)
from augury.kernels.identity.merging import copy_opened, copy_rest
from augury.kernels.jit import part
from augury.kernels.rows.identity import spread


@part
def _word(counts):
    """Return the next 64 bits of a ward's own."""
    counts[DRAWS] += 1
    return spread(spread(np.uint64(counts[ADMITTED])) + np.uint64(counts[DRAWS]))


@part
def uniform(counts):
    """Return the next number of a ward's own, evenly between 0 and 1."""
    return np.float64(_word(counts) >> np.uint64(11)) / 9007199254740992.0


@part
def mark_drawn(states, t, doubt, counts):
    """Note how much a draw may have changed the weight of a state: nothing of it is sure now."""
    reals, signs = states.reals, _word(counts)
    reals[t, SURE] = 0.0
    for b in range(SIGNS):
        is_plus = (signs >> np.uint64(b)) & np.uint64(1)
        reals[t, NOISE + b] += doubt if is_plus else -doubt


@part
def _level(reals, n, limit):
    """Return the weight from which states are kept: those below share what places are left."""
    level = np.inf
    while True:
        kept, rest = 0, 0.0
        for s in range(n):
            if reals[s, WEIGHT] >= level:
                kept += 1
            else:
                rest += reals[s, WEIGHT]
        if kept >= limit:
            return level
        lower = rest / (limit - kept)
        # What the states below weigh together sinks no further once none of them is above it.
        if not lower < level:
            return level
        level = lower


@part
def sample(world, found, limit):
    """Write so many of the states as `found`; each keeps its weight on average."""
    states, counts, reals = world.states, world.counts, world.states.reals
    level = _level(reals, states.size[0], limit)
    drawn = uniform(counts) * level
    world.lost[1] = level / total_of(states)
    found.size[0] = 0
    for s in range(states.size[0]):
        weight, by = reals[s, WEIGHT], 1.0
        if weight < level:
            world.lost[0] += reals[s, SURE]
            drawn -= weight
            if drawn >= 0.0:
                continue
            drawn += level
            by = level / weight
        t = found.size[0]
        copy_opened(states, s, found, 0)
        copy_rest(states, s, found, counts[TALES], by)
        if weight < level:
            mark_drawn(found, t, level * np.sqrt(1.0 - weight / level), counts)
        found.words[t, KEY] = states.words[s, KEY]
        found.size[0] = t + 1

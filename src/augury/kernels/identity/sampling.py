"""States beyond a limit are sampled (Fearnhead and Clifford): the heavy stay as they are.

What is drawn follows from the rows alone. The weight of those that were not kept as they are is
added to what is lost; and under each set of random signs a state that was drawn notes how much the
draw may have changed, from which the likely error of every probability follows (`knowing.py`).
"""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.layout import ADMITTED, DRAWS, SIGNS
from augury.kernels.identity.merging import copy_state, scale
from augury.kernels.jit import part
from augury.kernels.rows.identity import spread


@part
def _uniform(counts):
    """Return the next number of a ward's own, evenly between 0 and 1."""
    counts[DRAWS] += 1
    word = spread(spread(np.uint64(counts[ADMITTED])) + np.uint64(counts[DRAWS]))
    return np.float64(word >> np.uint64(11)) / 9007199254740992.0


@part
def level_of(weights, limit):
    """Return the weight from which states are kept: those below share what places are left."""
    ordered = np.sort(weights)
    n = ordered.shape[0]
    below = np.cumsum(ordered)
    for kept in range(limit):
        level = below[n - 1 - kept] / (limit - kept)
        if ordered[n - 1 - kept] < level:
            return level
    return ordered[n - limit]


@part
def sample(world, found, limit):
    """Write so many of the states as `found`; each keeps its weight on average."""
    states, counts = world.states, world.counts
    level = level_of(states.weight[: states.size[0]], limit)
    drawn = _uniform(counts) * level
    found.size[0] = 0
    for s in range(states.size[0]):
        weight = states.weight[s]
        if weight < level:
            world.lost[0] += states.sure[s]
            drawn -= weight
            if drawn >= 0.0:
                continue
            drawn += level
        t = copy_state(states, s, found, states.owner.shape[1])
        if weight < level:
            scale(found, t, level / weight)
            found.sure[t] = 0.0
            doubt = level * np.sqrt(1.0 - weight / level)
            for b in range(SIGNS):
                sign = 1.0 if _uniform(counts) < 0.5 else -1.0
                found.noise[t, b] += sign * doubt
        found.key[t] = states.key[s]
        found.size[0] = t + 1

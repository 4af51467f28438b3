"""How far off a probability is where states were sampled.

Two bounds. One is *certain*: the weight of all that was ever left out, times the most ways in which
that may have gone on. It holds for every draw, and tends to 1 in a ward that is sampled all the
time. The other is *likely*: under each set of random signs a state carries how much the draws that
led to it may have changed its weight; what that makes of a probability is as large as its error is
likely to be. States forget: once all that are left descend from one, they agree on the past, right
or wrong. So of each tale the largest likely error so far counts, and that several times.
"""

from __future__ import annotations

import numpy as np

from augury.kernels.identity.closing import total_of
from augury.kernels.identity.layout import EVENT, NOISE, SIGNS, SURE
from augury.kernels.identity.telling import SAME
from augury.kernels.jit import part

# Where so many times what is left may be lost, nothing is certain.
HOPELESS = 1e9
# The least states that tell how far off they are likely to be.
ENOUGH = 64
# So many times what the signs show is the likely error at most.
TIMES = 3.0


@part
def certain_bound(world):
    """Return how far off a probability is at most, whatever was drawn.

    Both the worlds and the states are a part that was never sampled and a rest, of whatever owners;
    they differ by no more than the larger of the two rests.
    """
    states, reals, lost = world.states, world.states.reals, world.lost[0]
    total, sure = total_of(states), 0.0
    for s in range(states.size[0]):
        sure += reals[s, SURE]
    if lost > HOPELESS * total:
        return 1.0
    return max(lost / (sure + lost), 1.0 - sure / total)


@part
def note_likely(world, first, known, noise):
    """Note the largest error of each tale from `first` on that the signs have shown so far."""
    states, reals, told, people = world.states, world.states.reals, world.told, known.shape[1]
    total = total_of(states)
    mean = np.zeros(SIGNS)
    for s in range(states.size[0]):
        for b in range(SIGNS):
            mean[b] += reals[s, NOISE + b] / total
    for k in range(first, known.shape[0]):
        if world.tales[k, EVENT] < 0:
            continue
        # Nothing is known finer than by the weight of one state that was drawn.
        most = max(told[k, people], world.lost[1])
        for b in range(SIGNS):
            for n in range(people):
                most = max(most, abs(noise[b, k, n] - mean[b] * known[k, n]))
        told[k, people] = most


@part
def bound_of(world, law, k, certain):
    """Return the bound of what is told of a tale: the likely one, where states were enough."""
    if certain == 0.0 or law.kept_states < ENOUGH:
        return certain
    return min(certain, max(TIMES * world.told[k, world.heads.shape[0]], SAME))

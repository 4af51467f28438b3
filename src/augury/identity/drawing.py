"""States of a ward beyond a limit: some are drawn, and it is known how far off that may be.

Fearnhead and Clifford's draw: the heavy states stay as they are, of the others some, each with its
weight on average. What is drawn follows from the states and a seed alone, whatever the order in
which they were found: so the rows say it, and not how they were cut into batches.

Two bounds, as in `kernels/identity/bounds.py`: a certain one, of all that was ever left out; and a
likely one. Under each set of random signs a state that was drawn notes how much the draw may have
changed its weight, states that come of it inherit the note, and what the notes make of who did what
is as large as the error of that is likely to be.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from augury.identity.owners import Done, Key, State, Worlds, times, total_of
from augury.kernels.identity.bounds import ENOUGH, TIMES
from augury.kernels.identity.layout import SIGNS
from augury.kernels.identity.telling import SAME
from augury.records import Reals

# Of more states than the limit this part is kept, but so many at least; they are drawn anew
# whenever they have doubled. A ward beyond the limit mostly stays there, and is slow with all.
KEPT_PART, KEPT_LEAST = 25, 64
# A state that is almost as heavy as those that stay is one of them: sums differ in their last bits.
NEARLY = 1.0 - 1e-9


@dataclass(frozen=True)
class Room:
    """How many states there may be at most, and how many are kept of more."""

    most: int
    kept: int

    @property
    def is_certain(self) -> bool:
        """Whether bounds are certain: too few states are kept to tell what is likely."""
        return self.kept < ENOUGH

    @staticmethod
    def of(limit: int) -> Room:
        """Return the room that a limit on states gives."""
        return Room(limit, min(limit, max(limit // KEPT_PART, KEPT_LEAST)))

    def is_full(self, worlds: Worlds) -> bool:
        """Return whether states have to be left out."""
        return len(worlds.states) > (2 * self.kept if worlds.lost else self.most)

    def bound(self, worlds: Worlds, error: float) -> float:
        """Return how far off a probability is at most, by the likely error that was seen."""
        certain = certain_bound(worlds)
        if not certain or self.is_certain:
            return certain
        return min(certain, max(TIMES * error, SAME))


def draw(worlds: Worlds, kept: int, seed: str) -> None:
    """Leave so many states; each keeps its weight on average."""
    keys, total = sorted(worlds.states, key=repr), total_of(worlds)
    shares = np.array([_weight(worlds.states[key]) / total for key in keys])
    level = _level(shares, kept)
    dice = random.Random(seed)
    place, found = dice.random() * level, dict[Key, State]()
    for key, share in zip(keys, shares.tolist(), strict=True):
        state = worlds.states[key]
        if share >= level * NEARLY:
            found[key] = state
            continue
        worlds.lost += state.sure * state.extent
        place -= share
        if place < 0.0:
            place += level
            doubt = level * (1.0 - share / level) ** 0.5 * total / state.extent
            found[key] = _drawn(state, level / share, doubt, dice.getrandbits(SIGNS))
    worlds.states, worlds.drawn = found, level


def _drawn(state: State, by: float, doubt: float, signs: int) -> State:
    """Return a state that stands for others, too; none of it is sure."""
    before = times(state.noise, by) or (0.0,) * SIGNS
    noise = tuple(each + (doubt if signs >> b & 1 else -doubt) for b, each in enumerate(before))
    return State(state.ways * by, 0.0, state.counts, state.extent, state.owned * by, noise)


def _weight(state: State) -> float:
    return state.ways * state.extent


def _level(weights: Reals, limit: int) -> float:
    """Return the weight from which states are kept: those below share what places are left."""
    ordered = np.sort(weights)[::-1]
    below = np.cumsum(ordered[::-1])[::-1]
    for kept in range(limit):
        level = float(below[kept]) / (limit - kept)
        if ordered[kept] < level:
            return level
    return float(ordered[limit - 1])


def certain_bound(worlds: Worlds) -> float:
    """Return how far off a probability is at most, whatever was drawn; 0 if nothing ever was.

    Both the worlds and the states are a part that was never sampled and a rest, of whatever owners;
    they differ by no more than the larger of the two rests.
    """
    if not worlds.lost:
        return 0.0
    sure = sum(state.sure * state.extent for state in worlds.states.values())
    return max(worlds.lost / (sure + worlds.lost), 1.0 - sure / total_of(worlds))


def likely_error(worlds: Worlds) -> float:
    """Return how far off, by the signs, the law of who did the watched acts is likely to be.

    That is half the sum of what each case may be off, as large as any probability is off at most;
    and nothing is known finer than by the weight of one state that was drawn.
    """
    states, number, none = worlds.states.values(), dict[Done, int](), (0.0,) * SIGNS
    case = [number.setdefault(done, len(number)) for _, _, done in worlds.states]
    extents = np.array([state.extent for state in states])
    weights = extents * [state.ways for state in states]
    noise = np.zeros((len(number), SIGNS))
    np.add.at(noise, case, extents[:, None] * [state.noise or none for state in states])
    total = weights.sum()
    shares = np.bincount(case, weights) / total
    off = np.abs(noise - noise.sum(axis=0) * shares[:, None]).sum(axis=0) / total
    return max(worlds.drawn, float(off.max()) / 2.0)

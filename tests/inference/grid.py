"""Two rooms with a wall and a door between them as a fine grid, summed over exactly.

The slow twin of the particles: every small square is a state of a plain chain. A square is left for
another by the density of the step between their middles; what leads off the floor or through the
wall stays. Nothing of the code is used.
"""

from __future__ import annotations

import numpy as np

SIDE = 0.125
WIDTH, HEIGHT, WALL_AT, DOOR = 4.0, 2.0, 2.0, 0.75
SPEED, REST = 0.6, 0.3
# Where the antennas are, how far they reach and how surely they read.
ANTENNAS = ((1.0, 1.25, 0.8, 0.7), (3.0, 0.5, 1.0, 0.5))


def middles() -> np.ndarray:
    x = np.arange(SIDE / 2, WIDTH, SIDE)
    y = np.arange(SIDE / 2, HEIGHT, SIDE)
    return np.array([(a, b) for a in x for b in y])


def transition() -> np.ndarray:
    at = middles()
    start, end = at[:, np.newaxis], at[np.newaxis]
    away = ((end - start) ** 2).sum(axis=2)
    chance = np.exp(-away / (2 * SPEED**2)) / (2 * np.pi * SPEED**2) * SIDE**2 * (1 - REST)
    chance[is_blocked(start, end)] = 0.0
    chance[np.diag_indices(len(at))] += 1.0 - chance.sum(axis=1)
    return chance


def is_blocked(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return whether the wall, which is above the door, lies on the way."""
    run = end[..., 0] - start[..., 0]
    other_room = (start[..., 0] - WALL_AT) * (end[..., 0] - WALL_AT) < 0
    share = np.divide(WALL_AT - start[..., 0], run, out=np.zeros_like(run), where=run != 0)
    height = start[..., 1] + share * (end[..., 1] - start[..., 1])
    return other_room & (height > DOOR)


def likelihood(reads: np.ndarray) -> np.ndarray:
    """Return P(what both antennas read | square) of each step."""
    at, found = middles(), np.ones((len(reads), len(middles())))
    for a, (x, y, reach, p) in enumerate(ANTENNAS):
        chance = np.where((at[:, 0] - x) ** 2 + (at[:, 1] - y) ** 2 <= reach**2, p, 0.0)
        found *= np.where(reads[:, a, np.newaxis], chance, 1.0 - chance)
    return found


def rooms(reads: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return P(room | past), P(room | everything) and P(room, next room | everything), by step."""
    moves, seen = transition(), likelihood(reads)
    room = (middles()[:, 0] > WALL_AT).astype(int)
    lump = np.eye(2)[room]
    forward = np.zeros_like(seen)
    now = np.full(len(room), 1.0 / len(room))
    for t, weight in enumerate(seen):
        now = (now if t == 0 else now @ moves) * weight
        now = now / now.sum()
        forward[t] = now
    backward = np.ones_like(seen)
    for t in range(len(seen) - 2, -1, -1):
        backward[t] = moves @ (seen[t + 1] * backward[t + 1])
    both = forward * backward
    pairs = [
        lump.T @ (forward[t][:, np.newaxis] * moves * (seen[t + 1] * backward[t + 1])) @ lump
        for t in range(len(seen) - 1)
    ]
    smoothed = both / both.sum(axis=1, keepdims=True) @ lump
    return forward @ lump, smoothed, np.array([pair / pair.sum() for pair in pairs])

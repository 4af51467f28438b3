"""All paths of a few steps through three places, and in which of them a sequence holds, and when.

Written from the definition of a successor alone: a run that waits for a subgoal meets, at the first
time that has candidates for it, all of them; it goes on with each that is accepted, and ends. Paths
are rows of arrays, so every world is looked at, many at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

N = 3
Goals = list[tuple[set[int], set[int]]]
Run = tuple[int, int | None, int | None]


@dataclass(frozen=True)
class Asked:
    """Subgoals as the places of candidates and of those accepted; what all, or the ends, share.

    A match counts at the step of its end and at the `over` - 1 steps after it.
    """

    goals: Goals
    same_tag: bool = True
    same_place: bool = False
    over: int = 1


def all_paths(length: int) -> np.ndarray:
    """Return every path of so many steps."""
    return np.array(list(product(range(N), repeat=length)))


def joint(ways: list[np.ndarray], lengths: list[int]) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the paths of each tag in every joint world, and what the worlds weigh."""
    numbers = np.meshgrid(*(np.arange(len(way)) for way in ways), indexing="ij")
    worlds = [all_paths(n)[own.ravel()] for n, own in zip(lengths, numbers, strict=True)]
    weight = np.prod([way[own.ravel()] for way, own in zip(ways, numbers, strict=True)], axis=0)
    return worlds, weight


def held(asked: Asked, tags: list[np.ndarray]) -> np.ndarray:
    """Return, by world and time, whether a match counts there."""
    n, length = len(tags[0]), max(paths.shape[1] for paths in tags)
    candidate, accepted = (
        np.array([[place in goal[part] for place in range(N)] for goal in asked.goals])
        for part in (0, 1)
    )
    last, found = len(asked.goals) - 1, np.zeros((n, length), np.bool_)
    waiting: dict[Run, np.ndarray] = {}
    for t in range(length):
        here = {g: paths[:, t] for g, paths in enumerate(tags) if t < paths.shape[1]}
        after: dict[Run, np.ndarray] = {}

        def go_on(run: Run, worlds: np.ndarray, t: int = t, after: dict = after) -> None:
            if run[0] > last:
                found[:, t] |= worlds
            else:
                after[run] = after.get(run, np.zeros(n, np.bool_)) | worlds

        for (k, who, where), runs in waiting.items():
            meets = np.zeros(n, np.bool_)
            for g, place in here.items():
                if who not in (None, g):
                    continue
                fits = candidate[k][place]
                if k == last and where is not None:
                    fits = fits & (place == where)
                meets |= fits
                go_on((k + 1, who, where), runs & fits & accepted[k][place])
            go_on((k, who, where), runs & ~meets)
        for g, place in here.items():
            begins = candidate[0][place] & accepted[0][place]
            for where in range(N):
                run = (1, g if asked.same_tag else None, where if asked.same_place else None)
                go_on(run, begins & (place == where))
        waiting = after
    first = [max(0, t - asked.over + 1) for t in range(length)]
    return np.stack([found[:, s : t + 1].any(axis=1) for t, s in enumerate(first)], axis=1)

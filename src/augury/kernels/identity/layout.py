"""What a ward remembers, as arrays.

A *state* is a set of worlds that agree on which acts are open: not yet given to anybody who was
read since. Acts are numbered in their order; one that may have begun in several places is one entry
for each, of which a world has one. Where people are not alike, or open acts became many, a state
also says where those are who are elsewhere than the heads say.

What a state knows of an act's owner is one number: a person, or a line of the pool, which has one
probability for each person. States that know the same share the line, so a state is copied at the
cost of its numbers, and only where states that differ become one is anything mixed.

Few arrays with many columns: each array that a function is given costs time in every call.

Shapes: S states, M open acts, K tales (acts that may be told again), N people, A acts, L lines;
P is N where somebody is elsewhere than the heads say, and otherwise 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# The step before every step.
BEFORE = -(2**62)
# The owner of an act that is open, or is told no more.
NOBODY = -1
# Who did an act whose badge was not read.
UNREAD = -1

# Columns of `States.words`: how many acts are open, a hash, and from OPENED on the numbers of the
# open acts in their order, how many people can have done each, the owners of tales, and who is
# elsewhere than the heads say: the place (-1: where they say), and the step of the last act there.
LENGTH, KEY, OPENED = range(3)
# Columns of `States.reals`: the weight of the worlds of a state, the part of it that was never
# sampled, and what sampling may have changed of it, under each set of random signs.
WEIGHT, SURE, NOISE = range(3)
SIGNS = 4
# Columns of `World.heads`, where each was last read; of `World.acts` and of `World.tales`.
PLACE, STEP = range(2)
ORIGIN, TO, AT, TALE, HASH, ACT_WIDTH = range(6)
EVENT, TIME, REVISION, TALE_WIDTH = range(4)
# What `World.counts` has: how many acts were admitted, entries of acts were ever made, and acts,
# tales and lines there are (lines from FRESH on are of one state only; LIVE were left when lines
# were last dropped); and what else is known.
ADMITTED, MADE, ACTS, TALES, LINES, FRESH, LIVE = range(7)
LAST_OPEN, EVEN, ASTRAY, CHANGED, DRAWS, N_COUNTS = range(7, 13)
# Columns of `Rows.words`.
WHO, FIRST_ORIGIN, N_ORIGINS, GOES_TO, ROOM, MOVES, ROW_STEP, ROW_TIME, BY_TIME, ROW_WIDTH = range(
    10
)
# Columns of `Told.words`.
TOLD_EVENT, TOLD_STEP, TOLD_REVISION, AS_OF, FIRST_ROW, TOLD_WIDTH = range(6)
# What became of a row.
TAKEN, IMPOSSIBLE, IMPOSSIBLE_READ, RESET = range(4)
# When an event is told again.
ANY, CERTAIN, BY, NEVER = range(4)


class States(NamedTuple):
    """Sets of worlds; the last four say in which columns counts, owners, places, steps begin."""

    size: np.ndarray  # int64 (1,)
    words: np.ndarray  # int64 (S, OPENED + 2 M + K + 2 P)
    reals: np.ndarray  # float64 (S, NOISE + SIGNS)
    counts: int
    owner: int
    place: int
    step: int


class World(NamedTuple):
    """All that a ward remembers."""

    counts: np.ndarray  # int64 (N_COUNTS,)
    lost: np.ndarray  # float64 (2,) the most that sampling left out; the weight of one draw
    heads: np.ndarray  # int64 (N, 2)
    states: States
    acts: np.ndarray  # int64 (A, ACT_WIDTH)
    tales: np.ndarray  # int64 (K, TALE_WIDTH); an event of -1 is told no more
    told: np.ndarray  # float64 (K, N + 1) what was told last, and the largest likely error so far
    lines: np.ndarray  # float64 (L, N)
    line_tale: np.ndarray  # int64 (L,)


class Law(NamedTuple):
    """What holds in a ward, and what is asked."""

    weights: np.ndarray  # float64 (N, rooms); no rooms: all people are alike
    most_states: int
    kept_states: int
    many_open: int
    most_open: int
    rejects: bool
    within: int
    strategy: int
    least: float


class Rows(NamedTuple):
    """Rows of a ward by step, in each step the badge reads first, each by time and id.

    BY_TIME has the rows of each step by time and id alone.
    """

    words: np.ndarray  # int64 (T, ROW_WIDTH)
    origins: np.ndarray  # int64
    first_event: int


class Told(NamedTuple):
    """What is told: each telling has the rows from FIRST_ROW on, one for each person."""

    size: np.ndarray  # int64 (2,) tellings, rows
    words: np.ndarray  # int64 (tellings, TOLD_WIDTH)
    bound: np.ndarray  # float64
    person: np.ndarray  # int64
    p: np.ndarray  # float64


def begin(places: np.ndarray) -> World:
    """Return the one world before anything happened, by the places of people."""
    n = len(places)
    counts = np.zeros(N_COUNTS, np.int64)
    counts[EVEN], counts[LAST_OPEN] = 1, BEFORE
    heads = np.stack([places, np.full(n, BEFORE)], axis=1).astype(np.int64)
    reals = np.zeros((1, NOISE + SIGNS))
    reals[0, WEIGHT] = reals[0, SURE] = 1.0
    words = np.zeros((1, OPENED), np.int64)
    return World(
        counts,
        np.zeros(2),
        np.ascontiguousarray(heads),
        States(np.ones(1, np.int64), words, reals, OPENED, OPENED, OPENED, OPENED),
        np.zeros((0, ACT_WIDTH), np.int64),
        np.zeros((0, TALE_WIDTH), np.int64),
        np.zeros((0, n + 1)),
        np.zeros((0, n)),
        np.zeros(0, np.int64),
    )

"""What a ward remembers, as arrays.

A *state* is a set of worlds that agree on which acts are open: not yet given to anybody who was
read since. Acts are numbered in their order; one that may have begun in several places is one entry
for each, of which a world has one. Where people are not alike, or open acts became many, a state
also says where those are who are elsewhere than the heads say.

What a state knows of an act's owner is one number: a person, or a line of the pool, which has one
probability for each person. States that know the same share the line, so a state is copied at the
cost of its numbers, and only where states that differ become one is anything mixed.

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
# So many sets of signs follow the noise of sampling.
SIGNS = 4
# A move of somebody whose badge was not read.
UNREAD = -1

# What `World.counts` has: how many acts were admitted, entries of acts were ever made, and acts,
# tales and lines there are (lines from FRESH on are of one state only); and what else is known.
ADMITTED, MADE, ACTS, TALES, LINES, FRESH, LAST_OPEN, EVEN, ASTRAY, CHANGED, DRAWS = range(11)
N_COUNTS = 11
# What became of a row.
TAKEN, IMPOSSIBLE, IMPOSSIBLE_READ, RESET = range(4)
# When an event is told again.
ANY, CERTAIN, BY, NEVER = range(4)


class States(NamedTuple):
    """Sets of worlds; `weight` is that of all their worlds, `sure` the part never sampled."""

    size: np.ndarray  # int64 (1,)
    length: np.ndarray  # int64 (S,)
    opened: np.ndarray  # int32 (S, M) numbers of acts, in their order
    counts: np.ndarray  # int32 (S, M) how many people can have done each
    owner: np.ndarray  # int32 (S, K) a person, N + a line of the pool, or NOBODY
    place: np.ndarray  # int32 (S, P) where somebody is; -1: where the heads say
    step: np.ndarray  # int64 (S, P) the step of the last act there
    weight: np.ndarray  # float64 (S,)
    sure: np.ndarray  # float64 (S,)
    noise: np.ndarray  # float64 (S, SIGNS) what sampling may have changed, under each set of signs
    key: np.ndarray  # uint64 (S,) a hash


class Acts(NamedTuple):
    """The acts that are open in some state."""

    origin: np.ndarray  # int32 (A,)
    place: np.ndarray  # int32 (A,)
    step: np.ndarray  # int64 (A,)
    tale: np.ndarray  # int32 (A,) which tale it is, or -1
    key: np.ndarray  # uint64 (A,) a random number


class Tales(NamedTuple):
    """The acts that may be told again: which event it was, and what was told last."""

    event: np.ndarray  # int64 (K,); -1: told no more
    time: np.ndarray  # int64 (K,)
    revision: np.ndarray  # int64 (K,)
    told: np.ndarray  # float64 (K, N)


class Pool(NamedTuple):
    """Probabilities of owners, each line of one tale."""

    line: np.ndarray  # float64 (L, N)
    tale: np.ndarray  # int32 (L,)


class World(NamedTuple):
    """All that a ward remembers."""

    counts: np.ndarray  # int64 (N_COUNTS,)
    lost: np.ndarray  # float64 (1,) the most that sampling may have left out
    head_place: np.ndarray  # int32 (N,) where each was last read
    head_step: np.ndarray  # int64 (N,)
    states: States
    acts: Acts
    tales: Tales
    pool: Pool


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
    is_sure: bool  # whether the bound is to hold for certain


class Rows(NamedTuple):
    """Rows of a ward by step, in each step the badge reads first, each by time and id."""

    who: np.ndarray  # int64 (T,) a person, or UNREAD
    first_origin: np.ndarray  # int64 (T + 1,)
    origins: np.ndarray  # int32
    place: np.ndarray  # int32 (T,)
    room: np.ndarray  # int32 (T,)
    moves: np.ndarray  # bool (T,)
    step: np.ndarray  # int64 (T,)
    time: np.ndarray  # int64 (T,)
    by_time: np.ndarray  # int64 (T,) the rows of each step by time and id
    event: np.ndarray  # int64 (T,)


class Told(NamedTuple):
    """What is told: each telling has the rows from `first` on, one for each person."""

    size: np.ndarray  # int64 (2,) tellings, rows
    event: np.ndarray  # int64
    step: np.ndarray  # int64
    revision: np.ndarray  # int64
    as_of: np.ndarray  # int64
    bound: np.ndarray  # float64
    first: np.ndarray  # int64
    person: np.ndarray  # int32
    p: np.ndarray  # float64


def begin(head_place: np.ndarray) -> World:
    """Return the one world before anything happened."""
    n = len(head_place)
    counts = np.zeros(N_COUNTS, np.int64)
    counts[EVEN], counts[LAST_OPEN] = 1, BEFORE
    states = States(
        np.ones(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros((1, 0), np.int32),
        np.zeros((1, 0), np.int32),
        np.zeros((1, 0), np.int32),
        np.zeros((1, 0), np.int32),
        np.zeros((1, 0), np.int64),
        np.ones(1),
        np.ones(1),
        np.zeros((1, SIGNS)),
        np.zeros(1, np.uint64),
    )
    none, no_step = np.zeros(0, np.int32), np.zeros(0, np.int64)
    return World(
        counts,
        np.zeros(1),
        np.ascontiguousarray(head_place, np.int32),
        np.full(n, BEFORE, np.int64),
        states,
        Acts(none, none.copy(), no_step, none.copy(), np.zeros(0, np.uint64)),
        Tales(no_step.copy(), no_step.copy(), no_step.copy(), np.zeros((0, n))),
        Pool(np.zeros((0, n)), none.copy()),
    )

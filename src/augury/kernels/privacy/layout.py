"""What the kernels of policies read and write.

Prefixes of one pattern that have the equated values and the first event in common are completed
alike, and go together: a *slot* has their weights, summed by length. The slots of a pattern and a
key are a *chain*, by the time of their first event. Events of equal order are not in sequence, so
what a kept event adds waits until the order moves on.

Shapes: P patterns, L the longest, K keys, T types and one for all others, E events, R rows (each
an alternative of an event), N slots, D chains that something waits for, F flows.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from augury.kernels.jit import part
from augury.kernels.memory import address, array_at

GREEDY, RATES, WANG, TYPES = range(4)
BOUND, NEVER, BY_TYPE, WEIGHED = range(4)
# Columns of `plays`: a pattern, the step that is played or whose wait is ended, which of the two,
# and the condition on the row (-1: none).
PATTERN, PLACE, ENDS, CONDITION, PLAY_WIDTH = range(5)
# Entries of `marks`: the event to go on with, slots in use, chains that wait, their order and time.
AT, TOP, WAITING, ORDER, TIME, MARKS = range(6)
LEAST_ROOM = 4
# How a kernel ends: with all events, or for want of slots or of places to wait.
DONE, NO_SLOTS, NO_PLACES = range(3)


class Weighing(NamedTuple):
    """A policy; `plays[begins[t]:begins[t + 1]]` is what events of type t may be.

    `until` is the event to stop before; -1: all are gone through.
    """

    lengths: np.ndarray  # int64 (P,)
    windows: np.ndarray  # int64 (P,)
    weights: np.ndarray  # float64 (P,), infinite for NEVER
    never: np.ndarray  # int64 (P,), the last step of what must never be that may go; -1: none
    takes_next: np.ndarray  # bool (P,)
    keys: np.ndarray  # int64 (P,), which keys of the rows are meant
    begins: np.ndarray  # int64 (T + 1,)
    plays: np.ndarray  # int64 (plays, PLAY_WIDTH)
    bound: np.ndarray  # bool (T,)
    dropped: np.ndarray  # bool (T,)
    public: int
    method: int
    patience: float
    until: int = -1


class Learned(NamedTuple):
    """What is expected: rates by flow, and what the history has of each chain.

    `product[f, j]` is that of the rates from step j on over the factorial of their number.
    `entries[p, k]` to the entry after it are the rows of a chain; a bit of `steps` for each step
    that a row plays, one of `ends` for each wait that it ends. `period` 0: none.
    Where rates change with each event, the flows of event e begin at `per_event` times e - `base`.
    """

    flow: np.ndarray  # int64 (P, K)
    product: np.ndarray  # float64 (F, L + 1)
    rates: np.ndarray  # float64 (F, L)
    leaving: np.ndarray  # float64 (F, L + 1)
    all_types: np.ndarray  # float64 (F, L + 1), the rates of the distinct types from a step on
    is_left: np.ndarray  # bool (F, L + 1), whether a wait from a step on may be ended
    is_dead: np.ndarray  # bool (P, L + 1), whether a type from a step on is dropped
    period: int
    first: int
    last: int
    entries: np.ndarray  # int64 (P, K + 1)
    time: np.ndarray  # int64 (entries,)
    order: np.ndarray  # int64 (entries,)
    event: np.ndarray  # int64 (entries,)
    chance: np.ndarray  # float64 (entries,)
    steps: np.ndarray  # int64 (entries,)
    ends: np.ndarray  # int64 (entries,)
    base: int = 0
    per_event: int = 0


class Batch(NamedTuple):
    """Events in order; rows `begin[e]` to `begin[e + 1]` are the alternatives of event e."""

    begin: np.ndarray  # int64 (E + 1,)
    time: np.ndarray  # int64 (E,)
    order: np.ndarray  # int64 (E,), equal where events are not in sequence
    kind: np.ndarray  # int64 (E,), the type
    chance: np.ndarray  # float64 (R,)
    key: np.ndarray  # int64 (keys, R), -1 where an equated value is NULL
    passes: np.ndarray  # bool (conditions, R)


class Slots(NamedTuple):
    """The chains: each has `room` slots from `base` on, and those of `begin` to `end` are live."""

    base: np.ndarray  # int64 (P, K)
    room: np.ndarray  # int64 (P, K)
    begin: np.ndarray  # int64 (P, K)
    end: np.ndarray  # int64 (P, K)
    reach: np.ndarray  # int64 (P, K), the longest prefix that may be there
    waits: np.ndarray  # int64 (P, K), where it waits; -1: not
    first: np.ndarray  # int64 (N,)
    weight: np.ndarray  # float64 (L + 1, N), by length
    marks: np.ndarray  # int64 (MARKS,)


class Waiting(NamedTuple):
    """What events of one order add: the mass that plays each step, and what is left of waits."""

    chain: np.ndarray  # int64 (D,), pattern times K, and key
    added: np.ndarray  # float64 (D, L + 1)
    left: np.ndarray  # float64 (D, L + 1)
    mass: np.ndarray  # float64 (D, L + 1), of the event at hand
    touched: np.ndarray  # int64 (D,), by the event at hand
    states: np.ndarray  # float64 (4, L + 1), of one stretch of the history


class Decided(NamedTuple):
    """What becomes of events."""

    kept: np.ndarray  # bool (E,)
    gain: np.ndarray  # float64 (E,)
    penalty: np.ndarray  # float64 (E,)
    rule: np.ndarray  # int64 (E,)


# Inside kernels -----------------------------------------------------------------------------------
#
# All of it is seen by address: Numba would count references to every array in every call (see
# `augury.kernels.memory`). An entry of a table is at its row times the width, and its column.


class Sizes(NamedTuple):
    """How large things are: keys, slots, columns of sums, events, rows, and places to wait."""

    keys: int
    slots: int
    width: int
    events: int
    rows: int
    places: int


@part
def sizes_of(batch, slots, waiting):
    """Return how large things are."""
    return Sizes(
        slots.begin.shape[1],
        len(slots.first),
        slots.weight.shape[0],
        len(batch.time),
        len(batch.chance),
        len(waiting.chain),
    )


@part
def words(array):
    """Return words by address."""
    return array_at(address(array), 0)


@part
def reals(array):
    """Return doubles by address."""
    return array_at(address(array), 0.0)


@part
def flags(array):
    """Return truth values by address, as bytes."""
    return array_at(address(array), np.uint8(0))


@part
def weighing_at(policy):
    """Return a policy by address."""
    return Weighing(
        words(policy.lengths),
        words(policy.windows),
        reals(policy.weights),
        words(policy.never),
        flags(policy.takes_next),
        words(policy.keys),
        words(policy.begins),
        words(policy.plays),
        flags(policy.bound),
        flags(policy.dropped),
        policy.public,
        policy.method,
        policy.patience,
        policy.until,
    )


@part
def learned_at(learned):
    """Return what is expected by address."""
    return Learned(
        words(learned.flow),
        reals(learned.product),
        reals(learned.rates),
        reals(learned.leaving),
        reals(learned.all_types),
        flags(learned.is_left),
        flags(learned.is_dead),
        learned.period,
        learned.first,
        learned.last,
        words(learned.entries),
        words(learned.time),
        words(learned.order),
        words(learned.event),
        reals(learned.chance),
        words(learned.steps),
        words(learned.ends),
        learned.base,
        learned.per_event,
    )


@part
def batch_at(batch):
    """Return events by address."""
    return Batch(
        words(batch.begin),
        words(batch.time),
        words(batch.order),
        words(batch.kind),
        reals(batch.chance),
        words(batch.key),
        flags(batch.passes),
    )


@part
def slots_at(slots):
    """Return chains by address."""
    return Slots(
        words(slots.base),
        words(slots.room),
        words(slots.begin),
        words(slots.end),
        words(slots.reach),
        words(slots.waits),
        words(slots.first),
        reals(slots.weight),
        words(slots.marks),
    )


@part
def waiting_at(waiting):
    """Return what waits by address."""
    return Waiting(
        words(waiting.chain),
        reals(waiting.added),
        reals(waiting.left),
        reals(waiting.mass),
        words(waiting.touched),
        reals(waiting.states),
    )

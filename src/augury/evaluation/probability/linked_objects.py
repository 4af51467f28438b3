"""Inferred streams that are CORRELATED, as the objects that chains are carried over.

Their tables change with every reading that comes, so they are no rows of a stream: the objects are
made of the belief itself. Row j of a step is the row of its state among the alternatives.
"""

from __future__ import annotations

import numpy as np

from augury.evaluation.probability.markov_objects import (
    MarkovObject,
    ObjectState,
    ObjectStep,
    Value,
)
from augury.inference.model import Model
from augury.inference.smoothing import Belief
from augury.records import Words


def linked_objects(model: Model, belief: Belief) -> list[MarkovObject]:
    """Return the objects of a belief; a key with a table for its first step was told of before."""
    states: tuple[Value, ...] = model.states
    numbers = _row_numbers(belief)
    found = []
    for c, key in enumerate(belief.readings.keys):
        own = slice(int(belief.readings.first[c]), int(belief.readings.first[c + 1]))
        times, tables = belief.readings.time[own].tolist(), list(belief.tables[c])
        if not times:
            continue
        marginals, before = belief.marginal[own], None
        if len(tables) == len(times):
            before = ObjectState(times[0] - 1, states, np.zeros(len(states)))
        else:
            tables = [marginals[:1], *tables]
        steps = tuple(
            ObjectStep(time, states, _numbered(rows), table, marginal)
            for time, rows, table, marginal in zip(
                times, numbers[own].tolist(), tables, marginals, strict=True
            )
        )
        found.append(MarkovObject(key, steps, before))
    return found


def _numbered(rows: list[int]) -> tuple[int | None, ...]:
    return tuple(None if row < 0 else row for row in rows)


def _row_numbers(belief: Belief) -> Words:
    """Return the row of each step and state among the alternatives; -1 of those that cannot be."""
    may_be = belief.marginal > 0.0
    numbers = np.cumsum(may_be).reshape(may_be.shape) - 1
    found: Words = np.where(may_be, numbers, -1)
    return found

"""Inferred streams that are CORRELATED, as the objects that chains are carried over.

Their tables change with every reading that comes, so they are no rows of a stream: the objects are
made of the belief itself. Row j of a step is the row of its state among the alternatives.
"""

from __future__ import annotations

import numpy as np

from augury.inference.model import Model
from augury.inference.smoothing import Belief
from augury.records import Words
from augury.runners.objects import NOWHERE, MarkovObject, ObjectStep, Stand, Value


def linked_objects(model: Model, belief: Belief) -> list[MarkovObject]:
    """Return the objects of a belief; a key with a table for its first step was told of before."""
    values: tuple[Value, ...] = (NOWHERE, *model.states)
    numbers = _row_numbers(belief)
    found = []
    for c, key in enumerate(belief.readings.keys):
        own = slice(int(belief.readings.first[c]), int(belief.readings.first[c + 1]))
        times, tables = belief.readings.time[own].tolist(), belief.tables[c]
        if not times:
            continue
        marginals = np.pad(belief.marginal[own], ((0, 0), (1, 0)))
        goes_on = len(tables) == len(times)
        moves = [np.pad(table, ((1, 0), (1, 0))) for table in tables]
        moves = moves if goes_on else [marginals[:1], *moves]
        steps = tuple(
            ObjectStep(time, values, _with_nowhere(rows), table, marginal)
            for time, rows, table, marginal in zip(
                times, numbers[own].tolist(), moves, marginals, strict=True
            )
        )
        before = Stand(times[0] - 1, values, np.zeros(len(values))) if goes_on else None
        found.append(MarkovObject(key, steps, before))
    return found


def _with_nowhere(rows: list[int]) -> tuple[int | None, ...]:
    return (None, *(None if row < 0 else row for row in rows))


def _row_numbers(belief: Belief) -> Words:
    """Return the row of each step and state among the alternatives; -1 of those that cannot be."""
    may_be = belief.marginal > 0.0
    numbers = np.cumsum(may_be).reshape(may_be.shape) - 1
    found: Words = np.where(may_be, numbers, -1)
    return found

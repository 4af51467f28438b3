"""What correlates the steps that are told after a lag: where a state came from.

Given the state at t, later readings say nothing more about earlier states. So, for any lag n,

    P(i at t - 1 | j at t, readings to t + n) = filtered[t - 1, i] * transition[i, j] / sum over i.

A question that is carried along needs these alone: how likely its automaton is in q, given that the
state is j now, is the average of that over where j came from; and P(a match ends at t | readings to
t + n) is the average over told[t, j]. The table that takes told[t - 1] to told[t] that way is

    table[i, j] = told[t, j] * P(i at t - 1 | j at t) / told[t - 1, i].

It is no conditional probability of what follows, and its rows need not sum to 1: between two steps
one more reading has come. But what a chain carries with it sums to 1 at every step.

Oracle: tests/inference/paths.py enumerates every path.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from augury.errors import ModelError
from augury.inference.model import Model
from augury.inference.smoothing import Belief
from augury.records import Reals


def refuse_nowhere(model: Model) -> None:
    """Raise where a model knows of being nowhere, which has no row to lead from or to."""
    if None in model.states:
        raise ModelError(
            f"model {model.name} has a state that is nowhere (NULL), which CORRELATED does not "
            "take; give it a name, such as 'outside'"
        )


def links(model: Model, filtered: Reals, smoothed: Reals) -> Reals:
    """Return the tables between T steps of one key, (T - 1, K, K)."""
    joint = filtered[:-1, :, np.newaxis] * model.transition
    came_from = _over(joint, joint.sum(axis=1, keepdims=True))
    return _over(smoothed[1:, np.newaxis] * came_from, smoothed[:-1, :, np.newaxis])


def linked(model: Model, filtered: Belief, smoothed: Belief) -> Belief:
    """Return what is told, with the tables that lead from step to step of each key."""
    spans = [slice(start, stop) for start, stop in pairwise(smoothed.readings.first.tolist())]
    tables = (links(model, filtered.marginal[own], smoothed.marginal[own]) for own in spans)
    return replace(smoothed, tables=tuple(tables))


def _over(value: Reals, by: Reals) -> Reals:
    """Return the quotient, and 0 where nothing is divided by nothing."""
    found: Reals = np.divide(value, by, out=np.zeros_like(value), where=by > 0.0)
    return found

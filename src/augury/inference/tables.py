"""Beliefs as Arrow tables: the alternatives and the MARKOV tables of the language.

Nowhere is what is missing to 1 among alternatives, and NULL in the tables. Entries of probability 0
are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from augury.inference.model import State
from augury.inference.smoothing import Belief
from augury.records import Words

# Below this, a probability is rounding.
DUST = 1e-15


class Stated(Protocol):
    """What tables need of a model: its states."""

    @property
    def states(self) -> tuple[State, ...]: ...


@dataclass(frozen=True)
class Columns:
    """How the columns of the tables are called: the key's, the time's, the states' and p's."""

    key: tuple[str, ...]
    time: str
    state: tuple[str, ...]
    p: str = "p"


def alternatives(model: Stated, belief: Belief, columns: Columns, dust: float = DUST) -> pa.Table:
    """Return one row per key, time and state that may be: the stream with ALTERNATIVES."""
    somewhere = np.array([state is not None for state in model.states])
    step, k = np.nonzero((belief.marginal > dust) & somewhere)
    found = _keys(belief, columns, step)
    found[columns.time] = pa.array(belief.readings.time[step])
    found |= _states(model, columns.state, k)
    found[columns.p] = pa.array(np.minimum(belief.marginal[step, k], 1.0))
    return pa.table(found)


def transitions(model: Stated, belief: Belief, columns: Columns) -> pa.Table:
    """Return P(to at the next step | from at this one): the stream that MARKOV names."""
    parts = []
    for start, table in zip(belief.readings.first[:-1].tolist(), belief.tables, strict=True):
        # From where the object cannot be, nothing follows.
        possible = belief.marginal[start : start + len(table)] > DUST
        t, i, j = np.nonzero((table > DUST) & possible[:, :, np.newaxis])
        parts.append((t + start, i, j, table[t, i, j]))
    step, i, j, p = (
        (np.concatenate(part) for part in zip(*parts, strict=True))
        if parts
        else (np.zeros(0, np.int64),) * 4
    )
    found = _keys(belief, columns, step)
    found[columns.time] = pa.array(belief.readings.time[step])
    found |= _states(model, [f"{name}_from" for name in columns.state], i)
    found |= _states(model, [f"{name}_to" for name in columns.state], j)
    found[columns.p] = pa.array(np.minimum(p, 1.0).astype(np.float64))
    return pa.table(found)


def _keys(belief: Belief, columns: Columns, step: Words) -> dict[str, Any]:
    own = np.searchsorted(belief.readings.first, step, side="right") - 1
    keys = [key if isinstance(key, tuple) else (key,) for key in belief.readings.keys]
    found: dict[str, Any] = {}
    for n, name in enumerate(columns.key):
        found[name] = pa.array([key[n] for key in keys]).take(pa.array(own))
    return found


def _states(model: Stated, names: Sequence[str], k: Words) -> dict[str, Any]:
    empty = (None,) * len(names)
    states = [empty if state is None else state for state in model.states]
    return {
        name: pa.array([state[n] for state in states]).take(pa.array(k))
        for n, name in enumerate(names)
    }

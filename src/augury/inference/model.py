"""A hidden Markov model: states, how they follow each other, and what sensors read in them.

A state is a tuple of attributes (several columns may vary together), or None for nowhere. A sensor
is silent at a step, or reads one of its values; what its probabilities leave to 1 is silence. An
antenna is a sensor with the one value None. A sensor that is never silent in any state, such as a
symbol source, says nothing when nothing came.

Every table is checked: what does not sum to 1, or names an unknown state, is a `ModelError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from augury.errors import ModelError
from augury.records import ROUNDING, Reals, Words, chance

TOLERANCE = 1e-6
State = tuple[Any, ...] | None


@dataclass(frozen=True)
class Sensor:
    """One reader: `chance[v, k]` = P(it reads value v - 1 | state k); row 0 is P(silent)."""

    name: Any
    values: tuple[Any, ...]
    chance: Reals

    @property
    def log_chance(self) -> Reals:
        """The same as logarithms; silence says nothing where no state is ever silent."""
        table = self.chance.copy()
        if table[0].max(initial=0.0) <= TOLERANCE:
            table[0] = 1.0
        with np.errstate(divide="ignore"):
            logs: Reals = np.log(table)
        return logs


@dataclass(frozen=True)
class Model:
    """K states with their initial (K) and transition (K, K) probabilities, and the sensors."""

    name: str
    states: tuple[State, ...]
    initial: Reals
    transition: Reals
    sensors: tuple[Sensor, ...]

    def __post_init__(self) -> None:
        _check_sum(self, "the initial probabilities sum to", self.initial)
        for state, row in zip(self.states, self.transition, strict=True):
            _check_sum(self, f"the transitions from {shown(state)} sum to", row)

    def likelihood(self, codes: Words) -> Reals:
        """Return P(readings | state) by step (T, K), up to a factor of each step.

        `codes[t, s]` is what sensor s read at step t: 0 for silence, else 1 + its value's number.
        """
        logs = np.zeros((len(codes), len(self.states)))
        for s, sensor in enumerate(self.sensors):
            logs += sensor.log_chance[codes[:, s]]
        top = logs.max(axis=1, keepdims=True)
        top[~np.isfinite(top)] = 0.0
        found: Reals = np.exp(logs - top)
        return found


def build(
    name: str,
    states: Sequence[State],
    initial: Mapping[State, float] | None,
    transition: Mapping[tuple[State, State], float],
    emission: Mapping[tuple[State, Any, Any], float],
) -> Model:
    """Return the model that tables give: P(state), P(to | from) and P(sensor reads value | state).

    Without initial probabilities, all states are equally likely at first.
    """
    known = {state: k for k, state in enumerate(states)}
    if not known or len(known) < len(states):
        what = "has no states" if not known else "names a state twice"
        raise ModelError(f"model {name} {what}; list each state once")
    start = np.full(len(known), 1.0 / len(known))
    if initial is not None:
        start = np.zeros(len(known))
        for state, p in initial.items():
            start[_number(name, known, state, "the initial table")] = _chance(name, p)
    moves = np.zeros((len(known), len(known)))
    for (origin, target), p in transition.items():
        i = _number(name, known, origin, "the transition table")
        moves[i, _number(name, known, target, "the transition table")] = _chance(name, p)
    return Model(name, tuple(states), start, moves, _sensors(name, known, emission))


def _sensors(
    name: str, known: Mapping[State, int], emission: Mapping[tuple[State, Any, Any], float]
) -> tuple[Sensor, ...]:
    values: dict[Any, dict[Any, int]] = {}
    for _, sensor, value in emission:
        own = values.setdefault(sensor, {})
        own.setdefault(value, len(own))
    tables = {s: np.zeros((len(own) + 1, len(known))) for s, own in values.items()}
    for (state, sensor, value), p in emission.items():
        k = _number(name, known, state, "the emission table")
        tables[sensor][values[sensor][value] + 1, k] = _chance(name, p)
    for sensor, table in tables.items():
        total = table.sum(axis=0)
        if total.max() > 1.0 + TOLERANCE:
            raise ModelError(
                f"model {name}: what sensor {sensor!r} reads in one state sums to "
                f"{total.max():.6g}; at most 1 was expected, the rest being silence"
            )
        table[0] = np.maximum(1.0 - total, 0.0)
    return tuple(Sensor(s, tuple(values[s]), tables[s]) for s in values)


def _number(name: str, known: Mapping[State, int], state: State, where: str) -> int:
    if state not in known:
        raise ModelError(
            f"model {name}: {where} names the state {shown(state)}, which is none of its states; "
            "add it to the states, or correct the table"
        )
    return known[state]


def _chance(name: str, p: Any) -> float:
    if not isinstance(p, int | float) or not -ROUNDING <= p <= 1.0 + ROUNDING:
        raise ModelError(f"model {name}: {p} is not a probability between 0 and 1")
    return chance(float(p))


def _check_sum(model: Model, what: str, row: Reals) -> None:
    total = float(row.sum())
    if not abs(total - 1.0) <= TOLERANCE:
        raise ModelError(f"model {model.name}: {what} {total:.6g}; 1 was expected: normalise them")


def shown(state: State) -> str:
    """Return a state as people write it."""
    if state is None:
        return "nowhere"
    return ", ".join(repr(part) if isinstance(part, str) else str(part) for part in state)

"""Models from data: counted where the states are known, by Baum-Welch where they are not.

Counts get `pseudo` added, so that what was not seen is unlikely and not impossible. Baum-Welch
raises the likelihood of the readings at every round; it ends when a round raises it by less than
the tolerance, or at the given number of rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from augury.errors import ModelError
from augury.inference.model import Model, Sensor, State
from augury.inference.readings import Readings
from augury.inference.smoothing import smoothed
from augury.records import Reals, Words

UNKNOWN = -1
# A round that raises the log-likelihood by less is the last.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Counts:
    """Expected numbers of beginnings (K), transitions (K, K) and readings ((V + 1, K) each)."""

    initial: Reals
    transition: Reals
    readings: tuple[Reals, ...]


def sensors_of(rows: Sequence[tuple[Any, int, Any, Any]], n_states: int) -> tuple[Sensor, ...]:
    """Return the sensors that readings name, equally likely to read or be silent in any state."""
    values: dict[Any, dict[Any, None]] = {}
    for _, _, sensor, value in rows:
        values.setdefault(sensor, {})[value] = None
    return tuple(
        Sensor(name, tuple(own), np.full((len(own) + 1, n_states), 1.0 / (len(own) + 1)))
        for name, own in values.items()
    )


def even_model(name: str, states: Sequence[State], sensors: tuple[Sensor, ...]) -> Model:
    """Return a model that knows its states and sensors, and nothing else."""
    k = len(states)
    if not k:
        raise ModelError(f"model {name} has no states; the labels name none")
    return Model(name, tuple(states), np.full(k, 1.0 / k), np.full((k, k), 1.0 / k), sensors)


def learn(model: Model, readings: Readings, labels: Words, pseudo: float = 1.0) -> Model:
    """Return the model that labelled steps give: `labels[t]` is the number of a state, or -1."""
    k = len(model.states)
    initial, transition = np.zeros(k), np.zeros((k, k))
    starts = readings.first[:-1][np.diff(readings.first) > 0]
    np.add.at(initial, labels[starts][labels[starts] != UNKNOWN], 1.0)
    follows = np.ones(len(labels), np.bool_)
    follows[starts] = False
    both = follows & (labels != UNKNOWN) & (np.roll(labels, 1) != UNKNOWN)
    np.add.at(transition, (np.roll(labels, 1)[both], labels[both]), 1.0)
    known = labels != UNKNOWN
    weights = np.zeros((len(labels), k))
    weights[np.flatnonzero(known), labels[known]] = 1.0
    counts = Counts(initial, transition, _readings(model, readings.codes, weights))
    return _estimated(model, counts, pseudo)


def baum_welch(
    model: Model,
    readings: Readings,
    rounds: int = 50,
    pseudo: float = 1e-9,
) -> tuple[Model, list[float]]:
    """Return the model after learning without labels, and the log-evidence before each round."""
    history: list[float] = []
    for _ in range(rounds):
        belief = smoothed(model, readings)
        history.append(float(belief.log_evidence.sum()) + _scale(model, readings))
        if len(history) > 1 and history[-1] - history[-2] < TOLERANCE:
            break
        starts = readings.first[:-1]
        transition = np.zeros_like(model.transition)
        for c, table in enumerate(belief.tables):
            own = belief.marginal[starts[c] : starts[c] + len(table)]
            transition += np.einsum("tk,tkj->kj", own, table)
        seen = _readings(model, readings.codes, belief.marginal)
        counts = Counts(belief.marginal[starts].sum(axis=0), transition, seen)
        model = _estimated(model, counts, pseudo)
    return model, history


def _scale(model: Model, readings: Readings) -> float:
    """Return the logarithm of the factors that the model's likelihood leaves out."""
    logs = np.zeros((len(readings.codes), len(model.states)))
    for s, sensor in enumerate(model.sensors):
        logs += sensor.log_chance[readings.codes[:, s]]
    top = logs.max(axis=1)
    return float(top[np.isfinite(top)].sum())


def _readings(model: Model, codes: Words, weights: Reals) -> tuple[Reals, ...]:
    found = []
    for s, sensor in enumerate(model.sensors):
        table = np.zeros_like(sensor.chance)
        np.add.at(table, codes[:, s], weights)
        found.append(table)
    return tuple(found)


def _estimated(model: Model, counts: Counts, pseudo: float) -> Model:
    sensors = tuple(
        replace(sensor, chance=_normal(table + pseudo, axis=0))
        for sensor, table in zip(model.sensors, counts.readings, strict=True)
    )
    return replace(
        model,
        initial=_normal(counts.initial + pseudo, axis=0),
        transition=_normal(counts.transition + pseudo, axis=1),
        sensors=sensors,
    )


def _normal(table: Reals, axis: int) -> Reals:
    found: Reals = table / table.sum(axis=axis, keepdims=True)
    return found

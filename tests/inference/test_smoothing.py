"""Filter, smoother, fixed lag and Viterbi agree with the enumeration of all paths."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.inference.learning import baum_welch, even_model, learn, sensors_of
from augury.inference.model import Model, build
from augury.inference.readings import Readings, arrange
from augury.inference.smoothing import decoded, filtered, lagged, smoothed
from augury.inference.tables import Columns, alternatives, transitions
from inference.paths import conditional, marginal, weights

SEEDS = st.integers(min_value=0, max_value=10**6)
COLUMNS = Columns(("tag",), "t", ("place",))


@dataclass
class Case:
    """A random model, given as tables, and readings of two keys."""

    initial: list[float]
    transition: list[list[float]]
    emission: dict[tuple[int, Any, Any], float]
    steps: dict[str, list[dict[Any, Any]]]

    @property
    def model(self) -> Model:
        names = [(f"s{k}",) for k in range(len(self.initial))]
        return build(
            "m",
            names,
            dict(zip(names, self.initial, strict=True)),
            {
                (names[i], names[j]): p
                for i, row in enumerate(self.transition)
                for j, p in enumerate(row)
            },
            {(names[k], sensor, value): p for (k, sensor, value), p in self.emission.items()},
        )

    @property
    def rows(self) -> list[tuple[Any, int, Any, Any]]:
        return [
            (key, t, sensor, value)
            for key, steps in self.steps.items()
            for t, step in enumerate(steps)
            for sensor, value in step.items()
        ]

    @property
    def readings(self) -> Readings:
        return arrange(self.model, self.rows, 1)

    def paths(self, key: str, stop: int | None = None) -> dict[tuple[int, ...], float]:
        return weights(self.initial, self.transition, self.emission, self.steps[key][:stop])


def shares(rng: random.Random, n: int) -> list[float]:
    drawn = [rng.random() + 0.05 for _ in range(n)]
    return [each / sum(drawn) for each in drawn]


def random_case(seed: int, *, length: int = 4) -> Case:
    rng = random.Random(seed)
    k = rng.randint(2, 3)
    emission = {}
    for state in range(k):
        for sensor, values in (("A", (None,)), ("B", ("low", "high"))):
            chances = shares(rng, len(values) + 1)[1:]
            emission |= {(state, sensor, v): p for v, p in zip(values, chances, strict=True)}
    steps = {}
    for key in ("x", "y"):
        own = [_step(rng) for _ in range(length)]
        own[0] = own[0] or {"A": None}
        own[-1] = own[-1] or {"B": "low"}
        steps[key] = own
    return Case(shares(rng, k), [shares(rng, k) for _ in range(k)], emission, steps)


def _step(rng: random.Random) -> dict[Any, Any]:
    step: dict[Any, Any] = {}
    if rng.random() < 0.5:
        step["A"] = None
    if rng.random() < 0.5:
        step["B"] = rng.choice(("low", "high"))
    return step


def at(readings: Readings, key: str, t: int) -> int:
    return int(readings.first[readings.keys.index(key)]) + t


@given(seed=SEEDS)
def test_the_filter_gives_the_state_given_the_past(seed: int) -> None:
    case = random_case(seed)
    belief = filtered(case.model, case.readings)
    for key, steps in case.steps.items():
        for t in range(len(steps)):
            paths = case.paths(key, t + 1)
            for k in range(len(case.initial)):
                found = belief.marginal[at(belief.readings, key, t), k]
                assert found == pytest.approx(marginal(paths, t, k), abs=1e-12)


@given(seed=SEEDS)
def test_the_smoother_gives_the_state_and_the_next_given_everything(seed: int) -> None:
    case = random_case(seed)
    belief = smoothed(case.model, case.readings)
    for c, key in enumerate(belief.readings.keys):
        paths, steps = case.paths(key), case.steps[key]
        for t in range(len(steps)):
            for k in range(len(case.initial)):
                found = belief.marginal[at(belief.readings, key, t), k]
                assert found == pytest.approx(marginal(paths, t, k), abs=1e-12)
                for j in range(len(case.initial)) if t + 1 < len(steps) else ():
                    linked = belief.tables[c][t, k, j]
                    assert linked == pytest.approx(conditional(paths, t, k, j), abs=1e-12)


@given(seed=SEEDS, lag=st.integers(min_value=0, max_value=3))
def test_a_fixed_lag_counts_that_many_steps_of_the_future(seed: int, lag: int) -> None:
    case = random_case(seed)
    belief = lagged(case.model, case.readings, lag)
    for key, steps in case.steps.items():
        for t in range(len(steps)):
            paths = case.paths(key, t + 1 + lag)
            for k in range(len(case.initial)):
                found = belief.marginal[at(belief.readings, key, t), k]
                assert found == pytest.approx(marginal(paths, t, k), abs=1e-12)


@given(seed=SEEDS)
def test_viterbi_gives_a_most_likely_path(seed: int) -> None:
    case = random_case(seed)
    belief = decoded(case.model, case.readings)
    for key, steps in case.steps.items():
        paths = case.paths(key)
        first = at(belief.readings, key, 0)
        path = tuple(belief.marginal[first : first + len(steps)].argmax(axis=1).tolist())
        assert paths[path] == pytest.approx(max(paths.values()), rel=1e-12)


@given(seed=SEEDS, prune=st.sampled_from((0.05, 0.2, 0.4)))
def test_what_pruning_loses_bounds_the_error_of_every_marginal(seed: int, prune: float) -> None:
    case = random_case(seed)
    whole, pruned = smoothed(case.model, case.readings), smoothed(case.model, case.readings, prune)
    for c in range(len(pruned.readings.keys)):
        own = slice(*pruned.readings.first[c : c + 2].tolist())
        distance = np.abs(whole.marginal[own] - pruned.marginal[own]).sum(axis=1) / 2
        assert distance.max() <= pruned.lost[c] + 1e-12
    top = whole.marginal.max(axis=1, keepdims=True)
    assert ((pruned.marginal == 0.0) | (whole.marginal >= np.minimum(prune, top))).all()
    assert pruned.marginal.sum(axis=1) == pytest.approx(1.0)


@given(seed=SEEDS)
def test_the_tables_lead_from_each_marginal_to_the_next(seed: int) -> None:
    case = random_case(seed)
    model, belief = case.model, smoothed(case.model, case.readings)
    now = alternatives(model, belief, COLUMNS).to_pylist()
    marginals = {(r["tag"], r["t"], r["place"]): r["p"] for r in now}
    ahead: dict[Any, float] = {}
    for row in transitions(model, belief, COLUMNS).to_pylist():
        mass = marginals[row["tag"], row["t"], row["place_from"]] * row["p"]
        place = row["tag"], row["t"] + 1, row["place_to"]
        ahead[place] = ahead.get(place, 0.0) + mass
    later = {place: p for place, p in marginals.items() if place[1] > 0}
    assert set(ahead) == set(later)
    assert all(ahead[place] == pytest.approx(p, abs=1e-12) for place, p in later.items())


@given(seed=SEEDS)
def test_each_round_of_baum_welch_raises_the_likelihood_of_the_readings(seed: int) -> None:
    case = random_case(seed, length=5)
    start = math.log(math.prod(sum(case.paths(key).values()) for key in case.steps))
    _, history = baum_welch(case.model, case.readings, rounds=6, pseudo=0.0)
    assert history[0] == pytest.approx(start, abs=1e-9)
    assert all(b >= a - 1e-9 for a, b in pairwise(history))


def test_counts_of_labelled_steps_make_a_model() -> None:
    rows = [("x", t, "A", None) for t in (0, 1, 3)]
    model = even_model("m", [("in",), ("out",)], sensors_of(rows, 2))
    readings = arrange(model, rows, 1)
    learned = learn(model, readings, np.array([0, 0, 1, 0]), pseudo=0.0)
    assert learned.initial.tolist() == [1.0, 0.0]
    assert learned.transition.tolist() == [[0.5, 0.5], [1.0, 0.0]]
    assert learned.sensors[0].chance.tolist() == [[0.0, 1.0], [1.0, 0.0]]

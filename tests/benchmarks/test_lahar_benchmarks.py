"""The benchmarks of correlated streams compare what they say they compare."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from augury.demo.building.people import Building
from augury.inference.model import Model, build
from augury.inference.readings import Readings, arrange
from augury.inference.smoothing import lagged
from augury.matching.intervals import sequence_probabilities
from augury.matching.worlds import probabilities
from inference.paths import Path, weights
from lahar import quality, realtime
from lahar.safe_plan import safe_feed

STATES = [("H0", "east"), ("H1", "east"), ("C0", "inside")]
SECONDS = 6
READ = {0: ("A",), 2: ("A", "B"), 3: ("B",), 5: ("A",)}


def chances(seed: int) -> tuple[list[float], list[list[float]], dict[tuple[int, str, None], float]]:
    """Return the numbers of a model: initial, transition, emission."""
    rng = random.Random(seed)

    def spread() -> list[float]:
        drawn = [rng.random() for _ in STATES]
        return [own / sum(drawn) for own in drawn]

    heard = {(k, sensor, None): rng.random() for k, sensor in product(range(3), "AB")}
    return spread(), [spread() for _ in STATES], heard


def model_of(seed: int) -> Model:
    initial, transition, heard = chances(seed)
    return build(
        "building",
        STATES,
        dict(zip(STATES, initial, strict=True)),
        {(STATES[i], STATES[j]): transition[i][j] for i, j in product(range(3), repeat=2)},
        {(STATES[k], sensor, value): p for (k, sensor, value), p in heard.items()},
    )


def readings_of(model: Model) -> Readings:
    rows = [(("joe",), t, sensor, None) for t, sensors in READ.items() for sensor in sensors]
    return arrange(model, rows, 1)


def visits_at(path: Path, t: int) -> bool:
    return t >= 2 and path[t] == 2 and path[t - 1] != 2 and path[t - 2] != 2


def expected(seed: int, t: int, known: int, over: int = 1) -> float:
    """Return P(a visit ended in the last seconds | readings of the first ones), from every path."""
    steps = [dict.fromkeys(READ.get(s, ())) for s in range(known)]
    found = weights(*chances(seed), steps)
    recent = range(max(0, t - over + 1), t + 1)
    visited = (w for path, w in found.items() if any(visits_at(path, s) for s in recent))
    return sum(visited) / sum(found.values())


@pytest.mark.parametrize("lag", [0, 1, 2, 9])
@pytest.mark.parametrize("seed", [1, 2])
def test_answers_of_a_lag_are_those_of_all_paths(seed: int, lag: int) -> None:
    model, asked = model_of(seed), quality.questions(Building())["coffee"]
    known = realtime.carry(model, asked, model.likelihood(readings_of(model).codes)[np.newaxis])
    for t, found in enumerate(known.ended(lag)[0]):
        assert found == pytest.approx(expected(seed, t, min(t + lag + 1, SECONDS)), abs=1e-12)


@pytest.mark.parametrize("lag", [0, 1, 9])
@pytest.mark.parametrize("over", [2, 4])
def test_answers_that_look_back_are_those_of_all_paths(over: int, lag: int) -> None:
    model, asked = model_of(1), replace(quality.questions(Building())["lately"], over=over)
    known = realtime.carry(model, asked, model.likelihood(readings_of(model).codes)[np.newaxis])
    for t, found in enumerate(known.ended(lag)[0]):
        wanted = expected(1, t, min(t + lag + 1, SECONDS), over)
        assert found == pytest.approx(wanted, abs=1e-12)


def test_what_lasts_counts_in_its_own_second_and_those_after() -> None:
    facts = np.array([0, 1, 0, 0, 0, 0, 1, 1, 0], np.bool_)
    found = quality.lasting(facts, 3)
    assert found.astype(int).tolist() == [0, 1, 1, 1, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("lag", [0, 2, 9])
def test_places_of_a_lag_are_those_of_the_language(lag: int) -> None:
    model, asked = model_of(3), quality.questions(Building())["coffee"]
    readings = readings_of(model)
    known = realtime.carry(model, asked, model.likelihood(readings.codes)[np.newaxis])
    assert known.marginal(lag)[0] == pytest.approx(lagged(model, readings, lag).marginal, abs=1e-12)


@pytest.mark.parametrize("last", [1.0, 0.01])
def test_a_long_safe_plan_answers_as_the_chain_that_remembers_values(last: float) -> None:
    """With likely candidates starts are forgotten on the way, with unlikely ones none is."""
    plan, feed = safe_feed(240, [], last)
    (key,) = feed.parts
    steps = feed.steps(key)
    found = sequence_probabilities(plan.line, steps)
    assert found is not None
    assert len(found) == 240
    assert found == pytest.approx(probabilities(plan.line, steps), abs=1e-12)

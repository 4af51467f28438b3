"""From readings to the probability of a query, against every path of a random hidden Markov model.

The worlds are all paths of up to 8 steps through 3 places, weighed by their definition; what a
sequence means on one path is written out here once more. Smoothed answers are those of the paths
given all readings; filtered ones those of worlds whose steps are independent.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import Session

PLACES = ("x", "y", "z")
QUICK = settings(phases=(Phase.explicit, Phase.generate))
SCRIPT = """
CREATE TABLE places (place STRING);
CREATE TABLE start (place STRING, p DOUBLE);
CREATE TABLE steps (place_from STRING, place_to STRING, p DOUBLE);
CREATE TABLE heard (place STRING, reader STRING, p DOUBLE);
CREATE MODEL m HMM (STATES places, INITIAL start, TRANSITION steps, EMISSION heard);
CREATE STREAM reads (tag STRING, reader STRING, t LONG) KEY tag TIME t TYPE reader;
"""


@dataclass
class Drawn:
    """A model, the readings of one tag (a row of flags by reader), and a sequence of subgoals.

    A subgoal has the places that make a candidate, and those that are accepted.
    """

    start: np.ndarray
    steps: np.ndarray
    heard: np.ndarray
    reads: np.ndarray
    goals: list[tuple[set[int], set[int]]]


def drawn(seed: int) -> Drawn:
    rng = np.random.default_rng(seed)
    choose = random.Random(seed)
    length = choose.choice((3, 4, 5, 6, 7, 8))
    reads = rng.random((length, 2)) < 0.4
    reads[0, 0] = reads[-1, 0] = True
    goals = []
    for _ in range(choose.randint(1, 4)):
        candidates = set(choose.sample(range(3), choose.randint(1, 3)))
        accepted = set(choose.sample(sorted(candidates), choose.randint(1, len(candidates))))
        goals.append((candidates, accepted))
    return Drawn(
        rng.dirichlet(np.ones(3)),
        rng.dirichlet(np.ones(3), 3),
        rng.uniform(0.1, 0.9, (3, 2)),
        reads,
        goals,
    )


def session(case: Drawn, method: str) -> Session:
    ag = Session(engine="local")
    names = [f"c{k}" for k in range(len(case.goals))]
    inside, after = [], []
    for name, (candidates, accepted) in zip(names, case.goals, strict=True):
        inside.append(_one_of(name, candidates))
        after.append(_one_of(name, accepted))
    pattern = ", ".join(f"at {name}" for name in names)
    ag.sql(
        f"{SCRIPT} CREATE STREAM at AS {method} reads USING m;"
        f"CREATE QUERY q ON at PATTERN SEQ({pattern}) WHERE [tag] AND {' AND '.join(inside)}"
        f" AFTER WHERE {' AND '.join(after)}"
        " USING SKIP TILL NEXT MATCH RETURN PROBABILITY BY TIME;"
    )
    for name, rows in tables(case).items():
        ag.bind(name, rows)
    return ag


def _one_of(name: str, places: set[int]) -> str:
    return "(" + " OR ".join(f"{name}.place = '{PLACES[k]}'" for k in sorted(places)) + ")"


def tables(case: Drawn) -> dict[str, list[dict[str, Any]]]:
    pairs = [(i, j) for i in range(3) for j in range(3)]
    return {
        "places": [{"place": place} for place in PLACES],
        "start": [{"place": PLACES[k], "p": float(case.start[k])} for k in range(3)],
        "steps": [
            {"place_from": PLACES[i], "place_to": PLACES[j], "p": float(case.steps[i, j])}
            for i, j in pairs
        ],
        "heard": [
            {"place": PLACES[k], "reader": "AB"[r], "p": float(case.heard[k, r])}
            for k in range(3)
            for r in range(2)
        ],
        "reads": [
            {"tag": "joe", "reader": "AB"[r], "t": t}
            for t in range(len(case.reads))
            for r in range(2)
            if case.reads[t, r]
        ],
    }


# The oracle: all paths -----------------------------------------------------------------------


def all_paths(length: int) -> np.ndarray:
    return np.array(list(product(range(3), repeat=length)))


def weights(case: Drawn, length: int) -> np.ndarray:
    """Return P(path, readings) of every path over the first steps."""
    paths = all_paths(length)
    found = case.start[paths[:, 0]]
    for t in range(1, length):
        found = found * case.steps[paths[:, t - 1], paths[:, t]]
    for t in range(length):
        for r in range(2):
            p = case.heard[paths[:, t], r]
            found = found * (p if case.reads[t, r] else 1.0 - p)
    return found


def ends(case: Drawn, paths: np.ndarray) -> np.ndarray:
    """Return, by path and step, whether a match ends there: from every beginning, on and on."""
    n, length = paths.shape
    is_candidate = np.array([[k in goal[0] for k in range(3)] for goal in case.goals])
    is_accepted = np.array([[k in goal[1] for k in range(3)] for goal in case.goals])
    found = np.zeros((n, length), bool)
    for begin in range(length):
        goal, alive = np.zeros(n, int), np.ones(n, bool)
        for t in range(begin, length):
            meets = alive & is_candidate[goal, paths[:, t]]
            if t == begin:
                alive &= meets
            taken = meets & is_accepted[goal, paths[:, t]]
            alive &= ~meets | taken
            done = taken & (goal == len(case.goals) - 1)
            found[:, t] |= done
            alive &= ~done
            goal = np.where(taken & ~done, goal + 1, goal)
    return found


def answers(ag: Session) -> dict[int, float]:
    return {row["ts"]: row["probability"] for row in ag.table("q").to_pylist()}


@QUICK
@given(seed=st.integers(0, 10**9))
def test_smoothed_answers_are_those_of_all_paths_given_the_readings(seed: int) -> None:
    case = drawn(seed)
    length = len(case.reads)
    weight, held = weights(case, length), ends(case, all_paths(length))
    expected = weight @ held / weight.sum()
    found = answers(session(case, "SMOOTH"))
    assert [found[t] for t in range(length)] == pytest.approx(expected.tolist(), abs=1e-9)


@QUICK
@given(seed=st.integers(0, 10**9))
def test_filtered_answers_are_those_of_independent_steps_given_the_past(seed: int) -> None:
    case = drawn(seed)
    length = len(case.reads)
    paths, marginal = all_paths(length), np.zeros((length, 3))
    for t in range(length):
        weight, last = weights(case, t + 1), all_paths(t + 1)[:, t]
        marginal[t] = np.bincount(last, weight, 3) / weight.sum()
    joint = np.prod([marginal[t, paths[:, t]] for t in range(length)], axis=0)
    expected = joint @ ends(case, paths)
    found = answers(session(case, "FILTER"))
    assert [found[t] for t in range(length)] == pytest.approx(expected.tolist(), abs=1e-9)

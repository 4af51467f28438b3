"""From readings to the probability of a query, against every path of a random hidden Markov model.

The worlds are all paths of up to 8 steps through 3 places, weighed by their definition; what a
sequence of up to 4 subgoals means on a path is written out in `runners.all_paths`, which shares
nothing with the code. Smoothed answers are those of the paths given all readings; filtered ones
those of worlds whose steps are independent; correlated ones after a lag those of the paths given
the readings up to then, time by time. Several tags walk independently of each other.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import QueryError, Session
from runners.all_paths import Asked, Goals, all_paths, held, joint

PLACES = ("x", "y", "z")
ANYWHERE = {0, 1, 2}
QUICK = settings(phases=(Phase.explicit, Phase.generate))
SEEDS = st.integers(0, 10**9)
SCRIPT = """
CREATE TABLE places (place STRING);
CREATE TABLE start (place STRING, p DOUBLE);
CREATE TABLE steps (place_from STRING, place_to STRING, p DOUBLE);
CREATE TABLE heard (place STRING, reader STRING, p DOUBLE);
CREATE MODEL m HMM (STATES places, INITIAL start, TRANSITION steps, EMISSION heard);
CREATE STREAM reads (tag STRING, reader STRING, t LONG) KEY tag TIME t TYPE reader;
"""


@dataclass(frozen=True)
class Drawn:
    """A model, the readings of each tag (a row of flags by reader), and subgoals."""

    start: np.ndarray
    steps: np.ndarray
    heard: np.ndarray
    reads: list[np.ndarray]
    goals: Goals


def drawn(seed: int, lengths: list[int], *, at_least: int = 1) -> Drawn:
    """Return a random case with so many steps of each tag, and at least so many subgoals."""
    rng, choose = np.random.default_rng(seed), random.Random(seed)
    goals = []
    for _ in range(choose.randint(at_least, 4)):
        candidates = set(choose.sample(range(3), choose.randint(1, 3)))
        accepted = set(choose.sample(sorted(candidates), choose.randint(1, len(candidates))))
        goals.append((candidates, accepted))
    return Drawn(
        rng.dirichlet(np.ones(3)),
        rng.dirichlet(np.ones(3), 3),
        rng.uniform(0.1, 0.9, (3, 2)),
        [_readings(rng, length) for length in lengths],
        goals,
    )


def _readings(rng: np.random.Generator, length: int) -> np.ndarray:
    """Return what both readers read of a tag: its steps run from the first reading to the last."""
    found = rng.random((length, 2)) < 0.4
    found[0, 0] = found[-1, 0] = True
    return found


def length_of(seed: int) -> int:
    return random.Random(seed).choice((3, 4, 5, 6, 7, 8))


def two_lengths(seed: int) -> list[int]:
    """Return the steps of two tags whose joint paths are few enough to look at."""
    return random.Random(seed).choice(([8, 1], [7, 1], [6, 2], [5, 3], [4, 4], [1, 7], [3, 5]))


def session(case: Drawn, method: str, *, where: str = "[tag]", more: str = "") -> Session:
    """Return a session that asks; clauses of the method stand behind it."""
    ag = Session(engine="local")
    method, _, clauses = method.partition(" ")
    names = [f"c{k}" for k in range(len(case.goals))]
    inside, after = [where] if where else [], []
    for name, (candidates, accepted) in zip(names, case.goals, strict=True):
        inside.append(_one_of(name, candidates))
        after.append(_one_of(name, accepted))
    pattern = ", ".join(f"at {name}" for name in names)
    ag.sql(
        f"{SCRIPT} CREATE STREAM at AS {method} reads USING m {clauses};"
        f"CREATE QUERY q ON at PATTERN SEQ({pattern}) WHERE {' AND '.join(inside)}"
        f" AFTER WHERE {' AND '.join(after)}"
        f" USING SKIP TILL NEXT MATCH RETURN PROBABILITY BY TIME {more};"
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
            {"tag": f"tag{g}", "reader": "AB"[r], "t": t}
            for g, own in enumerate(case.reads)
            for t in range(len(own))
            for r in range(2)
            if own[t, r]
        ],
    }


# What paths weigh ---------------------------------------------------------------------------------


def weights(case: Drawn, reads: np.ndarray) -> np.ndarray:
    """Return P(path, readings) of every path over the steps of the readings."""
    paths = all_paths(len(reads))
    found = case.start[paths[:, 0]]
    for t in range(1, len(reads)):
        found = found * case.steps[paths[:, t - 1], paths[:, t]]
    for t, r in np.ndindex(reads.shape):
        p = case.heard[paths[:, t], r]
        found = found * (p if reads[t, r] else 1.0 - p)
    return found


def smoothed(case: Drawn, tag: int) -> np.ndarray:
    """Return P(path | all readings)."""
    found = weights(case, case.reads[tag])
    return found / found.sum()


def filtered(case: Drawn, tag: int) -> np.ndarray:
    """Return the weight of each path if its steps are independent, each given the past."""
    reads = case.reads[tag]
    paths, marginal = all_paths(len(reads)), np.zeros((len(reads), 3))
    for t in range(len(reads)):
        weight, last = weights(case, reads[: t + 1]), all_paths(t + 1)[:, t]
        marginal[t] = np.bincount(last, weight, 3) / weight.sum()
    return np.prod([marginal[t, paths[:, t]] for t in range(len(reads))], axis=0)


METHODS = {"SMOOTH": smoothed, "FILTER": filtered}
LAGS = {"FILTER CORRELATED": 0, "SMOOTH LAG 1 CORRELATED": 1, "SMOOTH LAG 3 CORRELATED": 3}


def alone(case: Drawn, method: str, tag: int) -> np.ndarray:
    """Return P(a match of one tag ends at t)."""
    paths = all_paths(len(case.reads[tag]))
    return METHODS[method](case, tag) @ held(Asked(case.goals), [paths])


def of_both(case: Drawn, method: str, asked: Asked) -> np.ndarray:
    """Return P(a match ends at t) over the joint paths of all tags."""
    ways = [METHODS[method](case, tag) for tag in range(len(case.reads))]
    worlds, weight = joint(ways, [len(own) for own in case.reads])
    return weight @ held(asked, worlds)


def after_a_lag(case: Drawn, lag: int, asked: Asked) -> list[float]:
    """Return P(a match ends at t | readings up to t + lag) over the joint paths of all tags."""
    found = []
    for t in range(max(map(len, case.reads))):
        known = [own[: t + lag + 1] for own in case.reads]
        ways = [own / own.sum() for own in (weights(case, reads) for reads in known)]
        worlds, weight = joint(ways, [len(own) for own in known])
        found.append(float(weight @ held(asked, worlds)[:, t]))
    return found


def answers(ag: Session) -> list[float]:
    rows = sorted(ag.table("q").to_pylist(), key=lambda row: row["ts"])
    return [row["probability"] for row in rows]


# The classes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@QUICK
@given(seed=SEEDS)
def test_regular_answers_are_those_of_all_paths_of_a_tag(method: str, seed: int) -> None:
    case = drawn(seed, [length_of(seed)])
    ag = session(case, method, where="")
    assert answers(ag) == pytest.approx(alone(case, method, 0).tolist(), abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
@QUICK
@given(seed=SEEDS)
def test_extended_regular_answers_are_those_of_some_tag(method: str, seed: int) -> None:
    """Tags are independent: none of them has a match with the product of their own chances."""
    case = drawn(seed, [length_of(seed + k) for k in range(3)])
    none = np.ones(max(map(len, case.reads)))
    for tag, reads in enumerate(case.reads):
        none[: len(reads)] *= 1.0 - alone(case, method, tag)
    assert answers(session(case, method)) == pytest.approx((1.0 - none).tolist(), abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
@QUICK
@given(seed=SEEDS)
def test_two_tags_answer_as_their_joint_paths_do(method: str, seed: int) -> None:
    case = drawn(seed, two_lengths(seed))
    same_tag = seed % 2 == 0
    expected = of_both(case, method, Asked(case.goals, same_tag=same_tag))
    ag = session(case, method, where="[tag]" if same_tag else "")
    assert answers(ag) == pytest.approx(expected.tolist(), abs=1e-9)


@pytest.mark.parametrize("method", LAGS)
@QUICK
@given(seed=SEEDS)
def test_correlated_answers_are_those_of_all_paths_given_what_is_read_by_then(
    method: str, seed: int
) -> None:
    case = drawn(seed, [2 + seed % 5])
    expected = after_a_lag(case, LAGS[method], Asked(case.goals))
    assert answers(session(case, method)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("method", LAGS)
@QUICK
@given(seed=SEEDS, over=st.integers(2, 5))
def test_correlated_answers_look_back_along_each_path(method: str, seed: int, over: int) -> None:
    case = drawn(seed, [2 + seed % 5])
    expected = after_a_lag(case, LAGS[method], Asked(case.goals, over=over))
    found = answers(session(case, method, more=f"OVER {over}"))
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
@QUICK
@given(seed=SEEDS, over=st.integers(2, 5))
def test_answers_that_look_back_are_those_of_joint_paths(method: str, seed: int, over: int) -> None:
    """A tag whose readings have ended still has an end that counts."""
    case = drawn(seed, two_lengths(seed))
    same_tag = seed % 2 == 0
    expected = of_both(case, method, Asked(case.goals, same_tag=same_tag, over=over))
    ag = session(case, method, where="[tag]" if same_tag else "", more=f"OVER {over}")
    assert answers(ag) == pytest.approx(expected.tolist(), abs=1e-9)


@QUICK
@given(seed=SEEDS)
def test_correlated_tags_answer_as_their_joint_paths_do(seed: int) -> None:
    case = drawn(seed, random.Random(seed).choice(([5, 1], [4, 2], [3, 3], [1, 5])))
    expected = after_a_lag(case, 1, Asked(case.goals, same_tag=False))
    ag = session(case, "SMOOTH LAG 1 CORRELATED", where="")
    assert answers(ag) == pytest.approx(expected, abs=1e-9)


def test_after_all_readings_correlated_answers_are_those_of_the_smoother() -> None:
    case = drawn(7, [6, 4])
    expected = answers(session(case, "SMOOTH"))
    assert answers(session(case, "SMOOTH LAG 6 CORRELATED")) == pytest.approx(expected, abs=1e-12)


def test_worlds_of_a_correlated_lag_are_not_sampled() -> None:
    case = replace(drawn(7, [3, 3]), goals=[(ANYWHERE, ANYWHERE), (ANYWHERE, ANYWHERE)])
    ag = session(
        case, "FILTER CORRELATED", where="c0.place = c1.place", more="APPROXIMATE (0.1, 0.1)"
    )
    with pytest.raises(QueryError, match=r"P003.*would be sampled over at, which is CORRELATED"):
        ag.table("q")


def test_sampled_answers_lie_within_their_bound() -> None:
    """Whoever ends where anybody began: hard, for every place that was begun at may be met."""
    error, risk, told, far = 0.05, 0.01, 0, 0
    for seed in range(20):
        case = drawn(seed, two_lengths(seed), at_least=2)
        # A place that is known beforehand would make it regular.
        goals = [
            (ANYWHERE if k in (0, len(case.goals) - 1) else c, a)
            for k, (c, a) in enumerate(case.goals)
        ]
        case = replace(case, goals=goals)
        last = f"c{len(goals) - 1}"
        bound = f"APPROXIMATE ({error}, {risk})"
        ag = session(case, "FILTER", where=f"c0.place = {last}.place", more=bound)
        assert set(ag.table("q").column("method").to_pylist()) == {"sampled"}
        asked = Asked(goals, same_tag=False, same_place=True)
        found, expected = answers(ag), of_both(case, "FILTER", asked)
        told += len(found)
        far += int((np.abs(np.array(found) - expected) > error).sum())
    assert far <= max(1, 3 * risk * told)

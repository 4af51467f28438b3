"""Streams of alternatives and MARKOV tables as they are stored, against all of their worlds.

Tables are drawn at random, 8 steps of 3 values; in half of the cases one of the values is nowhere.
The oracle is `runners.all_paths`: it weighs every path by the tables' definition.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import Session
from runners.all_paths import Asked, Goals, all_paths, held

QUICK = settings(phases=(Phase.explicit, Phase.generate))
SEEDS = st.integers(0, 10**9)
STREAMS = """
CREATE STREAM at (tag STRING, place STRING, t LONG, p DOUBLE)
KEY tag TIME t ALTERNATIVES place PROBABILITY p{markov};
CREATE STREAM moves (tag STRING, t LONG, place_from STRING, place_to STRING, p DOUBLE)
KEY tag TIME t PROBABILITY p;
"""


@dataclass(frozen=True)
class Stored:
    """Tags with their first marginals (3) and tables (T - 1, 3, 3), and subgoals over places."""

    places: tuple[str | None, ...]
    tags: list[tuple[np.ndarray, np.ndarray]]
    goals: Goals


def stored(seed: int) -> Stored:
    rng, choose = np.random.default_rng(seed), random.Random(seed)
    places = ("x", "y", choose.choice(("z", None)))
    known = [k for k, place in enumerate(places) if place is not None]
    goals = []
    for _ in range(choose.randint(1, 4)):
        candidates = set(choose.sample(known, choose.randint(1, len(known))))
        accepted = set(choose.sample(sorted(candidates), choose.randint(1, len(candidates))))
        goals.append((candidates, accepted))
    tags = [
        (rng.dirichlet(np.ones(3)), rng.dirichlet(np.full(3, 0.5), (choose.randint(2, 7), 3)))
        for _ in range(choose.randint(1, 3))
    ]
    return Stored(places, tags, goals)


def marginals(first: np.ndarray, tables: np.ndarray) -> np.ndarray:
    found = [first]
    for table in tables:
        found.append(found[-1] @ table)
    return np.array(found)


def weights(first: np.ndarray, tables: np.ndarray, is_markov: bool) -> np.ndarray:
    """Return what every path weighs: step by step by the tables, or each step by itself."""
    paths, own = all_paths(len(tables) + 1), marginals(first, tables)
    found = first[paths[:, 0]]
    for t, table in enumerate(tables):
        step = table[paths[:, t], paths[:, t + 1]] if is_markov else own[t + 1, paths[:, t + 1]]
        found = found * step
    return found


def session(case: Stored, is_markov: bool, over: str = "") -> Session:
    names = [f"c{k}" for k in range(len(case.goals))]
    conditions = [
        [_one_of(case, name, goal[part]) for name, goal in zip(names, case.goals, strict=True)]
        for part in (0, 1)
    ]
    asked = (
        f"ON at PATTERN SEQ({', '.join(f'at {name}' for name in names)})"
        f" WHERE [tag] AND {' AND '.join(conditions[0])} AFTER WHERE {' AND '.join(conditions[1])}"
        " USING SKIP TILL NEXT MATCH"
    )
    ag = Session(engine="local")
    ag.sql(
        STREAMS.format(markov=" MARKOV moves" if is_markov else "")
        + f"CREATE QUERY anybody {asked} RETURN PROBABILITY BY TIME {over};"
        f"CREATE QUERY each_tag {asked} GROUP BY tag RETURN PROBABILITY BY TIME {over};"
    )
    rows, moves = _rows(case)
    ag.bind("at", rows)
    ag.bind("moves", moves)
    return ag


def _one_of(case: Stored, name: str, places: set[int]) -> str:
    parts = (f"{name}.place = '{case.places[k]}'" for k in sorted(places))
    return "(" + " OR ".join(parts) + ")"


def _rows(case: Stored) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    rows, moves = [], []
    for g, (first, tables) in enumerate(case.tags):
        for (t, k), p in np.ndenumerate(marginals(first, tables)):
            if case.places[k] is not None:
                row = {"tag": f"tag{g}", "place": case.places[k], "t": t, "p": float(p)}
                rows.append(row)
        for (t, i, j), p in np.ndenumerate(tables):
            ends = {"place_from": case.places[i], "place_to": case.places[j]}
            moves.append({"tag": f"tag{g}", "t": t, **ends, "p": float(p)})
    return rows, moves


def of_tags(case: Stored, is_markov: bool) -> list[np.ndarray]:
    """Return P(a match ends at t) of each tag."""
    return [
        weights(first, tables, is_markov) @ held(Asked(case.goals), [all_paths(len(tables) + 1)])
        for first, tables in case.tags
    ]


@pytest.mark.parametrize("is_markov", [True, False])
@QUICK
@given(seed=SEEDS)
def test_stored_tables_are_answered_as_all_their_worlds(is_markov: bool, seed: int) -> None:
    case, none = stored(seed), np.ones(8)
    by_tag = of_tags(case, is_markov)
    for chance in by_tag:
        none[: len(chance)] *= 1.0 - chance
    ag = session(case, is_markov)
    found = {row["ts"]: row["probability"] for row in ag.table("anybody").to_pylist()}
    expected = dict(enumerate((1.0 - none[: max(map(len, by_tag))]).tolist()))
    assert found == pytest.approx(expected, abs=1e-9)
    rows = ag.table("each_tag").to_pylist()
    own = {(row["tag"], row["ts"]): row["probability"] for row in rows}
    told = {(f"tag{g}", t): p for g, chance in enumerate(by_tag) for t, p in enumerate(chance)}
    every = dict.fromkeys({*own, *told}, 0.0)
    assert every | own == pytest.approx(every | told, abs=1e-9)


def looking_back(case: Stored, is_markov: bool, over: int) -> list[np.ndarray]:
    """Return P(a match of each tag ended in the last `over` of 8 steps), silent ones included."""
    found = []
    for first, tables in case.tags:
        n = len(tables) + 1
        ends = held(Asked(case.goals), [all_paths(n)])
        ends = np.pad(ends, ((0, 0), (0, 8 - n)))
        recent = [ends[:, max(0, t - over + 1) : t + 1].any(axis=1) for t in range(8)]
        found.append(weights(first, tables, is_markov) @ np.stack(recent, axis=1))
    return found


@pytest.mark.parametrize("is_markov", [True, False])
@QUICK
@given(seed=SEEDS, over=st.integers(1, 6))
def test_a_tag_that_is_not_heard_of_any_more_has_ends_that_count(
    is_markov: bool, seed: int, over: int
) -> None:
    case = stored(seed)
    by_tag = looking_back(case, is_markov, over)
    last = max(len(tables) for _, tables in case.tags)
    anybody = 1.0 - np.prod([1.0 - own for own in by_tag], axis=0)
    ag = session(case, is_markov, f"OVER {over}")
    found = {row["ts"]: row["probability"] for row in ag.table("anybody").to_pylist()}
    assert found == pytest.approx(dict(enumerate(anybody[: last + 1].tolist())), abs=1e-9)
    rows = ag.table("each_tag").to_pylist()
    own = {(row["tag"], row["ts"]): row["probability"] for row in rows}
    told = {(f"tag{g}", t): p for g, each in enumerate(by_tag) for t, p in enumerate(each)}
    told = {place: p for place, p in told.items() if place[1] <= last}
    every = dict.fromkeys({*own, *told}, 0.0)
    assert every | own == pytest.approx(every | told, abs=1e-9)

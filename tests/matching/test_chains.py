"""Probabilities by chains are those of all possible worlds, in each class of queries."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import QueryError
from matching.chain_cases import Case, independent, markovian, sequence
from oracles.model import Comp, Seq
from oracles.worlds import network

SEEDS = st.integers(min_value=0, max_value=10**9)
QUICK = settings(phases=(Phase.explicit, Phase.generate))
REFUSALS = {"A037"}
STREAMS = {"independent": independent, "markovian": markovian}


def assert_by_worlds(case: Case) -> None:
    try:
        found = case.answers()
    except QueryError as refusal:
        # What may hold no event is refused for good reason.
        if set(re.findall(r"error\[(\w+)\]", str(refusal))) <= REFUSALS:
            return
        raise
    expected = network([case.query], case.world.events, markov=case.world.chains)["q"]
    for row in set(found) | set(expected):
        assert found.get(row, 0.0) == pytest.approx(expected.get(row, 0.0), abs=1e-9), (
            row,
            case.script,
            case.world,
        )


def drawn(seed: int, kind: str, people: int, most: int, strategy: str) -> tuple[Any, Case]:
    rng = random.Random(seed)
    world = STREAMS[kind](rng, people, most)
    return rng, Case(sequence(rng, rng.randint(1, 4), strategy), world)


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("strategy", ["next", "any", "strict"])
@QUICK
@given(seed=SEEDS)
def test_regular_queries_over_one_object(kind: str, strategy: str, seed: int) -> None:
    _, case = drawn(seed, kind, 1, 5, strategy)
    assert_by_worlds(case)


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("strategy", ["next", "any", "partition"])
@QUICK
@given(seed=SEEDS)
def test_extended_regular_queries_have_one_chain_per_key(
    kind: str, strategy: str, seed: int
) -> None:
    rng, case = drawn(seed, kind, 2, 3, strategy)
    groups = rng.choice([(), ("person",)])
    assert_by_worlds(replace(case, query=replace(case.query, equate=("person",), group_by=groups)))


@pytest.mark.parametrize("kind", STREAMS)
@QUICK
@given(seed=SEEDS)
def test_regular_queries_over_several_objects_share_one_automaton(kind: str, seed: int) -> None:
    _, case = drawn(seed, kind, 2, 3, rng_strategy(seed))
    assert_by_worlds(case)


def rng_strategy(seed: int) -> str:
    return ("next", "any")[seed % 2]


@pytest.mark.parametrize("kind", STREAMS)
@QUICK
@given(seed=SEEDS)
def test_windows_are_evaluated_each_as_the_whole_input(kind: str, seed: int) -> None:
    rng, case = drawn(seed, kind, 1, 5, rng_strategy(seed))
    query = replace(case.query, probability="ever")
    if rng.random() < 0.8:
        query = replace(query, within=("time", rng.randint(1, 4)), every=rng.choice((None, 1, 2)))
    assert_by_worlds(replace(case, query=query))


@pytest.mark.parametrize("kind", STREAMS)
@QUICK
@given(seed=SEEDS)
def test_a_window_bounds_how_long_a_run_may_wait(kind: str, seed: int) -> None:
    rng, case = drawn(seed, kind, 1, 5, rng_strategy(seed))
    assert_by_worlds(replace(case, query=replace(case.query, within=("time", rng.randint(1, 3)))))


@pytest.mark.parametrize("kind", STREAMS)
@QUICK
@given(seed=SEEDS)
def test_values_of_one_object_are_met_again(kind: str, seed: int) -> None:
    rng, case = drawn(seed, kind, 1, 4, rng_strategy(seed))
    parts = getattr(case.query.pattern, "parts", ())
    names = [part.name for part in parts if isinstance(part, Comp)]
    if len(names) < max(2, len(parts)):
        return
    x, y = sorted(rng.sample(names, 2))
    # Of contradictory constants the checker and the oracle make different things.
    parts = tuple(replace(p, filter=None) if p.name in (x, y) else p for p in parts)
    equal = ("=", ("attr", x, "place"), ("attr", y, "place"))
    pinned = tuple(("=", ("attr", n, "person"), ("lit", "p0")) for n in names)
    query = replace(case.query, pattern=Seq(parts), where=(equal, *pinned))
    assert_by_worlds(replace(case, query=query))

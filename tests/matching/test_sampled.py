"""Sampled probabilities keep their bound: hard queries, and the number of worlds that it takes."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from augury import QueryError, Session
from augury.matching.sampled import sample_size
from matching.chain_cases import Case, independent, markovian, sequence
from oracles.model import Comp, Seq
from oracles.worlds import network

STREAMS = """
CREATE STREAM R (value STRING, t LONG, p DOUBLE) KEY value TIME t PROBABILITY p;
CREATE STREAM S (value STRING, t LONG, p DOUBLE) KEY value TIME t PROBABILITY p;
CREATE STREAM T (value STRING, t LONG, p DOUBLE) KEY value TIME t PROBABILITY p;
CREATE STREAM N (t LONG, p DOUBLE) TIME t PROBABILITY p;
"""
HARD = {
    "h1": "PATTERN SEQ(R r, S s) WHERE r.value < s.value USING SKIP TILL NEXT MATCH"
    " RETURN PROBABILITY BY TIME",
    "h2": "AS N(); S(x)+<{x}, >",
    "h3": "AS N(); S(x); T(x)",
    "h4": "AS R(x); N(); T(x)",
}
ON = {"h1": "R, S", "h2": "N, S", "h3": "N, S, T", "h4": "R, N, T"}


def rows(*told: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [dict(zip(("value", "t", "p"), row, strict=True)) for row in told]


def asked(name: str, clause: str = "APPROXIMATE (0.02, 0.001)") -> list[dict[str, Any]]:
    ag = Session(engine="local")
    ag.sql(f"{STREAMS} CREATE QUERY q ON {ON[name]} {HARD[name]} {clause};")
    for stream, start in (("R", 1), ("S", 3), ("T", 5)):
        ag.bind(stream, rows(*((v, start + k, 0.5) for k in (0, 1) for v in "abc")))
    ag.bind("N", [{"t": 2, "p": 0.5}, {"t": 4, "p": 0.5}])
    found: list[dict[str, Any]] = ag.table("q").to_pylist()
    return found


@pytest.mark.parametrize("name", HARD)
def test_hard_queries_are_refused_without_approximate_and_sampled_with_it(name: str) -> None:
    with pytest.raises(QueryError, match="A066"):
        asked(name, "")
    found = asked(name)
    assert {(row["method"], row["error_bound"]) for row in found} == {("sampled", 0.02)}
    assert any(0.0 < row["probability"] < 1.0 for row in found)
    assert found == asked(name)


def test_a_tighter_bound_takes_more_worlds_by_the_square() -> None:
    assert sample_size(0.1, 0.1) == 192
    assert sample_size(0.01, 0.1) / sample_size(0.1, 0.1) == pytest.approx(100, rel=0.3)


@pytest.mark.parametrize("make", [independent, markovian])
@pytest.mark.parametrize("strategy", ["next", "any"])
def test_estimates_lie_within_their_bound(make: Any, strategy: str) -> None:
    error, risk, rows_seen, far = 0.05, 0.01, 0, 0
    for seed in range(30):
        rng = random.Random(seed)
        world = make(rng, 2, 3)
        query = sequence(rng, rng.randint(2, 3), strategy, negated=0.0)
        comps = tuple(replace(part, minimum=1, maximum=1) for part in query.pattern.parts)
        equal = ("=", ("attr", "c0", "place"), ("attr", comps[-1].name, "place"))
        query = replace(query, pattern=Seq(comps), where=(equal,))
        assert all(isinstance(part, Comp) for part in comps)
        case = Case(query, world)
        found = case.answers(f"APPROXIMATE ({error}, {risk})")
        expected = network([query], world.events, markov=world.chains)["q"]
        rows_seen += len(found)
        far += sum(abs(p - expected.get(row, 0.0)) > error for row, p in found.items())
    assert far <= max(1, 3 * risk * rows_seen)

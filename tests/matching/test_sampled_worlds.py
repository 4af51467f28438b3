"""Worlds that are sampled one by one keep the bound, for conditions over several events."""

from __future__ import annotations

import random
import tracemalloc
from dataclasses import replace
from typing import Any

import pytest

from augury import Session
from augury.evaluation.probability import lineage_probability
from matching.chain_cases import Case, independent, markovian, sequence
from oracles.model import Comp, Query, Seq
from oracles.worlds import network

ERROR, RISK = 0.1, 0.05
# What the rows of a probability are asked for, besides the pattern.
ASKED: dict[str, dict[str, Any]] = {
    "by time": {"probability": "by time"},
    "over": {"probability": "by time", "over": 2},
    "ever": {"probability": "ever"},
    "windows": {"probability": "ever", "within": ("time", 2), "every": 1},
    "by person": {"probability": "by time", "equate": ("person",), "group_by": ("person",)},
}


def distant(rng: random.Random, strategy: str, asked: str) -> Query:
    """Return a sequence whose first place comes before its last one in the alphabet."""
    query = sequence(rng, rng.randint(2, 3), strategy, negated=0.0)
    comps = tuple(replace(part, minimum=1, maximum=1) for part in query.pattern.parts)
    assert all(isinstance(part, Comp) for part in comps)
    order = ("<", ("attr", "c0", "place"), ("attr", comps[-1].name, "place"))
    return replace(query, pattern=Seq(comps), where=(order,), **ASKED[asked])


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("make", [independent, markovian])
@pytest.mark.parametrize("strategy", ["next", "any"])
def test_estimates_lie_within_their_bound(
    make: Any, strategy: str, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small windows would be valued exactly.
    monkeypatch.setattr(lineage_probability, "FEW_MATCHES", 0)
    seen = far = 0
    for seed in range(6):
        rng = random.Random(seed)
        world, query = make(rng, 2, 3), distant(rng, strategy, asked)
        found = Case(query, world).answers(f"APPROXIMATE ({ERROR}, {RISK})")
        expected = network([query], world.events, markov=world.chains)["q"]
        rows = {*found, *expected}
        seen += len(rows)
        far += sum(abs(found.get(row, 0.0) - expected.get(row, 0.0)) > ERROR for row in rows)
    assert seen > 0
    assert far <= max(1, 3 * RISK * seen)


SCRIPT = """
CREATE STREAM R (x LONG, t LONG, p DOUBLE) KEY x TIME t PROBABILITY p;
CREATE STREAM S (y LONG, t LONG, p DOUBLE) KEY y TIME t PROBABILITY p;
CREATE QUERY q ON R, S {query} APPROXIMATE (0.1, 0.1);
"""
SIGMA = "AS sigma{x<y}(R(x); S(y))"


def asked(query: str, n: int) -> list[dict[str, Any]]:
    """Return the answer over n certain or likely rows, by turns of R and S."""
    ag, rng = Session(engine="local"), random.Random(1)
    ag.sql(SCRIPT.format(query=query))
    for stream, column, at in (("R", "x", 0), ("S", "y", 1)):
        rows = [{column: rng.randrange(50), "t": 2 * k + at, "p": 0.9} for k in range(n // 2)]
        ag.bind(stream, rows)
    found: list[dict[str, Any]] = ag.table("q").to_pylist()
    return found


@pytest.mark.parametrize(
    "query",
    [
        SIGMA,
        "PATTERN SEQ(R r, S s) WHERE r.x < s.y RETURN PROBABILITY BY TIME",
        "PATTERN SEQ(R r, S s) WHERE r.x < s.y RETURN PROBABILITY",
    ],
)
def test_no_match_is_listed_but_those_of_one_world(
    query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are a million possible matches; of each start, or end, one is enough."""
    monkeypatch.setenv("AUGURY_STEP_MATCH_LIMIT", "60000")
    asked(query, 20)
    tracemalloc.start()
    found = asked(query, 2000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert {row["method"] for row in found} == {"sampled"}
    assert any(row["probability"] > 0.0 for row in found)
    assert most < 50 * 2**20


def test_the_same_question_gets_the_same_answer() -> None:
    assert asked(SIGMA, 100) == asked(SIGMA, 100)


def test_without_sampling_a_markov_query_over_several_events_is_refused_with_what_to_write() -> (
    None
):
    rng = random.Random(1)
    case = Case(distant(rng, "next", "by time"), markovian(rng, 2, 3))
    with pytest.raises(Exception, match="APPROXIMATE"):
        case.answers()

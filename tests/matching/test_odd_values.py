"""NULL, NaN, great numbers and ties leave probabilities what they are in all possible worlds."""

from __future__ import annotations

import re

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import QueryError, Session
from matching.probability_cases import drawn, known
from oracles.worlds import network

SEEDS = st.integers(min_value=0, max_value=10**9)
QUICK = settings(phases=(Phase.explicit, Phase.generate))
# What is hard by time, what can be empty, a repetition without a window, and one under next-match.
REFUSALS = {"A066", "A037", "A021", "P003"}


@QUICK
@given(seed=SEEDS)
def test_probabilities_are_those_of_all_possible_worlds(seed: int) -> None:
    judge(seed)


def judge(seed: int) -> bool:
    """Compare engine and oracle on one question; return whether it was answered, and may hold."""
    asked = drawn(seed)
    try:
        found = asked.answers()
    except QueryError as refusal:
        if set(re.findall(r"error\[(\w+)\]", str(refusal))) <= REFUSALS:
            return False
        raise
    expected = known(network([asked.query], asked.case.events)["q"])
    told = (seed, asked.script, asked.case.events)
    assert found.keys() == expected.keys(), (found, expected, told)
    for row, p in expected.items():
        assert found[row] == pytest.approx(p, abs=1e-9), (row, found, expected, told)
    return bool(expected)


FOREIGN = """
CREATE STREAM s (id LONG, k STRING, c STRING, t LONG, p DOUBLE)
ID id KEY k TIME t TYPE c PROBABILITY p;
CREATE QUERY q ON s PATTERN SEQ(A a, !C c, B b) USING PARTITION CONTIGUITY {returns};
"""


@pytest.mark.parametrize("returns", ["RETURN PROBABILITY", "WITHIN 5 RETURN PROBABILITY"])
def test_events_of_other_keys_are_forbidden_where_no_key_is_equated(returns: str) -> None:
    ag = Session(engine="local")
    ag.sql(FOREIGN.format(returns=returns))
    events = [(1, "y", "A", 0, 1.0), (2, "x", "C", 1, 0.5), (3, "y", "B", 2, 1.0)]
    names = ("id", "k", "c", "t", "p")
    ag.bind("s", [dict(zip(names, event, strict=True)) for event in events])
    assert ag.table("q").column("probability").to_pylist() == [0.5]

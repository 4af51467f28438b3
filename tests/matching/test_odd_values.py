"""NULL, NaN, great numbers and ties leave probabilities what they are in all possible worlds."""

from __future__ import annotations

import re

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import QueryError
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

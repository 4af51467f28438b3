"""What decisions reach, beside the best that could be kept: every subset of a small stream."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury.privacy.policy import Decider, utility
from oracles.policies import Oracle, Row, Sequence, expected_matches
from privacy.test_decisions import close, core, event, policies, streams
from privacy.test_examples import CASES


def optimum(oracle: Oracle, rows: list[list[Row]]) -> tuple[float, list[list[Row]]]:
    """Return the greatest utility of what may be kept, and of equal ones the most events."""
    best: tuple[float, list[list[Row]]] = (-math.inf, [])
    for size in range(len(rows), -1, -1):
        for chosen in combinations(rows, size):
            kept = list(chosen)
            gone = [faces for faces in rows if faces not in kept]
            if any(faces[0]["type"] in oracle.bound for faces in gone):
                continue
            if any(w == math.inf and expected_matches(each, kept) for each, w in oracle.private):
                continue
            worth = oracle.worth(kept)
            if worth > best[0] + 1e-9:
                best = worth, kept
    return best


def thesis(method: str) -> tuple[Oracle, list[list[Row]]]:
    """Return the example of the thesis, without its last A, as the oracle has it."""

    def sequence(name: str, types: str) -> Sequence:
        none = ((),) * (len(types) + 1)
        return Sequence(name, tuple((kind, None) for kind in types), 10, none)

    case = CASES["the_thesis_without_a10"]
    public = [(sequence("q1", "BCD"), 5.0), (sequence("q2", "AB"), 20.0)]
    public.append((sequence("q3", "DE"), 20.0))
    rows = [[each | {"k": "x"}] for each in case.stream]
    past = [[each | {"k": "x"}] for each in case.history]
    return Oracle(public, [(sequence("p1", "ACE"), 10.0)], set(), method, past), rows


@pytest.mark.parametrize(("method", "worth"), [("TYPES", 60.0), ("GREEDY", 60.0), ("RATES", 65.0)])
def test_the_example_of_the_thesis_is_worth_what_it_says(method: str, worth: float) -> None:
    oracle, rows = thesis(method)
    decider = Decider(core(oracle), map(event, oracle.history))
    kept = [faces for faces in rows if decider.decide(event(faces)).kept]
    assert oracle.worth(kept) == worth
    assert oracle.worth(rows) == 60.0


def test_the_best_of_the_example_of_the_thesis_lacks_one_event() -> None:
    best, kept = optimum(*thesis("RATES"))
    assert best == 65.0
    assert " ".join(faces[0]["id"] for faces in kept) == "a0 b2 d6 e8 b12 c14 d16 e18"


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_nothing_that_is_decided_is_worth_more_than_the_best(data: st.DataObject) -> None:
    oracle = data.draw(policies(data.draw(st.sampled_from(["GREEDY", "RATES"]))))
    rows = [[faces[0] | {"p": 1.0}] for faces in data.draw(streams(8, 0, 0))]
    policy = core(oracle)
    decider = Decider(policy, map(event, oracle.history))
    kept = [faces for faces in rows if decider.decide(event(faces)).kept]
    best, most = optimum(oracle, rows)
    assert oracle.worth(kept) <= best + 1e-9
    assert close(utility(policy, list(map(event, most))), best)
    assert close(utility(policy, list(map(event, kept))), oracle.worth(kept))

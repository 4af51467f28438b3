"""AFTER MATCH SKIP takes, in each world, the matches that the definition takes."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from matching.as_text import Case, engine_answers, session_of
from matching.random_cases import CONSTRUCTS, positive, random_case
from matching.test_against_worlds import assert_equal, keyed, pushed
from oracles.model import Comp, Not, Or, Rounds, Seq
from oracles.worlds import network

STRATEGIES = ("any", "next", "strict", "partition")
SEEDS = st.integers(min_value=0, max_value=10**9)
QUICK = settings(phases=(Phase.explicit, Phase.generate))
# Of derived events at once it is the id that decides, which is the engine's own.
KINDS = sorted(set(CONSTRUCTS) - {"hierarchy", "ties_of_derived_events"})


def first_components(node: Any) -> set[str]:
    """Return the components with which a match may begin."""
    match node:
        case Comp():
            return {node.name}
        case Not():
            return set()
        case Rounds():
            return first_components(node.part)
        case Seq():
            found: set[str] = set()
            for part in node.parts:
                found |= first_components(part)
                if part.minimum if isinstance(part, Rounds) else any_needed(part):
                    break
            return found
        case Or():
            return {name for part in node.parts for name in first_components(part)}
    return {c.name for c in positive(node)}


def any_needed(node: Any) -> bool:
    return any(c.minimum for c in positive(node))


def always_there(node: Any) -> set[str]:
    """Return the components that every match has."""
    match node:
        case Comp():
            return {node.name} if node.minimum else set()
        case Not() | Or() | Rounds(minimum=0):
            return set()
        case Rounds():
            return always_there(node.part)
    if hasattr(node, "comp"):
        return {node.comp.name}
    return {name for part in node.parts for name in always_there(part)}


def skipping(construct: str, strategy: str, seed: int, *, certain: bool) -> Case:
    """Return a random case whose query has AFTER MATCH."""
    case, rng = random_case(construct, strategy, seed), random.Random(seed)
    query = case.queries[-1]
    # What equates attributes of all components parts the matches: that is said by [...] here.
    where = tuple(e for e in query.where if e[0] != "=")
    targets = sorted(always_there(query.pattern) - first_components(query.pattern))
    choices = [("past last",), ("past last",), ("next",)]
    choices += [(which, name) for name in targets for which in ("first", "last")]
    query = replace(query, where=where, after_match=rng.choice(choices))
    case = replace(case, queries=(*case.queries[:-1], query))
    if certain:
        events = tuple(replace(e, p=1.0, group=None) for e in case.events)
        case = replace(case, events=events, certain=True)
    return case


def judge(case: Case) -> None:
    found, expected = engine_answers(case), network(case.queries, case.events)
    for query in case.queries:
        assert_equal(found[query.name], expected[query.name], case)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("certain", [True, False])
@QUICK
@example(construct="ties", seed=108964)  # starts at once, of which the id decides
@example(construct="windows_around_neighbours", seed=178)
@given(construct=st.sampled_from(KINDS), seed=SEEDS)
def test_what_is_taken_is_taken_in_each_world(
    construct: str, strategy: str, certain: bool, seed: int
) -> None:
    judge(skipping(construct, strategy, seed, certain=certain))


@pytest.mark.parametrize("strategy", STRATEGIES)
@QUICK
@given(construct=st.sampled_from(KINDS), seed=SEEDS)
def test_pushed_rows_are_taken_as_bound_ones_are(construct: str, strategy: str, seed: int) -> None:
    case = skipping(construct, strategy, seed, certain=True)
    if case.queries[-1].within is None:
        query = replace(case.queries[-1], within=("time", 100))
        case = replace(case, queries=(*case.queries[:-1], query))
    bound = session_of(case).table(case.queries[-1].name).to_pylist()
    assert_equal(pushed(case, random.Random(seed)), keyed(bound), case)

"""The engine cannot be told from brute force: the same matches, the same confidences.

Every case is a random pair of query and stream (`random_cases`); its number is drawn by hypothesis,
so a failure names construct, strategy and seed. How many cases each pair of construct and strategy
gets is the profile's `max_examples`: 200 in `make test`, 5,000 in `make fuzz`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from matching.as_text import Case, declared, engine_answers, query_text, session_of, stream_table
from matching.random_cases import CONSTRUCTS, Maker, large, random_case
from oracles.model import Comp, First, Last, Next, Not, Rounds, Seq
from oracles.worlds import network

STRATEGIES = ("any", "next", "strict", "partition")
SEEDS = st.integers(min_value=0, max_value=10**9)
# A smaller seed is no simpler case, so there is nothing to shrink.
QUICK = settings(phases=(Phase.explicit, Phase.generate))
HALF = settings(QUICK, max_examples=max(5, settings().max_examples // 2))
RARE = settings(QUICK, max_examples=max(1, settings().max_examples // 50))

Answers = Mapping[Any, float]


def told(case: Case) -> str:
    """Return a case in words, for a failure's report."""
    events = "\n".join(f"  {e}" for e in case.events)
    return "\n".join([*(query_text(q) for q in case.queries), events])


def assert_equal(found: Answers, expected: Answers, case: Case) -> None:
    assert set(found) == set(expected), told(case)
    far = {k: (found[k], expected[k]) for k in found if abs(found[k] - expected[k]) > 1e-9}
    assert far == {}, told(case)


def asked(case: Case) -> Answers:
    return engine_answers(case)[case.queries[-1].name]


def judge(case: Case) -> bool:
    """Compare engine and oracle on every query of a case; return whether there was a match."""
    found, expected = engine_answers(case), network(case.queries, case.events)
    for query in case.queries:
        assert_equal(found[query.name], expected[query.name], case)
    return bool(expected[case.queries[-1].name])


@pytest.mark.rotating(2)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("construct", CONSTRUCTS)
@QUICK
@given(seed=SEEDS)
def test_matches_and_confidences_are_those_of_all_possible_worlds(
    construct: str, strategy: str, seed: int
) -> None:
    judge(random_case(construct, strategy, seed))


@pytest.mark.parametrize(
    ("construct", "strategy", "seed"),
    [
        # A default that names the other side, in a key that is NULL.
        ("nesting", "any", 445390),
        ("conditions", "next", 2097151),
        ("conditions", "partition", 251),
    ],
)
def test_cases_that_once_differed_agree(construct: str, strategy: str, seed: int) -> None:
    judge(random_case(construct, strategy, seed))


@pytest.mark.parametrize("strategy", STRATEGIES)
@RARE
@given(seed=SEEDS)
def test_up_to_fourteen_events_are_uncertain(strategy: str, seed: int) -> None:
    judge(large(Maker(random.Random(seed)), strategy))


@pytest.mark.slow
def test_most_random_cases_have_matches() -> None:
    cases = [(c, s, seed) for c in CONSTRUCTS for s in STRATEGIES for seed in range(10)]
    found = sum(bool(asked(random_case(*case))) for case in cases)
    assert found > 0.6 * len(cases)


# --- laws ---


def with_strategy(case: Case, strategy: str) -> Case:
    last = replace(case.queries[-1], strategy=strategy)
    return replace(case, queries=(*case.queries[:-1], last))


def assert_within(inner: Answers, outer: Answers, case: Case) -> None:
    """Assert that every match of `inner` is one of `outer`, and no less likely there."""
    assert set(inner) <= set(outer), told(case)
    assert all(inner[k] <= outer[k] + 1e-9 for k in inner), told(case)


def ends_openly(node: Any) -> bool:
    """Tell whether a repetition or an option may stand at the end of a pattern."""
    match node:
        case Comp():
            return (node.minimum, node.maximum) != (1, 1)
        case Not() | First() | Last():
            return False
        case Rounds():
            return True
        case Seq() | Next():
            # What may be absent lets what stands before it be the end.
            closed = next((p for p in reversed(node.parts) if not isinstance(p, Not)), None)
            return closed is not None and ends_openly(closed)
        case _:
            return any(ends_openly(part) for part in node.parts)


@HALF
@given(construct=st.sampled_from(sorted(set(CONSTRUCTS) - {"until"})), seed=SEEDS)
def test_strict_and_next_lie_within_any_and_strict_within_next_but_for_open_ends(
    construct: str, seed: int
) -> None:
    case = random_case(construct, "any", seed)
    any_, next_, strict = (asked(with_strategy(case, s)) for s in ("any", "next", "strict"))
    assert_within(next_, any_, case)
    assert_within(strict, any_, case)
    if not ends_openly(case.queries[-1].pattern):
        assert_within(strict, next_, case)


@HALF
@given(seed=SEEDS)
def test_where_the_key_is_equated_partition_contiguity_lies_between(seed: int) -> None:
    case = random_case("keys", "any", seed)
    query = replace(case.queries[-1], equate=("tag",))
    events = [replace(e, attrs={**e.attrs, "tag": e.attrs["tag"] or "red"}) for e in case.events]
    events = [replace(e, key=(e.attrs["tag"],)) for e in events]
    case = replace(case, queries=(query,), events=tuple(events), key=("tag",))
    next_, partition, strict = (
        asked(with_strategy(case, s)) for s in ("next", "partition", "strict")
    )
    if not ends_openly(query.pattern):
        assert_within(partition, next_, case)
        assert_within(strict, partition, case)


@HALF
@given(
    construct=st.sampled_from(sorted(CONSTRUCTS)), strategy=st.sampled_from(STRATEGIES), seed=SEEDS
)
def test_where_all_is_certain_so_are_the_answers(construct: str, strategy: str, seed: int) -> None:
    case = random_case(construct, strategy, seed)
    certain = tuple(replace(e, p=1.0, group=None) for e in case.events)
    case = replace(case, events=certain)
    assert set(asked(case).values()) <= {1.0}
    judge(case)


@HALF
@given(
    construct=st.sampled_from(sorted(CONSTRUCTS)),
    strategy=st.sampled_from(STRATEGIES),
    seed=SEEDS,
    limits=st.tuples(st.floats(0.0, 0.6), st.floats(0.0, 0.6)),
)
def test_a_lower_threshold_only_adds_matches(
    construct: str, strategy: str, seed: int, limits: tuple[float, float]
) -> None:
    case = random_case(construct, strategy, seed)
    low, high = (
        asked(replace(case, queries=(*case.queries[:-1], replace(q, threshold=(limit, False)))))
        for q in case.queries[-1:]
        for limit in sorted(limits)
    )
    assert set(high) <= set(low), told(case)
    assert all(low[k] == pytest.approx(high[k], abs=1e-12) for k in high), told(case)


@HALF
@given(
    construct=st.sampled_from(sorted(CONSTRUCTS)), strategy=st.sampled_from(STRATEGIES), seed=SEEDS
)
def test_the_order_of_rows_changes_nothing(construct: str, strategy: str, seed: int) -> None:
    case = random_case(construct, strategy, seed)
    events = list(case.events)
    random.Random(seed).shuffle(events)
    assert_equal(asked(replace(case, events=tuple(events))), asked(case), case)


def ids(case: Case) -> list[str]:
    return session_of(case).table(case.queries[-1].name).column("match_id").to_pylist()


@HALF
@given(
    construct=st.sampled_from(sorted(CONSTRUCTS)), strategy=st.sampled_from(STRATEGIES), seed=SEEDS
)
def test_ids_are_distinct_and_the_same_in_every_run(
    construct: str, strategy: str, seed: int
) -> None:
    case = random_case(construct, strategy, seed)
    first = ids(case)
    assert len(set(first)) == len(first)
    assert ids(case) == first
    assert sorted(ids(replace(case, events=case.events[::-1]))) == sorted(first)


@HALF
@given(strategy=st.sampled_from(STRATEGIES), seed=SEEDS)
def test_the_order_of_keys_changes_nothing(strategy: str, seed: int) -> None:
    case = random_case("keys", strategy, seed)
    other = {"red": "zebra", "blue": "ant", None: None}
    renamed = [
        replace(
            e,
            attrs={**e.attrs, "tag": other[e.attrs["tag"]]},
            key=tuple(other.get(k, k) for k in e.key),
        )
        for e in case.events
    ]
    assert_equal(asked(replace(case, events=tuple(renamed))), asked(case), case)


def pushed(case: Case, rng: random.Random) -> Answers:
    """Return what the asked query answers when events come one by one, or a few at a time."""
    ag = declared(case)
    events = sorted(case.events, key=lambda e: e.ts)
    whole = replace(case, events=tuple(events))
    rows = {stream: iter(stream_table(whole, stream).to_pylist()) for stream in case.streams}
    found, k = [], 0
    while k < len(events):
        size = rng.choice((1, 1, 2, 3))
        for stream in case.streams:
            coming = [e for e in events[k : k + size] if e.stream == stream]
            found += ag.push(stream, [next(rows[stream]) for _ in coming])
        k += size
    found += ag.finish()
    return keyed(row for row in found if row["query"] == case.queries[-1].name)


def keyed(matches: Iterable[Mapping[str, Any]]) -> Answers:
    return {match_key(row): row["confidence"] for row in matches}


def match_key(row: Mapping[str, Any]) -> Any:
    taken: dict[str, list[Any]] = {}
    for item in row["events"]:
        # Alternatives share the ID.
        told_apart = item["event_id"], item["ts"], item["probability"]
        taken.setdefault(item["component"], []).append(told_apart)
    return frozenset((name, tuple(events)) for name, events in taken.items())


@HALF
@given(
    construct=st.sampled_from(sorted(CONSTRUCTS)), strategy=st.sampled_from(STRATEGIES), seed=SEEDS
)
def test_the_cut_into_batches_changes_nothing(construct: str, strategy: str, seed: int) -> None:
    case = random_case(construct, strategy, seed)
    if case.queries[-1].within is None:
        query = replace(case.queries[-1], within=("time", 100))
        case = replace(case, queries=(*case.queries[:-1], query))
    bound = session_of(case).table(case.queries[-1].name).to_pylist()
    assert_equal(pushed(case, random.Random(seed)), keyed(bound), case)

"""EDGES tries conditions over several events as soon as their events are bound."""

from __future__ import annotations

import random
import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury import Session
from augury.evaluation.stages.forecast import ForecastStage
from forecast.staging import stage_of
from forecast.test_stage import assert_same, in_steps, told
from oracles.joint_edges import Event, Trials, after_all, place_of

STREAMS = """
    CREATE STREAM s (kind STRING, v LONG, t LONG) TIME t TYPE kind;
    CREATE STREAM history (kind STRING, v LONG, t LONG) TIME t TYPE kind;
"""
# The v of an A is 1, so that both say the same.
JOINT, SINGLE = "b.v > a.v", "b.v > 1"
PATTERNS = ("SEQ(A a, B b)", "SEQ(A a, B b, C c)", "SEQ(A a, X x, B b)", "SEQ(A a, OR(B b, C c))")
STRATEGIES = ("SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH", "STRICT")


def rows(seed: int, count: int) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    kinds = [draw.choice("AABBCX") for _ in range(count)]
    return [
        {"kind": kind, "v": 1 if kind == "A" else draw.choice((0, 2)), "t": t}
        for t, kind in enumerate(kinds)
    ]


def script(condition: str, case: tuple[str, str, str, str]) -> str:
    pattern, strategy, learns, how = case
    return f"""{STREAMS}
        CREATE QUERY q ON s PATTERN {pattern} WHERE {condition} USING {strategy};
        CREATE FORECAST f ON q WITHIN 3 EVENTS USING EDGES LEARN {learns} RETURN FORECAST BY {how};
    """


@pytest.mark.parametrize("how", ["MATCH", "TIME"])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_condition_that_one_event_decides_may_name_another(
    pattern: str, strategy: str, how: str
) -> None:
    for seed, learns in ((1, "FROM history"), (2, "ONLINE"), (3, "FROM history ONLINE")):
        found = []
        for condition in (JOINT, SINGLE):
            ag = Session(engine="local")
            ag.sql(script(condition, (pattern, strategy, learns, how)))
            ag.bind("history", rows(seed, 60))
            ag.bind("s", rows(seed + 10, 25))
            found.append(ag.table("f").to_pylist())
        assert found[0] or strategy == "STRICT"
        assert_same(*found)


def test_a_condition_over_times_decides_what_lives() -> None:
    ag = Session(engine="local")
    ag.sql(f"""{STREAMS}
        CREATE QUERY q ON s SUBSCRIPTION a; b@(t(b) - t(a) < 5) WITH a: kind = 'A', b: kind = 'B'
        USING SKIP TILL NEXT MATCH;
        CREATE FORECAST f ON q WITHIN 1 EVENTS LEARN FROM history RETURN FORECAST BY MATCH;
    """)
    past = [("A", 0), ("B", 9), ("X", 20), ("A", 30), ("B", 31)]
    ag.bind("history", [{"kind": kind, "v": 0, "t": t} for kind, t in past])
    ag.bind("s", [{"kind": "A", "v": 0, "t": 0}])
    (row,) = ag.table("f").to_pylist()
    # The first A stays at every event: both B's are too far. The second A has its B: one of five.
    assert row["forecast"] == pytest.approx(1 / 5)
    assert row["method"] == "approximate"


@pytest.mark.parametrize("how", ["MATCH", "TIME"])
def test_what_conditions_look_at_is_stored(how: str) -> None:
    case = ("SEQ(A a, B b)", "SKIP TILL NEXT MATCH", "FROM history", how)
    history, stream = rows(5, 60), rows(6, 20)

    def make() -> ForecastStage:
        return stage_of(script(JOINT, case), history)

    assert_same(in_steps(make, stream, stores=True), told(make(), stream))


# What repeats, and what is negated ----------------------------------------------------------------


def values_of(events: Sequence[Event]) -> list[int]:
    return [v for _, _, v in events]


def is_rising(bound: Mapping[str, list[Event]]) -> bool:
    return all(x < y for x, y in pairwise(values_of(bound.get("b", []))))


def is_above_first(bound: Mapping[str, list[Event]]) -> bool:
    own = values_of(bound.get("b", []))
    return all(v > own[0] for v in own[1:]) and all(v > bound["a"][0][2] for v in own)


def is_below_last(bound: Mapping[str, list[Event]]) -> bool:
    return all(c < b for c in values_of(bound.get("c", [])) for b in values_of(bound.get("b", [])))


CONDITIONS = {
    "rising": ("b[i].v > b[i-1].v", is_rising, ""),
    "above": ("b[i].v > b[1].v AND b[i].v > a.v", is_above_first, ""),
    "below": ("c.v < b[i].v", is_below_last, ""),
    "negated": ("n.v > a.v", lambda bound: True, "!X n, "),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("condition", CONDITIONS)
@settings(max_examples=max(60, settings().max_examples // 3))
@given(seed=st.integers(min_value=0, max_value=10**9))
def test_repetitions_and_negations_are_tried_one_by_one(
    condition: str, strategy: str, seed: int
) -> None:
    draw = random.Random(f"{condition} {strategy} {seed}")
    text, holds, negated = CONDITIONS[condition]
    made = [
        [(f"{name}{k}", draw.choice("AABBBCX"), draw.randrange(3)) for k in range(count)]
        for name, count in (("h", draw.randint(8, 16)), ("s", draw.randint(1, 6)))
    ]
    horizon = draw.randint(1, 4)
    kind = {"SKIP TILL ANY MATCH": "ANY", "SKIP TILL NEXT MATCH": "NEXT"}.get(strategy, "STRICT")
    meant = (lambda x, a: x[2] > a[2]) if negated else None
    oracle = after_all(Trials(kind, holds, meant), *made)
    ag = Session(engine="local")
    columns = "(id STRING, kind STRING, v LONG, t LONG) ID id TIME t TYPE kind"
    ag.sql(f"""
        CREATE STREAM s {columns}; CREATE STREAM history {columns};
        CREATE QUERY q ON s PATTERN SEQ(A a, {negated}B+ b, C c) WHERE {text} USING {strategy};
        CREATE FORECAST f ON q WITHIN {horizon} EVENTS LEARN FROM history;
    """)
    for name, own in zip(("history", "s"), made, strict=True):
        rows = [{"id": i, "kind": k, "v": v, "t": t} for t, (i, k, v) in enumerate(own)]
        ag.bind(name, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = [row for row in ag.table("f").to_pylist() if row["ts"] == len(made[1]) - 1]
    found = {tuple(e["event_id"] for e in row["events"]): row["forecast"] for row in told}
    values = {
        tuple(event[0] for _, event in part): oracle.value(place_of(part), horizon)
        for part in oracle.alive
    }
    wanted = {part: value for part, value in values.items() if value}
    assert found == pytest.approx(wanted)

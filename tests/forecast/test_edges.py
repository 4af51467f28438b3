"""EDGES counts trials, and says what these say: against an oracle that counts them one by one."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from augury import Session
from oracles.edges import Event, Pattern, after_all

STRATEGIES = {"ANY": "SKIP TILL ANY MATCH", "NEXT": "SKIP TILL NEXT MATCH", "STRICT": "STRICT"}
# Cases take some milliseconds, so that a run has 200 of each shape, and more where more are asked.
MANY = max(70, settings().max_examples // 3)
CASES = settings(phases=(Phase.explicit, Phase.generate), max_examples=MANY)
COLUMNS = "(id STRING, kind STRING, t LONG) ID id TIME t TYPE kind"


def some_pattern(draw: random.Random, shape: str, strategy: str) -> tuple[str, Pattern]:
    """Return a pattern as text, and as the oracle has it."""
    kinds = [draw.choice("ABC") for _ in range(draw.randint(2, 3))]
    parts = [f"{kind} c{k}" for k, kind in enumerate(kinds)]
    if shape == "neighbours":
        return f"NEXT({', '.join(parts)})", Pattern(kinds, "ANY", neighbours=True)
    if shape == "sequence":
        return f"SEQ({', '.join(parts)})", Pattern(kinds, strategy)
    gap, forbidden = draw.randint(1, len(kinds) - 1), draw.choice("ABCX")
    parts.insert(gap, f"!{forbidden} n")
    return f"SEQ({', '.join(parts)})", Pattern(kinds, strategy, forbidden=forbidden, gap=gap)


def events(draw: random.Random, name: str, count: int) -> list[Event]:
    return [(f"{name}{k}", draw.choice("AABBCX")) for k in range(count)]


def last_rows(
    text: str, how: str, horizon: int, streams: list[list[Event]]
) -> list[dict[str, Any]]:
    ag = Session(engine="local")
    ag.sql(f"""
        CREATE STREAM s {COLUMNS}; CREATE STREAM history {COLUMNS};
        CREATE QUERY q ON s PATTERN {text};
        CREATE FORECAST f ON q WITHIN {horizon} EVENTS USING EDGES LEARN FROM history
        RETURN FORECAST BY {how};
    """)
    for name, own in zip(("history", "s"), streams, strict=True):
        ag.bind(name, [{"id": i, "kind": kind, "t": t} for t, (i, kind) in enumerate(own)])
    last = len(streams[1]) - 1
    return [row for row in ag.table("f").to_pylist() if row["ts"] == last]


@pytest.mark.filterwarnings("ignore:forecast f")
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("shape", ["sequence", "negation", "neighbours"])
@CASES
@given(seed=st.integers(min_value=0, max_value=10**9))
def test_edges_are_trials(shape: str, strategy: str, seed: int) -> None:
    draw = random.Random(f"{shape} {strategy} {seed}")
    text, pattern = some_pattern(draw, shape, strategy)
    using = STRATEGIES["ANY"] if shape == "neighbours" else STRATEGIES[strategy]
    history, stream = events(draw, "h", draw.randint(6, 14)), events(draw, "s", draw.randint(1, 6))
    horizon = draw.randint(1, 4)
    oracle = after_all(pattern, history, stream)
    (row,) = last_rows(f"{text} USING {using}", "TIME", horizon, [history, stream])
    whole = oracle.by_time(horizon)
    assert whole is not None
    assert row["forecast"] == pytest.approx(whole[0], abs=1e-9)
    found = {
        tuple(event["event_id"] for event in row["events"]): (row["forecast"], row["expected"])
        for row in last_rows(f"{text} USING {using}", "MATCH", horizon, [history, stream])
    }
    told = {part: oracle.told(len(part), horizon, restarts=False) for part in oracle.alive}
    wanted = {part: own for part, own in told.items() if own is not None and own[0] > 0.0}
    assert found.keys() == wanted.keys()
    for part, own in wanted.items():
        assert found[part] == pytest.approx(own, abs=1e-9)

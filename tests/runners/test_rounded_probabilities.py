"""Probabilities lie in [0, 1], whatever rounding does; what comes in may be off by as much."""

from __future__ import annotations

from runners.every_runner import Runner, every_runner

PLACES = (
    "CREATE STREAM s (k STRING, v STRING, t LONG, p DOUBLE) "
    "KEY k TIME t ALTERNATIVES v PROBABILITY p;"
)
# Parts of a whole that add up to 1.0000000000000002 in floating point.
PARTS = (0.1, 0.34, 0.45, 0.11)


@every_runner
def test_a_chain_gives_no_more_than_one(runner: Runner) -> None:
    rows = [
        {"k": "x", "v": v, "t": t, "p": p}
        for t in (1, 2, 3)
        for v, p in zip("abcd", PARTS, strict=True)
    ]
    script = f"{PLACES} CREATE QUERY q ON s PATTERN SEQ(s a) RETURN PROBABILITY BY TIME;"
    end = {"s": {"k": "y", "v": "a", "t": 100, "p": 0.25}}
    found = runner(script, "q", {"s": rows}, end)
    by_time = {row["ts"]: row["probability"] for row in found}
    assert [by_time[t] for t in (1, 2, 3)] == [1.0, 1.0, 1.0]


PAIRS = """
CREATE STREAM s (id LONG, tag STRING, kind STRING, t LONG, p DOUBLE)
ID id KEY tag TIME t TYPE kind PROBABILITY p;
CREATE QUERY pairs ON s PATTERN SEQ(A a, !B n, C c) WHERE [tag] WITHIN 10;
"""
END = {"s": {"id": 99, "tag": "end", "kind": "X", "t": 10**6, "p": 1.0}}


@every_runner
def test_a_probability_off_by_rounding_is_that_of_a_certain_event(runner: Runner) -> None:
    rows = [
        {"id": 1, "tag": "x", "kind": "A", "t": 1, "p": 1.0 + 1e-10},
        {"id": 2, "tag": "x", "kind": "B", "t": 2, "p": -1e-10},
        {"id": 3, "tag": "x", "kind": "C", "t": 3, "p": 0.5},
    ]
    (found,) = runner(PAIRS, "pairs", {"s": rows}, END)
    assert found["confidence"] == 0.5
    assert [event["probability"] for event in found["events"]] == [1.0, 0.5]


@every_runner
def test_what_is_off_by_more_is_a_bad_row(runner: Runner) -> None:
    rows = [
        {"id": 1, "tag": "x", "kind": "A", "t": 1, "p": 1.0},
        {"id": 2, "tag": "x", "kind": "B", "t": 2, "p": 1.0 + 1e-8},
        {"id": 3, "tag": "x", "kind": "C", "t": 3, "p": 0.5},
    ]
    (found,) = runner(PAIRS, "pairs", {"s": rows}, END)
    assert found["confidence"] == 0.5

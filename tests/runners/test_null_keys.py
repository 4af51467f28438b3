"""NULL equals nothing: not itself, and not the NULL of another stream."""

from __future__ import annotations

import pytest

from runners.every_runner import Runner, bounded_runner, every_runner

STREAMS = """
CREATE STREAM o (l STRING, t LONG, p DOUBLE) TIME t PROBABILITY p;
CREATE STREAM x (l STRING, t LONG, p DOUBLE) TIME t PROBABILITY p;
"""
ROWS = {
    "o": [{"l": None, "t": 1, "p": 0.5}, {"l": "a", "t": 1, "p": 0.5}],
    "x": [{"l": None, "t": 2, "p": 1.0}, {"l": "b", "t": 2, "p": 1.0}],
}
END = {"o": {"l": "end", "t": 100, "p": 0.5}, "x": {"l": "other end", "t": 100, "p": 0.5}}


@bounded_runner
@pytest.mark.parametrize(
    ("pattern", "asked"),
    [
        ("SEQ(o, x)", "WITHIN 4 RETURN PROBABILITY"),
        ("SEQ(o, x)", "WITHIN 4 RETURN PROBABILITY BY TIME"),
        ("SEQ(o, x)", "WITHIN 4 EVERY 2 RETURN PROBABILITY"),
        ("SEQ(o, x)", "USING SKIP TILL NEXT MATCH WITHIN 4 RETURN PROBABILITY"),
        ("AND(o, x)", "WITHIN 4 RETURN PROBABILITY"),
    ],
)
def test_null_equals_no_null_of_another_stream(runner: Runner, pattern: str, asked: str) -> None:
    script = f"{STREAMS} CREATE QUERY q ON o, x PATTERN {pattern} WHERE o.l = x.l {asked};"
    assert {row["probability"] for row in runner(script, "q", ROWS, END)} <= {0.0}


@every_runner
def test_matches_are_of_values(runner: Runner) -> None:
    script = f"{STREAMS} CREATE QUERY q ON o, x PATTERN SEQ(o, x) WHERE o.l = x.l WITHIN 4;"
    rows = {**ROWS, "x": [*ROWS["x"], {"l": "a", "t": 3, "p": 1.0}]}
    (found,) = runner(script, "q", rows, END)
    assert (found["start_ts"], found["end_ts"]) == (1, 3)

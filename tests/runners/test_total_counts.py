"""RETURN TOTAL COUNT adds up what RETURN COUNT tells of each key."""

from __future__ import annotations

import pytest

from runners.every_runner import Row, Runner

SCRIPT = """
CREATE STREAM s (who STRING, ty STRING, t LONG, p DOUBLE) KEY who TIME t TYPE ty PROBABILITY p;
CREATE QUERY each ON s PATTERN SEQ(A a, B b) WHERE [who] WITHIN 9 RETURN COUNT;
CREATE QUERY all_of_them ON s PATTERN SEQ(A a, B b) WHERE [who] WITHIN 9 RETURN TOTAL COUNT;
"""
BOUNDED = pytest.mark.parametrize(
    "runner", ["local", pytest.param("batch", marks=pytest.mark.spark)], indirect=True
)
END = {"s": {"who": "z", "ty": "C", "t": 99, "p": 1.0}}


def rows(text: str) -> dict[str, list[Row]]:
    """Read `cA1`: who, what and when; each with probability 1/2."""
    return {"s": [{"who": w[0], "ty": w[1], "t": int(w[2:]), "p": 0.5} for w in text.split()]}


@BOUNDED
def test_a_total_is_one_row_over_all_keys(runner: Runner) -> None:
    given = rows("cA1 cB2 cB3 dA1 dB4 eA5")
    assert sorted((r["who"], r["count"]) for r in runner(SCRIPT, "each", given, END)) == [
        ("c", 2),
        ("d", 1),
    ]
    assert runner(SCRIPT, "all_of_them", given, END) == [
        {"query": "all_of_them", "count": 3, "expected": 0.75}
    ]


@BOUNDED
def test_a_total_of_nothing_is_zero(runner: Runner) -> None:
    assert runner(SCRIPT, "all_of_them", rows("cA1 dB2"), END) == [
        {"query": "all_of_them", "count": 0, "expected": 0.0}
    ]

"""A confidence of 0 is never reported: what cannot be is no match, whatever rounding says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury import Session
from runners.every_runner import Runner, every_runner

MISSED_FIRST = """
CREATE STREAM s (tag STRING, kind STRING, t LONG) KEY tag TIME t TYPE kind MISS RATE 0.1;
CREATE QUERY q ON s PATTERN SEQ(X x, Y y, Z z) WHERE [tag] WITHIN 3 ALLOW 1 MISSED OF (x);
CREATE GAPS g ON q (
    x BEFORE y EXPONENTIAL(3) REACHES 0.8, x TO y EXPONENTIAL(2), y TO z EXPONENTIAL(4)
);
"""


@every_runner
def test_nothing_was_missed_where_the_window_leaves_no_time(runner: Runner) -> None:
    rows = [{"tag": "a", "kind": kind, "t": t} for kind, t in (("Y", 7), ("Z", 10))]
    end = {"s": {"tag": "end", "kind": "N", "t": 10**6}}
    assert runner(MISSED_FIRST, "q", {"s": rows}, end) == []


def confidences(where: str, gap: str, length: int) -> list[float]:
    ag = Session(engine="local")
    ag.sql(f"""
    CREATE STREAM s (tag STRING, kind STRING, t LONG) KEY tag TIME t TYPE kind MISS RATE 0.1;
    CREATE QUERY q ON s PATTERN SEQ(X x, Y y, Z z) WHERE [tag] {where} WITHIN 100
    ALLOW 1 MISSED OF (y);
    CREATE GAPS g ON q (x TO y {gap});
    """)
    ag.bind("s", [{"tag": "a", "kind": k, "t": t} for k, t in (("X", 0), ("Z", length))])
    found: list[float] = ag.table("q").column("confidence").to_pylist()
    return found


@given(
    least=st.integers(1, 20),
    family=st.sampled_from(("EXPONENTIAL(9)", "GAMMA(9, 2)", "GAMMA(5, 0.5)", "LOGNORMAL(9, 0.5)")),
    beyond=st.sampled_from((-1, 0, 1)),
)
def test_a_bound_leaves_nothing_up_to_its_own_length(least: int, family: str, beyond: int) -> None:
    if least + beyond > 0:
        found = confidences(f"AND y.t - x.t >= {least}", family, least + beyond)
        assert len(found) == (beyond > 0)


@pytest.mark.parametrize(("length", "count"), [(5, 0), (6, 1)])
def test_a_gap_that_cannot_have_ended_leaves_nothing(length: int, count: int) -> None:
    assert len(confidences("", "UNIFORM(5, 60)", length)) == count


ALTERNATIVES = """
CREATE STREAM s (id LONG, kind STRING, t LONG, p DOUBLE) ID id TIME t
ALTERNATIVES kind PROBABILITY p;
CREATE QUERY one ON s PATTERN SEQ(_ a (a.kind = 'A'), !_ n (n.kind < 'E' AND n.kind > 'A'),
_ e (e.kind = 'E')) WITHIN 9;
CREATE QUERY two ON s PATTERN SEQ(_ a (a.kind = 'A'),
!SEQ(_ n (n.kind < 'E' AND n.kind > 'A'), _ m (m.kind = 'M')), _ e (e.kind = 'E')) WITHIN 9;
"""


def around(parts: list[float]) -> list[dict[str, Any]]:
    """Return an event that is one of several, between certain ones."""
    certain = [(1, "A", 1), (3, "M", 3), (4, "E", 4)]
    rows = [{"id": n, "kind": kind, "t": t, "p": 1.0} for n, kind, t in certain]
    rows += [{"id": 2, "kind": kind, "t": 2, "p": p} for kind, p in zip("BCD", parts, strict=True)]
    return sorted(rows, key=lambda row: row["t"])


@every_runner
@pytest.mark.parametrize("query", ["one", "two"])
def test_alternatives_that_are_one_together_leave_nothing(runner: Runner, query: str) -> None:
    end = {"s": {"id": 99, "kind": "Z", "t": 10**6, "p": 1.0}}
    assert runner(ALTERNATIVES, query, {"s": around([0.7, 0.2, 0.1])}, end) == []


@given(cuts=st.lists(st.integers(1, 99), min_size=2, max_size=2, unique=True))
def test_parts_of_a_whole_leave_nothing(cuts: list[int]) -> None:
    low, high = sorted(cuts)
    ag = Session(engine="local")
    ag.sql(ALTERNATIVES)
    ag.bind("s", around([low / 100, (high - low) / 100, (100 - high) / 100]))
    assert ag.table("one").num_rows == ag.table("two").num_rows == 0

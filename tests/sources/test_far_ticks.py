"""Ticks that cannot be counted with are rejected, wherever they come from."""

from __future__ import annotations

import pytest

from augury import Session
from augury.sources.rows import MOST_TICKS

SCRIPT = """
CREATE STREAM s (id LONG, kind STRING, t LONG) ID id TIME t TYPE kind;
CREATE QUERY q ON s PATTERN SEQ(A a, B b) WITHIN 100;
"""


@pytest.mark.parametrize("end", [MOST_TICKS, -MOST_TICKS + 3])
def test_the_farthest_ticks_are_matched(end: int) -> None:
    ag = Session(engine="local")
    ag.sql(SCRIPT)
    rows = [{"id": 1, "kind": "A", "t": end - 3}, {"id": 2, "kind": "B", "t": end}]
    ag.bind("s", rows)
    assert ag.table("q").column("end_ts").to_pylist() == [end]
    assert ag.rejected("s").num_rows == 0


@pytest.mark.parametrize("tick", [MOST_TICKS + 1, -MOST_TICKS - 1, 2**63 - 1, -(2**63)])
def test_ticks_beyond_are_rejected_at_rest_and_pushed(tick: int) -> None:
    row = {"id": 1, "kind": "A", "t": tick}
    at_rest, pushed = Session(engine="local"), Session(engine="local")
    for ag in (at_rest, pushed):
        ag.sql(SCRIPT)
    at_rest.bind("s", [row, {"id": 2, "kind": "A", "t": None}])
    pushed.push("s", row)
    reason = f"t is not a tick between -{MOST_TICKS} and {MOST_TICKS}"
    assert at_rest.rejected("s").column("reason").to_pylist() == [reason, "t is null"]
    assert pushed.rejected("s").column("reason").to_pylist() == [reason]

"""Gaps that are written down say what was learned: read back, they answer alike."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from augury import QueryError, Session

STREAMS = """
CREATE STREAM s (tag LONG, kind STRING, at TIMESTAMP) KEY tag TIME at TYPE kind MISS RATE 0.2;
CREATE STREAM h (tag LONG, kind STRING, at TIMESTAMP) KEY tag TIME at TYPE kind;
CREATE QUERY q ON s PATTERN SEQ(X x, Y y, Z z) WHERE [tag] WITHIN 9 HOURS ALLOW 1 MISSED OF (x, y);
"""
START = datetime(2026, 1, 1, tzinfo=UTC)


def read(tag: int, kind: str, seconds: float) -> dict[str, Any]:
    return {"tag": tag, "kind": kind, "at": START + timedelta(seconds=seconds)}


READS = [read(1, "X", 0), read(1, "Z", 900), read(2, "Y", 0), read(2, "Z", 60)]
HISTORY = [
    read(k, kind, t)
    for k in range(30)
    for kind, t in (("X", 0), ("Y", 40 + 15 * k), ("Z", 800 + 7 * k))
    if (k + ord(kind)) % 9
]


def session(gaps: str) -> Session:
    ag = Session(engine="local")
    ag.sql(STREAMS + gaps)
    ag.bind("s", READS)
    return ag


def test_written_down_learned_gaps_answer_alike() -> None:
    taught = session("CREATE GAPS g ON q LEARN FROM h;")
    taught.bind("h", HISTORY)
    text = taught.gaps("q")
    assert text.startswith("CREATE GAPS q_gaps ON q (x TO y ")
    assert text.endswith("-- MISS RATE (x 0.2, y 0.2, z 0.2)")
    told = session(text)
    one, other = (ag.table("q").column("confidence").to_pylist() for ag in (taught, told))
    assert len(one) == 2
    assert one == pytest.approx(other, rel=1e-4)


def test_written_gaps_are_given_as_they_are() -> None:
    gaps = "x TO y GAMMA(90.0 SECONDS, 2.0) REACHES 0.9, x BEFORE y UNIFORM(0 SECONDS, 2 MINUTES)"
    assert session(f"CREATE GAPS g ON q ({gaps});").gaps("q") == (
        "CREATE GAPS q_gaps ON q (x TO y GAMMA(90.0 SECONDS, 2.0) REACHES 0.9, "
        "x BEFORE y UNIFORM(0.0 SECONDS, 120.0 SECONDS));\n-- MISS RATE (x 0.2, y 0.2, z 0.2)"
    )


def test_a_query_without_gaps_says_so() -> None:
    assert session("").gaps("q") == "-- query q has no gaps"


def test_gaps_that_nothing_teaches_are_refused() -> None:
    with pytest.raises(QueryError, match="P003"):
        session("CREATE GAPS g ON q LEARN FROM h;").gaps("q")

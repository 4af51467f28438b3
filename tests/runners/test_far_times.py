"""Times before year 1 and after 9999, which Python has no date for: NULL, and never a crash."""

from __future__ import annotations

from typing import Any

import pytest

from augury import Session

SCRIPT = """
CREATE STREAM s (id LONG, kind STRING, at TIMESTAMP, p DOUBLE)
ID id TIME at TYPE kind PROBABILITY p;
CREATE QUERY q ON s {query};
"""
ENDS = [
    {"id": 1, "kind": "A", "at": "0001-01-01T00:00:00Z", "p": 0.5},
    {"id": 2, "kind": "B", "at": "9999-12-31T23:59:59Z", "p": 1.0},
]


def bound(query: str) -> list[dict[str, Any]]:
    ag = Session(engine="local")
    ag.sql(SCRIPT.format(query=query))
    ag.bind("s", ENDS)
    found: list[dict[str, Any]] = ag.table("q").to_pylist()
    return found


def pushed(query: str) -> list[dict[str, Any]]:
    ag = Session(engine="local")
    ag.sql(SCRIPT.format(query=query))
    return [found for row in ENDS for found in ag.push("s", row)] + ag.finish()


@pytest.mark.parametrize("pattern", ["SEQ(A a, B b)", "SEQ(A a, B b, !A c)"])
@pytest.mark.parametrize("value", ["a.at - INTERVAL 1 DAY", "b.at + INTERVAL 1 DAY"])
@pytest.mark.parametrize("form", ["{}", "CAST({} AS DATE)"])
def test_a_time_beyond_the_years_is_null_where_it_is_told(
    pattern: str, value: str, form: str
) -> None:
    query = f"PATTERN {pattern} WITHIN 5000000 DAYS RETURN {form.format(value)} AS far"
    assert [row["far"] for row in pushed(query)] == [None]


@pytest.mark.parametrize("answers", [bound, pushed])
@pytest.mark.parametrize("kind", ["TIMESTAMP", "DATE"])
def test_a_time_beyond_the_years_has_no_text(answers: Any, kind: str) -> None:
    far = f"CAST(CAST(a.at - INTERVAL 1 DAY AS {kind}) AS STRING)"
    (found,) = answers(f"PATTERN SEQ(A a, B b) WITHIN 5000000 DAYS RETURN {far} AS far")
    assert found["far"] is None


def test_a_window_that_begins_before_the_years_is_told() -> None:
    windows = pushed("PATTERN SEQ(A a) WITHIN 10 SECONDS EVERY 5 SECONDS RETURN PROBABILITY")
    assert [row["probability"] for row in windows][:2] == [0.5, 0.5]

"""Rows that are put aside are announced, once for each stream, with their number and a reason."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from augury import Session
from augury.errors import RowsWarning

SCRIPT = """
CREATE STREAM s (id LONG, tag STRING, x LONG, t LONG) ID id KEY tag TIME t;
CREATE STREAM r (t LONG) TIME t;
CREATE QUERY q ON s PATTERN s a WITHIN 9;
CREATE QUERY p ON s, r PATTERN SEQ(s a, r b) WITHIN 9;
"""


def row(number: int, **change: Any) -> dict[str, Any]:
    return {"id": number, "tag": "a", "x": 1, "t": number} | change


def announced(doing: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RowsWarning)
        doing()
    return [str(each.message) for each in caught]


def session() -> Session:
    ag = Session(engine="local")
    ag.sql(SCRIPT)
    return ag


def test_bad_rows_of_a_bound_stream_are_announced_once() -> None:
    ag = session()
    ag.bind("s", [row(1), row(2, tag=None), row(3, x=1.5), row(1)])
    ag.bind("r", [{"t": None}])
    said = "3 rows of stream s were rejected; the first: tag is null; see rejected('s')"
    assert announced(lambda: ag.table("q")) == [said]
    assert announced(lambda: ag.table("q")) == []
    other = "1 row of stream r was rejected; t is null; see rejected('r')"
    assert announced(lambda: ag.table("p")) == [other]


def test_rows_that_are_bound_anew_are_announced_anew() -> None:
    ag = session()
    for _ in range(2):
        ag.bind("s", [row(1), row(2, x="much")])
        (said,) = announced(lambda: ag.table("q"))
        assert said.startswith("1 row of stream s was rejected; x is declared LONG, but is 'much'")


def test_good_rows_are_not_announced() -> None:
    ag = session()
    ag.bind("s", [row(1)])
    assert announced(lambda: ag.table("q")) == []
    live = session()
    assert announced(lambda: (live.push("s", row(1)), live.finish())) == []


def test_pushed_rows_are_announced_with_the_first_and_counted_at_the_end() -> None:
    ag = session()
    assert announced(lambda: ag.push("s", [row(1), row(5)])) == []
    assert announced(lambda: ag.push("s", row(6, tag=None))) == [
        "1 row of stream s was rejected; tag is null; see rejected('s')"
    ]
    assert announced(lambda: ag.push("s", [row(7, tag=None), row(2)])) == [
        "1 row of stream s was left out because it came too late; "
        "t is 2, before the watermark 5; see late('s')"
    ]
    assert announced(lambda: ag.push("s", row(3))) == []
    assert announced(ag.finish) == [
        "2 rows of stream s were rejected; the first: tag is null; see rejected('s')",
        "2 rows of stream s were left out because they came too late; "
        "the first: t is 2, before the watermark 5; see late('s')",
    ]

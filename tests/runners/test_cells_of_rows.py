"""Times and numbers of one rule on every runner; one bad cell takes its row and no other."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from runners.every_runner import Row, Runner, every_runner

SCRIPT = """
CREATE STREAM s (id LONG, n LONG, ty STRING, at TIMESTAMP, day DATE) ID id TIME at TYPE ty;
CREATE QUERY q ON s PATTERN SEQ(A a, B b) WITHIN 10 DAYS
RETURN a.at AS since, b.at AS until, a.n AS n, b.day AS day;
"""
JANUARY = datetime(2026, 1, 1, tzinfo=UTC)


def rows(times: list[Any], numbers: list[Any], days: list[Any]) -> list[Row]:
    cells = zip(times, numbers, days, strict=True)
    return [
        {"id": k, "n": n, "ty": "AB"[k % 2], "at": at, "day": day}
        for k, (at, n, day) in enumerate(cells)
    ]


WAYS: dict[str, tuple[list[Any], Any]] = {
    "days": ([date(2026, 1, 1), date(2026, 1, 2)], date(2026, 4, 10)),
    "texts": (["2026-01-01T00:00", "2026-01-02T02:00+02:00"], "2026-04-10"),
}


@every_runner
@pytest.mark.parametrize("way", WAYS)
def test_times_are_the_same_moments_however_they_are_given(runner: Runner, way: str) -> None:
    times, end = WAYS[way]
    given = rows(times, [1.0, 2.0], ["2026-01-01", "2026-01-02"])
    last = {"id": 9, "n": 3.0, "ty": "C", "at": end, "day": "2026-04-10"}
    (found,) = runner(SCRIPT, "q", {"s": given}, {"s": last})
    assert (found["since"], found["until"]) == (JANUARY, JANUARY + timedelta(days=1))
    assert (found["n"], found["day"]) == (1, date(2026, 1, 2))


@every_runner
def test_one_bad_cell_takes_its_row_and_no_other(runner: Runner) -> None:
    times = ["2026-01-01", "soon", "2026-01-03", "2026-01-04", "2026-01-05", "2026-01-06"]
    numbers = [1.0, 2.0, 1.5, 4.0, 5.0, 6.0]
    midnight = [datetime(2026, 1, k + 1) for k in range(6)]
    midnight[4] = datetime(2026, 1, 5, 6)
    given = rows(times, numbers, midnight)
    last = {"id": 9, "n": 3.0, "ty": "C", "at": "2026-04-10", "day": datetime(2026, 4, 10)}
    found = runner(SCRIPT, "q", {"s": given}, {"s": last})
    assert sorted((row["since"].day, row["until"].day) for row in found) == [(1, 4), (1, 6)]

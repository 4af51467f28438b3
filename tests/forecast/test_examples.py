"""Every worked case of forecasts comes out to the last digit, over tables and over pushed rows."""

from __future__ import annotations

import random

import pytest

from augury import QueryError
from forecast.asking import Row, bound, forecasts, rows_of
from forecast.worked import CASES, Case

TOLERANCE = 1e-9 / 2 + 1e-12


def _time_after(case: Case, label: str) -> int:
    number = int(label.split(maxsplit=1)[0][1:])
    return next(row["t"] for row in rows_of(case.stream) if row["id"] == number)


@pytest.mark.parametrize("pushed", [False, True], ids=["local", "pushed"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.split()[0])
def test_partial_matches_are_forecast_as_worked_out(case: Case, pushed: bool) -> None:
    found = forecasts(case.pattern, case.forecast, case.history, case.stream, pushed=pushed)
    check_matches(case, found)


def check_matches(case: Case, found: list[Row]) -> None:
    """Compare what is told of partial matches, after each event that the case names."""
    for label, _, wanted in case.after:
        rows = [row for row in found if row["ts"] == _time_after(case, label)]
        told = {bound(row): (row["confidence"], row["forecast"], row["expected"]) for row in rows}
        assert len(told) == len(rows)
        assert told == {
            key: pytest.approx(value, abs=TOLERANCE, rel=0) for key, value in wanted.items()
        }, label


EXACT = [case for case in CASES if all(told is not None for _, told, _ in case.after)]


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name.split()[0])
def test_the_query_as_a_whole_is_forecast_as_worked_out(case: Case) -> None:
    found = forecasts(case.pattern, case.forecast, case.history, case.stream, by_time=True)
    check_by_time(case, found)


def check_by_time(case: Case, found: list[Row]) -> None:
    """Compare what is told by time, which is nothing but what the case has."""
    assert len(found) == len(case.after)
    for label, wanted, _ in case.after:
        assert wanted is not None
        (row,) = [row for row in found if row["ts"] == _time_after(case, label)]
        for column, value in zip(("forecast", "expected"), wanted, strict=True):
            if value is None:
                assert row[column] is None, (label, column)
            else:
                assert row[column] == pytest.approx(value, abs=TOLERANCE, rel=0), (label, column)


def test_by_time_is_refused_where_it_is_not_exact() -> None:
    (case,) = [case for case in CASES if case not in EXACT]
    with pytest.raises(QueryError, match="A105"):
        forecasts(case.pattern, case.forecast, case.history, case.stream, by_time=True)


# Five hot days in a row, with P(hot) = .6; the stream is cold, then hot for 0 to 4 days.
WAVE = "SEQ(H d1, H d2, H d3, H d4, H d5) USING STRICT"
DAYS = "H@1 H@2 H@3 H@4 H@5 H@6 C@7 C@8 C@9 C@10"
BY_TIME = {
    2: (0.0, 0.0, 0.0, 0.36, 0.6),
    5: (0.07776, 0.1296, 0.216, 0.36, 0.6),
    10: (0.23328, 0.281089, 0.358083, 0.481928, 0.68087),
}


@pytest.mark.parametrize("future", ["INDEPENDENT", "EDGES"])
@pytest.mark.parametrize("length", BY_TIME)
def test_a_heat_wave_is_forecast_as_the_law_has_it(length: int, future: str) -> None:
    stream = "C1@1 H2@2 H3@3 H4@4 H5@5"
    history = DAYS if future == "INDEPENDENT" else many_days()
    clauses = f"WITHIN {length} EVENTS USING {future} LEARN FROM history"
    found = forecasts(WAVE, clauses, history, stream, by_time=True)
    close = 5e-7 if future == "INDEPENDENT" else 0.03
    assert [row["forecast"] for row in found] == pytest.approx(BY_TIME[length], abs=close)


def test_a_run_of_hot_days_is_forecast_without_a_restart() -> None:
    clauses = "WITHIN 7 EVENTS USING INDEPENDENT LEARN FROM history"
    found = forecasts(WAVE, clauses, DAYS, "C1@1 H2@2 H3@3 H4@4 H5@5")
    longest = [max(row["forecast"] for row in found if row["ts"] == t) for t in (2, 3, 4, 5)]
    assert longest == pytest.approx([0.1296, 0.216, 0.36, 0.6], abs=1e-9)


def many_days() -> str:
    """Return days of which six in ten are hot, one by one."""
    draws = random.Random(5)
    return " ".join(f"{'H' if draws.random() < 0.6 else 'C'}@{t}" for t in range(1, 4_000))

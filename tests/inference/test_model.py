"""Models that are no models, and readings that no model explains."""

from __future__ import annotations

from typing import Any

import pytest

from augury.errors import DataError, ModelError
from augury.inference.model import build
from augury.inference.readings import arrange
from augury.inference.smoothing import filtered, smoothed

HALL, ROOM = ("hall",), ("room",)
MOVES = {(HALL, HALL): 0.5, (HALL, ROOM): 0.5, (ROOM, ROOM): 1.0}
READS: dict[Any, float] = {(HALL, "A", None): 0.6}


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ((None, {(HALL, HALL): 0.9, (ROOM, ROOM): 1.0}, READS), "from 'hall' sum to 0.9"),
        (({HALL: 0.7}, MOVES, READS), "initial probabilities sum to 0.7"),
        ((None, MOVES | {(ROOM, ("attic",)): 0.0}, READS), "names the state 'attic'"),
        ((None, MOVES, {(("attic",), "A", None): 0.5}), "names the state 'attic'"),
        ((None, MOVES, {(HALL, "A", 1): 0.7, (HALL, "A", 2): 0.7}), "sums to 1.4"),
        ((None, MOVES, {(HALL, "A", None): 1.5}), "not a probability"),
    ],
)
def test_tables_that_are_no_probabilities_are_refused(tables: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        build("m", [HALL, ROOM], *tables)


def test_an_unknown_reader_is_put_aside() -> None:
    model = build("m", [HALL, ROOM], None, MOVES, READS)
    readings = arrange(model, [("x", 0, "A", None), ("x", 1, "Z", None), ("x", 1, "A", 7)], 1)
    assert readings.rejected == {
        1: "sensor 'Z' is not in model m",
        2: "sensor 'A' of model m never reads 7",
    }


def test_a_second_value_of_one_sensor_at_one_step_is_put_aside() -> None:
    model = build(
        "m", [HALL], None, {(HALL, HALL): 1.0}, {(HALL, "A", 1): 0.4, (HALL, "A", 2): 0.4}
    )
    readings = arrange(model, [("x", 0, "A", 1), ("x", 0, "A", 1), ("x", 0, "A", 2)], 1)
    assert list(readings.rejected) == [2]


def test_a_reading_that_no_reachable_state_explains_says_nothing_and_is_told() -> None:
    model = build("m", [HALL, ROOM], {ROOM: 1.0, HALL: 0.0}, MOVES, READS)
    readings = arrange(model, [("x", 1, "A", None), ("x", 2, "A", None)], 1)
    for belief in (filtered(model, readings), smoothed(model, readings)):
        assert belief.impossible.tolist() == [True, True]
        assert belief.marginal[:, 1].tolist() == [1.0, 1.0]


def test_steps_without_readings_are_steps_on_which_every_sensor_was_silent() -> None:
    model = build("m", [HALL, ROOM], None, MOVES, READS)
    readings = arrange(model, [("x", 10, "A", None), ("x", 40, "A", None)], 10)
    assert readings.time.tolist() == [10, 20, 30, 40]
    assert readings.codes[:, 0].tolist() == [1, 0, 0, 1]


def test_a_gap_in_time_that_cannot_be_meant_is_an_error() -> None:
    model = build("m", [HALL, ROOM], None, MOVES, READS)
    with pytest.raises(DataError, match="a gap in time"):
        arrange(model, [("x", 0, "A", None), ("x", 10**12, "A", None)], 1)

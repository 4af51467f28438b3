"""Lanes of people: where each may have been, as told first and as told last."""

from __future__ import annotations

from typing import Any

import pytest

from augury import Session
from augury.report.people import lanes_of

SCRIPT = """
CREATE TABLE staff (person STRING, room STRING);
CREATE TABLE passages (a STRING, b STRING);
CREATE STREAM doors (id LONG, person STRING, action STRING, room STRING, t LONG)
ID id TIME t TYPE action;
CREATE MODEL ward MOVES (OBJECTS staff, OWNER Person, PLACE room, ENTER 'ENTER', {ways}, STEP 1);
CREATE STREAM known AS IDENTIFY doors USING ward WITHIN 60;
"""
HALL = "EXIT 'EXIT', HALL 'H'"
ROWS = [
    (1, None, "ENTER", "R1", 10),
    (2, None, "ENTER", "R2", 20),
    (3, "ann", "EXIT", "R1", 30),
    (4, None, "SANITIZE", "H", 40),
]


def ward(ways: str = HALL, rows: list[tuple[Any, ...]] = ROWS) -> Session:
    ag = Session(engine="local")
    ag.sql(SCRIPT.format(ways=ways))
    ag.bind("staff", [{"person": "ann", "room": None}, {"person": "bob", "room": None}])
    ag.bind("passages", [{"a": "H", "b": "R1"}, {"a": "H", "b": "R2"}])
    names = ("id", "person", "action", "room", "t")
    ag.bind("doors", [dict(zip(names, row, strict=True)) for row in rows])
    return ag


def test_a_piece_is_as_wide_as_it_is_likely_before_and_after_a_revision() -> None:
    lanes = lanes_of(ward(), "known")
    assert lanes is not None
    assert lanes.people == ["ann", "bob"]
    assert lanes.times == (10, 40)
    found = {
        (lanes.people[own.lane], own.place, own.since, own.until): (own.first, own.last)
        for own in lanes.pieces
    }
    # At 30 ann shows herself: it was she who entered R1, and so it was bob who entered R2.
    assert found == {
        ("ann", "R1", 10, 30): pytest.approx((0.5, 1.0)),
        ("bob", "R1", 10, 40): pytest.approx((0.5, 0.0)),
        ("ann", "R2", 20, 30): pytest.approx((0.5, 0.0)),
        ("bob", "R2", 20, 40): pytest.approx((0.5, 1.0)),
    }


def test_lanes_stand_in_the_report() -> None:
    page = ward().report()
    assert "Who was where: known" in page
    assert "ann in R1: 50% as told first, 100% as told last" in page


def test_without_a_hall_and_without_events_there_are_none() -> None:
    assert lanes_of(ward(rows=[]), "known") is None
    assert lanes_of(ward("DOORS passages (a, b)"), "known") is None
    assert "Who was where" not in ward("DOORS passages (a, b)").report()


def test_a_reset_puts_somebody_where_it_leads() -> None:
    rows = [(1, "ann", "EXIT", "R1", 1), (2, "ann", "ENTER", "R2", 5), (3, "bob", "ENTER", "R1", 9)]
    with pytest.warns(UserWarning, match="impossible in every world"):
        lanes = lanes_of(ward(rows=rows), "known")
    assert lanes is not None
    (piece,) = lanes.pieces
    assert (piece.place, piece.since, piece.until, piece.last) == ("R2", 5, 9, 1.0)

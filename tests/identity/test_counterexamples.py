"""Where the printed speed-ups of the thesis would be wrong, the law is told."""

from __future__ import annotations

from fractions import Fraction

from identity.test_worlds import identifier_of, outcome_of
from oracles.identities import Event, Setting

TWO = Setting({"O1": None, "O2": None})


def last_told(events: list[Event]) -> dict[int, dict[str, float]]:
    told = outcome_of(identifier_of(TWO), events).told
    return {number: {p: w for p, w in own.items() if w} for _, number, _, own in told}


def test_a_room_that_is_certain_does_not_finish_its_past() -> None:
    # After event 3 R1 is empty for certain; a finish flag on it would freeze event 1 at one half.
    events = [
        Event(1, 1, None, "ENTER", "R1"),
        Event(2, 2, None, "ENTER", "R2"),
        Event(3, 3, None, "EXIT", "R1"),
    ]
    half = {"O1": Fraction(1, 2), "O2": Fraction(1, 2)}
    assert last_told(events) == {1: half, 2: half, 3: half}
    read = Event(4, 4, "O2", "EXIT", "R2")
    assert last_told([*events, read]) == {1: {"O1": 1}, 2: {"O2": 1}, 3: {"O1": 1}, 4: {"O2": 1}}


def test_a_read_revises_events_of_other_rooms_that_came_later() -> None:
    # One hop back in the same room would revise event 1, and miss event 2.
    events = [
        Event(1, 12, None, "ENTER", "R1"),
        Event(2, 13, None, "ENTER", "R2"),
        Event(3, 14, "O1", "EXIT", "R1"),
    ]
    assert last_told(events) == {1: {"O1": 1}, 2: {"O2": 1}, 3: {"O1": 1}}

"""A run that could stop takes no neighbour beyond a window of events, and stops without it."""

from __future__ import annotations

import pytest

from matching.asking import ask, rows

KEYED = "ID id KEY v TIME t TYPE kind PROBABILITY p"
CONTIGUITY = ("SKIP TILL NEXT MATCH", "STRICT", "PARTITION CONTIGUITY")
# a3' is a1's neighbour of its key where it happened; where not, a4 is, as the third event.
EVENTS = rows("a1 a3 a3' .5 a4", v=[2, 0, 2, 2])


@pytest.mark.parametrize("using", CONTIGUITY)
@pytest.mark.parametrize("repeated", ["A?", "A*", "A{0,2}"])
def test_a_neighbour_in_doubt_need_not_be_absent_outside_the_window(
    using: str, repeated: str
) -> None:
    query = f"PATTERN NEXT(A x, {repeated} y) USING {using} WITHIN 2 EVENTS"
    assert ask(query, EVENTS, clauses=KEYED) == pytest.approx(
        {"x=a1": 0.5, "x=a1 y=a3'": 0.5, "x=a3": 1.0, "x=a3' y=a4": 0.5, "x=a4": 1.0}
    )


@pytest.mark.parametrize("using", ["SKIP TILL NEXT MATCH", "PARTITION CONTIGUITY"])
def test_inside_the_window_it_is_taken(using: str) -> None:
    query = f"PATTERN NEXT(A x, A? y) USING {using} WITHIN 3 EVENTS"
    assert ask(query, EVENTS, clauses=KEYED) == pytest.approx(
        {"x=a1 y=a4": 0.5, "x=a1 y=a3'": 0.5, "x=a3": 1.0, "x=a3' y=a4": 0.5, "x=a4": 1.0}
    )


def test_a_run_that_must_go_on_is_lost_outside_the_window() -> None:
    query = "PATTERN NEXT(A x, A+ y) USING SKIP TILL NEXT MATCH WITHIN 2 EVENTS"
    assert ask(query, EVENTS, clauses=KEYED) == pytest.approx(
        {"x=a1 y=a3'": 0.5, "x=a3' y=a4": 0.5}
    )

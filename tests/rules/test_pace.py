"""Moments go to threads where that is faster, and nowhere else."""

from __future__ import annotations

from threading import get_ident
from time import sleep

import pytest

from augury.rules.flights import AGAIN_AFTER, FEW, MANY, SOME, Flights, Pace
from augury.rules.plan import ActiveQuery, Condition, World
from augury.rules.reading import Reading
from augury.rules.stage import Candidate, Settled, Stage, State


def paced(wait: float, alone: float, together: float | None) -> Pace:
    pace = Pace()
    for _ in range(FEW):
        assert pace.following() == (False, FEW), "the first are looked at one by one"
        pace.waits.append(wait)
        pace.alone.append(alone)
    if together is not None:
        pace.together.append(together)
    return pace


@pytest.mark.parametrize(
    ("pace", "chosen"),
    [
        (paced(0.0, 1.0, None), (False, SOME)),
        (paced(1.0, 1.0, None), (True, SOME)),
        (paced(1.0, 1.0, 0.1), (True, MANY)),
        (paced(1.0, 1.0, 2.0), (False, SOME)),
    ],
    ids=["they do not wait", "nobody has tried", "threads are faster", "threads are slower"],
)
def test_the_way_that_was_faster_is_taken(pace: Pace, chosen: tuple[bool, int]) -> None:
    assert pace.following() == chosen
    ways = {pace.following()[0] for _ in range(AGAIN_AFTER)}
    # The other is looked at again, where threads may be of use at all.
    assert ways == ({False} if not pace.waits[0] else {False, True} if pace.together else {True})


@pytest.mark.parametrize("wait", [0.0, 0.001])
def test_moments_that_wait_are_settled_by_several_threads(wait: float) -> None:
    threads = set[int]()

    def asks(_: Reading) -> bool:
        threads.add(get_ident())
        if wait:
            sleep(wait)
        return True

    world = World({}, {"q": ActiveQuery("q", (Condition(asks),))}, ())
    moments = [(t, 0, 0, ()) for t in range(FEW + SOME + 1)]
    found = [[Candidate("q", str(at[0]), at[0], at, at, {})] for at in moments]
    told, state, flights = Settled(), State({}), Flights(Stage(world))
    if not wait:
        flights.pace.waits.extend([0.0] * 3 * FEW)
    flights.settle(state, found, told)
    assert [each.match_id for each in told.passed] == [str(at[0]) for at in moments]
    assert state.reached == moments[-1]
    assert (len(threads) > 1) == (wait > 0)

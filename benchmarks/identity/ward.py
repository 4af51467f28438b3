"""A simulated ward, and what is told of it.

Settings, the same in all benchmarks of this folder unless one says otherwise: 32 people, 30 rooms,
steps of a second; a stay in a room takes 10 minutes on average (Gaussian, 3 minutes), one in the
hall 5 minutes (100 seconds), both a second at least; the next room is any. An event loses its
badge, or is lost altogether, by chance, whatever it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from augury.identity.identifier import Identifier
from augury.identity.telling import Strategy, Tellings
from augury.identity.ward import Row, Ward, Ways

PEOPLE, ROOMS, WITHIN = 32, 30, 3600
ROOM, HALL = (600.0, 180.0), (300.0, 100.0)


@dataclass(frozen=True)
class Walked:
    """Rows as doors report them, and who it was."""

    rows: list[tuple[None, Row]]
    owner: dict[int, int]

    @property
    def unread(self) -> list[int]:
        """The events without a badge."""
        return [row.id for _, row in self.rows if row.person is None]


def walked(
    seed: int,
    events: int,
    unread: float,
    size: tuple[int, int] = (PEOPLE, ROOMS),
    lost: float = 0.0,
    *,
    is_memoryless: bool = False,
) -> Walked:
    """Let people walk about; stays without memory (exponential) have the same means."""
    rng = np.random.default_rng(seed)
    people, rooms = size
    until = 1.5 * events / people * (ROOM[0] + HALL[0]) / 2 + ROOM[0]

    def stay(mean: float, spread: float) -> float:
        return rng.exponential(mean) if is_memoryless else max(1.0, rng.normal(mean, spread))

    found = []
    for person in range(people):
        time, room = rng.uniform(0.0, ROOM[0] + HALL[0]), None
        while time < until:
            if room is None:
                room = int(rng.integers(rooms))
                found.append((int(time), person, "ENTER", room))
                time += stay(*ROOM)
            else:
                found.append((int(time), person, "EXIT", room))
                room = None
                time += stay(*HALL)
    found.sort()
    rows, owner = [], {}
    for number, (time, person, kind, room) in enumerate(found[:events]):
        is_unread, is_lost = rng.random() < unread, rng.random() < lost
        if not is_lost:
            owner[number] = person
            shown = None if is_unread else person
            rows.append((None, Row(number, time, shown, kind, f"R{room}")))
    return Walked(rows, owner)


def identifier(
    people: int = PEOPLE, within: int = WITHIN, revise: str = "ANY", limit: int = 2_000
) -> Identifier:
    """Return who tells owners in a ward."""
    ward = Ward.of([(k, None) for k in range(people)], Ways("ENTER", "EXIT", "H"), 1)
    return Identifier({None: ward}, within, Strategy(revise), state_limit=limit)


def told_of(who: Identifier, walk: Walked) -> Tellings:
    """Return all that is told."""
    return who.advance(who.start(), walk.rows)[1].told


def on_the_owner(told: Tellings, walk: Walked) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability of the true owner of each unread event: as told first, and last."""
    truth = np.array([walk.owner[key] for key in told.ids])
    unread = np.zeros(len(told.ids), np.bool_)
    place_of = {key: k for k, key in enumerate(told.ids)}
    unread[[place_of[key] for key in walk.unread]] = True
    of = told.rows_of
    share = np.zeros(len(told))
    is_own = told.person == truth[told.event[of]]
    share[of[is_own]] = told.p[is_own]
    first, last = np.zeros(len(told.ids)), np.zeros(len(told.ids))
    # Later tellings overwrite earlier ones.
    last[told.event] = share
    first[told.event[::-1]] = share[::-1]
    return first[unread], last[unread]

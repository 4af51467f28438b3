"""The law takes all worlds for equally likely: that is what stays without memory make of them.

Someone leaves a room at a rate of that room, however long the stay was. Then a world weighs the
product of the densities of its stays, and of those that are not over; with a hall, all worlds that
the same rows allow weigh the same. Where stays have a memory, they do not.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from math import isclose, log

import pytest

from oracles import model
from oracles.identities import Event, Setting, final_worlds

# How often somebody leaves, a tick.
RATES = {"H": 0.3, "R1": 0.1, "R2": 0.05}
# The logarithms of the density of a stay, and of its lasting longer: by its place and its length.
Stay = Callable[[str, int], float]


def walked(seed: int) -> list[Event]:
    """Let three people walk about; half of the badges are not read."""
    rng, at, found = random.Random(seed), dict.fromkeys("abc", "H"), []
    for number in range(8):
        person = rng.choice("abc")
        kind = "ENTER" if at[person] == "H" else "EXIT"
        room = rng.choice(("R1", "R2")) if kind == "ENTER" else at[person]
        at[person] = room if kind == "ENTER" else "H"
        shown = person if rng.random() < 0.5 else None
        found.append(Event(number, 2 * number + rng.randrange(2), shown, kind, room))
    return found


def weight(rows: list[model.Event], density: Stay, lasting: Stay) -> float:
    """Return the logarithm of what a world weighs by its stays."""
    total, at, since = 0.0, dict.fromkeys("abc", "H"), dict.fromkeys("abc", 0)
    for row in rows:
        person = row.attrs["person"]
        total += density(at[person], row.ts - since[person])
        at[person] = row.attrs["room"] if row.type == "ENTER" else "H"
        since[person] = row.ts
    end = max(row.ts for row in rows)
    return total + sum(lasting(at[person], end - since[person]) for person in "abc")


@pytest.mark.parametrize("seed", range(12))
def test_stays_without_memory_make_all_worlds_weigh_the_same(seed: int) -> None:
    worlds = [rows for _, rows in final_worlds(Setting(dict.fromkeys("abc")), walked(seed))]
    weights = [
        weight(rows, lambda at, t: log(RATES[at]) - RATES[at] * t, lambda at, t: -RATES[at] * t)
        for rows in worlds
    ]
    assert all(isclose(each, weights[0], abs_tol=1e-9) for each in weights)


def test_stays_with_a_memory_do_not() -> None:
    """Gaussian ones: who has been in the hall for long has rather left it."""
    rows = [Event(0, 1, "a", "ENTER", "R1"), Event(1, 9, "a", "EXIT", "R1")]
    rows.append(Event(2, 10, None, "ENTER", "R2"))
    worlds = [own for _, own in final_worlds(Setting(dict.fromkeys("abc")), rows)]

    def density(_: str, length: int) -> float:
        return -(((length - 6) / 3) ** 2)

    weights = [weight(own, density, lambda _at, _t: 0.0) for own in worlds]
    assert len(weights) == 3
    assert max(weights) - min(weights) > 0.5

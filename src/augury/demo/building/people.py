"""People with tags in a wing of a building: a corridor with antennas, rooms without.

The plan follows the figures that the paper on Lahar gives of its own building (352 locations and 38
antennas on some 10,000 square feet), and was fixed before anything was scored on it:

- a location is a square of 1.6 m (10,000 square feet over 352); a second is a step;
- the wing is made of modules: two cells of corridor, a room of 2 x 2 locations on either side whose
  doors face each other, and an antenna before the doors (ten locations to one; the paper has 9.3);
- one room in the middle is the coffee room; no room has an antenna;
- people walk on at 1.4 m/s, enter an office they pass now and then and the coffee room more often,
  and stay there for a while, moving about the room; who leaves does so through the door;
- an antenna hears its own cell at the read rate, and the cell on either side half as well, so
  readings are missed, and conflict.

The truth is drawn from a Markov chain over places and headings, so a model of exactly these tables
is right by construction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

HEADINGS = {"east": 1, "west": -1}
INSIDE = "inside"
DOOR = 0
# The locations of a room are a ring: at the door, beside it, far, and beside it.
BESIDE = {0: (1, 2), 1: (0, 3), 2: (0, 3), 3: (1, 2)}
Place = tuple[str, str]
Rows = list[dict[str, Any]]
Steps = dict[tuple[Place, Place], float]


@dataclass(frozen=True)
class Building:
    """The size and the rates of a wing; places are H0.. (corridor), O0N0.. (offices) and C0.. .

    `walks_on` is how surely a second leads to the next cell (1.4 m/s over 1.6 m); `enters` and
    `to_coffee` how often people turn into a door before which they are; `stay` and `coffee_stay`
    about how many seconds they stay inside; `moves` how often they move inside. With these,
    about a quarter of all ways lead to coffee, some five an hour, as the paper's people had.
    """

    modules: int = 10
    read_rate: float = 0.6
    beside: float = 0.5
    walks_on: float = 0.875
    enters: float = 0.05
    to_coffee: float = 0.3
    stay: float = 150.0
    coffee_stay: float = 60.0
    moves: float = 0.1

    @property
    def cells(self) -> int:
        """How long the corridor is."""
        return 2 * self.modules

    @cached_property
    def rooms(self) -> dict[str, int]:
        """The cell before the door of each room."""
        middle = self.modules // 2
        doors = {f"O{m}{side}": 2 * m for m in range(self.modules) for side in "NS"}
        return {("C" if name == f"O{middle}N" else name): cell for name, cell in doors.items()}

    @cached_property
    def coffee_room(self) -> list[str]:
        """The places in the coffee room."""
        return [f"C{k}" for k in BESIDE]

    @cached_property
    def states(self) -> list[Place]:
        """All places, with the heading of who is there."""
        halls = [(f"H{k}", heading) for k in range(self.cells) for heading in HEADINGS]
        return [*halls, *((f"{room}{k}", INSIDE) for room in self.rooms for k in BESIDE)]

    @cached_property
    def offices(self) -> list[Place]:
        """The places in offices, where everybody begins."""
        return [state for state in self.states if state[0].startswith("O")]

    @cached_property
    def steps(self) -> Steps:
        """P(place and heading a second later | place and heading)."""
        found: Steps = {}
        for cell in range(self.cells):
            for heading, way in HEADINGS.items():
                found |= self._from_hall(cell, heading, way)
        for room, cell in self.rooms.items():
            for k in BESIDE:
                found |= self._from_room(room, cell, k)
        return found

    def _from_hall(self, cell: int, heading: str, way: int) -> Steps:
        here = (f"H{cell}", heading)
        doors = [room for room, before in self.rooms.items() if before == cell]
        found = {
            (here, (f"{room}{DOOR}", INSIDE)): self.to_coffee if room == "C" else self.enters
            for room in doors
        }
        rest = 1.0 - sum(found.values())
        back = next(other for other in HEADINGS if other != heading)
        is_inside = 0 <= cell + way < self.cells
        ahead = (f"H{cell + way}", heading) if is_inside else (f"H{cell}", back)
        return found | {
            (here, ahead): rest * self.walks_on,
            (here, here): rest * (1.0 - self.walks_on),
        }

    def _from_room(self, room: str, cell: int, k: int) -> Steps:
        here, found = (f"{room}{k}", INSIDE), {}
        leaves = 0.0
        if k == DOOR:
            # A quarter of the time is spent at the door, so this gives about the average stay.
            leaves = len(BESIDE) / (self.coffee_stay if room == "C" else self.stay)
            found = {(here, (f"H{cell}", heading)): leaves / 2 for heading in HEADINGS}
        rest = 1.0 - leaves
        found |= {(here, (f"{room}{j}", INSIDE)): rest * self.moves / 2 for j in BESIDE[k]}
        found[here, here] = rest * (1.0 - self.moves)
        return found

    @cached_property
    def heard(self) -> dict[Place, list[tuple[str, float]]]:
        """By place, the antennas that may read there, and how likely each does."""
        found: dict[Place, list[tuple[str, float]]] = {}
        for cell in range(self.cells):
            near = [(at, abs(2 * at - cell)) for at in range(self.modules)]
            share = {0: 1.0, 1: self.beside}
            for heading in HEADINGS:
                found[f"H{cell}", heading] = [
                    (f"A{at}", self.read_rate * share[away]) for at, away in near if away in share
                ]
        return found

    def tables(self) -> dict[str, Rows]:
        """Return the rows of the model's tables, by the names that `building.sql` declares.

        A person is known from the first reading on, so people begin in the corridor there.
        """
        begin = [state for state in self.states if state[0].startswith("H")]
        return {
            "places": [{"place": p, "heading": h} for p, h in self.states],
            "start": [{"place": p, "heading": h, "p": 1.0 / len(begin)} for p, h in begin],
            "steps": [
                {
                    "place_from": a,
                    "heading_from": b,
                    "place_to": c,
                    "heading_to": d,
                    "p": p,
                }
                for ((a, b), (c, d)), p in self.steps.items()
            ],
            "heard": [
                {"place": p, "heading": h, "reader": reader, "p": chance}
                for (p, h), antennas in self.heard.items()
                for reader, chance in antennas
            ],
            "coffee_room": [{"place": place} for place in self.coffee_room],
        }

    def walk(self, people: int, seconds: int, seed: int) -> tuple[dict[str, list[str]], Rows]:
        """Return where everybody was, second by second, and what was read."""
        paths, reads = self.paths(people, seconds, seed)
        return {who: [place for place, _ in path] for who, path in paths.items()}, reads

    def paths(self, people: int, seconds: int, seed: int) -> tuple[dict[str, list[Place]], Rows]:
        """Return everybody's places and headings, second by second, and what was read."""
        rng = np.random.default_rng(seed)
        chances = np.array(
            [[self.steps.get((a, b), 0.0) for b in self.states] for a in self.states]
        )
        edges = np.cumsum(chances, axis=1)
        found: dict[str, list[Place]] = {}
        reads: Rows = []
        for person in (f"p{k:02}" for k in range(people)):
            found[person] = list(self._path(edges, seconds, rng))
            for t, place in enumerate(found[person]):
                reads += self._readings(rng, person, t, place)
        return found, reads

    def _path(self, edges: np.ndarray, seconds: int, rng: np.random.Generator) -> Iterator[Place]:
        at = self.states.index(self.offices[int(rng.integers(len(self.offices)))])
        for _ in range(seconds):
            yield self.states[at]
            at = min(int(np.searchsorted(edges[at], rng.random())), len(self.states) - 1)

    def _readings(self, rng: np.random.Generator, person: str, t: int, place: Place) -> Rows:
        return [
            {"person": person, "reader": reader, "t": t}
            for reader, p in self.heard.get(place, ())
            if rng.random() < p
        ]


def visits(path: list[str]) -> list[int]:
    """Return when a person went for coffee: outside for two seconds, then inside."""
    inside = [place.startswith("C") for place in path]
    return [t for t in range(2, len(path)) if inside[t] and not (inside[t - 1] or inside[t - 2])]

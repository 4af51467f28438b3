"""People with tags in a building: a corridor with antennas, offices and a coffee room without.

The truth is drawn from a Markov chain over places and headings, the readings from the antennas'
rates, so a model of exactly these tables is right by construction. People walk on in the direction
they go, turn into a room now and then, and stay there for a while. An antenna hears its own cell of
the corridor, and the neighbours' less well, so readings conflict and are missed. The coffee room
has several tables, between which people move; it has no antenna, and an office lies beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

CELLS, COFFEE_AT, TABLES = 10, 5, 3
HEADINGS = {"east": 1, "west": -1}
Place = tuple[str, str]
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Building:
    """The rates of a building; places are H0.. (corridor), O0.. (offices) and C0.. (coffee room).

    `walks_on` is how surely a step leads to the next cell; `enters` and `to_coffee` how often
    people turn into an office or the coffee room they pass; `leaves` and `leaves_coffee` how often
    they come out again; `changes_table` how often they move inside the coffee room.
    """

    read_rate: float = 0.6
    hears_neighbours: float = 0.2
    walks_on: float = 0.97
    enters: float = 0.1
    to_coffee: float = 0.31
    leaves: float = 0.01
    leaves_coffee: float = 0.06
    changes_table: float = 0.3

    @cached_property
    def coffee_room(self) -> list[str]:
        """The places in the coffee room."""
        return [f"C{k}" for k in range(TABLES)]

    @cached_property
    def states(self) -> list[Place]:
        """All places, with the heading of who is there."""
        halls = [(f"H{k}", heading) for k in range(CELLS) for heading in HEADINGS]
        rooms = [*(f"O{k}" for k in range(CELLS)), *self.coffee_room]
        return [*halls, *((room, "inside") for room in rooms)]

    @cached_property
    def steps(self) -> dict[tuple[Place, Place], float]:
        """P(place and heading a second later | place and heading)."""
        found: dict[tuple[Place, Place], float] = {}
        for k in range(CELLS):
            for heading, way in HEADINGS.items():
                found |= self._from_hall(k, heading, way)
                found[(f"O{k}", "inside"), (f"H{k}", heading)] = self.leaves / 2
            found[(f"O{k}", "inside"), (f"O{k}", "inside")] = 1.0 - self.leaves
        for table in self.coffee_room:
            found |= self._from_table(table)
        return found

    def _from_hall(self, k: int, heading: str, way: int) -> dict[tuple[Place, Place], float]:
        here, to_coffee = (f"H{k}", heading), self.to_coffee if k == COFFEE_AT else 0.0
        rest = 1.0 - self.enters - to_coffee
        back = next(other for other in HEADINGS if other != heading)
        ahead = (f"H{k + way}", heading) if 0 <= k + way < CELLS else (f"H{k}", back)
        found = {
            (here, (f"O{k}", "inside")): self.enters,
            (here, ahead): rest * self.walks_on,
            (here, here): rest * (1.0 - self.walks_on),
        }
        if to_coffee:
            found |= {(here, (table, "inside")): to_coffee / TABLES for table in self.coffee_room}
        return found

    def _from_table(self, table: str) -> dict[tuple[Place, Place], float]:
        here, stays = (table, "inside"), 1.0 - self.leaves_coffee
        found = {(here, (f"H{COFFEE_AT}", heading)): self.leaves_coffee / 2 for heading in HEADINGS}
        for other in self.coffee_room:
            share = 1.0 - self.changes_table
            if other != table:
                share = self.changes_table / (TABLES - 1)
            found[here, (other, "inside")] = stays * share
        return found

    @cached_property
    def heard(self) -> dict[Place, list[tuple[str, float]]]:
        """By place, the antennas that may read there, and how likely each does."""
        found: dict[Place, list[tuple[str, float]]] = {}
        for k in range(CELLS):
            for heading in HEADINGS:
                near = [(f"A{j}", self.hears_neighbours) for j in (k - 1, k + 1) if 0 <= j < CELLS]
                found[f"H{k}", heading] = [
                    (antenna, self.read_rate * share) for antenna, share in [(f"A{k}", 1.0), *near]
                ]
        return found

    def tables(self) -> dict[str, Rows]:
        """Return the rows of the model's tables, by the names that `building.sql` declares."""
        offices = [place for place in self.states if place[0].startswith("O")]
        return {
            "places": [{"place": p, "heading": h} for p, h in self.states],
            "start": [{"place": p, "heading": h, "p": 1.0 / CELLS} for p, h in offices],
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
        rng = np.random.default_rng(seed)
        states = self.states
        chances = np.array([[self.steps.get((a, b), 0.0) for b in states] for a in states])
        edges = np.cumsum(chances, axis=1)
        offices = [k for k, (place, _) in enumerate(states) if place.startswith("O")]
        truth: dict[str, list[str]] = {}
        reads: Rows = []
        for person in (f"p{k:02}" for k in range(people)):
            at, path = offices[int(rng.integers(CELLS))], []
            for t in range(seconds):
                if t:
                    at = min(int(np.searchsorted(edges[at], rng.random())), len(states) - 1)
                path.append(states[at][0])
                reads += self._readings(rng, person, t, states[at])
            truth[person] = path
        return truth, reads

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

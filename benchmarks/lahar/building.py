"""People with tags in a building: corridors with antennas, offices and a coffee room without.

The truth is drawn from a Markov chain over cells, the readings from the antennas' rates, so a model
of exactly these tables is right by construction; `read_rate` 0.6 is what real readers reach. An
antenna hears its own corridor cell, and its neighbours less well, so readings conflict; the one
before the coffee room may hear a share of what happens inside (`coffee_share`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

CELLS = 10
COFFEE_AT = 5
STAYS_IN_OFFICE, STAYS_IN_COFFEE = 0.98, 0.97
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Building:
    """The tables of the model; places are named H0.. (corridor), O0.. (offices) and C (coffee)."""

    read_rate: float = 0.6
    coffee_share: float = 0.5

    @property
    def places(self) -> list[str]:
        """The names of all places."""
        halls = [f"H{k}" for k in range(CELLS)]
        return [*halls, *(f"O{k}" for k in range(CELLS)), "C"]

    @cached_property
    def steps(self) -> dict[tuple[str, str], float]:
        """P(place a second later | place)."""
        found: dict[tuple[str, str], float] = {}
        for k in range(CELLS):
            ways = [f"H{j}" for j in (k - 1, k + 1) if 0 <= j < CELLS]
            doors = {f"O{k}": 0.12} if k != COFFEE_AT else {f"O{k}": 0.02, "C": 0.10}
            found[f"H{k}", f"H{k}"] = 0.3
            for way in ways:
                found[f"H{k}", way] = 0.58 / len(ways)
            for door, p in doors.items():
                found[f"H{k}", door] = p
            found[f"O{k}", f"O{k}"] = STAYS_IN_OFFICE
            found[f"O{k}", f"H{k}"] = 1.0 - STAYS_IN_OFFICE
        found["C", "C"] = STAYS_IN_COFFEE
        found["C", f"H{COFFEE_AT}"] = 1.0 - STAYS_IN_COFFEE
        return found

    @cached_property
    def heard(self) -> dict[tuple[str, str], float]:
        """P(antenna reads | place)."""
        found = {}
        for k in range(CELLS):
            for j, share in ((k, 1.0), (k - 1, 0.2), (k + 1, 0.2)):
                if 0 <= j < CELLS:
                    found[f"H{j}", f"A{k}"] = self.read_rate * share
        if self.coffee_share:
            found["C", f"A{COFFEE_AT}"] = self.read_rate * self.coffee_share
        return found

    def tables(self) -> dict[str, Rows]:
        """Return the rows of the model's tables, by the names that `SCRIPT` declares."""
        starts = {place: float(place.startswith("O")) / CELLS for place in self.places}
        return {
            "places": [{"place": place} for place in self.places],
            "start": [{"place": place, "p": p} for place, p in starts.items()],
            "steps": [{"place_from": a, "place_to": b, "p": p} for (a, b), p in self.steps.items()],
            "heard": [{"place": a, "reader": r, "p": p} for (a, r), p in self.heard.items()],
        }

    def walk(self, people: int, seconds: int, seed: int) -> tuple[dict[str, list[str]], Rows]:
        """Return where everybody was, second by second, and what was read."""
        rng = np.random.default_rng(seed)
        places = self.places
        table = np.array([[self.steps.get((a, b), 0.0) for b in places] for a in places])
        edges = np.cumsum(table, axis=1)
        truth: dict[str, list[str]] = {}
        reads: Rows = []
        for person in (f"p{k}" for k in range(people)):
            at = CELLS + int(rng.integers(CELLS))
            path = []
            for t in range(seconds):
                if t:
                    at = min(int(np.searchsorted(edges[at], rng.random())), len(places) - 1)
                path.append(places[at])
                reads += self._readings(rng, person, t, places[at])
            truth[person] = path
        return truth, reads

    def _readings(self, rng: np.random.Generator, person: str, t: int, place: str) -> Rows:
        heard = [(reader, p) for (where, reader), p in self.heard.items() if where == place]
        return [
            {"person": person, "reader": reader, "t": t} for reader, p in heard if rng.random() < p
        ]


SCRIPT = """
CREATE TABLE places (place STRING);
CREATE TABLE start (place STRING, p DOUBLE);
CREATE TABLE steps (place_from STRING, place_to STRING, p DOUBLE);
CREATE TABLE heard (place STRING, reader STRING, p DOUBLE);
CREATE MODEL building HMM (STATES places, INITIAL start, TRANSITION steps, EMISSION heard);
CREATE STREAM reads (person STRING, reader STRING, t LONG) KEY person TIME t TYPE reader;
"""
QUERY = """
CREATE QUERY coffee_{name} ON {name} PATTERN SEQ({name} a, {name} b, {name} c)
WHERE [person] AND a.place <> 'C' AFTER WHERE b.place <> 'C' AND c.place = 'C'
USING SKIP TILL NEXT MATCH GROUP BY person RETURN PROBABILITY BY TIME;
"""

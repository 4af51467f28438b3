"""EDGES, P-ToPSS's own model: how often a partial match goes on, by which components are bound.

Every pair of a partial match alive and the next event of its partition is one trial with one
outcome: it is extended, stays, or is out. The start is tried at every event. What goes out is lost
to the partial match; the query as a whole goes on with what the same event begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from augury.forecast.machine import Token
from augury.forecast.model import Value
from augury.forecast.past import Fits, Life, Outcome, Past, Way
from augury.records import Reals

# Which components are bound, and the state of the automaton.
Place = tuple[int, int]
START: Place = (0, 0)
COMPLETE: Place = (-1, -1)
# (where it went, whether it went out of its partial match)
Move = tuple[Place, bool]


def place_of(token: Token) -> Place:
    """Return the place of a token."""
    return token.bound, token.state


@dataclass
class Trials:
    """Counts of moves by place."""

    moves: dict[Place, dict[Move, float]] = field(default_factory=dict)

    def add(self, place: Place, move: Move, weight: float) -> None:
        """Count a move."""
        own = self.moves.setdefault(place, {})
        own[move] = own.get(move, 0.0) + weight

    def scale(self, factor: float) -> None:
        """Weigh all counts anew."""
        for own in self.moves.values():
            for move in own:
                own[move] *= factor

    def chances(self, place: Place) -> dict[Move, float]:
        """Return how likely each move is; none where the place was never tried."""
        own = self.moves.get(place, {})
        total = sum(own.values())
        return {move: count / total for move, count in own.items()} if total > 0 else {}


@dataclass
class Edges:
    """Trials of all events, and of each value of BY by itself."""

    total: Trials = field(default_factory=Trials)
    own: dict[Value, Trials] = field(default_factory=dict)
    by_value: bool = False

    def of(self, value: Value) -> Trials:
        """Return the trials of a value; of all where it was never met."""
        return self.own.get(value, self.total)

    def add(self, found: list[tuple[Place, Move, float]], value: Value, unit: float = 1.0) -> None:
        """Count moves of one event, which weighs so much."""
        for place, move, weight in found:
            self.total.add(place, move, weight * unit)
            if self.by_value:
                self.own.setdefault(value, Trials()).add(place, move, weight * unit)

    def scale(self, factor: float) -> None:
        """Weigh all counts anew."""
        for trials in (self.total, *self.own.values()):
            trials.scale(factor)


def moves_of(
    past: Past, life: Life, outcomes: list[tuple[float, Outcome]]
) -> list[tuple[Place, Move, float]]:
    """Return how the partial matches of a partition, and its start, move with what is read now."""
    found = []
    for chance, outcome in outcomes:
        if not outcome.events:
            continue
        for bound, worlds in life.partial.items():
            fits = past.fits(life, bound)
            for (token, _), weight in worlds.items():
                if token.bound and past.machine.accepting[token.state]:
                    continue
                move = _move(past, token, outcome, fits)
                found.append((place_of(token) if token.bound else START, move, weight * chance))
    return found


def _move(past: Past, token: Token, outcome: Outcome, fits: Fits | None) -> Move:
    completed, ways = past.told_ways(token, outcome, fits)
    if completed:
        return COMPLETE, False
    extended = [way for way in ways if way.taken]
    if extended:
        return place_of(extended[0].token), False
    if not token.bound or any(not way.taken for way in ways):
        return (place_of(token) if token.bound else START), False
    return _begun(past, outcome), True


def _begun(past: Past, outcome: Outcome) -> Place:
    """Return what an event begins."""
    completed, ways = past.told_ways(past.empty, outcome)
    begun: Iterator[Way] = (way for way in ways if way.taken)
    first = next(begun, None)
    if completed:
        return COMPLETE
    return START if first is None else place_of(first.token)


@dataclass
class EdgeTables:
    """How likely a match completes within j moves, from every place; `restarts` for BY TIME."""

    trials: Trials
    length: int
    restarts: bool
    within: dict[Place, Reals] = field(default_factory=dict)

    def __post_init__(self) -> None:
        places = list(self.trials.moves)
        number = {place: k for k, place in enumerate(places)}
        step, ends = np.zeros((len(places), len(places))), np.zeros(len(places))
        for place, k in number.items():
            for (target, out), chance in self.trials.chances(place).items():
                if out and not self.restarts:
                    continue
                if target == COMPLETE:
                    ends[k] += chance
                elif target in number:
                    step[k, number[target]] += chance
        table = np.zeros((self.length + 1, len(places)))
        for j in range(1, self.length + 1):
            table[j] = ends + step @ table[j - 1]
        self.within = {place: table[:, k] for place, k in number.items()}

    def of(self, place: Place) -> Reals | None:
        """Return the table of a place; None where it was never tried."""
        return self.within.get(place)

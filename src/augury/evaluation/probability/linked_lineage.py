"""Lineage over MARKOV streams: where an object is at one time hangs on where it was before.

A formula is valued object by object, and the steps of an object that it names in the order of time.
Carried is what is left of the formula, with the weights of the values that the object may have;
between two steps the tables between them lead on. So a match that needs an object at a few times
costs a product of the first marginal and the transitions, and a formula with negations what is left
of it at each step: exact, whatever the pattern.

Oracle: tests/oracles/worlds.py follows every path.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from augury.evaluation.probability.markov_objects import MarkovObject, ObjectStep
from augury.matching.lineage import (
    FALSE,
    NEVER,
    All,
    Block,
    Formula,
    HangingTogether,
    Not,
    TooEntangledError,
    conjunction,
    fixed,
    literals,
)
from augury.records import Reals, Words, remainder

Valued = Callable[[Formula], float]
# An object by its number, and one of its steps.
Place = tuple[int, int]


class MarkovChances(HangingTogether):
    """Chances of independent events, and with them the paths of Markovian objects."""

    def __init__(self, chances: Mapping[Block, dict[object, float]]) -> None:
        super().__init__(chances)
        self.objects: list[MarkovObject] = []
        self.places: dict[Block, Place] = {}
        self.streams: set[str] = set()

    def add(self, stream: str, objects: Iterable[MarkovObject], first: Words) -> None:
        """Take the objects of a stream in; `first[r]` is the first row that excludes row r."""
        self.streams.add(stream)
        for own in objects:
            for i, step in enumerate(own.steps):
                rows = [row for row in step.rows if row is not None]
                if rows:
                    self.places[stream, int(first[rows[0]])] = len(self.objects), i
            self.objects.append(own)

    def valued(self, formula: Formula, value: Valued, cases: int) -> float:
        """Return the probability of a formula; `value` is that of independent events."""
        places = {b: self.places[b] for b in _blocks(formula) if b in self.places}
        if not places:
            return value(formula)
        if isinstance(formula, Not):
            return remainder(self.valued(formula.part, value, cases))
        if isinstance(formula, All):
            apart = self._apart(formula.parts)
            if len(apart) > 1:
                product = 1.0
                for parts in apart:
                    product *= self.valued(conjunction(parts), value, cases)
                return product
        return self._over_paths(formula, places, value, cases)

    def _apart(self, parts: Iterable[Formula]) -> list[list[Formula]]:
        """Return the parts in groups that neither an object nor an event ties together."""
        groups: list[tuple[set[object], list[Formula]]] = []
        for part in parts:
            tied: set[object] = {self.places.get(b, (b,))[0] for b in _blocks(part)}
            members = [part]
            rest = []
            for others, theirs in groups:
                if others & tied:
                    tied |= others
                    members += theirs
                else:
                    rest.append((others, theirs))
            groups = [*rest, (tied, members)]
        return [members for _, members in groups]

    def _over_paths(
        self, formula: Formula, places: dict[Block, Place], value: Valued, cases: int
    ) -> float:
        """Return the sum over what the objects did of what is then left to be true."""
        by_object: dict[int, list[tuple[int, Block]]] = defaultdict(list)
        for block, (number, i) in places.items():
            by_object[number].append((i, block))
        left = {formula: 1.0}
        for number in sorted(by_object):
            own = sorted(by_object[number], key=lambda each: each[0])
            later: dict[Formula, float] = defaultdict(float)
            for part, weight in left.items():
                for rest, p in _outcomes(self.objects[number].steps, own, part, cases):
                    later[rest] += weight * p
            left = later
            if len(left) > cases:
                raise TooEntangledError
        return sum(weight * value(part) for part, weight in left.items())


def _outcomes(
    steps: Sequence[ObjectStep], own: list[tuple[int, Block]], formula: Formula, cases: int
) -> Iterator[tuple[Formula, float]]:
    """Yield what may be left of a formula after an object's path, and how likely that is."""
    at, carried = own[0][0], {formula: steps[own[0][0]].marginal}
    for i, block in own:
        moved: dict[Formula, Reals] = {}
        for part, mass in carried.items():
            there = _led(mass, steps[at + 1 : i + 1])
            for rest, share in _fixed(part, block, steps[i], there):
                moved[rest] = moved[rest] + share if rest in moved else share
        moved.pop(FALSE, None)
        if len(moved) > cases:
            raise TooEntangledError
        at, carried = i, moved
    for part, mass in carried.items():
        yield part, float(mass.sum())


def _led(mass: Reals, steps: Sequence[ObjectStep]) -> Reals:
    for step in steps:
        mass = mass @ step.table
    return mass


def _fixed(
    formula: Formula, block: Block, step: ObjectStep, mass: Reals
) -> Iterator[tuple[Formula, Reals]]:
    """Yield what is left of a formula for the values of a step, with the mass of these."""
    named = {literal.alternative for literal in literals(formula) if literal.block == block}
    rest = mass.copy()
    for j, row in enumerate(step.rows):
        if row is not None and row in named:
            rest[j] = 0.0
            if mass[j] > 0.0:
                only = np.zeros_like(mass)
                only[j] = mass[j]
                yield fixed(formula, block, row), only
    if rest.any():
        yield fixed(formula, block, NEVER), rest


def _blocks(formula: Formula) -> set[Block]:
    return {literal.block for literal in literals(formula)}

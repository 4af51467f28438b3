"""Forecasts of a hidden Markov model by enumeration: every path up to now, and every path on.

A path is as likely as its first state, its moves, and what was read at its steps; all paths up to
now weigh 1 together. The matches of past and future are those of `selection`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from oracles.model import Event, Query
from oracles.plan import prepare
from oracles.selection import answers

Told = tuple[float, float | None]
# In this state there is no event.
NOWHERE = "N"
# What a partial match has bound: components and times.
Part = frozenset[tuple[str, tuple[int, ...]]]


@dataclass(frozen=True)
class Hmm:
    """Chances by state, by (from, to), and by (state, reader); the rest is silence."""

    initial: Mapping[str, float]
    moves: Mapping[tuple[str, str], float]
    heard: Mapping[tuple[str, str], float]

    @property
    def readers(self) -> list[str]:
        return sorted({reader for _, reader in self.heard})

    def read(self, state: str, readings: set[str]) -> float:
        """Return P(exactly these readers read | state)."""
        weight = 1.0
        for reader in self.readers:
            p = self.heard.get((state, reader), 0.0)
            weight *= p if reader in readings else 1.0 - p
        return weight

    def onward(self, state: str, steps: int) -> Iterator[tuple[float, tuple[str, ...]]]:
        """Yield the paths from a state, each with its probability."""
        for path in product(self.initial, repeat=steps):
            weight, before = 1.0, state
            for after in path:
                weight *= self.moves.get((before, after), 0.0)
                before = after
            if weight > 0.0:
                yield weight, path


def forecast(
    hmm: Hmm, query: Query, readings: Sequence[set[str]], horizon: int
) -> tuple[Told, dict[Part, tuple[float, float]]]:
    """Return what is told after the last step: of the query, and of each partial match."""
    plan = prepare(query)
    whole, parts = [0.0, 0.0], dict[Part, list[float]]()
    pasts = list(_pasts(hmm, readings))
    total = sum(weight for weight, _ in pasts)
    for past, path in pasts:
        for chance, future in hmm.onward(path[-1], horizon):
            weight = past / total * chance
            steps = enumerate((*path, *future))
            events = [Event(f"{t}", t, state) for t, state in steps if state != NOWHERE]
            firsts = dict[Part, int]()
            for match in answers(plan, events):
                step = match.events[-1].ts - len(path) + 1
                if step < 1:
                    continue
                bound = {
                    (name, tuple(e.ts for e in taken if e.ts < len(path)))
                    for name, taken in match.bound.items()
                }
                part = frozenset((name, times) for name, times in bound if times)
                firsts[part] = min(firsts.get(part, step), step)
            if firsts:
                whole[0] += weight
                whole[1] += weight * min(firsts.values())
            for part, step in firsts.items():
                own = parts.setdefault(part, [0.0, 0.0])
                own[0] += weight
                own[1] += weight * step
    told = {part: (own[0], own[1] / own[0]) for part, own in parts.items() if part}
    return (whole[0], whole[1] / whole[0] if whole[0] else None), told


def _pasts(hmm: Hmm, readings: Sequence[set[str]]) -> Iterator[tuple[float, tuple[str, ...]]]:
    for path in product(hmm.initial, repeat=len(readings)):
        weight = hmm.initial[path[0]]
        for before, after in pairwise(path):
            weight *= hmm.moves.get((before, after), 0.0)
        for state, heard in zip(path, readings, strict=True):
            weight *= hmm.read(state, heard)
        if weight > 0.0:
            yield weight, path

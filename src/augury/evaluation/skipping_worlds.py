"""AFTER MATCH SKIP where events may not have happened: how likely each match is to be taken.

In each world matches are taken in the order of their starts. So the starts of a partition are gone
through in that order, with the weights of all that matters of the worlds so far: what is known of
the base events that later matches hang on, and which later starts are covered. What no later match
asks for is summed out, so a window bounds how much is carried, whatever the length of the stream.

Oracle: tests/oracles/skipping.py, in every world.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from augury.config import value_of
from augury.evaluation.skipping import Candidates, passes
from augury.matching.lineage import (
    FALSE,
    NEVER,
    All,
    AtMost,
    Block,
    Formula,
    Is,
    Not,
    TooEntangledError,
    literals,
)
from augury.records import Matches, Reals, remainder

# What is known of base events, in the order of their blocks' names, and which starts are covered.
World = tuple[tuple[tuple[Block, Any], ...], frozenset[int]]


@dataclass(frozen=True)
class InWorlds:
    """The matches of a query that may be, with the lineage by which each is a match."""

    candidates: Candidates
    formulas: Sequence[Formula]
    chances: Mapping[Block, Mapping[Any, float]]

    def taken(self) -> tuple[Matches, list[Formula]]:
        """Return the matches with the weight of the worlds in which each is taken.

        With them comes their lineage as matches, which says all of it where nothing is in doubt.
        """
        matches, having = self.candidates.matches, self.candidates.skip.having
        weights = np.zeros(len(matches))
        numbers = np.zeros(len(matches), np.int64)
        for partition in self._partitions():
            _Partition(self, partition, weights).go_through()
            sure = [m for m in partition if weights[m] > 0.0]
            numbers[sure] = np.arange(1, len(sure) + 1)
        chosen = np.flatnonzero(passes(having, weights))
        found = replace(matches.settled(weights), number=numbers).only(chosen)
        return found, [self.formulas[m] for m in chosen.tolist()]

    def _partitions(self) -> Iterator[list[int]]:
        """Yield the matches of each partition, by their starts, then as they are preferred."""
        own = self.candidates
        possible = [m for m in range(len(own.matches)) if self.formulas[m] != FALSE]

        def place(m: int) -> tuple[Any, ...]:
            return int(own.partition[m]), int(own.turn[m]), own.preference(m)

        ordered = sorted(possible, key=place)
        for _, matches in groupby(ordered, key=lambda m: int(own.partition[m])):
            yield list(matches)


class _Partition:
    """One partition: its starts in order, each with its matches in the order of preference."""

    def __init__(self, whole: InWorlds, matches: list[int], weights: Reals) -> None:
        self.whole, self.weights = whole, weights
        items, start = whole.candidates.items, whole.candidates.start
        by_start = groupby(matches, key=lambda m: int(items.row[start[m]]))
        self.starts = [list(own) for _, own in by_start]
        self.cases = value_of("lineage_limit")

    @cached_property
    def _last_use(self) -> dict[Block, int]:
        """The last start whose matches hang on each block."""
        return {block: k for k, own in enumerate(self.starts) for block in self._blocks(own)}

    @cached_property
    def _options(self) -> dict[Block, list[tuple[Any, float]]]:
        """What each block may turn out to be, as far as matches ask, and how likely."""
        named: dict[Block, set[Any]] = defaultdict(set)
        for own in self.starts:
            for m in own:
                for literal in literals(self.whole.formulas[m]):
                    named[literal.block].add(literal.alternative)
        return {block: self._weighed(block, asked) for block, asked in named.items()}

    def _weighed(self, block: Block, asked: set[Any]) -> list[tuple[Any, float]]:
        chances = self.whole.chances[block]
        found = [(each, chances.get(each, 0.0)) for each in sorted(asked, key=repr)]
        rest = remainder(sum(p for _, p in found))
        return [(each, p) for each, p in [*found, (NEVER, rest)] if p > 0.0]

    def _blocks(self, matches: list[int]) -> list[Block]:
        found = {lit.block: None for m in matches for lit in literals(self.whole.formulas[m])}
        return list(found)

    def go_through(self) -> None:
        """Add the weight of the worlds in which each match is taken."""
        worlds: dict[World, float] = {((), frozenset()): 1.0}
        for k, matches in enumerate(self.starts):
            later: dict[World, float] = defaultdict(float)
            blocks = self._blocks(matches)
            for (known, covered), weight in worlds.items():
                if k in covered:
                    later[self._kept(dict(known), k), covered - {k}] += weight
                    continue
                for facts, p in self._cases(dict(known), blocks, weight):
                    taken = self._first_that_holds(matches, facts)
                    beyond = covered
                    if taken is not None:
                        self.weights[taken] += p
                        beyond = covered | self._covered(taken, k)
                    later[self._kept(facts, k), beyond] += p
            worlds = later

    def _cases(
        self, known: dict[Block, Any], blocks: list[Block], weight: float
    ) -> Iterator[tuple[dict[Block, Any], float]]:
        """Yield every way in which blocks may turn out that are not known, with its weight."""
        open_ones = [block for block in blocks if block not in known]
        if not open_ones:
            self.cases -= 1
            if self.cases < 0:
                raise TooEntangledError
            yield known, weight
            return
        block = open_ones[0]
        for alternative, p in self._options[block]:
            yield from self._cases({**known, block: alternative}, open_ones[1:], weight * p)

    def _first_that_holds(self, matches: list[int], facts: Mapping[Block, Any]) -> int | None:
        return next((m for m in matches if holds(self.whole.formulas[m], facts)), None)

    def _covered(self, taken: int, k: int) -> frozenset[int]:
        """Return the later starts that a taken match covers."""
        covers = self.whole.candidates.covers
        later = range(k + 1, len(self.starts))
        return frozenset(n for n in later if covers(taken, self.starts[n][0]))

    def _kept(self, facts: Mapping[Block, Any], k: int) -> tuple[tuple[Block, Any], ...]:
        """Return of what is known all that a later start asks for."""
        kept = [(block, fact) for block, fact in facts.items() if self._last_use[block] > k]
        return tuple(sorted(kept, key=repr))


def holds(formula: Formula, facts: Mapping[Block, Any]) -> bool:
    """Return whether a formula is true where every block that it names is known."""
    if isinstance(formula, Is):
        return bool(facts[formula.block] == formula.alternative)
    if isinstance(formula, Not):
        return not holds(formula.part, facts)
    if isinstance(formula, All):
        return all(holds(part, facts) for part in formula.parts)
    if isinstance(formula, AtMost):
        return sum(holds(part, facts) for part in formula.parts) <= formula.count
    return formula.value

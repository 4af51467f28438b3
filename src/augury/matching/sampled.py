"""Sample worlds, many per machine word: for what is too hard to carry exactly.

Each bit of a word is one world. An event is a word array that says in which worlds it happened; a
run is one that says where it waits; a step is a few bitwise operations on them, whatever the number
of worlds. The number of worlds follows from the bound asked for (Hoeffding): an estimate is off by
more than the error with at most the risk.

Oracle: tests/oracles/worlds.py, within the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.matching.lineage import All, AtMost, Block, Formula, Is, Not, Truth
from augury.matching.waiting_line import Run, Sign, WaitingLine, breaking, meeting
from augury.matching.worlds import Outcomes, Step
from augury.records import Words

Bits = npt.NDArray[np.uint64]
WORD = 64


def sample_size(error: float, risk: float) -> int:
    """Return how many worlds make an estimate, rounded up to whole words.

    >>> sample_size(0.1, 0.1)
    192
    """
    needed = math.log(2.0 / risk) / (2.0 * error * error)
    return WORD * math.ceil(needed / WORD)


def share(bits: Bits) -> float:
    """Return the share of worlds whose bit is set."""
    return float(np.unpackbits(bits.view(np.uint8)).mean())


def packed(flags: npt.NDArray[np.bool_]) -> Bits:
    """Return one bit per world."""
    return np.packbits(flags).view(np.uint64)


# Lines --------------------------------------------------------------------------------------------


@dataclass
class Sampler:
    """The runs of one chain in `size` worlds at once; `hidden` are objects' values by world."""

    line: WaitingLine
    size: int
    rng: np.random.Generator
    runs: dict[Run, Bits] = field(default_factory=dict)
    hidden: dict[int, Words] = field(default_factory=dict)

    def advance(self, now: Step) -> Bits:
        """Take one step in every world; return in which of them a match ends with it."""
        present: dict[Sign, Bits] = {}
        for group in now.groups:
            for sign, bits in self._drawn(group):
                _join(present, sign, bits)
        for move in now.moves:
            before = self.hidden.get(move.hidden, np.zeros(self.size, np.int64))
            edges = np.cumsum(move.table, axis=1)[before]
            chosen = (edges < self.rng.random((self.size, 1))).sum(axis=1)
            chosen = np.minimum(chosen, move.table.shape[1] - 1)
            self.hidden[move.hidden] = chosen
            for j in np.unique(chosen).tolist():
                if move.signs[j] is not None:
                    _join(present, move.signs[j], packed(chosen == j))
        return self._step(present, now.time)

    def _drawn(self, group: Outcomes) -> Iterator[tuple[Sign, Bits]]:
        """Yield in which worlds each outcome of a group comes; they exclude each other."""
        drawn, edge = self.rng.random(self.size), 0.0
        for p, sign in group:
            if sign is not None and p > 0.0:
                yield sign, packed((drawn >= edge) & (drawn < edge + p))
            edge += p

    def _step(self, present: Mapping[Sign, Bits], time: int) -> Bits:
        line, kept = self.line, dict[Run, Bits]()
        done = np.zeros(self.size // WORD, np.uint64)
        for run, where in self.runs.items():
            if line.window is None or time - run[2] <= line.window:
                stays = where & ~self._ended(run, present)
                if stays.any():
                    _join(kept, run, stays)
                done |= self._advance(run, where, present, kept)
        begun = time if line.window is not None else 0
        everywhere = ~np.zeros(self.size // WORD, np.uint64)
        for node in line.start:
            fresh = (node, (None,) * line.remembers, begun)
            done |= self._advance(fresh, everywhere, present, kept)
        self.runs = kept
        return done

    def _ended(self, run: Run, present: Mapping[Sign, Bits]) -> Bits:
        """Return in which worlds the run's wait is over, whether it goes on or not."""
        line, node = self.line, self.line.nodes[run[0]]
        over = np.zeros(self.size // WORD, np.uint64)
        for sign, bits in present.items():
            candidate = meeting(sign, node.component, run[1]) is not None
            if (
                line.skipping == "STRICT"
                or breaking(node.guards, sign, run[1])
                or (line.skipping == "NEXT" and candidate)
            ):
                over |= bits
        return over

    def _advance(
        self, run: Run, where: Bits, present: Mapping[Sign, Bits], kept: dict[Run, Bits]
    ) -> Bits:
        node = self.line.nodes[run[0]]
        done = np.zeros(self.size // WORD, np.uint64)
        for sign, bits in present.items():
            met = meeting(sign, node.component, run[1])
            if met is None or not sign.accepted >> node.component & 1:
                continue
            taken = where & bits
            if taken.any():
                for after in node.after:
                    _join(kept, (after, met, run[2]), taken)
                if node.is_final:
                    done |= taken
        return done


def _join(found: dict[Any, Bits], key: Any, bits: Bits) -> None:
    found[key] = found[key] | bits if key in found else bits


def ends(
    line: WaitingLine, steps: Iterable[Step], size: int, rng: np.random.Generator
) -> dict[int, Bits]:
    """Return, by time, in which worlds a match ends then."""
    sampler, found = Sampler(line, size, rng), dict[int, Bits]()
    for now in steps:
        _join(found, now.time, sampler.advance(now))
    return found


def lasting(found: Mapping[int, Bits], times: Sequence[int], length: int) -> dict[int, Bits]:
    """Return, by time, in which worlds a match has ended in the last `length` of time."""
    kept: dict[int, Bits] = {}
    for time in times:
        bits = [own for end, own in found.items() if time - length < end <= time]
        if bits:
            kept[time] = np.bitwise_or.reduce(bits)
    return kept


# Lineage ------------------------------------------------------------------------------------------


@dataclass
class FormulaSampler:
    """Values formulas over base events in `size` worlds at once; each block is drawn once."""

    chances: Mapping[Block, Mapping[Any, float]]
    size: int
    rng: np.random.Generator
    blocks: dict[Block, Mapping[Any, Bits]] = field(default_factory=dict)

    def of(self, formula: Formula) -> Bits:
        """Return in which worlds the formula is true."""
        nowhere = np.zeros(self.size // WORD, np.uint64)
        match formula:
            case Truth(value):
                return ~nowhere if value else nowhere
            case Is(block, alternative):
                return self._drawn(block).get(alternative, nowhere)
            case Not(part):
                return ~self.of(part)
            case All(parts):
                return self._all(parts, ~nowhere)
            case AtMost(count, parts):
                return self._at_most(count, parts)

    def _all(self, parts: Iterable[Formula], found: Bits) -> Bits:
        for part in parts:
            found = found & self.of(part)
        return found

    def _at_most(self, count: int, parts: Sequence[Formula]) -> Bits:
        total = np.zeros(self.size, np.int64)
        for part in parts:
            total += np.unpackbits(self.of(part).view(np.uint8))
        return packed(total <= count)

    def _drawn(self, block: Block) -> Mapping[Any, Bits]:
        if block not in self.blocks:
            drawn, edge, found = self.rng.random(self.size), 0.0, {}
            for alternative, p in self.chances[block].items():
                found[alternative] = packed((drawn >= edge) & (drawn < edge + p))
                edge += p
            self.blocks[block] = found
        return self.blocks[block]

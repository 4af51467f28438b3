"""Lineage: what must be true of the base events for a match to be an answer, and how likely it is.

A base event is a *block*: a random choice among alternatives that exclude each other, one of which
is that it did not happen. Blocks are independent. A literal says which alternative a block took;
lineage is a Boolean formula over literals. Most matches need only "these exist, those do not",
which the search kernel multiplies out by itself; formulas serve where a derived event or one of
several alternatives is negated or skipped, and where matches share base events.

The probability is exact: factors that share no block are independent and multiply; otherwise one
block is fixed to each of its alternatives in turn (Shannon expansion), with memory.

Oracle: tests/oracles/worlds.py enumerates possible worlds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from augury.config import value_of
from augury.errors import DataError
from augury.records import remainder

Block = Hashable
NEVER = "never"


@dataclass(frozen=True, slots=True)
class Owned:
    """A block whose alternatives are people: who did an act. Those of one unit hang together."""

    unit: Hashable
    act: Hashable


@dataclass(frozen=True, slots=True)
class Truth:
    """A constant formula."""

    value: bool


TRUE, FALSE = Truth(True), Truth(False)


@dataclass(frozen=True, slots=True)
class Is:
    """The block took this alternative."""

    block: Block
    alternative: Hashable


@dataclass(frozen=True, slots=True)
class Not:
    """The part is false."""

    part: Formula


@dataclass(frozen=True, slots=True)
class All:
    """Every part is true."""

    parts: frozenset[Formula]


@dataclass(frozen=True, slots=True)
class AtMost:
    """At most `count` of the parts are true; parts may repeat."""

    count: int
    parts: tuple[Formula, ...]


Formula = Truth | Is | Not | All | AtMost
Chances = Mapping[Block, Mapping[Hashable, float]]


def negation(part: Formula) -> Formula:
    """Return the formula that is true where `part` is not."""
    if isinstance(part, Truth):
        return Truth(not part.value)
    return part.part if isinstance(part, Not) else Not(part)


def conjunction(parts: Iterable[Formula]) -> Formula:
    """Return the formula that is true where all parts are; nested conjunctions are flattened."""
    kept: set[Formula] = set()
    for part in _flattened(parts):
        if part == FALSE or negation(part) in kept:
            return FALSE
        kept.add(part)
    if len(kept) == 1:
        return next(iter(kept))
    return All(frozenset(kept)) if kept else TRUE


def disjunction(parts: Iterable[Formula]) -> Formula:
    """Return the formula that is true where some part is."""
    return negation(conjunction(negation(part) for part in parts))


def _flattened(parts: Iterable[Formula]) -> Iterator[Formula]:
    for part in parts:
        if isinstance(part, All):
            yield from part.parts
        elif part != TRUE:
            yield part


def at_most(count: int, parts: Iterable[Formula]) -> Formula:
    """Return the formula that is true where no more than `count` of the parts are."""
    waiting: list[Formula] = []
    for part in parts:
        if part == TRUE:
            count -= 1
        elif part != FALSE:
            waiting.append(part)
    if count < 0:
        return FALSE
    return AtMost(count, tuple(waiting)) if len(waiting) > count else TRUE


class TooEntangledError(DataError):
    """A formula takes more cases than are allowed."""

    def __init__(self) -> None:
        super().__init__(
            "too many uncertain events depend on each other to compute one probability exactly; "
            "narrow WITHIN, add conjuncts, or raise the setting lineage_limit"
        )


class HangingTogether(dict[Block, dict[Hashable, float]]):
    """Chances of blocks some of which are not independent, as owners are."""

    def valued(self, formula: Formula, value: Callable[[Formula], float], cases: int) -> float:
        """Return the probability of a formula; `value` is that of independent blocks.

        After so many `cases` a formula is too entangled.
        """
        raise NotImplementedError


def probability(formula: Formula, chances: Chances, most_cases: int | None = None) -> float:
    """Return the total weight of the worlds in which the formula is true.

    `chances[block][alternative]` are the probabilities of alternatives; what is missing to 1 is
    that the block did not happen. `most_cases` may be less than the setting `lineage_limit` allows.
    """
    limit = value_of("lineage_limit")
    cases = min(limit, most_cases or limit)

    def value(part: Formula) -> float:
        return _Evaluation(chances, cases).of(part)

    try:
        if isinstance(chances, HangingTogether):
            return chances.valued(formula, value, cases)
        return value(formula)
    except RecursionError:
        raise TooEntangledError() from None


class _Evaluation:
    """One computation with its memory of formulas already valued."""

    def __init__(self, chances: Chances, cases: int) -> None:
        self.chances = chances
        self.cases_left = cases
        self.known: dict[Formula, float] = {}
        self.blocks: dict[Formula, frozenset[Block]] = {}

    def of(self, formula: Formula) -> float:
        if isinstance(formula, Truth):
            return float(formula.value)
        if formula not in self.known:
            self.known[formula] = self._value(formula)
        return self.known[formula]

    def _value(self, formula: Formula) -> float:
        if isinstance(formula, Is):
            return self.chances[formula.block].get(formula.alternative, 0.0)
        if isinstance(formula, Not):
            return self._rest(formula.part)
        if isinstance(formula, All):
            groups = self._independent(formula.parts)
            if len(groups) > 1:
                product = 1.0
                for group in groups:
                    product *= self.of(conjunction(group))
                return product
        return self._expand(formula)

    def _rest(self, part: Formula) -> float:
        """Return the weight of the worlds in which a part is not true."""
        value = self.of(part)
        return 1.0 - value if isinstance(part, Is) else remainder(value)

    def _independent(self, parts: Iterable[Formula]) -> list[list[Formula]]:
        """Split the parts into groups that share no block."""
        groups: list[tuple[set[Block], list[Formula]]] = []
        for part in parts:
            blocks, members = set(self.blocks_of(part)), [part]
            apart = []
            for other_blocks, others in groups:
                if blocks & other_blocks:
                    blocks |= other_blocks
                    members += others
                else:
                    apart.append((other_blocks, others))
            groups = [*apart, (blocks, members)]
        return [members for _, members in groups]

    def _expand(self, formula: Formula) -> float:
        """Fix the block that occurs most often to each alternative, and add up."""
        self.cases_left -= 1
        if self.cases_left < 0:
            raise TooEntangledError
        block = self._busiest(formula)
        named = {lit.alternative for lit in literals(formula) if lit.block == block}
        # One list serves every order of a set: the sum must not depend on hashing.
        options = sorted(named, key=repr)
        chances = self.chances[block]
        other = remainder(sum(chances.get(option, 0.0) for option in options))
        total = 0.0
        for option in options:
            if chances.get(option, 0.0) > 0.0:
                total += chances[option] * self.of(fixed(formula, block, option))
        if other > 0.0:
            total += other * self.of(fixed(formula, block, NEVER))
        return total

    def _busiest(self, formula: Formula) -> Block:
        counts = Counter(lit.block for lit in literals(formula))
        return min(counts, key=lambda block: (-counts[block], repr(block)))

    def blocks_of(self, formula: Formula) -> frozenset[Block]:
        if formula not in self.blocks:
            self.blocks[formula] = frozenset(lit.block for lit in literals(formula))
        return self.blocks[formula]


def literals(formula: Formula) -> Iterator[Is]:
    """Yield what a formula says of blocks, each time that it says so."""
    if isinstance(formula, Is):
        yield formula
    elif isinstance(formula, Not):
        yield from literals(formula.part)
    elif isinstance(formula, All | AtMost):
        for part in formula.parts:
            yield from literals(part)


def fixed(formula: Formula, block: Block, alternative: Hashable) -> Formula:
    """Return the formula given that the block took `alternative` (NEVER: none that is named)."""
    if isinstance(formula, Is):
        if formula.block != block:
            return formula
        return Truth(formula.alternative == alternative)
    if isinstance(formula, Not):
        return negation(fixed(formula.part, block, alternative))
    if isinstance(formula, All):
        return conjunction(fixed(part, block, alternative) for part in formula.parts)
    if isinstance(formula, AtMost):
        parts = (fixed(part, block, alternative) for part in formula.parts)
        return at_most(formula.count, parts)
    return formula

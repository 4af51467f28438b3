"""A compiled pattern: what the match stage needs of a query, and nothing else.

Planning makes it from the automaton and the checked query; it is immutable and free of data, so one
pattern serves every shard and every micro-batch. Sets of components are bits of an integer: bit c
stands for component c.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Literal

MOST_COMPONENTS = 62

Strategy = Literal["ANY", "NEXT", "STRICT", "PARTITION"]


@dataclass(frozen=True, slots=True)
class Edge:
    """A transition; `adjacent` are its joints in NEXT(...): the part before, and its own part.

    The event must be the neighbour of the last events of the part before, unless an event of its
    own part lies before it. `yields` marks a repetition past its minimum, which gives way to what
    comes after it.
    """

    source: int
    target: int
    component: int
    adjacent: tuple[tuple[int, int], ...] = ()
    yields: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """What predicate program k reads, and so when it can be tested.

    `reads` and `reads_whole` (by aggregates and LAST) are components; without those in `needs` the
    rule is not applied. Slots are (component, kind, column, number) as `kernels.opcodes` has it;
    `each` are (repetition, first item, leader, lag) that the rule ranges over; rows of one leader
    go by the rounds of a group, and a row that lags is read one round later.
    """

    reads: int
    reads_whole: int = 0
    needs: int = 0
    slots: tuple[tuple[int, int, int, int], ...] = ()
    each: tuple[tuple[int, int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Guard:
    """A negated component or composite, between the components before and after it.

    `company` are the positive components of its own SEQ: if none is bound, it is not applied.
    `rules` are the programs that say which events count. A composite has the `inside` pattern that
    must have no instance; its `component` is -1. `kind` is as in the automaton.
    """

    component: int
    earlier: int
    later: int
    company: int
    rules: tuple[int, ...] = ()
    inside: Pattern | None = None
    kind: Literal["GAP", "NEXT", "UNTIL"] = "GAP"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Components that were not read, between those of `earlier` and those of `later`.

    Its score is a table over its length (see `augury.gaps.tables`): `cuts` of K pieces, and K
    polynomials. `best` is the highest score within the window, `unseen` are the components. For
    each missed one, `likely` has lengths and the shares of the stretch where it probably lies.
    """

    earlier: int
    later: int
    unseen: int
    cuts: tuple[float, ...]
    powers: tuple[tuple[float, ...], ...]
    best: float
    likely: tuple[tuple[int, tuple[float, ...], tuple[float, ...], tuple[float, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Pattern:
    """States, edges (by source, then as written) and rules of one pattern.

    `before[c]` are the components that lie strictly before c (a repetition lies before itself),
    `closed_by[c]` those that take no more events once c has one. `after` are rules applied to the
    finished match alone. `most_events` bounds the events of one match, None where nothing does.
    `waits` tells that a negation at the end delays the report to the end of the window.

    `stretches` score what was not read. `variants` are the same pattern with components `missed`:
    each is searched too, its missed components being guards, because nothing that fits one may have
    been read where it is said to have been missed. `first_only` asks for one match of each start
    under any-match, whichever: enough to know whether there is one. `most_matches` (0: the setting)
    are those that a step may make. It `tells_end` where somebody asks which event ended a run.
    """

    query: str
    components: tuple[str, ...]
    positive: int
    edges: tuple[Edge, ...]
    accepting: tuple[bool, ...]
    before: tuple[int, ...]
    closed_by: tuple[int, ...]
    repeats: int
    rules: tuple[Rule, ...]
    after: tuple[int, ...]
    guards: tuple[Guard, ...]
    strategy: Strategy
    window: int | None
    count_window: int | None
    threshold: float
    strict_threshold: bool
    match_limit: int
    most_events: int | None
    waits: bool
    stretches: tuple[Stretch, ...] = ()
    missed: int = 0
    variants: tuple[Pattern, ...] = ()
    written_limit: int = 0
    first_only: bool = False
    most_matches: int = 0
    tells_end: bool = False

    @property
    def best_score(self) -> float:
        """The most that all stretches can score together."""
        return prod(stretch.best for stretch in self.stretches)

    @property
    def ways(self) -> tuple[Pattern, ...]:
        """The pattern as written, then its variants."""
        return (self, *self.variants)

    @property
    def guarded(self) -> int:
        """The single negated components, as bits."""
        return sum(1 << guard.component for guard in self.guards if guard.inside is None)

    @property
    def is_ambiguous(self) -> bool:
        """Whether next-match runs that take ties in another order can give one match."""
        bound = [c for c in range(len(self.components)) if (self.positive >> c) & 1]
        return self.strategy != "ANY" and any(
            not ((self.closed_by[c] | self.before[c]) >> b) & 1
            and not ((self.closed_by[b] | self.before[b]) >> c) & 1
            for b, c in combinations(bound, 2)
        )

    @property
    def is_contiguous(self) -> bool:
        """Whether a run takes neighbours only, and ends where the neighbour fits nothing."""
        return self.strategy in ("STRICT", "PARTITION")

    @property
    def stays_in_a_key(self) -> bool:
        """Whether nothing but the events of one KEY matters to a match."""
        apart = not self.guards and self.count_window is None
        return self.strategy == "PARTITION" and apart

    @property
    def is_composite(self) -> bool:
        """Whether a negation has several components, so that absence is a formula."""
        return any(guard.inside for guard in self.guards)


def bits_of(components: Iterable[int]) -> int:
    """Return components as a mask: bit k stands for component k."""
    return sum(1 << c for c in set(components))

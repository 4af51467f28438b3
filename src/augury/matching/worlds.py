"""Carry the distribution over (hidden values, runs) forward, one step at a time: exact.

The joint state of a chain is what its Markovian objects are, the set of runs that wait (see
`line`), and when a match ended last, for as long as that counts. Independent objects need no hidden
value. All are known only as a distribution, kept as a mapping from state to mass; a step multiplies
by the transition tables and by what may happen independently, and folds states that became equal.
Nothing is approximated: the number of states is bounded by a setting, and beyond it the query is
refused.

This is the general evaluation, for chains of any make; `kernels/chain.py` is its fast twin for
lines without windows and values to remember. Oracle: tests/oracles/worlds.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from augury.config import value_of
from augury.errors import DataError
from augury.matching.waiting_line import NO_RUNS, Runs, Sign, WaitingLine, step
from augury.records import Reals

Happened = frozenset[Sign]
Outcomes = Sequence[tuple[float, Sign | None]]
State = tuple[tuple[int, ...], Runs, int | None]
NOTHING: Happened = frozenset()


@dataclass(frozen=True, slots=True)
class Move:
    """One object's step: P(value j now | value i before) is `table[i, j]`.

    At its first step the table has one row, the marginals. `signs[j]` is what value j means, None
    where it means nothing (nowhere, or an event that plays no part).
    """

    hidden: int
    table: Reals
    signs: tuple[Sign | None, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """What may happen at one place in the order: moves of objects, and independent events.

    Each of `groups` lists what excludes each other; what is missing to 1 is that nothing happens.
    """

    time: int
    groups: tuple[Outcomes, ...] = ()
    moves: tuple[Move, ...] = ()


@dataclass
class Chain:
    """A distribution under way over the states of one chain; `hidden` objects start at value 0.

    A match counts at time t if it ended in (t - over, t].
    """

    line: WaitingLine
    hidden: int = 0
    over: int = 1
    mass: dict[State, float] = field(default_factory=dict)
    time: int | None = None
    known: dict[tuple[Runs, Happened], tuple[Runs, bool]] = field(default_factory=dict)
    # Read once: a look at the environment for every state takes as long as the rest of a step.
    limit: int = field(default_factory=lambda: value_of("chain_state_limit"))

    def __post_init__(self) -> None:
        if not self.mass:
            self.mass = {((0,) * self.hidden, NO_RUNS, None): 1.0}

    def advance(self, now: Step) -> float:
        """Take one step; return P(a match counts at this time, from this step or one before)."""
        if now.time != self.time:
            self._begin(now.time)
        beside = list(_together(now.groups, self.limit).items())
        moved: dict[tuple[tuple[int, ...], Runs, int | None, Happened], float] = {}
        for (hidden, runs, last), mass in self.mass.items():
            for values, happened, p in _moved(hidden, now.moves):
                key = values, runs, last, happened
                moved[key] = moved.get(key, 0.0) + mass * p
        self.mass = {}
        for (values, runs, last, happened), mass in moved.items():
            for others, p in beside:
                self._add((values, runs, last), happened | others, mass * p)
        return sum(mass for (_, _, last), mass in self.mass.items() if last is not None)

    def counting(self, time: int) -> float:
        """Return P(a match counts) at a later time, if nothing happens up to it."""
        marks = ((last, mass) for (_, _, last), mass in self.mass.items())
        return sum(mass for last, mass in marks if last is not None and last > time - self.over)

    def _begin(self, time: int) -> None:
        """Forget, at a new time, the ends that count no more."""
        self.time = time
        if self.line.window is not None:
            self.known = {}
        folded: dict[State, float] = {}
        for (hidden, runs, last), mass in self.mass.items():
            counts = last is not None and last > time - self.over
            state = hidden, runs, last if counts else None
            folded[state] = folded.get(state, 0.0) + mass
        self.mass = folded

    def _add(self, before: State, happened: Happened, mass: float) -> None:
        hidden, runs, last = before
        case = runs, happened
        if case not in self.known:
            assert self.time is not None
            self.known[case] = step(self.line, runs, happened, self.time)
        after, ended = self.known[case]
        state = hidden, after, self._mark() if ended else last
        self.mass[state] = self.mass.get(state, 0.0) + mass
        if len(self.mass) > self.limit:
            raise _too_many()

    def _mark(self) -> int:
        """Return what is remembered of an end: when it was."""
        assert self.time is not None
        return self.time


class Ever(Chain):
    """A chain that remembers for good whether a match has ended."""

    def _mark(self) -> int:
        return 0

    def _begin(self, time: int) -> None:
        self.time = time
        if self.line.window is not None:
            self.known = {}


def probabilities(line: WaitingLine, steps: Iterable[Step], hidden: int = 0) -> dict[int, float]:
    """Return P(a match ends at t) for each time of the steps, which are in order."""
    chain = Chain(line, hidden)
    return {now.time: chain.advance(now) for now in steps}


def lasting_probabilities(
    line: WaitingLine, steps: Iterable[Step], times: Sequence[int], over: int, hidden: int = 0
) -> dict[int, float]:
    """Return P(a match has ended in (t - over, t]) at each time of the steps, and of `times`."""
    chain, found = Chain(line, hidden, over), dict[int, float]()
    waiting = iter(sorted(times))
    time = next(waiting, None)
    for now in steps:
        while time is not None and time < now.time:
            found[time] = chain.counting(time)
            time = next(waiting, None)
        found[now.time] = chain.advance(now)
    while time is not None:
        found.setdefault(time, chain.counting(time))
        time = next(waiting, None)
    return found


def probability(line: WaitingLine, steps: Iterable[Step], hidden: int = 0) -> float:
    """Return P(some match) over all steps."""
    chain, found = Ever(line, hidden), 0.0
    for now in steps:
        found = chain.advance(now)
    return found


def _together(groups: Sequence[Outcomes], limit: int) -> dict[Happened, float]:
    """Return the distribution of what happens in independent groups together."""
    found: dict[Happened, float] = {NOTHING: 1.0}
    for group in groups:
        choices = _choices(group)
        wider: dict[Happened, float] = {}
        for happened, mass in found.items():
            for sign, p in choices:
                key = happened if sign is None else happened | {sign}
                wider[key] = wider.get(key, 0.0) + mass * p
        found = wider
        if len(found) > limit:
            raise _too_many()
    return found


def _choices(group: Outcomes) -> list[tuple[Sign | None, float]]:
    """Return the outcomes of one group by what they mean; the rest to 1 is nothing."""
    by_sign: dict[Sign | None, float] = {}
    for p, sign in group:
        by_sign[sign] = by_sign.get(sign, 0.0) + p
    rest = 1.0 - sum(by_sign.values())
    by_sign[None] = by_sign.get(None, 0.0) + max(rest, 0.0)
    return [(sign, p) for sign, p in by_sign.items() if p > 0.0]


def _moved(
    hidden: tuple[int, ...], moves: Sequence[Move]
) -> Iterator[tuple[tuple[int, ...], Happened, float]]:
    """Yield where the objects may go from their values, with what that means."""
    if not moves:
        yield hidden, NOTHING, 1.0
        return
    move, rest = moves[0], moves[1:]
    row = move.table[hidden[move.hidden]]
    for values, happened, p in _moved(hidden, rest):
        for j, chance in enumerate(row.tolist()):
            if chance > 0.0:
                sign = move.signs[j]
                new = (*values[: move.hidden], j, *values[move.hidden + 1 :])
                yield new, happened if sign is None else happened | {sign}, p * chance


class TooManyStatesError(DataError):
    """A distribution spread over more states than the setting allows."""


def _too_many() -> TooManyStatesError:
    return TooManyStatesError(
        "too many combinations of runs and hidden values are possible to carry them all exactly; "
        "add conjuncts, narrow WITHIN or OVER, allow sampling with APPROXIMATE (0.01, 0.05), or "
        "raise the setting chain_state_limit"
    )

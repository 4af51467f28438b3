"""The absorbing chain of a machine and a model: how likely a match completes within n events.

A state is what lives (a reading of the machine) and the last symbols. `within[j]` of a state is the
probability that a match completes within j events, taken on the whole future: a negation at the end
of a pattern is waited for beyond them. Tables grow with the states that are asked for, so that a
row costs one look-up where the model does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from augury.errors import AuguryError
from augury.forecast.machine import ENDLESS, PENDING, Machine, Reading
from augury.forecast.model import Context, Model, Value
from augury.records import Reals, Words

State = tuple[Reading, Context]
# (probability, whether a match completes, the state after it)
Branch = tuple[float, bool, State]


class TooManyStatesError(AuguryError):
    """A chain has more states than the limit allows."""


class Onward(Protocol):
    """What one step of a chain is."""

    @property
    def machine(self) -> Machine: ...

    def onward(self, state: State) -> Iterator[Branch]:
        """Yield what a step may lead to."""

    def of_all(self) -> Onward:
        """Return the steps in which any event is one."""


@dataclass(frozen=True)
class Steps:
    """One step of the chain: an event of the partition, or any event of the stream.

    `share` is how likely the next event of the stream is of this partition; 1 where events of
    others do not matter. `counts_all` tells that a step is any event.
    """

    machine: Machine
    model: Model
    value: Value
    share: float = 1.0
    counts_all: bool = False
    span: int = ENDLESS

    def onward(self, state: State) -> Iterator[Branch]:
        """Yield what a step may lead to."""
        reading, context = state
        if self.share >= 1.0:
            yield from self._own(reading, context, 1.0)
        elif self.counts_all:
            yield from self._own(reading, context, self.share)
            ended, after = self.machine.read_foreign(reading)
            yield 1.0 - self.share, ended, (after, context)
        else:
            yield from self._after_others(reading, context)

    def _own(self, reading: Reading, context: Context, weight: float) -> Iterator[Branch]:
        for symbol, chance in self.model.chances(context, self.value).items():
            ended, after = self.machine.read(reading, symbol, self.span)
            yield weight * chance, ended, (after, self._longer(context, symbol))

    def _after_others(self, reading: Reading, context: Context) -> Iterator[Branch]:
        """Yield the next event of the partition, after any number of others."""
        weight = 1.0
        while True:
            ended, after = self.machine.read_foreign(reading)
            if not ended and after == reading:
                # More of them change nothing.
                yield from self._own(reading, context, weight)
                return
            yield from self._own(reading, context, weight * self.share)
            weight *= 1.0 - self.share
            if ended:
                yield weight, True, (frozenset(), context)
                return
            reading = after

    def _longer(self, context: Context, symbol: int) -> Context:
        order = self.model.order
        longer = (*context, symbol)[-order:] if order else ()
        return self.model.shortened(longer)

    def of_all(self) -> Steps:
        """Return the steps in which any event is one."""
        return Steps(self.machine, self.model, self.value, self.share, True, self.span)


@dataclass
class Chain:
    """The chain of some steps, with tables of `length` events."""

    steps: Onward
    length: int
    limit: int
    numbers: dict[State, int] = field(default_factory=dict)
    states: list[State] = field(default_factory=list)
    first: Words = field(default_factory=lambda: np.zeros(1, np.int64))
    target: Words = field(default_factory=lambda: np.zeros(0, np.int64))
    chance: Reals = field(default_factory=lambda: np.zeros(0))
    ending: Reals = field(default_factory=lambda: np.zeros(0))
    within: Reals = field(default_factory=lambda: np.zeros((0, 0)))
    _waiting: dict[State, float] = field(default_factory=dict)

    def number(self, state: State) -> int:
        """Return the number of a state, which has its tables from then on."""
        if state not in self.numbers:
            old = len(self.states)
            self._explore(state)
            self._tabulate(old)
        return self.numbers[state]

    def explored(self, state: State) -> int:
        """Return the number of a state, of which it is known what may come after it."""
        if state not in self.numbers:
            self._explore(state)
        return self.numbers[state]

    def forward(self, weights: Reals) -> Reals:
        """Return how likely each state is one step after others; what completes is left out."""
        sources = np.repeat(np.arange(len(self.states)), np.diff(self.first))
        gone = weights[sources] * self.chance
        found: Reals = np.bincount(self.target, gone, len(self.states)).astype(float)
        return found

    def _explore(self, start: State) -> None:
        """Add a state and all that may come after it."""
        first, target = self.first.tolist(), self.target.tolist()
        chance, ending = self.chance.tolist(), self.ending.tolist()
        place = len(self.states)
        self._add(start)
        while place < len(self.states):
            ends, ahead = 0.0, dict[int, float]()
            for weight, ended, after in self.steps.onward(self.states[place]):
                if ended:
                    ends += weight
                elif after[0]:
                    number = self._add(after)
                    ahead[number] = ahead.get(number, 0.0) + weight
            ending.append(ends)
            target.extend(ahead)
            chance.extend(ahead.values())
            first.append(len(target))
            place += 1
        self.first, self.target = np.array(first, np.int64), np.array(target, np.int64)
        self.chance, self.ending = np.array(chance), np.array(ending)

    def _add(self, state: State) -> int:
        if state not in self.numbers:
            if len(self.states) >= self.limit:
                raise TooManyStatesError(f"more than {self.limit:,} states of a forecast")
            self.numbers[state] = len(self.states)
            self.states.append(state)
        return self.numbers[state]

    def _tabulate(self, old: int) -> None:
        """Fill the tables of new states: those of old ones do not depend on them."""
        within = np.zeros((self.length + 1, len(self.states)))
        if old:
            within[:, :old] = self.within
        within[0, old:] = [self._confirmed(state) for state in self.states[old:]]
        advance = self.advance(old)
        for j in range(1, self.length + 1):
            within[j, old:] = self.ending[old:] + advance(within[j - 1])
        self.within = within

    def advance(self, since: int = 0) -> Callable[[Reals], Reals]:
        """Return the step backwards: from a value of each state to its mean one step before."""
        begin = int(self.first[since])
        target, chance = self.target[begin:], self.chance[begin:]
        sources = np.repeat(np.arange(len(self.states) - since), np.diff(self.first[since:]))
        count = len(self.states) - since

        def step(values: Reals) -> Reals:
            found: Reals = np.bincount(sources, chance * values[target], count).astype(float)
            return found

        return step

    # What is waited for beyond the horizon ----------------------------------------------------

    def _confirmed(self, state: State) -> float:
        """Return how likely one of the matches that wait is confirmed in the end."""
        reading, context = state
        pending = frozenset(token for token in reading if token.state == PENDING)
        if not pending:
            return 0.0
        key = pending, context
        if key not in self._waiting:
            found = 0.0
            steps = self.steps.of_all() if self.steps.machine.foreign_ticks else self.steps
            for weight, ended, after in steps.onward(key):
                found += weight * (1.0 if ended else self._confirmed(after))
            self._waiting[key] = found
        return self._waiting[key]

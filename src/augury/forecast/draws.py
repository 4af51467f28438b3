"""Futures drawn from a history: which events come, with which step, and when.

The next symbol is drawn as the model has it, and an event of the history that has this symbol
stands for it: so a condition over several events is decided on what such events are like. Events of
other partitions are drawn where they count; as many as can matter stand before an own one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from augury.forecast import arrivals
from augury.forecast.model import Context, Model, Value
from augury.forecast.setting import Setting
from augury.records import Reals, Words

# The place of an event of another partition, of which nothing but that it came is known.
OTHER = -1


@dataclass(frozen=True)
class Pool:
    """The events of a history: symbol and chance of each, and its place among `values` of BY."""

    symbol: Words
    p: Reals
    value: Words
    values: Sequence[Value]

    @cached_property
    def _parts(self) -> dict[tuple[Value, int], tuple[Words, Reals]]:
        """The places of the events of each value and symbol, and their chances, summed up."""
        found: dict[tuple[Value, int], tuple[Words, Reals]] = {}
        for symbol in np.unique(self.symbol).tolist():
            alike = np.flatnonzero((self.symbol == symbol) & (self.p > 0.0))
            found[None, symbol] = alike, np.cumsum(self.p[alike])
            for value in np.unique(self.value[alike]).tolist():
                own = alike[self.value[alike] == value]
                found["of", self.values[value], symbol] = own, np.cumsum(self.p[own])  # type: ignore[index]
        return found

    def drawn(self, symbol: int, value: Value, chance: Reals) -> Words:
        """Return an event of a symbol for each number from 0 to 1: of that value, if one is."""
        own = self._parts.get(("of", value, symbol))  # type: ignore[arg-type]
        places, sums = self._parts[None, symbol] if own is None else own
        at = np.searchsorted(sums, chance * sums[-1], side="right")
        found: Words = places[np.minimum(at, len(places) - 1)]
        return found


@dataclass(frozen=True)
class Come:
    """Events to come of several futures, one after the other in each.

    `event` is a place in the pool, or OTHER. `step` is what the horizon counts, from 1; of an event
    of another partition, it is that of the own one that follows. `after` is how long from now.
    """

    future: Words
    event: Words
    step: Words
    after: Reals


@dataclass(frozen=True)
class Drawer:
    """Draws futures under a model of symbols.

    `beyond` says that what comes up to a window after the horizon decides what is in it; `most` is
    how many events of other partitions in a row can matter.
    """

    setting: Setting
    model: Model
    pool: Pool
    beyond: bool
    most: int

    def length(self, gap: float | None) -> int:
        """Return how many own events a future has, at most; `gap` is the mean one."""
        setting, horizon = self.setting, self.setting.horizon
        more = setting.window or 0 if self.beyond else 0
        events = more if setting.counts_events else 0
        time = 0 if setting.counts_events else more
        if horizon.in_time:
            time += horizon.length
        else:
            events += horizon.length
        return events + self._arrivals(time, gap)

    def mean_events(self, share: float, gap: float | None) -> float:
        """Return how many events a future has on average, those of other partitions among them.

        `share` is the part of the events that are own ones.
        """
        own = self.length(gap)
        if not (self.most and 0.0 < share < 1.0):
            return own
        others = (1.0 - share) * (1.0 - (1.0 - share) ** self.most) / share
        return own * (1.0 + others)

    def _arrivals(self, time: int, gap: float | None) -> int:
        if not time or gap is None:
            return 0
        if self.setting.steady:
            return arrivals.steps_within(time, gap) + 1
        return arrivals.most_events(time / gap)

    def draw(
        self,
        random: np.random.Generator,
        contexts: Sequence[Context],
        value: Value,
        share: float,
        gap: float | None,
    ) -> Come:
        """Return a future for each context, which are the last symbols."""
        count, length = len(contexts), self.length(gap)
        events = self._events(random, self._symbols(random, contexts, value, length), value)
        step = np.tile(np.arange(1, length + 1), (count, 1))
        before = np.zeros((count, length), np.int64)
        if share < 1.0 and (self.most or self.setting.horizon.of_stream):
            others = random.geometric(share, (count, length)) - 1
            before = np.minimum(others, self.most)
            if self.setting.horizon.of_stream:
                step = step + np.cumsum(others, axis=1)
        after = self._after(random, count, length, gap)
        # Each event stands behind those of other partitions that come before it.
        runs = before.ravel() + 1
        whose = np.repeat(np.arange(count * length), runs)
        is_own = np.zeros(len(whose), np.bool_)
        is_own[np.cumsum(runs) - 1] = True
        return Come(
            whose // max(length, 1),
            np.where(is_own, events.ravel()[whose], OTHER),
            step.ravel()[whose],
            after.ravel()[whose],
        )

    def _after(
        self, random: np.random.Generator, count: int, length: int, gap: float | None
    ) -> Reals:
        """Return how long from now each own event comes."""
        if gap is None:
            return np.zeros((count, length))
        if self.setting.steady:
            return np.tile(gap * np.arange(1, length + 1), (count, 1))
        found: Reals = np.cumsum(random.exponential(gap, (count, length)), axis=1)
        return found

    def _events(self, random: np.random.Generator, symbols: Words, value: Value) -> Words:
        chance, found = random.random(symbols.shape), np.zeros(symbols.shape, np.int64)
        for symbol in np.unique(symbols).tolist():
            here = symbols == symbol
            found[here] = self.pool.drawn(symbol, value, chance[here])
        return found

    def _symbols(
        self, random: np.random.Generator, contexts: Sequence[Context], value: Value, length: int
    ) -> Words:
        """Return the symbols that come, each by the last ones before it."""
        chance = random.random((len(contexts), length))
        numbers = _Contexts(self.model, value)
        now = np.array([numbers.of(context) for context in contexts], np.int64)
        found = np.zeros((len(contexts), length), np.int64)
        for step in range(length):
            after = now.copy()
            for number in np.unique(now).tolist():
                here = np.flatnonzero(now == number)
                symbols, sums = numbers.table(number)
                at = np.searchsorted(sums, chance[here, step] * sums[-1], side="right")
                at = np.minimum(at, len(symbols) - 1)
                found[here, step] = symbols[at]
                after[here] = numbers.following(number)[at]
            now = after
        return found


class _Contexts:
    """Contexts by number, with which symbols may follow each, and which contexts come of these."""

    def __init__(self, model: Model, value: Value) -> None:
        self.model, self.value = model, value
        self.known: dict[Context, int] = {}
        self.listed: list[Context] = []
        self._tables: dict[int, tuple[Words, Reals]] = {}
        self._following: dict[int, Words] = {}

    def of(self, context: Context) -> int:
        short = self.model.shortened(context)
        if short not in self.known:
            self.known[short] = len(self.listed)
            self.listed.append(short)
        return self.known[short]

    def table(self, number: int) -> tuple[Words, Reals]:
        """Return the symbols that may follow, and their chances, summed up."""
        if number not in self._tables:
            chances = self.model.chances(self.listed[number], self.value)
            symbols = sorted(symbol for symbol, chance in chances.items() if chance > 0.0)
            sums = np.cumsum([chances[symbol] for symbol in symbols])
            self._tables[number] = np.array(symbols, np.int64), sums
        return self._tables[number]

    def following(self, number: int) -> Words:
        """Return the numbers of the contexts that the symbols lead to."""
        if number not in self._following:
            order, context = self.model.order, self.listed[number]
            symbols = self.table(number)[0].tolist()
            ways = [(*context, symbol)[-order:] if order else () for symbol in symbols]
            self._following[number] = np.array([self.of(way) for way in ways], np.int64)
        return self._following[number]

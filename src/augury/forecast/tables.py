"""What symbols make of tokens, readings and contexts, worked out when it is first asked for.

`past` says what becomes of a token, so that there is one account of it; kernels follow what is
known (`augury.kernels.forecast.following`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from augury.forecast.machine import ENDLESS, Reading, Token
from augury.forecast.model import Context, Value
from augury.forecast.past import Outcome, Past, Read
from augury.forecast.values import Moment, SymbolValues
from augury.kernels.forecast import following
from augury.records import Words

# Numbers below this are found again by place; others are sorted.
DENSE = 2**22
Thing = TypeVar("Thing", bound=Hashable)


class Numbers(Generic[Thing]):
    """Numbers for things, in the order of their first appearance."""

    def __init__(self, *first: Thing) -> None:
        self.known: dict[Thing, int] = {}
        self.things: list[Thing] = []
        for thing in first:
            self.of(thing)

    def of(self, thing: Thing) -> int:
        if thing not in self.known:
            self.known[thing] = len(self.things)
            self.things.append(thing)
        return self.known[thing]

    def __len__(self) -> int:
        return len(self.things)


@dataclass
class Tables:
    """What symbols make of contexts, readings and tokens; the same for all who read this model."""

    past: Past
    values: SymbolValues
    symbols: Numbers[tuple[int, ...]] = field(default_factory=Numbers)
    contexts: Numbers[Context] = field(default_factory=lambda: Numbers(()))
    context_onward: Words = field(default_factory=lambda: np.full((1, 1), -1, np.int64))
    worth: dict[tuple[int, int, int, int], tuple[float, float]] = field(default_factory=dict)
    by: Numbers[Value] = field(default_factory=lambda: Numbers(None))

    def number_values(self, values: Sequence[Value]) -> Words:
        """Return the number of each value of BY; 0 for those that take the counts of all."""
        known = self.values.model.own
        return np.array([self.by.of(v) if v in known else 0 for v in values], np.int64)

    def gap(self, value: int) -> float | None:
        """Return the mean gap of a value, by its number."""
        return self.values.model.mean_gap(self.by.things[value])

    def read(self, symbol: int) -> Outcome:
        """Return what is read where a group of events has a symbol."""
        masks = self.symbols.things[symbol]
        span = ENDLESS if self.past.count_window is None else self.past.count_window - 1
        return Outcome(tuple(Read(k, mask, 0) for k, mask in enumerate(masks)), 0, span)

    def number_symbols(self, masks: Words, first: Words) -> Words:
        """Return the symbol of each group of events."""
        sizes = np.diff(first)
        own = masks[first[:-1]]
        present, places = numbered(own)
        found = np.array([self.symbols.of((mask,)) for mask in present.tolist()], np.int64)[places]
        for group in np.flatnonzero(sizes > 1).tolist():
            found[group] = self.symbols.of(tuple(masks[first[group] : first[group + 1]].tolist()))
        return found

    def know_context(self, context: int, symbol: int) -> None:
        """Work out what a context becomes."""
        longer = self.read(symbol).longer(self.contexts.things[context], self.past.order)
        after = self.contexts.of(self.values.model.shortened(longer))
        self.context_onward[context, symbol] = after

    def grow(self) -> None:
        """Make room for all symbols and contexts."""
        self.context_onward = larger(self.context_onward, len(self.contexts), len(self.symbols))


@dataclass
class WholeTables(Tables):
    """The same for readings, which are what lives as a whole."""

    readings: Numbers[Reading] = field(default_factory=Numbers)
    onward: Words = field(default_factory=lambda: np.full((1, 1), -1, np.int64))

    def __post_init__(self) -> None:
        self.readings.of(frozenset([self.past.empty]))

    def know(self, reading: int, symbol: int) -> None:
        """Work out what a reading becomes."""
        outcome = self.read(symbol)
        ways = (self.past.ways(token, outcome) for token in self.readings.things[reading])
        after = self.past.machine.thinned(way.token for each in ways for way in each)
        self.onward[reading, symbol] = self.readings.of(after)

    def grow(self) -> None:
        super().grow()
        self.onward = larger(self.onward, len(self.readings), len(self.symbols))


@dataclass
class PartialTables(Tables):
    """The same for tokens, each of which may go several ways."""

    tokens: Numbers[Token] = field(default_factory=Numbers)
    begin: Words = field(default_factory=lambda: np.full((1, 1), -1, np.int64))
    end: Words = field(default_factory=lambda: np.full((1, 1), -1, np.int64))
    listed: list[tuple[int, bool]] = field(default_factory=list)
    take: list[int] = field(default_factory=lambda: [0])
    taken: list[tuple[int, int]] = field(default_factory=list)
    _made: following.Ways | None = None
    _least: float = 0.0
    _claims: dict[Token, tuple[int, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tokens.of(without_end(self.past, self.past.empty))

    def know(self, token: int, symbol: int) -> None:
        """Work out the ways of a token."""
        outcome, own = self.read(symbol), self.tokens.things[token]
        self.begin[token, symbol] = len(self.listed)
        for way in self.past.ways(own, outcome):
            starts = not own.bound and bool(way.taken)
            self.listed.append((self.tokens.of(without_end(self.past, way.token)), starts))
            self.taken += way.taken
            self.take.append(len(self.taken))
        self.end[token, symbol] = len(self.listed)
        self._made = None

    def grow(self) -> None:
        super().grow()
        self.begin = larger(self.begin, len(self.tokens), len(self.symbols))
        self.end = larger(self.end, len(self.tokens), len(self.symbols))
        self._made = None

    def ways(self, least: float = 0.0) -> following.Ways:
        """Return all that is known as arrays; what can claim no more than `least` is not told."""
        if self._made is None or self._least != least:
            self._least = least
            targets = np.array([target for target, _ in self.listed] or [0], np.int64)
            starts = np.array([starts for _, starts in self.listed] or [False], np.bool_)
            component = np.array([c for c, _ in self.taken] or [0], np.int64)
            which = np.array([k for _, k in self.taken] or [0], np.int64)
            accepting = self.past.machine.accepting
            told = [
                bool(t.bound) and not accepting[t.state] and (not least or self._most(t) > least)
                for t in self.tokens.things
            ]
            self._made = following.Ways(
                self.context_onward,
                self.begin,
                self.end,
                targets,
                starts,
                np.array(self.take, np.int64),
                component,
                which,
                np.array(told, np.bool_),
            )
        return self._made

    def _most(self, token: Token) -> float:
        """Return the most that a partial match can claim, whatever came last."""
        if token not in self._claims or self._claims[token][0] < len(self.contexts):
            moment, reading = Moment(0, 0, None), frozenset([token])
            told = (self.values.value(moment, [(reading, c, 1.0)]) for c in self.contexts.things)
            most = max(1.0 if each is None else each[0] for each in told)
            self._claims[token] = len(self.contexts), most
        return self._claims[token][1]


# Arrays ---------------------------------------------------------------------------------------


def without_end(past: Past, token: Token) -> Token:
    """Return a token whose window, if it is in time, is kept beside it."""
    return token if past.window is None else token._replace(left=ENDLESS)


def larger(table: Words, rows: int, columns: int) -> Words:
    """Return a table that has room for so many rows and columns; -1 is not known."""
    shape = _room(table.shape[0], rows), _room(table.shape[1], columns)
    if shape == table.shape:
        return table
    found = np.full(shape, -1, np.int64)
    found[: table.shape[0], : table.shape[1]] = table
    return found


def _room(there: int, needed: int) -> int:
    return there if there >= needed else max(needed, 2 * there)


def longer(column: Words, count: int, instead: int) -> Words:
    """Return a column that has at least so many places."""
    if len(column) >= count:
        return column
    more = max(count, len(column) + len(column) // 2) - len(column)
    return np.concatenate([column, np.full(more, instead, np.int64)])


def numbered(words: Words) -> tuple[Words, Words]:
    """Return the different numbers of an array, and the place of each among them."""
    if not len(words) or words.min() < 0 or words.max() >= DENSE:
        return np.unique(words, return_inverse=True)
    there = np.zeros(int(words.max()) + 1, np.bool_)
    there[words] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[words]


def firsts(key: Words) -> tuple[Words, Words]:
    """Return a row of every key, and the place of each row's key among these."""
    present, places = numbered(key)
    first = np.empty(len(present), np.int64)
    first[places] = np.arange(len(key))
    return first, places

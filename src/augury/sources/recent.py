"""Which ids were seen lately, in a few bytes each.

Ids are kept as 64-bit words in open addressing, in four generations: when the youngest spans a
third of the time that must be remembered, the oldest is dropped. So an id is known for that time,
and at most a third longer. Whole numbers are their own word; of texts the word is a hash, so
that two of them are taken for one with a chance of one in 10^19.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

_FULL = 0.7
_MASK = 2**64 - 1
# Spreads whole numbers over the table (Fibonacci hashing).
_SPREAD = 0x9E3779B97F4A7C15

Table = npt.NDArray[np.uint64]


def word_of(value: Any) -> int:
    """Return the word of an id; never 0, which marks a free place."""
    if isinstance(value, int):
        return (value & _MASK) or _SPREAD
    digest = blake2b(repr(value).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") or _SPREAD


class Generation:
    """A set of words that grows."""

    def __init__(self, since: int) -> None:
        self.since = since
        self.count = 0
        self.table: Table = np.zeros(64, np.uint64)

    def place(self, word: int) -> int:
        """Return where a word stands, or the free place where it would."""
        size = len(self.table)
        at = (word * _SPREAD & _MASK) * size >> 64
        while True:
            found = int(self.table[at])
            if found in (word, 0):
                return at
            at = at + 1 if at + 1 < size else 0

    def has(self, word: int) -> bool:
        return bool(self.table[self.place(word)])

    def add(self, word: int) -> None:
        """Add a word, once."""
        if self.count >= len(self.table) * _FULL:
            self._grow()
        at = self.place(word)
        if not self.table[at]:
            self.table[at] = word
            self.count += 1

    def words(self) -> list[int]:
        found: list[int] = self.table[self.table != 0].tolist()
        return found

    def _grow(self) -> None:
        words = self.words()
        self.table = np.zeros(len(self.table) * 3 // 2, np.uint64)
        for word in words:
            self.table[self.place(word)] = word


class RecentIds:
    """Ids of the last `memory` ticks or microseconds; the oldest generation comes first."""

    def __init__(self, memory: int = 0) -> None:
        self.memory = memory
        self.generations = [Generation(-(2**62)) for _ in range(4)]

    def __contains__(self, value: Any) -> bool:
        word = word_of(value)
        return any(each.count and each.has(word) for each in self.generations)

    def add(self, value: Any, time: int) -> None:
        """Remember an id of an event at `time`; times rise, more or less."""
        if (time - self.generations[-1].since) * 3 > self.memory:
            self.generations = [*self.generations[1:], Generation(time)]
        self.generations[-1].add(word_of(value))

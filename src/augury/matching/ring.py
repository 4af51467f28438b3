"""Live events of one query, in few bytes each: a ring in the order of time.

Events come in order and go in order, so a ring holds them without moving anything. An event is a
row of words (see `kernels.gather`) and, where an answer needs text, one reference per such column.
Partitions are chains through the ring; a partition whose last event went is forgotten.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from augury.kernels.search.gather import DISTANCE_BITS, LINK, WHEN
from augury.records import Words

# Grown by little, because memory per event matters more than the time to copy.
GROWTH = 1.125
LEAST = 16
_NUMBER = (1 << DISTANCE_BITS) - 1


class Ring:
    """Events number `oldest` up to `following`; number n is row n modulo the capacity."""

    def __init__(self, width: int, n_texts: int) -> None:
        self.words: Words = np.zeros((LEAST, width), np.int64)
        self.texts: list[list[Any]] = [[None] * LEAST for _ in range(n_texts)]
        self.oldest = 0
        self.following = 0
        self.numbers: dict[Hashable, int] = {}
        self._values: list[Hashable] = []
        self._newest = array("q")
        self._free: list[int] = []

    def __len__(self) -> int:
        return self.following - self.oldest

    def append(self, partition: Hashable, words: Sequence[int], texts: Sequence[Any]) -> int:
        """Add an event after all others; return the number of its partition.

        `words` begins with the link, whatever it is, and the time.
        """
        if len(self) == len(self.words):
            self._resize(int(len(self.words) * GROWTH) + LEAST)
        number = self.numbers.get(partition)
        if number is None:
            number = self._number(partition)
        event, newest = self.following, self._newest[number]
        row = event % len(self.words)
        self.words[row] = words
        distance = event - newest if newest >= self.oldest else 0
        self.words[row, LINK] = distance << DISTANCE_BITS | number
        for column, text in zip(self.texts, texts, strict=True):
            column[row] = text
        self._newest[number] = event
        self.following = event + 1
        return number

    def newest(self, number: int) -> int:
        """Return the newest event of a partition; -1 where it has none."""
        return self._newest[number]

    def value(self, number: int) -> Hashable:
        """Return what a partition stands for."""
        return self._values[number]

    def drop_before(self, time: int) -> None:
        """Let the events before a time go."""
        words, capacity = self.words, len(self.words)
        while self.oldest < self.following:
            row = self.oldest % capacity
            if words[row, WHEN] >= time:
                break
            self._forget(int(words[row, LINK]) & _NUMBER)
            for column in self.texts:
                column[row] = None
            self.oldest += 1
        if len(self) * 4 < capacity and capacity > LEAST * 4:
            self._resize(max(LEAST, int(len(self) * GROWTH) + LEAST))

    def rows(self) -> Words:
        """Return the rows of all live events, oldest first."""
        return np.arange(self.oldest, self.following) % len(self.words)

    def partition_numbers(self) -> Iterator[int]:
        """Yield the number of every partition that has events."""
        yield from self.numbers.values()

    def partition_of(self, row: int) -> Hashable:
        """Return the partition of the event in a row."""
        return self._values[int(self.words[row, LINK]) & _NUMBER]

    def _number(self, partition: Hashable) -> int:
        if self._free:
            number = self._free.pop()
            self._values[number] = partition
        else:
            number = len(self._values)
            self._values.append(partition)
            self._newest.append(-1)
        self.numbers[partition] = number
        return number

    def _forget(self, number: int) -> None:
        """Forget the partition of the oldest event, if that was its last."""
        if self._newest[number] == self.oldest:
            del self.numbers[self._values[number]]
            self._values[number], self._newest[number] = None, -1
            self._free.append(number)

    def _resize(self, capacity: int) -> None:
        events = np.arange(self.oldest, self.following)
        before, after = events % len(self.words), events % capacity
        words = np.zeros((capacity, self.words.shape[1]), np.int64)
        words[after] = self.words[before]
        for k, column in enumerate(self.texts):
            fresh: list[Any] = [None] * capacity
            for old, new in zip(before.tolist(), after.tolist(), strict=True):
                fresh[new] = column[old]
            self.texts[k] = fresh
        self.words = words

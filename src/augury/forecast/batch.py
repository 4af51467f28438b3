"""The events of one step as columns, and their groups: those of one order in one partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from augury.forecast.past import Read
from augury.forecast.setting import ALL, Partition
from augury.records import Flags, Places, Reals, Words


@dataclass(frozen=True)
class Batch:
    """Events in their order: by time, tie-breaker and number.

    `symbol` is the set of components that an event fits, as bits; `value` is a place among the
    `values` of BY. `seen` has the attributes that conditions over several events look at.
    """

    time: Words
    tie: Words
    number: Words
    partition: Words
    symbol: Words
    p: Reals
    group: Words
    value: Words
    values: Sequence[Any]
    seen: Sequence[tuple[Any, ...]] = ()

    def __len__(self) -> int:
        return len(self.time)

    @property
    def is_certain(self) -> bool:
        """Whether every event has happened."""
        return bool((self.p >= 1.0).all() and (self.group < 0).all())

    @property
    def _begins(self) -> Flags:
        """Which events are the first of their order."""
        found = np.ones(len(self), np.bool_)
        found[1:] = (self.time[1:] != self.time[:-1]) | (self.tie[1:] != self.tie[:-1])
        return found

    def orders(self) -> Iterator[dict[Partition, list[Read]]]:
        """Yield the events of each order, by partition."""
        begins = self._begins.tolist()
        columns = (self.partition, self.number, self.symbol, self.time, self.p, self.group)
        seen = self.seen or [()] * len(self)
        own = *(c.tolist() for c in columns), self.value.tolist(), seen
        listed = zip(begins, *own, strict=True)
        order: dict[Partition, list[Read]] = {}
        for is_first, partition, number, symbol, time, p, group, value, looked_at in listed:
            if is_first and order:
                yield order
                order = {}
            read = Read(number, symbol, time, p, group, self.values[value], looked_at)
            order.setdefault(partition, []).append(read)
        if order:
            yield order

    def groups(self) -> tuple[Words, Words]:
        """Return the events by group, groups in the order of their first, and where each begins."""
        begins = self._begins
        if begins.all():
            return np.arange(len(self)), np.arange(len(self) + 1)
        order = np.cumsum(begins)
        events = np.lexsort((np.arange(len(self)), self.partition, order))
        first = np.ones(len(self), np.bool_)
        same = (order[events][1:] == order[events][:-1]) & (
            self.partition[events][1:] == self.partition[events][:-1]
        )
        first[1:] = ~same
        starts = np.flatnonzero(first)
        sizes = np.diff(np.append(starts, len(self)))
        turn = np.argsort(events[starts], kind="stable")
        place = np.concatenate([[0], np.cumsum(sizes[turn])]).astype(np.int64)
        moved = np.repeat(starts[turn] - place[:-1], sizes[turn]) + np.arange(len(self))
        return events[moved], place


@dataclass(frozen=True)
class Passing:
    """Events of one partition in groups of equal order, as they go by.

    The `code` of a group has the symbol `masks[code]`; group g has the events from `first[g]` on,
    whose numbers count from `base`. All but `masks` and `base` may be shared by many forecasts.
    """

    code: Places
    masks: Sequence[int]
    time: Words
    first: Words
    number: Words
    base: int
    partition: Partition = ALL

    def batch(self) -> Batch:
        """Return the events by themselves, each alone in its group."""
        n = len(self.code)
        none, masks = np.zeros(n, np.int64), np.array(self.masks, np.int64)
        number, symbol = self.number[:n] + self.base, masks[self.code]
        partition, alone = np.full(n, self.partition), np.full(n, -1)
        ones = np.ones(n)
        return Batch(self.time, none, number, partition, symbol, ones, alone, none, [None])

"""The events that a match stage remembers: columns that grow at one end and go at the other.

Events come in the order of time, so the live ones are a stretch of every column, and what is too
old is let go by moving where the stretch begins. Each event knows the one before it in its
partition (`kernels.rows.linked`), so that those of a few partitions are found without the others.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from augury.kernels.rows import linked, sorting
from augury.records import Events, Words

LEAST = 1024
# A step that touches more than one in so many live events takes all of them: they lie side by side.
MOST = 2


class EventStore:
    """Live events, oldest first; number `oldest` up to `following`, counted since the beginning."""

    def __init__(self, like: Events) -> None:
        self._columns = {
            each.name: getattr(like, each.name)[..., :0]
            for each in fields(Events)
            if each.name != "is_float"
        }
        self._before = np.zeros(0, np.int64)
        self._last = np.zeros(0, np.int64)
        self._alive = np.zeros(0, np.int64)
        self._is_float = like.is_float
        self._begin = self._end = 0
        self.oldest = 0

    def __len__(self) -> int:
        return self._end - self._begin

    @property
    def nbytes(self) -> int:
        """How many bytes all of it takes."""
        linked_bytes = self._before.nbytes + self._last.nbytes + self._alive.nbytes
        return int(linked_bytes + sum(column.nbytes for column in self._columns.values()))

    @property
    def events(self) -> Events:
        """All live events, without a copy."""
        live = slice(self._begin, self._end)
        return Events(
            **{name: column[..., live] for name, column in self._columns.items()},
            is_float=self._is_float,
        )

    def append(self, events: Events) -> None:
        """Add events that are not before any other, in the order of time and tie-breaker."""
        if not len(events):
            return
        if not sorting.is_sorted(events.time, events.tie):
            events = events.take(np.lexsort((events.tie, events.time)))
        self._make_room(len(events))
        here = slice(self._end, self._end + len(events))
        for name, column in self._columns.items():
            column[..., here] = getattr(events, name)
        self._know_partitions(int(events.partition.max()) + 1)
        following = self.oldest + len(self)
        linked.link(events.partition, following, self._last, self._before[here])
        self._alive += np.bincount(events.partition, minlength=len(self._alive))
        self._end = here.stop

    def drop_before(self, time: int) -> None:
        """Let the events before a time go."""
        live = self._columns["time"][self._begin : self._end]
        count = int(np.searchsorted(live, time))
        if count:
            gone = self._columns["partition"][self._begin : self._begin + count]
            self._alive -= np.bincount(gone, minlength=len(self._alive))
            self._begin += count
            self.oldest += count

    def of_partitions(self, touched: Words) -> Events:
        """Return the live events of some partitions, numbered anew; all, where that is most."""
        n = int(self._alive[touched].sum())
        if n * MOST >= len(self):
            return self.events
        before = self._before[self._begin : self._end]
        places, numbers = np.empty(n, np.int64), np.empty(n, np.int64)
        linked.gather_linked(touched, self._last, before, self.oldest, places, numbers)
        return replace(self.events.take(places), partition=numbers)

    def partitions_between(self, since: int, until: int, mask: int) -> Words:
        """Return the partitions with an event in [since, until) that may play one of `mask`."""
        events = self.events
        low, high = np.searchsorted(events.time, (since, until))
        able = (events.mask[low:high] & mask) != 0
        return np.unique(events.partition[low:high][able])

    def _make_room(self, count: int) -> None:
        """Move the live events to the front of longer columns, if there is no room behind them."""
        if self._end + count <= len(self._before):
            return
        size = max(LEAST, 2 * (len(self) + count))
        live, n = slice(self._begin, self._end), len(self)

        def longer(column: Any) -> Any:
            moved = np.empty((*column.shape[:-1], size), column.dtype)
            moved[..., :n] = column[..., live]
            return moved

        self._columns = {name: longer(column) for name, column in self._columns.items()}
        self._before = longer(self._before)
        self._begin, self._end = 0, n

    def _know_partitions(self, count: int) -> None:
        more = count - len(self._last)
        if more > 0:
            spare = max(more, len(self._last) // 2)
            self._last = np.concatenate([self._last, np.full(spare, -1, np.int64)])
            self._alive = np.concatenate([self._alive, np.zeros(spare, np.int64)])

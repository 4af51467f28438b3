"""Rows of forecasts as columns: what is told after the events of one step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from augury.forecast.setting import Row
from augury.records import Flags, Reals, Words

# Components are bits of a word.
MOST_COMPONENTS = 64
LATEST = np.int64(2**62)


@dataclass(frozen=True)
class Told:
    """One row each: after the event `last`, at a time; NaN is NULL.

    Items `first_item[r]..first_item[r + 1]` are the components and the numbers of the events that
    a partial match has bound; BY TIME there are none.
    """

    time: Words
    last: Words
    first_item: Words
    component: Words
    number: Words
    confidence: Reals
    forecast: Reals
    expected: Reals

    def __len__(self) -> int:
        return len(self.time)

    @staticmethod
    def of(rows: Sequence[Row]) -> Told:
        """Return rows that were made one by one."""
        sizes = [len(row.bound) for row in rows]
        items = [item for row in rows for item in row.bound]
        return Told(
            np.array([row.time for row in rows], np.int64),
            np.array([row.last for row in rows], np.int64),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.array([component for component, _ in items], np.int64),
            np.array([number for _, number in items], np.int64),
            np.array([row.confidence for row in rows], np.float64),
            np.array([_or_nan(row.forecast) for row in rows], np.float64),
            np.array([_or_nan(row.expected) for row in rows], np.float64),
        )

    @staticmethod
    def joined(parts: Sequence[Told]) -> Told:
        """Return the rows of all parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return Told.of([])
        sizes = np.concatenate([np.diff(part.first_item) for part in parts])
        columns = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("time", "last", "component", "number")
        }
        reals = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("confidence", "forecast", "expected")
        }
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Told(first_item=first, **columns, **reals)

    def in_order(self) -> Told:
        """Return the rows of each event by what they have bound: what began first comes first.

        Of two that are alike as far as one goes, the one with more comes first.
        """
        count = len(self)
        begins = np.ones(count, np.bool_)
        begins[1:] = self.last[1:] != self.last[:-1]
        if begins.all():
            return self
        sizes = np.diff(self.first_item)
        place = np.arange(len(self.number)) - np.repeat(self.first_item[:-1], sizes)
        keys = np.full((int(sizes.max(initial=0)), count), LATEST)
        keys[place, self.row_of_item] = self.number * MOST_COMPONENTS + self.component
        return self._at(np.lexsort((*keys[::-1], np.cumsum(begins))))

    def _at(self, rows: Words) -> Told:
        """Return the rows in another order."""
        sizes = np.diff(self.first_item)[rows]
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        items = np.repeat(self.first_item[rows] - first[:-1], sizes) + np.arange(first[-1])
        return Told(
            self.time[rows],
            self.last[rows],
            first,
            self.component[items],
            self.number[items],
            self.confidence[rows],
            self.forecast[rows],
            self.expected[rows],
        )

    @property
    def row_of_item(self) -> Words:
        """The row that each item belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.first_item))

    def only(self, chosen: Flags) -> Told:
        """Return some of the rows."""
        if chosen.all():
            return self
        sizes = np.diff(self.first_item)
        items = np.repeat(chosen, sizes)
        return Told(
            self.time[chosen],
            self.last[chosen],
            np.concatenate([[0], np.cumsum(sizes[chosen])]).astype(np.int64),
            self.component[items],
            self.number[items],
            self.confidence[chosen],
            self.forecast[chosen],
            self.expected[chosen],
        )


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value

"""A table in memory: rows in the order in which they came, found by key.

Every change is remembered until it is settled, so that what cannot be done whole is not done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from augury.errors import DataError

Row = tuple[Any, ...]


class RefusedKeyError(DataError):
    """A key that is NULL, or is there already."""


def is_row(values: Row, rows: Iterable[Row]) -> bool | None:
    """Return whether values are one of some rows; None where only a NULL leaves it open."""
    answer: bool | None = False
    for row in rows:
        if row == values and None not in row:
            return True
        pairs = zip(row, values, strict=True)
        if all(a is None or b is None or a == b for a, b in pairs):
            answer = None
    return answer


@dataclass
class Contents:
    """The rows by their places, which only grow; `places` has them by key.

    `changed` is what a place held before each change that is not settled yet.
    """

    name: str
    key: tuple[int, ...] = ()
    held: dict[int, Row] = field(default_factory=dict)
    places: dict[Row, int] = field(default_factory=dict)
    following: int = 0
    changed: list[tuple[int, Row | None]] = field(default_factory=list)

    @classmethod
    def of(cls, name: str, key: tuple[int, ...], rows: Iterable[Row]) -> Contents:
        """Return a table with rows; a repeated or NULL key is refused."""
        made = cls(name, key)
        for row in rows:
            made.insert(row)
        made.settle()
        return made

    def rows(self) -> list[tuple[int, Row]]:
        """Return all rows with their places, in order."""
        return sorted(self.held.items())

    def by_key(self, key: Row) -> Iterator[tuple[int, Row]]:
        """Yield the row of a key, if it is there."""
        place = self.places.get(key)
        if place is not None:
            yield place, self.held[place]

    def key_of(self, row: Row) -> Row:
        """Return the values of the KEY; of a bag, none."""
        return tuple(row[place] for place in self.key)

    def has(self, values: Row) -> bool | None:
        """Return whether the values are a row, by SQL's rule for rows with NULLs."""
        key = self.key_of(values)
        # Rows of other keys differ: a key is never NULL.
        asked = self.by_key(key) if key and None not in key else self.held.items()
        return is_row(values, (row for _, row in asked))

    def insert(self, row: Row) -> None:
        """Add a row; raise where its key is NULL or there."""
        if self.key:
            key = self.key_of(row)
            if None in key:
                raise RefusedKeyError(f"INSERT INTO {self.name}: key {key} has a NULL")
            if key in self.places:
                raise RefusedKeyError(f"INSERT INTO {self.name}: key {key} is there already")
        self._put(self.following, row)
        self.following += 1

    def replace(self, place: int, row: Row) -> None:
        """Put a row in the place of another, with the same key."""
        self.changed.append((place, self.held[place]))
        self.held[place] = row

    def delete(self, place: int) -> None:
        """Take a row out."""
        self._put(place, None)

    def _put(self, place: int, row: Row | None) -> None:
        self.changed.append((place, self.held.get(place)))
        self._hold(place, row)

    def _hold(self, place: int, row: Row | None) -> None:
        before = self.held.pop(place, None)
        if self.key and before is not None:
            del self.places[self.key_of(before)]
        if row is not None:
            self.held[place] = row
            if self.key:
                self.places[self.key_of(row)] = place

    @property
    def mark(self) -> int:
        """What `undo` goes back to."""
        return len(self.changed)

    def undo(self, mark: int) -> None:
        """Take back every change since a mark, the last one first."""
        while len(self.changed) > mark:
            place, row = self.changed.pop()
            self._hold(place, row)

    def settle(self) -> None:
        """Let the changes stand."""
        self.changed.clear()

"""What a condition or a value may look at: a match, a row of a table, and the tables.

Reads of tables are told to `seen`, if somebody listens: tests hold them to the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from augury.errors import DataError
from augury.rules.contents import Contents, Row

Seen = Callable[[str, Any], None]


class TwoRowsError(DataError):
    """A subquery that is asked for one value finds several rows."""


@dataclass(slots=True)
class Reading:
    """The place of an evaluation; `row` and `excluded` are set while rows are gone through."""

    tables: Mapping[str, Contents]
    match: Mapping[str, Any]
    row: Row = ()
    excluded: Row = ()
    seen: Seen | None = None

    def at(self, row: Row) -> Reading:
        """Return the same place, at a row."""
        return Reading(self.tables, self.match, row, self.excluded, self.seen)

    def rows(
        self,
        table: str,
        condition: Callable[[Reading], Any] | None,
        key: Sequence[Callable[[Reading], Any]] | None,
    ) -> Iterator[tuple[int, Row]]:
        """Yield the rows of a table for which a condition is true, with their places."""
        contents = self.tables[table]
        keyed = None if key is None else tuple(value(self) for value in key)
        for place, row in contents.rows() if keyed is None else contents.by_key(keyed):
            if condition is None or condition(self.at(row)) is True:
                yield place, row


@dataclass(frozen=True)
class Subquery:
    """`SELECT column | function FROM table WHERE condition`; `key` as in `plan.Where`."""

    table: str
    column: int | None
    function: str | None = None
    condition: Callable[[Reading], Any] | None = None
    key: tuple[Callable[[Reading], Any], ...] | None = None

    def __call__(self, reading: Reading) -> Any:
        """Return the value as of now."""
        if self.condition is None and self.key is not None:
            key = tuple([value(reading) for value in self.key])
            rows = [row for _, row in reading.tables[self.table].by_key(key)]
        else:
            rows = [row for _, row in reading.rows(self.table, self.condition, self.key)]
        value = self.value(rows)
        if reading.seen is not None:
            reading.seen(self.table, value)
        return value

    def value(self, rows: list[Row]) -> Any:
        """Return the value of the rows for which the condition is true."""
        if self.column is None:
            return len(rows)
        values = [row[self.column] for row in rows]
        if self.function is None:
            if len(values) > 1:
                raise TwoRowsError(f"{len(values)} rows of {self.table} where one was asked for")
            return values[0] if values else None
        known = [value for value in values if value is not None]
        return _AGGREGATES[self.function](known) if known else None


def _total(values: list[Any]) -> Any:
    total = sum(values)
    # A LONG that overflows is NULL, as everywhere in the language.
    return total if isinstance(total, float) or -(2**63) <= total < 2**63 else None


def _order(value: Any) -> tuple[bool, Any]:
    # NaN, which equals nothing in Python, is larger than every number.
    return value != value, value  # noqa: PLR0124


_AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "SUM": _total,
    "AVG": lambda values: sum(values) / len(values),
    "MIN": lambda values: min(values, key=_order),
    "MAX": lambda values: max(values, key=_order),
}


@dataclass(frozen=True)
class Member:
    """`(a, b) IN table`: NULL where only a NULL leaves it open."""

    table: str
    values: tuple[Callable[[Reading], Any], ...]

    def __call__(self, reading: Reading) -> bool | None:
        """Return whether the values are a row as of now."""
        row = tuple(value(reading) for value in self.values)
        answer = reading.tables[self.table].has(row)
        if reading.seen is not None:
            reading.seen(self.table, answer)
        return answer

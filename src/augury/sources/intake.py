"""Take in rows of one stream, one at a time: read values, put aside what is bad or late.

The watermark is the greatest time seen minus LATENESS. A row before it came too late, because what
lies before the watermark may have been reported. Values become what they are inside
(`sources.values`).

A row that is delivered twice has an id that is known, or is late. An id that comes again with a
later time is found as long as the row that had it first waits for the watermark, or is one that a
query holds; `memory` says how long that can be.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from augury.errors import DataError
from augury.language.nearest import nearest
from augury.operator import NEVER_YET
from augury.records import ROUNDING
from augury.sources.columns import ARROW_TYPES
from augury.sources.recent import RecentIds
from augury.sources.rows import (
    MOST_TICKS,
    REASON,
    Declaration,
    beyond_count,
    improbable,
)
from augury.sources.values import READERS, UNFIT, is_missing, stored, unfit, written

Values = dict[str, Any]


@dataclass(slots=True)
class Alternatives:
    """The rows of one event that exclude each other: their total probability, and they."""

    mass: float
    rows: list[Values]

    @property
    def is_overfull(self) -> bool:
        return self.mass > 1.0 + ROUNDING


@dataclass(frozen=True, slots=True)
class Arrival:
    """A good row: its time, its values as they are inside, and its alternatives if it has some."""

    time: int
    values: Values
    group: Hashable = None
    alternatives: Alternatives | None = None


class Intake:
    """The entrance of one stream."""

    def __init__(self, declared: Declaration, lateness: int, memory: int = 0) -> None:
        self.declared = declared
        self.lateness = lateness
        self.recent = RecentIds(memory)
        self.watermark = NEVER_YET
        self.late: list[tuple[Values, str]] = []
        self.rejected: list[tuple[Values, str]] = []
        self._readers = [(name, READERS[kind], kind) for name, kind in declared.columns.items()]
        self.known: dict[Hashable, Alternatives | bool] = {}
        self.ages: deque[tuple[int, Hashable]] = deque()
        self._spellings: set[frozenset[Any]] = set()

    def take(self, row: Mapping[str, Any]) -> Arrival | None:
        """Return the row if it is good and in time; otherwise put it aside with the reason."""
        values, reason = self._read(row)
        reason = reason or self._fault(values)
        if reason:
            self.rejected.append((values, reason))
            return None
        time: int = values[self.declared.time]
        if time < self.watermark:
            self.late.append((values, self._lateness(time)))
            return None
        arrival = self._remembered(time, values)
        self.pass_to(time - self.lateness)
        return arrival

    def pass_to(self, watermark: int) -> None:
        """Let time pass: no row before the watermark is in time any more."""
        if watermark > self.watermark:
            self.watermark = watermark
            self._forget()

    def moment(self, value: Any) -> int:
        """Return a moment of the stream's time, as it is counted inside."""
        kind = self.declared.columns[self.declared.time]
        try:
            return int(READERS[kind](value))
        except UNFIT:
            raise DataError(
                f"{value!r} is no moment of {self.declared.name}, whose {self.declared.time} is a "
                f"{kind}"
            ) from None

    @property
    def has_taken(self) -> bool:
        """Whether any row has come."""
        return self.watermark != NEVER_YET or bool(self.late or self.rejected)

    def tables(self) -> tuple[pa.Table, pa.Table]:
        """Return the late rows and the bad rows so far, each with its reason."""
        return self._table(self.late), self._table(self.rejected)

    # Reading ----------------------------------------------------------------------------------

    def _read(self, row: Mapping[str, Any]) -> tuple[Values, str]:
        values: Values = {}
        reason = ""
        for name, read, kind in self._readers:
            value = row.get(name, row)
            if value is row:
                self._check_spelling(row)
                value = _whatever_the_case(row, name)
            if value is not None:
                try:
                    value = read(value)
                except UNFIT:
                    if not is_missing(value):
                        reason = reason or unfit(name, kind, value)
                    value = None
            values[name] = value
        return values, reason

    def _check_spelling(self, row: Mapping[str, Any]) -> None:
        """Refuse a row that lacks a column and has one of nearly that name.

        Rows may lack columns, and have others; what looks like a slip would be NULL for ever.
        """
        names = frozenset(row)
        if names in self._spellings:
            return
        own = {name.lower() for name in names if isinstance(name, str)}
        absent = [name for name in self.declared.columns if name.lower() not in own]
        known = {name.lower() for name in self.declared.columns}
        for name in sorted(name for name in own if name not in known):
            meant = nearest(name, absent)
            if meant is not None:
                raise DataError(
                    f"a row of {self.declared.name} has column {name}, which is not declared, and "
                    f"lacks {meant}; did you mean {meant}?"
                )
        self._spellings.add(names)

    def _fault(self, values: Values) -> str:
        declared = self.declared
        for name in (*declared.key, declared.time):
            if values[name] is None:
                return f"{name} is null"
        if not -MOST_TICKS <= values[declared.time] <= MOST_TICKS:
            return beyond_count(declared.time)
        if declared.probability:
            p = values[declared.probability]
            if p is None or not -ROUNDING <= p <= 1.0 + ROUNDING:
                return improbable(declared.probability)
        if declared.id and not declared.has_alternatives:
            if values[declared.id] is None:
                return f"{declared.id} is null"
            if values[declared.id] in self.known or values[declared.id] in self.recent:
                return f"{declared.id} was seen before"
        return ""

    # What is remembered -----------------------------------------------------------------------

    def _remembered(self, time: int, values: Values) -> Arrival | None:
        declared = self.declared
        if not declared.has_alternatives:
            if declared.id:
                self.known[values[declared.id]] = False
                self.ages.append((time, values[declared.id]))
            return Arrival(time, values)
        if declared.id:
            group: Hashable = values[declared.id]
        else:
            group = (*(values[name] for name in declared.key), time)
        return self._alternative(time, values, group)

    def _alternative(self, time: int, values: Values, group: Hashable) -> Arrival | None:
        assert self.declared.probability is not None
        same = self.known.get(group)
        if not isinstance(same, Alternatives):
            same = self.known[group] = Alternatives(0.0, [])
        self.ages.append((time, group))
        same.mass += values[self.declared.probability]
        same.rows.append(values)
        if same.is_overfull:
            # All of them are wrong, also those that came before: they are still waiting.
            reason = "the alternatives of this event have a total probability above 1"
            self.rejected += [(each, reason) for each in same.rows]
            same.rows.clear()
            return None
        return Arrival(time, values, group, same)

    def hold(self, arrival: Arrival) -> None:
        """Note that a query holds the row, so that its id must not come again."""
        name = self.declared.id
        if name and arrival.alternatives is None:
            self.known[arrival.values[name]] = True

    def _forget(self) -> None:
        limit, ages = self.watermark, self.ages
        if self.declared.has_alternatives:
            limit -= self.recent.memory
        while ages and ages[0][0] < limit:
            time, key = ages.popleft()
            if self.known.pop(key, None) is True:
                self.recent.add(key, time)

    # Putting aside ----------------------------------------------------------------------------

    def _lateness(self, time: int) -> str:
        kind, name = self.declared.columns[self.declared.time], self.declared.time
        if self.watermark >= 2**62:
            return f"{name} is {written(time, kind)}, but the stream was finished"
        return (
            f"{name} is {written(time, kind)}, before the watermark {written(self.watermark, kind)}"
        )

    def _table(self, kept: list[tuple[Values, str]]) -> pa.Table:
        columns = {
            name: pa.array([stored(values[name], kind) for values, _ in kept], ARROW_TYPES[kind])
            for name, kind in self.declared.columns.items()
        }
        return pa.table({**columns, REASON: pa.array([reason for _, reason in kept], pa.string())})


def _whatever_the_case(row: Mapping[str, Any], name: str) -> Any:
    """Return a row's value by its name in any case; a column that is not there is NULL."""
    lower = name.lower()
    for own, value in row.items():
        if isinstance(own, str) and own.lower() == lower:
            return value
    return None

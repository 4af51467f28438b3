"""What is asked: a query, of which key, around when, over which rows; and the trials of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import StreamSchema
from augury.analysis.listed import listed
from augury.evaluation.encoding import whole
from augury.language.tree import CreateQuery
from augury.why.explanation import Event
from augury.why.trials import Match, Row, Rows, Trials, ids_of

# How many windows to both sides of a time are looked at.
REACH = 4


@dataclass
class Asked:
    """A query over rows, and which of its matches are meant.

    `streams` are those whose rows may be changed, by lower-case name. `key` and `around` are None
    or empty where any match is meant. `made` has the streams that are made of readings, and of
    which stream these are; what could not be tried is in `untried`.
    """

    query: CreateQuery
    checked: CheckedQuery
    trials: Trials
    rows: Rows
    streams: Mapping[str, StreamSchema]
    key: Mapping[str, Any]
    around: Any
    latest: Any
    tables: Mapping[str, list[tuple[Any, ...]]]
    below: Mapping[str, CheckedQuery]
    made: Mapping[str, str] = field(default_factory=dict)
    untried: tuple[str, ...] = ()
    _ids: dict[Any, dict[str, list[tuple[str, int]]]] = field(default_factory=dict)

    @property
    def length(self) -> Any:
        """The window as a difference of times; None where there is none of time."""
        return length_of(self.checked)

    @property
    def ticks(self) -> bool:
        return self.checked.streams[0].time_is_ticks

    def matches(self, query: CreateQuery, rows: Rows) -> list[Match] | None:
        """Return the matches that are meant, the nearest first; None if they are not to be had."""
        found = self.trials.matches(query, rows)
        if found is None:
            return None
        return self.meant(found, rows)

    def meant(self, found: Iterable[Match], rows: Rows) -> list[Match]:
        """Return those of matches that are meant, in order."""
        return sorted((each for each in found if self._is_meant(each, rows)), key=self._rank)

    def _is_meant(self, match: Match, rows: Rows) -> bool:
        for name, value in self.key.items():
            own = {each.lower(): each for each in match}
            if name in own and match[own[name]] != value:
                return False
            if name not in own and not self._all_have(match, rows, name, value):
                return False
        if self.around is None or self.length is None:
            return True
        near = match["start_ts"] - self.length <= self.around <= match["end_ts"] + self.length
        return bool(near)

    def _all_have(self, match: Match, rows: Rows, name: str, value: Any) -> bool:
        for event in self.events(match, rows):
            own = {each.lower(): cell for each, cell in (event.row or {}).items()}
            # Who did it need not be in what was read.
            is_known = not (self.made and own.get(name) is None)
            if name in own and is_known and own[name] != value:
                return False
        return True

    def _rank(self, match: Match) -> tuple[Any, ...]:
        far = 0.0
        if self.around is not None:
            gap = max(match["start_ts"] - self.around, self.around - match["end_ts"])
            far = max(0.0, gap.total_seconds() if isinstance(gap, timedelta) else float(gap))
        return far, -match["confidence"], match["start_ts"], match["match_id"]

    def of_query(self, below: CheckedQuery, rows: Rows, key: Mapping[str, Any], at: Any) -> Asked:
        """Return the question for a match of a query below this one, at a time."""
        names = {c.name.lower() for stream in below.streams for c in stream.columns}
        return replace(
            self,
            query=listed(self.trials.catalog.queries[below.name.lower()]),
            checked=below,
            rows=rows,
            key={name.lower(): v for name, v in key.items() if name.lower() in names},
            around=at,
        )

    # Events of matches -----------------------------------------------------------------------

    def places(self, rows: Rows) -> dict[str, list[tuple[str, int]]]:
        """Return the rows of each event, by its id."""
        if rows.edits not in self._ids:
            found: dict[str, list[tuple[str, int]]] = {}
            for name, schema in self.streams.items():
                for k, own in enumerate(ids_of(schema, rows.table(name))):
                    found.setdefault(own, []).append((name, k))
            self._ids[rows.edits] = found
        return self._ids[rows.edits]

    def place_of(self, item: Mapping[str, Any], rows: Rows) -> tuple[str, int] | None:
        """Return which row an event of a match is; None of one that is a match itself."""
        may = self.streams_of(item["component"])
        for name, k in self.places(rows).get(str(item["event_id"]), ()):
            if name not in may:
                continue
            row = self.row_at(name, k, rows)
            schema = self.streams[name]
            chance = 1.0 if schema.probability is None else row[schema.probability]
            if not schema.alternatives or abs(chance - item["probability"]) < 1e-15:
                return name, k
        return None

    def streams_of(self, component: str) -> set[str]:
        """Return the streams whose events may play a component."""
        for each in self.checked.components:
            if each.name.lower() == component.lower():
                names = {by.stream.lower() for by in each.played_by}
                return {self.made.get(name, name) for name in names}
        return set(self.streams)

    def row_at(self, stream: str, place: int, rows: Rows) -> Row:
        row: Row = rows.table(stream).slice(place, 1).to_pylist()[0]
        return row

    def events(self, match: Match, rows: Rows) -> tuple[Event, ...]:
        """Return the events of a match with their rows, in order."""
        found = []
        for item in match["events"]:
            if item["missed"]:
                continue
            place = self.place_of(item, rows)
            row = None if place is None else self.row_at(*place, rows)
            event_id = str(item["event_id"])
            found.append(Event(item["component"], event_id, item["ts"], item["probability"], row))
        return tuple(found)

    def base_places(self, match: Match, rows: Rows) -> set[tuple[str, int]]:
        """Return the rows that a match rests on, through queries below it."""
        found: set[tuple[str, int]] = set()
        below: dict[str, Match] | None = None
        for item in match["events"]:
            place = None if item["missed"] else self.place_of(item, rows)
            if place is not None:
                found.add(place)
            elif not item["missed"]:
                below = self._below(rows) if below is None else below
                if str(item["event_id"]) in below:
                    found |= self.base_places(below[str(item["event_id"])], rows)
        return found

    def _below(self, rows: Rows) -> dict[str, Match]:
        """Return the matches of all queries below this one, by their ids."""
        found: dict[str, Match] = {}
        waiting = [s.query for s in self.checked.streams if s.query]
        while waiting:
            statement = self.trials.catalog.queries[waiting.pop().lower()]
            matches = self.trials.session_matches(str(statement.name), rows)
            found |= {each["match_id"]: each for each in matches}
            outputs = self.trials.catalog.outputs
            waiting += [n for n in statement.streams if n.lower() in outputs]
        return found

    def near(self, first: Any, last: Any, rows: Rows) -> list[tuple[str, int]]:
        """Return the rows of two times, ends included, and of a window to both sides."""
        if self.length is not None:
            first, last = first - self.length, last + self.length
        found = []
        for name, schema in self.streams.items():
            table = self.rows.tables[name]
            time = table.column(schema.time)
            kept = pc.and_(
                pc.greater_equal(time, pa.scalar(first, time.type)),
                pc.less_equal(time, pa.scalar(last, time.type)),
            )
            places = np.flatnonzero(kept.to_numpy(zero_copy_only=False))
            found += [(name, int(k)) for k in places if (name, int(k)) not in rows.left_out]
        return found


def length_of(checked: CheckedQuery) -> Any:
    """Return a window of time as a difference of times; None where there is none."""
    within = checked.within
    if within is None or within.events:
        return None
    ticks = checked.streams[0].time_is_ticks
    return within.length if ticks else timedelta(microseconds=within.length)


def narrowed(
    rows: Mapping[str, pa.Table],
    streams: Mapping[str, StreamSchema],
    key: Mapping[str, Sequence[tuple[str, Any]]],
    around: Any,
    length: Any,
) -> dict[str, pa.Table]:
    """Return the rows that can matter: of a key, by the columns of each stream, around a time."""
    found = {}
    for name, table in rows.items():
        keep = None
        for column, value in key.get(name, ()):
            own = pc.equal(table.column(column), pa.scalar(value, table.column(column).type))
            keep = own if keep is None else pc.and_(keep, own)
        if around is not None and length is not None:
            time = table.column(streams[name].time)
            low, high = (pa.scalar(around + k * REACH * length, time.type) for k in (-1, 1))
            own = pc.and_(pc.greater_equal(time, low), pc.less_equal(time, high))
            keep = own if keep is None else pc.and_(keep, own)
        found[name] = table if keep is None else table.filter(keep)
    return found


def times_of(rows: Rows, streams: Mapping[str, StreamSchema]) -> np.ndarray:
    """Return all times, as whole numbers."""
    parts = [whole(rows.table(n).column(s.time)) for n, s in streams.items()]
    return np.sort(np.concatenate(parts)) if parts else np.zeros(0, np.int64)

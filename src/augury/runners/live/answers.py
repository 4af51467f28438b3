"""Matches of live events as dicts: the columns of `results`, with values as Arrow would give them.

Everything that depends on the query alone is prepared once; Arrow is used only to name matches, and
events that have no ID of their own, by the hash of their row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.catalog import Column, DataType, StreamSchema
from augury.evaluation.answers.match_answers import (
    SEEDS,
    event_words,
    member_column,
    text_hashes,
    told_apart_by,
)
from augury.evaluation.stream_rows import numbered_id, row_hashes
from augury.kernels.rows import identity
from augury.kernels.search import layout
from augury.kernels.search.gather import WHEN
from augury.matching.inferred import inferred
from augury.matching.ring import Ring
from augury.matching.run_ends import WITH_THE_LAST
from augury.planning.expressions.scalar import Scalar, scalar
from augury.planning.expressions.typed import (
    END_OPEN,
    END_TIME,
    OF_END,
    STREAM_OF,
    Aggregated,
    Input,
)
from augury.records import Matches
from augury.runners.live.encoding import (
    ID,
    NUMBER,
    ORIGIN,
    ROW,
    LiveEncoder,
    Stored,
    column_type,
    partition_part,
    partition_place,
    real_of,
    stream_number,
)
from augury.sources.columns import ARROW_TYPES
from augury.sources.values import stored as as_stored

# The rows of the ring that each component of a match holds.
Held = dict[int, list[int]]
Reader = Callable[[int], Any]


class Answers:
    """Makes dicts of one query's matches."""

    def __init__(self, encoder: LiveEncoder, ring: Ring) -> None:
        self.encoder, self.ring = encoder, ring
        plan = encoder.plan
        self.query = plan.query
        self.names = [component.name for component in self.query.components]
        self._hashes = [self._hashed(seed) for seed in SEEDS]
        moment = DataType.LONG if self.query.streams[0].time_is_ticks else DataType.TIMESTAMP
        self._moment = moment.value
        self._chance = int(encoder.where[layout.P])
        self._outputs = [
            (column.name, scalar(expression, encoder.tables, self._read), expression.type.value)
            for column, expression in plan.outputs
        ]
        self._readers: dict[str, Reader] = {}
        whole = ROW in encoder.stored
        self._keys = [
            (key, None if whole else partition_place(plan, key.name)) for key in self.query.keys
        ]

    def dicts(self, matches: Matches) -> list[dict[str, Any]]:
        """Return one dict per match."""
        rows = matches.row.tolist()
        distinct = dict.fromkeys(rows)
        ids = dict(zip(distinct, self._ids(list(distinct)), strict=True))
        match_ids = self._match_ids(matches, ids)
        components, first = matches.component.tolist(), matches.first_item.tolist()
        confidence = matches.confidence.tolist()
        found = []
        for m, match_id in enumerate(match_ids):
            items = range(first[m], first[m + 1])
            pairs = [(components[i], rows[i]) for i in items]
            ended_by = int(matches.ended_by[m]) if len(matches.ended_by) else None
            found.append(self._dict(match_id, pairs, confidence[m], ids, ended_by))
        for revised in np.flatnonzero(matches.revision):
            found[revised]["revision"] = int(matches.revision[revised])
        if self.query.allow:
            self._add_missed(found, matches)
        return found

    def _add_missed(self, found: list[dict[str, Any]], matches: Matches) -> None:
        """Put what was missed in its place among the events, as `results` does."""
        for answer, count in zip(found, matches.n_missed.tolist(), strict=True):
            answer["n_missed"] = count
            for event in answer["events"]:
                event |= {"earliest": None, "latest": None}
        pattern = self.encoder.plan.pattern
        unseen = inferred(pattern, matches, self.ring.words[matches.row, WHEN])
        place = unseen.place - matches.first_item[unseen.match]
        # The last first, so that places stay what they are.
        for k in reversed(range(len(unseen.match))):
            ends = (int(unseen.earliest[k]), int(unseen.latest[k]))
            earliest, latest = (as_stored(moment, self._moment) for moment in ends)
            event = {
                "component": self.names[unseen.component[k]],
                "event_id": None,
                "ts": None,
                "probability": float(unseen.probability[k]),
                "missed": True,
                "earliest": earliest,
                "latest": latest,
            }
            found[unseen.match[k]]["events"].insert(int(place[k]), event)

    def _dict(
        self,
        match_id: str,
        items: list[tuple[int, int]],
        confidence: float,
        ids: dict[int, Any],
        ended_by: int | None = None,
    ) -> dict[str, Any]:
        words = self.ring.words
        times = [int(words[row, WHEN]) for _, row in items]
        held: Held = {}
        for component, row in items:
            held.setdefault(component, []).append(row)
        if ended_by is not None:
            held[OF_END] = [ended_by]
        answer: dict[str, Any] = {
            "query": self.query.name,
            "match_id": match_id,
            "revision": 0,
        }
        for key, place in self._keys:
            answer[key.name] = self._key(key, place, items[0])
        answer["start_ts"] = as_stored(min(times), self._moment)
        answer["end_ts"] = as_stored(max(times), self._moment)
        answer["confidence"] = confidence
        answer["n_missed"] = 0
        answer["events"] = [
            self._event(component, row, time, ids[row])
            for (component, row), time in zip(items, times, strict=True)
        ]
        for name, value, kind in self._outputs:
            answer[name] = outside(value(held), kind)
        return answer

    def _event(self, component: int, row: int, time: int, event_id: Any) -> dict[str, Any]:
        p = 1.0 if self._chance < 0 else real_of(int(self.ring.words[row, self._chance]))
        return {
            "component": self.names[component],
            "event_id": None if event_id is None else str(event_id),
            "ts": as_stored(time, self._moment),
            "probability": p,
            "missed": False,
        }

    # Values of events -------------------------------------------------------------------------

    def _key(self, key: Column, place: int | None, item: tuple[int, int]) -> Any:
        component, row = item
        if place is not None:
            value = partition_part(self.encoder.plan, self.ring.partition_of(row), place)
        else:
            value = self._reader(member_column(self.query, component, key.name))(row)
        if key.type is DataType.DOUBLE and value is not None:
            value = float(value)
        return outside(value, key.type.value)

    def _reader(self, column: str) -> Reader:
        """Return how to read a column of an event from its row of the ring."""
        name = column.lower()
        if name == STREAM_OF:
            return lambda row: self.query.streams.index(self._schema_of(row))
        if name not in self._readers:
            stored = self.encoder.stored
            self._readers[name] = (
                self._whole_row_reader(stored[ROW], name)
                if ROW in stored
                else self._stored_reader(stored[name])
            )
        return self._readers[name]

    def _whole_row_reader(self, stored: Stored, name: str) -> Reader:
        ring, place = self.ring, stored.place

        def read(row: int) -> Any:
            values = ring.texts[place][row]
            found = (value for own, value in values.items() if own.lower() == name)
            return next(found, None)

        return read

    def _stored_reader(self, stored: Stored) -> Reader:
        ring, place = self.ring, stored.place
        if stored.is_text:
            return lambda row: ring.texts[place][row]
        bit, nulls = self.encoder.null_bit(place), int(self.encoder.where[layout.NULLS])
        value_of = _VALUES.get(stored.type, int)

        def read(row: int) -> Any:
            if (int(ring.words[row, nulls]) >> bit) & 1:
                return None
            return value_of(int(ring.words[row, place]))

        return read

    def _read(self, node: Input | Aggregated) -> Scalar:
        """Return how RETURN reads an input from what a match holds."""
        component = node.component
        if component == OF_END and isinstance(node, Input):
            return self._of_end(node.column)
        if isinstance(node, Aggregated) and node.function == "COUNT":
            return lambda held: len(held.get(component, ()))
        assert node.column is not None
        column, streams = node.column, self.query.streams
        real = node.type is DataType.DOUBLE and column_type(streams, column) is DataType.LONG

        def value(row: int) -> Any:
            found = self._reader(column)(row)
            return float(found) if real and found is not None else found

        if isinstance(node, Aggregated):
            return _aggregate(node, value)
        place = -1 if node.kind == "last" else max(node.number, 1) - 1
        default = scalar(node.default, self.encoder.tables, self._read) if node.default else _null
        return lambda held: (
            _at(held[component], place, value) if component in held else default(held)
        )

    def _of_end(self, column: str) -> Scalar:
        """Return how something is read of the event with which a match is known to have ended."""
        if column == END_OPEN:
            return lambda held: int(held[OF_END][0] != WITH_THE_LAST)

        def value(row: int) -> Any:
            return (
                int(self.ring.words[row, WHEN]) if column == END_TIME else self._reader(column)(row)
            )

        return lambda held: None if held[OF_END][0] < 0 else value(held[OF_END][0])

    # Names ------------------------------------------------------------------------------------

    def _ids(self, rows: list[int]) -> list[Any]:
        read = self._reader(ID) if ROW not in self.encoder.stored else self._hashed_id
        return [read(row) for row in rows]

    def _hashed_id(self, row: int) -> Any:
        return event_id(self._schema_of(row), self._values_of(row))

    def _values_of(self, row: int) -> dict[str, Any]:
        values: dict[str, Any] = self.ring.texts[self.encoder.stored[ROW].place][row]
        return values

    def _schema_of(self, row: int) -> StreamSchema:
        """Return the schema of the stream that a row of the ring came by."""
        streams, stored = self.query.streams, self.encoder.stored
        if len(streams) == 1:
            return streams[0]
        if ROW not in stored:
            word = int(self.ring.words[row, self.encoder.where[layout.STREAM]])
            return streams[stream_number(word, len(streams))]
        values = self._values_of(row)
        origin = values.get(ORIGIN)
        if origin is not None:
            return next(s for s in streams if s.name == origin)
        # From a checkpoint that does not name it.
        return next(s for s in streams if [c.name for c in s.columns] == list(values))

    def _hashed(self, seed: int) -> tuple[np.ndarray, Any]:
        names = text_hashes(pa.array(self.names, pa.string()), seed)
        return names, text_hashes(pa.array([self.query.name], pa.string()), seed)[0]

    def _match_ids(self, matches: Matches, ids: dict[int, Any]) -> list[str]:
        """Return the ids of matches, by the ids of the events in the rows of the ring."""
        of: dict[str, list[int]] = {stream.name: [] for stream in self.query.streams}
        for row in ids:
            of[self._schema_of(row).name].append(row)
        telling = [
            (stream, self._telling_columns(stream, of[stream.name], ids))
            for stream in self.query.streams
            if of[stream.name]
        ]
        place = {row: k for k, row in enumerate(row for rows in of.values() for row in rows)}
        places = np.array([place[row] for row in matches.row.tolist()], np.int64)
        lanes = []
        for seed, (names, own) in zip(SEEDS, self._hashes, strict=True):
            words = np.concatenate([event_words(*each, seed) for each in telling])
            lanes.append(
                identity.match_words(
                    matches.first_item, matches.component, places, names, words, own
                )
            )
        pairs = zip(*(lane.tolist() for lane in lanes), strict=True)
        return [f"{high:016x}{low:016x}" for high, low in pairs]

    def _telling_columns(
        self, stream: StreamSchema, rows: list[int], ids: dict[int, Any]
    ) -> list[Any]:
        """Return what tells events of a stream apart, in the declared types."""
        if stream.id is None:
            return [pa.array([ids[row] for row in rows], pa.string())]
        kinds = {c.name: c.type.value for c in stream.columns}
        names = [name for name in told_apart_by(stream) if name is not None]
        if ROW not in self.encoder.stored:
            known = pa.array([ids[row] for row in rows])
            return [known.cast(ARROW_TYPES[kinds[stream.id]])]
        every = [self._values_of(row) for row in rows]
        return [stored_column([each[name] for each in every], kinds[name]) for name in names]


def event_id(stream: StreamSchema, values: dict[str, Any]) -> str | None:
    """Return the id of an event by its whole row: its ID as text, or a hash."""
    columns = {
        c.name: stored_column([values[c.name]], c.type.value)
        for c in stream.columns
        if stream.id in (None, c.name)
    }
    if stream.id is not None:
        known: str | None = columns[stream.id][0].cast(pa.string()).as_py()
        return known
    plain = row_hashes(stream, pa.table(columns))[0].as_py()
    return numbered_id(plain, values.get(NUMBER, 0))


def stored_column(values: list[Any], kind: str) -> Any:
    """Return values from inside as a column."""
    return pa.array([as_stored(value, kind) for value in values], ARROW_TYPES[kind])


_VALUES: dict[DataType, Callable[[int], Any]] = {DataType.DOUBLE: real_of, DataType.BOOLEAN: bool}


def outside(value: Any, kind: str) -> Any:
    """Return a value as Arrow would give it; NULL where Python has no such time."""
    try:
        if kind == "INTERVAL" and value is not None:
            return timedelta(microseconds=value)
        return as_stored(value, kind)
    except (OverflowError, ValueError):
        return None


def _null(_: Held) -> None:
    return None


def _at(rows: list[int], place: int, value: Reader) -> Any:
    there = rows and place < len(rows)
    return value(rows[place]) if there else None


def _aggregate(node: Aggregated, value: Reader) -> Scalar:
    component, how = node.component, _AGGREGATES[node.function]

    def computed(held: Held) -> Any:
        found = [value(row) for row in held.get(component, ())]
        known = [each for each in found if each is not None]
        return how(known) if known else None

    return computed


def _order(value: Any) -> tuple[bool, Any]:
    """Return what orders a value: NaN is the greatest number."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan, 0.0 if is_nan else value


_AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "SUM": sum,
    "AVG": lambda values: sum(values) / len(values),
    "MIN": lambda values: min(values, key=_order),
    "MAX": lambda values: max(values, key=_order),
}

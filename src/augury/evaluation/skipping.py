"""AFTER MATCH SKIP over certain events: matches are taken in the order of their starts.

Of one start it is the match that reaches furthest, then the first in the order of choices. A start
inside what a taken match covers is passed over. Matches of one partition know of each other: those
that agree in all that WHERE equates over all components, and in the KEY under PARTITION CONTIGUITY.

Oracle: tests/oracles/skipping.py. What may not have happened: `evaluation.skipping_worlds`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.checked import CheckedQuery, EqualityClass, Skip
from augury.analysis.declarations.catalog import DataType
from augury.evaluation.answers.match_answers import Inputs, gather
from augury.evaluation.encoding import DerivedPlaces, Tie, tie_ranks, ties_of
from augury.kernels.rows import sorting
from augury.kernels.sequences.skipping import NOBODY, Items, take
from augury.language.tree import Having
from augury.operator import NEVER_YET
from augury.planning.distribution.partitioning import taken_apart
from augury.records import Flags, Matches, Reals, Words

TOLERANCE = 1e-9
# An event without a tie-breaker comes first among those of its time, where one has to.
NO_TIE = -(2**62)
# The stream, the id and the tie-breaker of an event.
Place = tuple[str, str, Tie | None]


@dataclass
class Held:
    """What is known of a partition: how many matches were taken, and until when the last covers.

    `there` are its events at that time: a start of that time may be one of them, or before one.
    """

    number: int = 0
    until: int = NEVER_YET
    there: list[Place] = field(default_factory=list)

    def covers(self, time: int, place: Place, past_last: bool) -> bool:
        """Whether an event that is later than the start of the last match lies inside of it."""
        if time != self.until:
            return time < self.until
        stream, event, tie = place
        for other_stream, other, other_tie in self.there:
            if past_last and (stream, event) == (other_stream, other):
                return True
            known = tie is not None and other_tie is not None
            if known and stream == other_stream and tuple(tie) < tuple(other_tie):  # type: ignore[arg-type]
                return True
        return False


Partitions = dict[str, Held]


def dump(held: Partitions) -> bytes:
    """Return what is known of partitions as bytes."""
    about = {key: [own.number, own.until, own.there] for key, own in held.items()}
    return json.dumps(about).encode() if about else b""


def load(own: bytes) -> Partitions:
    """Return what `dump` wrote."""
    about = json.loads(own) if own else {}
    return {
        key: Held(number, until, [(s, e, tie and tuple(tie)) for s, e, tie in there])
        for key, (number, until, there) in about.items()
    }


@dataclass(frozen=True)
class Candidates:
    """Matches of a query with AFTER MATCH, over the rows that they are made of.

    `places` are those of derived events, by stream.
    """

    query: CheckedQuery
    matches: Matches
    inputs: Inputs
    places: Sequence[DerivedPlaces | None] = ()

    @property
    def skip(self) -> Skip:
        """Where the search goes on."""
        assert self.query.after_match is not None
        return self.query.after_match

    @cached_property
    def items(self) -> Items:
        """The events of all matches, with their place in the order."""
        rows, first = self.matches.row, self.matches.first_item
        time = self.inputs.time[rows]
        if self._is_by_time:
            return Items(first, rows, time, *(np.zeros(len(rows), np.int64) for _ in range(2)))
        stream, tie = self._order
        return Items(first, rows, time, stream[rows], tie[rows])

    @property
    def _is_by_time(self) -> bool:
        """Whether nothing but time orders events."""
        return len(self.query.streams) == 1 and not any(
            (self.query.streams[0].order_by, *self.places)
        )

    @cached_property
    def _order(self) -> tuple[Words, Words]:
        """The stream and the tie-breaker of each row, as the search compares them."""
        n = len(self.inputs.time)
        streams, ties = np.zeros(n, np.int64), np.zeros(n, np.int64)
        places = self.places or [None] * len(self.query.streams)
        parts = zip(
            self.query.streams, self.inputs.tables, self.inputs.first_rows, places, strict=True
        )
        for number, (stream, table, first, place) in enumerate(parts):
            here = slice(first, first + table.num_rows)
            tie, known = place.ranks() if place else tie_ranks(stream, table)
            ties[here] = np.where(known, tie, NO_TIE)
            streams[here] = np.where(known, number, -2 - np.arange(first, first + table.num_rows))
        return streams, ties

    @cached_property
    def start(self) -> Words:
        """The item with which each match begins: of several at once, the one written first."""
        found: Words = self.matches.first_item[:-1].copy()
        items = self.items
        lengths = np.diff(self.matches.first_item)
        second = np.minimum(found + 1, len(items.row) - 1)
        tied = (lengths > 1) & (items.time[second] == items.time[found])
        for m in np.flatnonzero(tied).tolist():
            found[m] = self._first_written(m)
        return found

    def _first_written(self, m: int) -> int:
        own = range(int(self.matches.first_item[m]), int(self.matches.first_item[m + 1]))
        free = [k for k in own if not any(self.is_before(other, k) for other in own)]
        return min(free, key=lambda k: (int(self.matches.component[k]), k))

    def is_before(self, a: int, b: int) -> bool:
        """Whether item a lies before item b."""
        items = self.items
        if items.time[a] != items.time[b]:
            return bool(items.time[a] < items.time[b])
        return bool(items.stream[a] == items.stream[b] and items.tie[a] < items.tie[b])

    @cached_property
    def target(self) -> Words:
        """The item that each match goes on with; NOBODY where it covers all of its events."""
        to, component = self.skip.to, self.skip.component
        if to == "PAST LAST":
            return np.full(len(self.matches), NOBODY, np.int64)
        if to == "NEXT":
            return self.start
        own = np.flatnonzero(self.matches.component == component)
        match = np.searchsorted(self.matches.first_item, own, side="right") - 1
        found = np.full(len(self.matches), NOBODY, np.int64)
        if to == "FIRST":
            own, match = own[::-1], match[::-1]
        found[match] = own
        return found

    # Partitions -------------------------------------------------------------------------------

    @cached_property
    def _values(self) -> list[Any]:
        """What tells the partitions of matches apart, column by column."""
        start = self.start
        component, row = self.matches.component[start], self.matches.row[start]
        found = [self._equated(each, component, row) for each in taken_apart(self.query)]
        if self.query.strategy == "PARTITION":
            most = max(len(stream.key) for stream in self.query.streams)
            found += [self._key(k, row) for k in range(most)]
        return found

    def _equated(self, equality: EqualityClass, component: Words, row: Words) -> Any:
        names = dict(equality.members)
        played = np.unique(component).tolist()
        kind = self.query.type_of_attribute(*equality.members[0])
        found = None
        for each in played:
            here = np.where(component == each, row, -1)
            values = gather(self.inputs, names[each], here, kind)
            found = values if found is None else pc.coalesce(values, found)
        # Minus zero equals zero.
        return pc.add(found, 0.0) if kind is DataType.DOUBLE else found

    def _key(self, k: int, row: Words) -> Any:
        """Return a column of the KEY as text: streams may have keys of different types."""
        texts = np.full(len(row), None, object)
        parts = zip(self.query.streams, self.inputs.tables, self.inputs.first_rows, strict=True)
        for stream, table, first in parts:
            here = (row >= first) & (row < first + table.num_rows)
            if k < len(stream.key) and here.any():
                column = table.column(stream.key[k]).take(pa.array(row[here] - first))
                # Keys are few, and Python writes each of them once.
                coded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
                known = [repr(value) for value in coded.dictionary.to_pylist()]
                texts[here] = np.array(known, object)[np.asarray(coded.indices)]
        return pa.array(texts, pa.string())

    @cached_property
    def partition(self) -> Words:
        """The number of the partition of each match."""
        codes = np.zeros(len(self.matches), np.int64)
        for k, column in enumerate(self._values):
            flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            encoded = pc.dictionary_encode(flat, null_encoding="encode")
            own = np.asarray(encoded.indices, np.int64)
            if k:
                own = own + codes * len(encoded.dictionary)
                own = np.unique(own, return_inverse=True)[1]
            codes = own.reshape(-1)
        return codes

    def text(self, m: int) -> str:
        """Return the partition of a match as text."""
        return repr([column[m].as_py() for column in self._values])

    # What is taken ----------------------------------------------------------------------------

    @cached_property
    def order(self) -> Words | slice:
        """The matches in the order of their starts; of one start, as they are preferred."""
        start, items = self.start, self.items
        time, tie, row = items.time[start], items.tie[start], items.row[start]
        if sorting.is_sorted(time, tie) and self._starts_follow_each_other(time, tie, row):
            return slice(None)
        order: Words = np.argsort(self.turn, kind="stable")
        return order

    def _starts_follow_each_other(self, time: Words, tie: Words, row: Words) -> bool:
        """Whether each start is met once, in order, and no two of them are at once."""
        same = row[1:] == row[:-1]
        at_once = (time[1:] == time[:-1]) & (tie[1:] == tie[:-1])
        return bool((same | (~at_once & (row[1:] > row[:-1]))).all())

    @cached_property
    def turn(self) -> Words:
        """The number of each match's start in their order; of events at once the id decides."""
        rows, first, own = np.unique(
            self.items.row[self.start], return_index=True, return_inverse=True
        )
        items = self.start[first]
        columns = [pa.array(self.items.time[items]), pa.array(self.items.tie[items])]
        columns += [self.inputs.ids.take(pa.array(rows)), pa.array(rows)]
        names = ["time", "tie", "id", "row"]
        keys = [(name, "ascending") for name in names]
        order = pc.sort_indices(pa.table(columns, names=names), sort_keys=keys)
        turns = np.empty(len(rows), np.int64)
        turns[np.asarray(order)] = np.arange(len(rows))
        found: Words = turns[own.reshape(-1)]
        return found

    def best(self) -> Words:
        """Return the match that each start prefers, in the order of starts."""
        order = np.arange(len(self.matches))[self.order]
        row = self.items.row[self.start[order]]
        begins = np.flatnonzero(np.concatenate([[True], row[1:] != row[:-1]]))
        if len(begins) == len(order):
            return order
        last = self.matches.first_item[1:][order] - 1
        time, tie = self.items.time[last], self.items.tie[last]
        group = np.cumsum(np.concatenate([[0], row[1:] != row[:-1]]))
        ranked = np.lexsort((-tie, -time, group))
        firsts = ranked[begins]
        rivals = _counts_like_first(ranked, begins, group, time, tie)
        best = order[firsts]
        for k in np.flatnonzero(rivals > 1).tolist():
            own = order[ranked[begins[k] : begins[k] + rivals[k]]]
            best[k] = min(own.tolist(), key=self.preference)
        found: Words = best
        return found

    def preference(self, m: int) -> tuple[Any, ...]:
        """Return by what a match of some start is chosen: how far it reaches, then its choices."""
        own = range(int(self.matches.first_item[m]), int(self.matches.first_item[m + 1]))
        items = self.items
        last = max((int(items.time[k]), int(items.tie[k])) for k in own)
        choices = sorted(
            (int(items.time[k]), int(items.tie[k]), int(self.matches.component[k]), self._id(k))
            for k in own
        )
        return (-last[0], -last[1], choices)

    def taken(self, held: Partitions | None = None) -> Matches:
        """Return the matches that are taken, numbered; what was taken before is `held`."""
        if not len(self.matches):
            return self.matches
        best = self.best()
        own = self
        if not np.array_equal(best, np.arange(len(self.matches))):
            own = replace(self, matches=self.matches.only(best))
        marked = own._free(held) if held else np.ones(len(best), np.bool_)
        size = int(own.partition.max()) + 1
        take(
            own.items,
            own.partition,
            own.start,
            own.target,
            np.full(size, NOBODY, np.int64),
            np.empty((size, 2), np.int64),
            np.empty(len(best), np.int64),
            np.empty(len(best), np.int64),
            marked,
        )
        chosen = np.flatnonzero(marked)
        if not len(chosen):
            return own.matches.only(chosen)
        kept = replace(own, matches=own.matches.only(chosen))
        numbers = _numbered(own.partition[chosen])
        if held is not None:
            numbers = numbers + kept._counted(held, numbers)
        numbered = replace(kept.matches, number=numbers)
        passing = passes(self.skip.having, numbered.confidence)
        return numbered if passing.all() else numbered.only(np.flatnonzero(passing))

    def _free(self, held: Partitions) -> Flags:
        """Return which matches begin behind what was taken before."""
        free = np.ones(len(self.matches), np.bool_)
        partitions, firsts = np.unique(self.partition, return_index=True)
        until = np.full(int(self.partition.max()) + 1, NEVER_YET, np.int64)
        known = {}
        for code, m in zip(partitions.tolist(), firsts.tolist(), strict=True):
            own = held.get(self.text(m))
            if own is not None:
                until[code], known[code] = own.until, own
        time = self.items.time[self.start]
        free &= time >= until[self.partition]
        for m in np.flatnonzero(time == until[self.partition]).tolist():
            own = known[int(self.partition[m])]
            place = self._place(int(self.start[m]))
            free[m] = not own.covers(int(time[m]), place, self.skip.to == "PAST LAST")
        return free

    def _counted(self, held: Partitions, numbers: Words) -> Words:
        """Remember what is taken; return how many were taken before in each match's partition."""
        before = np.zeros(len(self.matches), np.int64)
        partitions, firsts = np.unique(self.partition, return_index=True)
        lasts = np.zeros(int(self.partition.max(initial=-1)) + 1, np.int64)
        lasts[self.partition] = np.arange(len(self.matches))
        offset = np.zeros(len(lasts), np.int64)
        for code, m in zip(partitions.tolist(), firsts.tolist(), strict=True):
            own = held.setdefault(self.text(m), Held())
            offset[code] = own.number
            last = int(lasts[code])
            own.number += int(numbers[last])
            self._hold(own, last)
        before[:] = offset[self.partition]
        return before

    def _hold(self, own: Held, m: int) -> None:
        """Remember until when a match covers, and what of it lies there."""
        items, target = self.items, int(self.target[m])
        first, end = int(self.matches.first_item[m]), int(self.matches.first_item[m + 1])
        until = int(items.time[end - 1 if target == NOBODY else target])
        there = (
            [target]
            if target != NOBODY
            else [k for k in range(first, end) if items.time[k] == until]
        )
        if until >= own.until:
            own.until, own.there = until, [self._place(k) for k in there]

    def _place(self, item: int) -> Place:
        """Return an event as it is known whatever rows are remembered."""
        row = int(self.items.row[item])
        parts = zip(self.query.streams, self.inputs.tables, self.inputs.first_rows, strict=True)
        for stream, table, first in parts:
            if first <= row < first + table.num_rows:
                (tie,) = ties_of(stream, table, np.array([row - first]))
                return stream.name, self._id(item), tie
        raise IndexError(row)

    def _id(self, item: int) -> str:
        return str(self.inputs.ids[int(self.items.row[item])].as_py())

    def covers(self, m: int, other: int) -> bool:
        """Whether a match, once it is taken, covers the start of another."""
        start, target = int(self.start[m]), int(self.target[m])
        event, row = int(self.start[other]), self.items.row
        if row[start] == row[event]:
            return True
        own = range(int(self.matches.first_item[m]), int(self.matches.first_item[m + 1]))
        inside = any(row[k] == row[event] for k in own) or (
            any(self.is_before(k, event) for k in own)
            and any(self.is_before(event, k) for k in own)
        )
        if target == start or not inside:
            return False
        return target == NOBODY or self.is_before(event, target)


def _counts_like_first(
    ranked: Words, begins: Words, group: Words, time: Words, tie: Words
) -> Words:
    """Return, of each start, how many matches reach as far as the one that reaches furthest."""
    first = ranked[begins][group[ranked]]
    alike = (time[ranked] == time[first]) & (tie[ranked] == tie[first])
    counted: Words = np.add.reduceat(alike.astype(np.int64), begins)
    return counted


def _numbered(partition: Words) -> Words:
    """Return the number of each match among those of its partition, from 1."""
    order = np.argsort(partition, kind="stable")
    sorted_ = partition[order]
    begins = np.flatnonzero(np.concatenate([[True], sorted_[1:] != sorted_[:-1]]))
    numbers = np.empty(len(partition), np.int64)
    sizes = np.diff(np.append(begins, len(sorted_)))
    numbers[order] = np.arange(len(sorted_)) - np.repeat(begins, sizes) + 1
    return numbers


def passes(having: Having | None, confidence: Reals) -> Flags:
    """Return which confidences pass the query's threshold, which is asked of what was taken."""
    if having is None:
        return confidence > 0.0
    limit = having.threshold
    above = confidence > limit + TOLERANCE if having.strict else confidence >= limit - TOLERANCE
    return above & (confidence > 0.0)

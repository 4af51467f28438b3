"""Moments of candidates as columns, and candidates in the order of their moments.

What `candidates` tells of one match is told here of whole tables. Where a match is made of others,
its place is looked up among theirs, one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.evaluation.acting.candidates import (
    Found,
    heard_at,
    inside,
    missed_in,
    place_of,
    row_id,
)
from augury.evaluation.encoding import whole
from augury.planning.acting.columns import HIDDEN, TOLD_AT, TOLD_HOW
from augury.planning.acting.heard import ORDER
from augury.planning.acting.moments import Candidates, RunEnd
from augury.records import Flags, Words
from augury.rules.plan import AGAIN

# Further columns of a candidate: when it is known, whether after all events of that time (and after
# what else, see `rules.plan`), the number of the stream of its last event, and for each stream that
# event's tie-breaker.
TIME, AFTER, STREAM, TIE = (f"{HIDDEN}{word}" for word in ("time", "after", "stream", "tie"))


def placed(made: Candidates, rows: pa.Table, found: Found) -> pa.Table:
    """Return matches with their moments; `found` has the places of those they are made of."""
    if made.rows is not None:
        return _heard(made, rows)
    if made.lower:
        streams, ties = _looked_up(made, rows, found)
    else:
        streams, ties = _places(made, rows)
    ends = whole(rows.column("end_ts"))
    after = np.full(rows.num_rows, int(made.lag > 0))
    times = ends + made.lag
    if made.end not in ("event", "taken"):
        is_open = _open(made, rows)
        after, first = after | is_open, whole(rows.column("start_ts"))
        times = np.where(is_open, first + made.window + made.lag, times)
    if made.run_end is not None:
        by = _by_event(made.run_end, rows)
        times = np.where(by, whole(rows.column(made.run_end.time)), times)
        streams, ties = _at_the_end(made.run_end, rows, by, streams, ties)
    if TOLD_HOW in rows.column_names:
        how, told = whole(rows.column(TOLD_HOW)), whole(rows.column(TOLD_AT))
        after = np.where(how >= AGAIN, how, after)
        times = np.where(how >= AGAIN, np.maximum(told, times), times)
    for name, column in {TIME: times, AFTER: after, STREAM: streams}.items():
        rows = rows.append_column(name, pa.array(column))
    for number, column in ties.items():
        rows = rows.append_column(f"{TIE}{number}", column)
    return rows


def _heard(made: Candidates, rows: pa.Table) -> pa.Table:
    """Return rows that are no matches with their moments; every one has an id."""
    assert made.rows is not None
    stream, count = made.rows.stream, rows.num_rows
    ties = rows.column(ORDER) if ORDER in rows.column_names else pa.nulls(count)
    rows = rows.drop_columns([each for each in (ORDER, "events") if each in rows.column_names])
    times = whole(rows.column("ts"))
    if "match_id" not in rows.column_names:
        about = zip(*(rows.column(key.name).to_pylist() for key in made.keys), strict=True)
        keys = list(about) if made.keys else [()] * count
        own = [inside(each) for each in ties.to_pylist()]
        names = [
            row_id(made, map(inside, key), heard_at(made, time, tie))
            for key, time, tie in zip(keys, times.tolist(), own, strict=True)
        ]
        rows = rows.append_column("match_id", pa.array(names, pa.string()))
    if "start_ts" not in rows.column_names:
        rows = rows.append_column("start_ts", rows.column("ts"))
    columns = {TIME: times, AFTER: np.full(count, stream is None)}
    columns[STREAM] = np.full(count, stream or 0)
    for name, column in columns.items():
        rows = rows.append_column(name, pa.array(column))
    return rows if stream is None else rows.append_column(f"{TIE}{stream}", ties)


def _by_event(end: RunEnd, rows: pa.Table) -> Flags:
    """Return which runs an event has ended."""
    known = np.asarray(rows.column(end.time).is_valid())
    found: Flags = known & (whole(rows.column(end.open)) != 0)
    return found


def _at_the_end(
    end: RunEnd, rows: pa.Table, by: Flags, streams: Words, ties: dict[int, Any]
) -> tuple[Words, dict[int, Any]]:
    """Return the places of matches, in which those of runs are where an event has ended them."""
    came = whole(rows.column(end.stream))
    streams, ties = streams.copy(), dict(ties)
    for k, (tie, number) in end.ties.items():
        here = by & (came == k)
        streams[here] = number
        if tie is not None:
            own = _comparable(rows.column(tie))
            known = ties.get(number, pa.nulls(rows.num_rows, own.type))
            known = known.cast(own.type) if pa.types.is_null(known.type) else known
            ties[number] = pc.if_else(pa.array(here), own, known)
    return streams, ties


def _open(made: Candidates, rows: pa.Table) -> Flags:
    """Return which matches are known only when their window ends."""
    if made.end == "window":
        return np.ones(rows.num_rows, np.bool_)
    if made.run_end is not None:
        by: Flags = _by_event(made.run_end, rows)
        still: Flags = (whole(rows.column(made.run_end.open)) != 0) & ~by
        return still
    if made.end == "missed":
        events = rows.column("events").to_pylist()
        unseen: Flags = np.array([missed_in(own) in made.unseen for own in events], np.bool_)
        return unseen
    found: Flags = whole(rows.column(made.count)) < made.most
    return found


def _places(made: Candidates, rows: pa.Table) -> tuple[Words, dict[int, Any]]:
    """Return the stream of the last event of each match, and its tie-breaker by stream."""
    options = [each for own in made.ties.values() for each in own.values()]
    numbers = {number for _, number in options}
    if len(numbers) == 1 and all(tie is None for tie, _ in options):
        return np.full(rows.num_rows, numbers.pop()), {}
    lasts = list(_lasts(made, rows))
    streams = np.full(rows.num_rows, -1)
    for own, _, number in lasts:
        np.maximum.at(streams, own, number)
    return streams, {number: _greatest(rows, lasts, number, streams) for number in numbers}


# Matches whose last event is of a component and a stream: which, its tie-breaker, and the stream.
Last = tuple[Words, str | None, int]


def _lasts(made: Candidates, rows: pa.Table) -> Iterator[Last]:
    """Yield by component and stream the matches that end there."""
    matches, components = _last_events(rows)
    for name, options in made.ties.items():
        own = matches[components == name]
        by = whole(rows.column(made.which[name]))[own] if name in made.which else None
        for k, (tie, number) in options.items():
            yield own if by is None else own[by == k], tie, number


def _last_events(rows: pa.Table) -> tuple[Words, np.ndarray]:
    """Return the events that are as late as the end of their match: which match, which component.

    There is no event in a list that is NULL, and no such list.
    """
    events = rows.column("events").combine_chunks()
    if isinstance(events, pa.ChunkedArray):
        events = pa.concat_arrays(events.chunks) if events.num_chunks else pa.array([], events.type)
    items, matches = pc.list_flatten(events), np.asarray(pc.list_parent_indices(events), np.int64)
    last = whole(items.field("ts")) == whole(rows.column("end_ts"))[matches]
    # What was missed has no time.
    last &= np.asarray(items.field("ts").is_valid())
    components = np.asarray(items.field("component").to_pandas(), object)
    return matches[last], components[last]


def _greatest(rows: pa.Table, lasts: Iterable[Last], number: int, streams: Words) -> Any:
    """Return the greatest tie-breaker of each match whose last event is of a stream."""
    at, values = list[Words](), list[Any]()
    for own, tie, stream in lasts:
        if stream == number and tie is not None:
            mine = own[streams[own] == number]
            at.append(mine)
            values.append(_comparable(rows.column(tie)).take(pa.array(mine)))
    if not values:
        return pa.nulls(rows.num_rows)
    matches, ties = np.concatenate(at), pa.chunked_array([c for v in values for c in v.chunks])
    order = np.lexsort((_ranks(ties), matches))
    places = np.full(rows.num_rows, -1)
    places[matches[order]] = order
    chosen = pa.array(places, mask=places < 0)
    return ties.take(chosen)


def _comparable(column: Any) -> Any:
    """Return tie-breakers as they are inside."""
    if pa.types.is_temporal(column.type) or pa.types.is_boolean(column.type):
        numbers = pa.array(whole(column), mask=np.asarray(column.is_null()))
        return pa.chunked_array([numbers])
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _ranks(values: Any) -> Words:
    """Return the ranks of values; equal ones have the same, and NULL is least."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int64)
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    ranks = np.array(pc.rank(values, tiebreaker="dense"), np.int64)
    ranks[np.asarray(values.is_null())] = 0
    return ranks


def _looked_up(made: Candidates, rows: pa.Table, found: Found) -> tuple[Words, dict[int, Any]]:
    """Return the places of matches that are made of others."""
    streams = np.zeros(rows.num_rows, np.int64)
    ties: dict[int, list[Any]] = {}
    for k, row in enumerate(rows.to_pylist()):
        (_, _, streams[k], tie), _ = place_of(made, row, found)
        own = ties.setdefault(int(streams[k]), [None] * rows.num_rows)
        own[k] = tie[0] if tie else None
    return streams, {number: pa.array(own) for number, own in ties.items()}


# Order --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InOrder:
    """Rows of several tables in the order of moments: which table, which row of it.

    `starts` are the places at which another moment begins.
    """

    tables: Words
    rows: Words
    starts: list[int]


def in_order(tables: Sequence[pa.Table]) -> InOrder:
    """Return candidates that know their moments in the order of these."""
    sizes = [table.num_rows for table in tables]
    times, after = _joined(tables, TIME), _joined(tables, AFTER)
    streams = np.where(after > 0, 0, _joined(tables, STREAM))
    ranks = _tie_ranks(tables, np.where(after > 0, -1, streams))
    keys = (ranks, streams, after, times)
    order = np.lexsort(keys)
    differs = np.zeros(len(order), np.bool_)
    differs[:1] = True
    for key in keys:
        moved = key[order]
        differs[1:] |= moved[1:] != moved[:-1]
    which = np.repeat(np.arange(len(tables)), sizes)
    inside = np.concatenate([np.arange(size) for size in sizes]) if sizes else np.zeros(0, int)
    return InOrder(which[order], inside[order], np.flatnonzero(differs).tolist())


def _joined(tables: Sequence[pa.Table], name: str) -> Words:
    parts = [whole(table.column(name)) for table in tables]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _tie_ranks(tables: Sequence[pa.Table], streams: Words) -> Words:
    """Return the rank of each tie-breaker among those of its stream."""
    ranks = np.zeros(len(streams), np.int64)
    for name in sorted({n for t in tables for n in t.column_names if n.startswith(TIE)}):
        own = np.flatnonzero(streams == int(name.removeprefix(TIE)))
        ranks[own] = _ranks(_column(tables, name).take(pa.array(own)))
    return ranks


def _column(tables: Iterable[pa.Table], name: str) -> Any:
    """Return one column of several tables, NULL where one does not have it."""
    found = [t.select([name]) if name in t.column_names else None for t in tables]
    kind = next((f.schema.types[0] for f in found if f is not None
                 and not pa.types.is_null(f.schema.types[0])), pa.null())  # fmt: skip
    chunks: list[Any] = []
    for table, own in zip(tables, found, strict=True):
        if own is None or pa.types.is_null(own.schema.types[0]):
            chunks.append(pa.nulls(table.num_rows, kind))
        else:
            chunks += own.column(0).cast(kind).chunks
    return pa.chunked_array(chunks, kind)

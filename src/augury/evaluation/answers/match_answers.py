"""Matches as an Arrow table: the columns that every match has, then the RETURN columns.

`query, match_id, revision, <keys>, start_ts, end_ts, confidence, n_missed, events ARRAY<STRUCT<
component, event_id, ts, probability, missed>>`, then what RETURN names. Where the query allows
missed components, their items have no event and no time of their own, but `earliest` and `latest`.
Built column by column: nothing loops over matches but those with something missed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Column, DataType, StreamSchema
from augury.analysis.declarations.moves import ERROR_BOUND, METHOD
from augury.evaluation.encoding import text_buffers, whole
from augury.identity.telling import EXACT, SAMPLED
from augury.kernels.rows import identity
from augury.matching.inferred import inferred
from augury.matching.run_ends import WITH_THE_LAST
from augury.planning.expressions.arrow import Source, evaluate
from augury.planning.expressions.typed import (
    END_OPEN,
    END_TIME,
    OF_END,
    OF_EVENT,
    OF_MATCH,
    STREAM_OF,
    Aggregated,
    Input,
)
from augury.planning.match_plan import MatchPlan
from augury.records import Matches, Reals, Words
from augury.sources.columns import ARROW_TYPES

SEEDS = (0x5851F42D4C957F2D, 0x14057B7EF767814F)
# What NULL is hashed to.
_NULL = np.uint64(0x2545F4914F6CDD1D)


@dataclass(frozen=True, slots=True)
class Inputs:
    """The rows that a query read: one table per ON stream, numbered one after the other.

    `ids` are event ids as text, `time` and `p` those of the events.
    """

    tables: tuple[pa.Table, ...]
    first_rows: tuple[int, ...]
    ids: Any
    time: Words
    p: np.ndarray


def match_table(
    plan: MatchPlan, matches: Matches, inputs: Inputs, bounds: Reals | None = None
) -> pa.Table:
    """Return the result of an enumerated query: of its columns those that the plan makes.

    `bounds` say of matches over owners how far off their confidences are at most; None: not at all.
    With ALL EVENTS PER MATCH there is a row for each event, and in place of `events` what it is.
    """
    query, n, moment = plan.query, len(matches), moment_type(plan.query)
    first = matches.first_item[:-1]
    at_start = matches.component[first], matches.row[first]
    made_by: dict[str, Callable[[], Any]] = {
        "query": lambda: pa.repeat(pa.scalar(query.name, pa.string()), n),
        "match_id": lambda: match_ids(query, matches, inputs),
        "revision": lambda: pa.array(matches.revision),
        **{key.name: partial(key_column, query, key, at_start, inputs) for key in query.keys},
        "start_ts": lambda: pa.array(_extreme(np.minimum, matches, inputs)).cast(moment),
        "end_ts": lambda: pa.array(_extreme(np.maximum, matches, inputs)).cast(moment),
        "confidence": lambda: pa.array(matches.confidence),
        "n_missed": lambda: pa.array(matches.n_missed),
        **_how(plan, np.zeros(n) if bounds is None else bounds),
        "events": lambda: _events_column(plan, matches, inputs, moment),
    }
    source = _source(plan, matches, inputs)
    made_by |= {column.name: partial(evaluate, each, source) for column, each in plan.outputs}
    if query.each_event:
        made_by = _per_event(plan, matches, inputs, made_by)
    return pa.table(
        {name: made() for name, made in made_by.items() if plan.made is None or name in plan.made}
    )


def _how(plan: MatchPlan, bounds: Reals) -> dict[str, Callable[[], Any]]:
    made: dict[str, Callable[[], Any]] = {
        METHOD: lambda: pc.if_else(pa.array(bounds > 0.0), SAMPLED, EXACT),
        ERROR_BOUND: lambda: pa.array(bounds),
    }
    return {name: made[name] for name in plan.says_how}


def _per_event(
    plan: MatchPlan, matches: Matches, inputs: Inputs, of_match: Mapping[str, Callable[[], Any]]
) -> dict[str, Callable[[], Any]]:
    """Return how the columns of ALL EVENTS PER MATCH are made from those of matches."""
    match = pa.array(np.repeat(np.arange(len(matches)), np.diff(matches.first_item)))
    own = {
        column.name: each.column
        for column, each in plan.outputs
        if isinstance(each, Input) and each.component == OF_EVENT
    }
    kinds = {column.name: column.type for column, _ in plan.outputs}
    made: dict[str, Callable[[], Any]] = {}
    for name, whole_column in of_match.items():
        if name == "events":
            made |= _event_columns(plan, matches, inputs)
        elif name in own:
            made[name] = partial(gather, inputs, own[name], matches.row, kinds[name])
        else:
            made[name] = partial(_repeated, whole_column, match)
    return made


def _repeated(made: Callable[[], Any], match: Any) -> Any:
    column = made()
    taken = pc.take(column, match)
    return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


def _event_columns(
    plan: MatchPlan, matches: Matches, inputs: Inputs
) -> dict[str, Callable[[], Any]]:
    names = pa.array([c.name for c in plan.query.components], pa.string())
    ids = partial(pc.take, inputs.ids, pa.array(matches.row))
    return {
        "component": lambda: pc.take(names, pa.array(matches.component)),
        "item": lambda: pa.array(_items_of_components(matches)),
        "event_id": lambda: ids().cast(pa.string()),
        "event_ts": lambda: pa.array(inputs.time[matches.row]).cast(moment_type(plan.query)),
    }


def _items_of_components(matches: Matches) -> Words:
    """Return the number of each item among those of its match and component, from 1."""
    match = np.repeat(np.arange(len(matches)), np.diff(matches.first_item))
    order = np.lexsort((matches.component, match))
    pairs = np.stack([match[order], matches.component[order]])
    fresh = np.concatenate([[True], (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)])
    begins = np.flatnonzero(fresh[: len(order)])
    sizes = np.diff(np.append(begins, len(order)))
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.arange(len(order)) - np.repeat(begins, sizes) + 1
    return numbers


def moment_type(query: CheckedQuery) -> Any:
    """Return the Arrow type of the query's event time."""
    ticks = query.streams[0].time_is_ticks
    return pa.int64() if ticks else ARROW_TYPES[DataType.TIMESTAMP.value]


def _extreme(which: np.ufunc, matches: Matches, inputs: Inputs) -> Words:
    """Return the earliest or the latest time of each match."""
    if not len(matches):
        return np.zeros(0, np.int64)
    found: Words = which.reduceat(inputs.time[matches.row], matches.first_item[:-1])
    return found


def match_ids(query: CheckedQuery, matches: Matches, inputs: Inputs) -> Any:
    """Return the deterministic ids of matches: hashes of query, components and events."""
    names = pa.array([c.name for c in query.components], pa.string())
    used, rows = None, matches.row
    if len(rows) * 8 < len(inputs.ids):
        # Hash what is needed: a few matches must not cost a pass over all events.
        used, rows = np.unique(rows, return_inverse=True)
    telling = _telling_columns(query, inputs, used)
    lanes = []
    for seed in SEEDS:
        own = text_hashes(pa.array([query.name], pa.string()), seed)[0]
        words = [event_words(stream, columns, seed) for stream, columns in telling]
        lanes.append(
            identity.match_words(
                matches.first_item,
                matches.component,
                rows,
                text_hashes(names, seed),
                np.concatenate(words),
                own,
            )
        )
    return hexadecimal_texts(*lanes)


def _telling_columns(
    query: CheckedQuery, inputs: Inputs, used: Words | None
) -> list[tuple[StreamSchema, list[Any]]]:
    """Return by stream what tells its events apart; of some of the rows, in order, or of all."""
    found = []
    for stream, table, first in zip(query.streams, inputs.tables, inputs.first_rows, strict=True):
        ids = inputs.ids.slice(first, table.num_rows)
        columns = [ids if n is None else table.column(n) for n in told_apart_by(stream)]
        if used is not None:
            own = pa.array(used[(used >= first) & (used < first + table.num_rows)] - first)
            columns = [pc.take(column, own) for column in columns]
        found.append((stream, columns))
    return found


def told_apart_by(stream: StreamSchema) -> tuple[str | None, ...]:
    """Return the columns that tell the events of a stream apart; None is the hash of the row.

    Alternatives of one ID are told apart by what they say, and when; never by how likely it is.
    """
    if stream.id is None or not stream.alternatives:
        return (stream.id,)
    return (stream.id, *stream.alternatives, stream.time)


def event_words(stream: StreamSchema, columns: Sequence[Any], seed: int) -> np.ndarray:
    """Return a hash of each event by what tells it apart, and by its stream.

    Streams that are read together may both have an event of some ID.
    """
    first, *others = columns
    total = column_hashes(first, seed)
    for column in others:
        identity.mix_hashes(column_hashes(column, seed), total)
    total ^= stream_word(stream.name, seed)
    return total


@cache
def stream_word(name: str, seed: int) -> np.uint64:
    """Return a hash of the name of a stream, whatever its case."""
    return np.uint64(text_hashes(pa.array([name.lower()], pa.string()), seed)[0])


def column_hashes(column: Any, seed: int) -> np.ndarray:
    """Return a 64-bit hash of each value of a column of any type; NULL is like nothing else."""
    if pa.types.is_dictionary(column.type):
        flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        texts = np.append(column_hashes(flat.dictionary, seed), _NULL)
        found: np.ndarray = texts[np.asarray(flat.indices.fill_null(len(texts) - 1))]
        return found
    if pa.types.is_floating(column.type):
        hashes = word_hashes(_bits(column), seed)
    elif pa.types.is_string(column.type):
        hashes = text_hashes(column, seed)
    else:
        hashes = word_hashes(whole(column), seed)
    if column.null_count:
        hashes[np.asarray(pc.is_null(column))] = _NULL
    return hashes


def _bits(column: Any) -> Words:
    # Minus zero equals zero, and NaN equals NaN; both may have other bits.
    reals = np.asarray(column.fill_null(0.0), np.float64) + 0.0
    reals[np.isnan(reals)] = np.nan
    return reals.view(np.int64)


def text_hashes(column: Any, seed: int) -> np.ndarray:
    """Return a 64-bit hash of each text of a column."""
    flat = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    out = np.empty(len(flat), np.uint64)
    identity.hash_bytes(*text_buffers(flat), seed, out)
    return out


def word_hashes(words: Words, seed: int) -> np.ndarray:
    """Return a 64-bit hash of each word."""
    out = np.empty(len(words), np.uint64)
    identity.hash_words(words, seed, out)
    return out


def hexadecimal_texts(*lanes: np.ndarray) -> Any:
    """Return words as texts of 16 digits each; several lanes one after the other."""
    count, digits = len(lanes[0]), identity.hexadecimal(*lanes)
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(16 * len(lanes))
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(digits))


def _events_column(plan: MatchPlan, matches: Matches, inputs: Inputs, moment: Any) -> Any:
    names = pa.array([c.name for c in plan.query.components], pa.string())
    if plan.query.allow:
        return _events_with_missed(plan, matches, inputs, moment)
    ids = pc.take(inputs.ids, pa.array(matches.row))
    fields = {
        "component": pc.take(names, pa.array(matches.component)),
        "event_id": ids if pa.types.is_string(ids.type) else ids.cast(pa.string()),
        "ts": pa.array(inputs.time[matches.row]).cast(moment),
        # What is told again has a probability in its own answer.
        "probability": pa.array(inputs.p[matches.row], from_pandas=True),
        "missed": pa.repeat(pa.scalar(False), len(matches.row)),
    }
    items = pa.StructArray.from_arrays(list(fields.values()), list(fields))
    return pa.ListArray.from_arrays(pa.array(matches.first_item.astype(np.int32)), items)


def _events_with_missed(plan: MatchPlan, matches: Matches, inputs: Inputs, moment: Any) -> Any:
    """Return the events with what was missed in its place, and when that probably happened."""
    names = pa.array([c.name for c in plan.query.components], pa.string())
    time = inputs.time[matches.row]
    unseen = inferred(plan.pattern, matches, time)
    row = np.insert(matches.row, unseen.place, -1)
    missed = row < 0
    ids = pc.take(inputs.ids, pa.array(row, mask=missed))

    def moments(seen: Words, inferred: Words, hidden: np.ndarray) -> Any:
        return pa.array(np.insert(seen, unseen.place, inferred), mask=hidden).cast(moment)

    component = np.insert(matches.component, unseen.place, unseen.component)
    probability = np.insert(inputs.p[matches.row], unseen.place, unseen.probability)
    fields = {
        "component": pc.take(names, pa.array(component)),
        "event_id": ids if pa.types.is_string(ids.type) else ids.cast(pa.string()),
        "ts": moments(time, unseen.earliest, missed),
        "probability": pa.array(probability, from_pandas=True),
        "missed": pa.array(missed),
        "earliest": moments(time, unseen.earliest, ~missed),
        "latest": moments(time, unseen.latest, ~missed),
    }
    items = pa.StructArray.from_arrays(list(fields.values()), list(fields))
    first = matches.first_item + np.concatenate([[0], np.cumsum(matches.n_missed)])
    return pa.ListArray.from_arrays(pa.array(first.astype(np.int32)), items)


def key_column(query: CheckedQuery, key: Column, taken: tuple[Words, Words], inputs: Inputs) -> Any:
    """Return a key's value, read from one (component, row) of each match."""
    components, rows = taken
    if len(rows) and (components == components[0]).all():
        return gather(inputs, member_column(query, int(components[0]), key.name), rows, key.type)
    found = pa.nulls(len(rows), ARROW_TYPES[key.type.value])
    for component in np.unique(components):
        column = member_column(query, int(component), key.name)
        here = pa.array(components == component)
        values = gather(inputs, column, np.where(components == component, rows, -1), key.type)
        found = pc.if_else(here, values, found)
    return found


def member_column(query: CheckedQuery, component: int, name: str) -> str:
    """Return the column of a component that an equated attribute is."""
    for equality in query.equalities:
        members = dict(equality.members)
        if name in members.values() and component in members:
            return members[component]
    return name


def gather(inputs: Inputs, column: str, rows: Words, kind: DataType) -> Any:
    """Return a column at the given rows; a row of -1, or a stream without the column, is NULL."""
    if column == STREAM_OF:
        numbers = np.searchsorted(np.array(inputs.first_rows), rows, "right") - 1
        return pa.array(numbers, pa.int64(), mask=rows < 0)
    found = pa.nulls(len(rows), ARROW_TYPES[kind.value])
    for table, first in zip(inputs.tables, inputs.first_rows, strict=True):
        name = next((own for own in table.column_names if own.lower() == column.lower()), None)
        here = (rows >= first) & (rows < first + table.num_rows)
        # Streams may have columns of one name and different types: only what is taken is cast.
        if name is not None and here.any():
            is_all = bool(here.all())
            taken = pc.take(
                table.column(name), pa.array(rows - first, mask=None if is_all else ~here)
            )
            whole = taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken
            if is_all:
                return whole.cast(found.type)
            found = pc.coalesce(whole.cast(found.type), found)
    return found


def _source(plan: MatchPlan, matches: Matches, inputs: Inputs) -> Source:
    """Return how RETURN expressions read the events of each match."""

    def read(node: Input | Aggregated) -> Any:
        if isinstance(node, Aggregated):
            return _aggregate(node, matches, inputs)
        if node.component == OF_MATCH:
            return pa.array(matches.number)
        if node.component == OF_END:
            return _of_end(node, matches, inputs)
        rows = rows_of(matches, node.component, node.kind, node.number)
        values = gather(inputs, node.column, rows, node.type)
        if node.default is None:
            return values
        absent = rows_of(matches, node.component, "each", 1) < 0
        default = evaluate(node.default, source)
        return pc.if_else(pa.array(absent), default.cast(values.type), values)

    source = Source(read, len(matches))
    return source


def _of_end(node: Input, matches: Matches, inputs: Inputs) -> Any:
    """Return something of the event with which each match is known to have ended."""
    rows = np.maximum(matches.ended_by, -1)
    if node.column == END_OPEN:
        return pa.array((matches.ended_by != WITH_THE_LAST).astype(np.int64))
    if node.column == END_TIME:
        known = rows >= 0
        times = np.zeros(len(rows), np.int64)
        times[known] = inputs.time[rows[known]]
        return pa.array(times, mask=~known)
    return gather(inputs, node.column, rows, node.type)


def _places(matches: Matches, component: int) -> tuple[Words, Words, Words]:
    """Return, of one component's items: their match, their row, and how many each match has."""
    match = np.repeat(np.arange(len(matches)), np.diff(matches.first_item))
    mine = matches.component == component
    counts = np.bincount(match[mine], minlength=len(matches))
    return match[mine], matches.row[mine], counts


def rows_of(matches: Matches, component: int, kind: str, number: int) -> Words:
    """Return the row of one item of a component in each match, or -1."""
    if max(number, 1) == 1 and matches.has_one_of_each:
        each = len(matches.row) // len(matches)
        # Components at the end of a pattern may be in no match at all.
        single: Words = matches.row[component::each]
        return single if component < each else np.full(len(matches), -1, np.int64)
    _, rows, counts = _places(matches, component)
    starts = np.cumsum(counts) - counts
    offset = counts - 1 if kind == "last" else np.full(len(counts), max(number, 1) - 1)
    found = np.full(len(counts), -1, np.int64)
    there = (offset < counts) & (counts > 0)
    found[there] = rows[(starts + offset)[there]]
    return found


def _aggregate(node: Aggregated, matches: Matches, inputs: Inputs) -> Any:
    match, rows, counts = _places(matches, node.component)
    if node.function == "COUNT":
        return pa.array(counts.astype(np.int64))
    assert node.column is not None
    kind = DataType.DOUBLE if node.function == "AVG" else node.type
    values = gather(inputs, node.column, rows, kind)
    table = pa.table({"match": match, "value": values})
    how = {"SUM": "sum", "AVG": "mean", "MIN": "min", "MAX": "max"}[node.function]
    found = _by_match(table, how, len(matches))
    if how == "max" and kind is DataType.DOUBLE:
        # NaN is the greatest, and Arrow leaves it out.
        odd = _by_match(table.set_column(1, "value", pc.is_nan(values)), "max", len(matches))
        found = pc.if_else(pc.fill_null(odd, False), float("nan"), found)
    return found


def _by_match(table: pa.Table, how: str, n: int) -> Any:
    """Return an aggregate of the values of each match; NULL where it has none."""
    grouped = table.group_by("match").aggregate([("value", how)])
    place = np.full(n, -1, np.int64)
    place[np.asarray(grouped.column("match"))] = np.arange(grouped.num_rows)
    taken = pc.take(grouped.column(f"value_{how}"), pa.array(place, mask=place < 0))
    return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken


def joined_ids(columns: Sequence[Any]) -> Any:
    """Return the ids of several streams one after the other; numbers stay numbers if all are."""
    flat = [c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in columns]
    if not all(pa.types.is_integer(c.type) for c in flat):
        flat = [c if pa.types.is_string(c.type) else c.cast(pa.string()) for c in flat]
    return pa.concat_arrays([_plain(c) for c in flat])


def _plain(column: Any) -> Any:
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column

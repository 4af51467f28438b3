"""How the stream is cut into parts that can be evaluated apart, and what moving it costs.

By key, where WHERE equates an attribute over all components: every match lies in one part. A row
whose key is NULL equals no other, and so is alone in its part; it is kept, because a pattern may
ask for one event only (OR, `?`, a negation). By time, where there is a window of time: ranges
overlap by the window, and a match is reported by the range that holds its last event. Otherwise the
stream stays whole. What counts every event of the stream (STRICT, a window of events) must see them
all; what counts those of one KEY (PARTITION CONTIGUITY, NEXT) may be cut by columns of that KEY
only.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import Literal

from augury.analysis.checked import CheckedQuery, EqualityClass
from augury.analysis.declarations.catalog import DataType
from augury.planning.pattern.automaton import Automaton
from augury.planning.pattern.residual import branches_within

# Strings vary; sixteen bytes is a short name with its length.
BYTES = {
    DataType.BOOLEAN: 1,
    DataType.LONG: 8,
    DataType.DOUBLE: 8,
    DataType.TIMESTAMP: 8,
    DataType.DATE: 4,
    DataType.STRING: 16,
}
MASK_BYTES = 8


@dataclass(frozen=True, slots=True)
class Partitioning:
    """How the stream is cut and why.

    `columns` has, for "key", the columns of each stream that are hashed, in one order. `lookback`
    is how far a time range reaches before its start, and `lookahead` how far after its end (a
    trailing negation waits, and so does a match that takes all it can), in microseconds or ticks.
    """

    kind: Literal["key", "time", "single"]
    reason: str
    classes: tuple[EqualityClass, ...] = ()
    columns: tuple[tuple[str, tuple[str, ...]], ...] = ()
    lookback: int = 0
    lookahead: int = 0

    @property
    def key(self) -> tuple[str, ...]:
        """The names of the key's columns, by the first stream."""
        return self.columns[0][1] if self.columns else ()


@dataclass(frozen=True, slots=True)
class Moved:
    """What is shuffled: columns by name with their bytes, and the bytes of one row."""

    columns: tuple[tuple[str, int], ...]

    @property
    def bytes_per_row(self) -> int:
        return sum(size for _, size in self.columns)


def choose_partitioning(query: CheckedQuery, automaton: Automaton) -> Partitioning:
    """Return the cut that moves least and changes no answer."""
    classes = tuple(c for c in query.equalities if _can_cut(query, automaton, c))
    if classes:
        return _by_key(query, classes)
    in_turn = query.after_match is not None or query.looks_beside
    if query.within is not None and not query.within.events and not in_turn:
        return _by_time(query, automaton)
    return Partitioning("single", _why_whole(query))


def _by_key(query: CheckedQuery, classes: tuple[EqualityClass, ...]) -> Partitioning:
    by_stream = [(s.name, tuple(_column(query, c, s.name) for c in classes)) for s in query.streams]
    what = "attribute is" if len(classes) == 1 else "attributes are"
    return Partitioning("key", f"the {what} equal over all components", classes, tuple(by_stream))


def _by_time(query: CheckedQuery, automaton: Automaton) -> Partitioning:
    assert query.within is not None
    waits = any(guard.is_trailing for guard in automaton.guards) or _goes_on(query, automaton)
    waits = waits or _may_miss_the_end(automaton)
    return Partitioning(
        "time",
        "no attribute that could cut the stream is equal over all components, but the window "
        "bounds how far a match reaches",
        lookback=query.within.length,
        lookahead=query.within.length if waits else 0,
    )


def _goes_on(query: CheckedQuery, automaton: Automaton) -> bool:
    """Return whether a complete match takes further events, so that its end shows only later."""
    accepting = {state.index for state in automaton.states if state.accepting}
    return query.strategy != "ANY" and any(t.source in accepting for t in automaton.transitions)


def _may_miss_the_end(automaton: Automaton) -> bool:
    """Return whether a match may lack its last component, so that it waits for the window's end."""
    accepting = {state.index for state in automaton.states if state.accepting}
    return any(skip.target in accepting and not skip.removed for skip in automaton.skips)


def _why_whole(query: CheckedQuery) -> str:
    if query.within is not None and query.within.events:
        return "a window of events counts every event of the stream"
    if query.after_match is not None:
        return "matches are taken one after the other, over all of the stream"
    if query.looks_beside:
        return "events beside a match are read, wherever they are"
    return "no attribute is equal over all components, and no window bounds a match"


def shard_columns(query: CheckedQuery, cut: Partitioning) -> dict[str, tuple[str, ...]] | None:
    """Return the columns of each stream whose values are answered apart; None if there are none.

    Matches are of one part each. A probability is of all parts together; a count adds up those that
    have one key.
    """
    if cut.kind != "key" or query.returns in ("PROBABILITY", "PROBABILITY BY TIME"):
        return None
    keys, counts = {key.name.lower() for key in query.keys}, query.returns == "COUNT"
    apart = [
        not counts or any(name.lower() in keys for _, name in each.members) for each in cut.classes
    ]
    if not any(apart):
        return None
    return {stream: tuple(compress(columns, apart)) for stream, columns in cut.columns}


def counts_every_event(query: CheckedQuery) -> bool:
    """Return whether an event that plays nothing can still change an answer."""
    window = query.within is not None and query.within.events
    return window or query.looks_beside or query.strategy in ("STRICT", "PARTITION")


def has_neighbours(automaton: Automaton) -> bool:
    """Return whether some event must be the direct neighbour of another, in negations too."""
    hidden = (branch for guard in automaton.guards for branch in branches_within(guard.part))
    return any(t.adjacent_to for t in automaton.transitions) or any(
        branch.operator == "NEXT" for branch in hidden
    )


def taken_apart(query: CheckedQuery) -> tuple[EqualityClass, ...]:
    """Return what WHERE equates over all components: AFTER MATCH takes each value by itself."""
    return tuple(each for each in query.equalities if each.covers_all)


def _can_cut(query: CheckedQuery, automaton: Automaton, equality: EqualityClass) -> bool:
    if not equality.covers_all or len(equality.members) < 2:
        return False
    if not _has_one_column_per_stream(query, equality) or _parts_alternatives(query, equality):
        return False
    if query.strategy == "STRICT" or (query.within is not None and query.within.events):
        return False
    if query.strategy == "PARTITION" or query.looks_beside or has_neighbours(automaton):
        return _is_in_every_key(query, equality)
    return True


def _has_one_column_per_stream(query: CheckedQuery, equality: EqualityClass) -> bool:
    """Return whether an event's part does not depend on the component it plays."""
    columns: dict[str, set[str]] = {}
    kinds = set()
    for component, name in equality.members:
        kinds.add(query.type_of_attribute(component, name))
        for by in query.components[component].played_by:
            columns.setdefault(by.stream, set()).add(name.lower())
    return len(kinds) == 1 and all(len(columns.get(s.name, ())) == 1 for s in query.streams)


def _parts_alternatives(query: CheckedQuery, equality: EqualityClass) -> bool:
    """Return whether the cut would part alternatives that one part has to weigh together.

    A match takes one of them at most, and knows its own probability; whether any match exists, and
    a chain over hidden values, depend on all.
    """
    asked = query.returns in ("PROBABILITY", "PROBABILITY BY TIME")
    return any(
        _column(query, equality, s.name).lower() in {a.lower() for a in s.alternatives}
        for s in query.streams
        if asked or s.markov
    )


def _is_in_every_key(query: CheckedQuery, equality: EqualityClass) -> bool:
    return all(
        _column(query, equality, s.name).lower() in {k.lower() for k in s.key}
        for s in query.streams
    )


def _column(query: CheckedQuery, equality: EqualityClass, stream: str) -> str:
    return next(
        name
        for component, name in equality.members
        if any(by.stream == stream for by in query.components[component].played_by)
    )


def moved_rows(
    query: CheckedQuery, read: tuple[tuple[int, str], ...], cut: Partitioning, *, by_key: bool
) -> Moved:
    """Return what a shuffle carries: mask, key, order, probability and the attributes in `read`."""
    columns: dict[str, int] = {"(mask)": MASK_BYTES}
    for stream in query.streams:
        ordered = (stream.time, stream.order_by, stream.id, stream.probability)
        # Neighbours of one KEY, and rows that exclude each other for want of an ID, are told by it.
        key = stream.key if by_key or (stream.alternatives and not stream.id) else ()
        for name in (*cut.key, *key, *(n for n in ordered if n), *stream.alternatives):
            column = stream.column(name)
            if column is not None:
                columns[column.name] = BYTES.get(column.type, 8)
    beside = {n.column.name: n.of.name for stream in query.streams for n in stream.neighbours}
    for component, name in read:
        kind = query.type_of_attribute(component, name)
        columns.setdefault(beside.get(name, name), BYTES.get(kind, 8))
    return Moved(tuple(columns.items()))

"""One row to one event, without Arrow: closures that are prepared once per plan.

They give the words that a ring stores: what the search reads, and what an answer needs later. Codes
of strings and keys are given out as values appear, and forgotten when no live event can have them;
a code is never given out twice, so what is forgotten cannot be mistaken.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from augury.analysis.declarations.catalog import DataType, StreamSchema
from augury.kernels.search import layout
from augury.kernels.search.gather import FIXED_COLUMNS, WHEN
from augury.matching.pattern import Pattern
from augury.planning.expressions.scalar import Scalar, Tables, scalar
from augury.planning.expressions.typed import (
    OF_NO_ROW,
    Aggregated,
    Input,
    Typed,
    inputs_within,
    nodes_within,
)
from augury.planning.match_plan import MatchPlan
from augury.records import Words, as_key, chance
from augury.sources.intake import Arrival

FOREVER = layout.FOREVER
ID, ROW = "augury id", "augury row"
# In a whole row, where there are several streams: the name of its own.
ORIGIN = "augury stream"
# In a whole row that is not the first of rows equal to it: how many came before it.
NUMBER = "augury number"
_HEADS = {
    layout.MASK: "mask",
    layout.NULLS: "nulls",
    layout.TIE: "tie",
    layout.STREAM: "stream",
    layout.KEY: "key",
    layout.GROUP: "group",
    layout.P: "probability",
}
# One word has a bit per nullable column.
MOST_COLUMNS = 62
_NOT_A_NUMBER = float("nan")
_PACK, _UNPACK = struct.Struct("<d").pack, struct.Struct("<q").unpack


def bits_of(value: float) -> int:
    """Return the word that holds a double."""
    return int(_UNPACK(_PACK(value))[0])


def real_of(word: int) -> float:
    """Return the double that a word holds."""
    return float(struct.unpack("<d", struct.pack("<q", word))[0])


class LiveCodes:
    """Numbers for values, with the latest time that each was used at."""

    def __init__(self) -> None:
        self.known: dict[Hashable, tuple[int, int]] = {}
        self.following = 0
        self._swept = 256

    def code(self, value: Hashable, time: int) -> int:
        found = self.known.get(value)
        if found is None:
            found = (self.following, time)
            self.following += 1
            self.known[value] = found
        elif found[1] < time:
            found = (found[0], time)
            self.known[value] = found
        return found[0]

    @property
    def is_due(self) -> bool:
        """Whether it is time to forget."""
        return len(self.known) > self._swept

    def forget_before(self, time: int) -> None:
        """Forget values last used before a time."""
        self.known = {v: found for v, found in self.known.items() if found[1] >= time}
        self._swept = 2 * len(self.known) + 256


@dataclass(frozen=True, slots=True)
class Stored:
    """A column that the ring keeps for answers: a word with a NULL bit, or a text."""

    name: str
    type: DataType
    place: int
    is_text: bool


@dataclass(frozen=True, slots=True)
class Encoded:
    """An event that waits for its turn; its `arrival` if it is one of several alternatives."""

    time: int
    tie: int
    words: list[int]
    texts: tuple[Any, ...]
    partition: Hashable
    arrival: Arrival | None = None
    stream: str = ""


class LiveEncoder:
    """Turns the arrivals of a query's streams into rows of its ring."""

    def __init__(self, plan: MatchPlan, tables: Tables) -> None:
        self.plan = plan
        self.tables = tables
        self.strings, self.keys, self.groups = LiveCodes(), LiveCodes(), LiveCodes()
        self._know_constants()
        self.attributes = plan.programs.columns
        self.stored: dict[str, Stored] = {}
        self._place_columns()
        self._streams = {
            stream.name: _StreamEncoder(self, stream, number)
            for number, stream in enumerate(plan.query.streams)
        }

    def encode(self, stream: str, arrival: Arrival, number: int) -> Encoded | None:
        """Return the event of a good row, arrival `number`; None where it can play nothing."""
        return self._streams[stream].encode(arrival, number)

    @property
    def is_float(self) -> tuple[bool, ...]:
        return tuple(column.type is DataType.DOUBLE for column in self.attributes)

    @property
    def codes(self) -> tuple[LiveCodes, LiveCodes, LiveCodes]:
        return self.strings, self.keys, self.groups

    def layout(self) -> list[str]:
        """Return what an event of the ring consists of, in words."""
        heads = [_HEADS[c] for c in _HEADS if self.where[c] >= 0]
        attributes = [f"attribute {column.type.value}" for column in self.attributes]
        stored = [f"{s.name} {s.type.value} at {s.place}" for s in self.stored.values()]
        return heads + attributes + stored

    def string_codes(self) -> dict[str, int]:
        """Return the codes of the strings, for linking programs."""
        return {str(text): code for text, (code, _) in self.strings.known.items()}

    def _know_constants(self) -> None:
        """Give codes to what programs and tables name, before any event: they are linked once."""
        for text in (*self.plan.programs.strings, *self.plan.programs.texts_of(self.tables)):
            self.strings.code(text, FOREVER)
        for use in self.plan.programs.tables:
            for row in self.tables.get(use.name.lower(), ()):
                for value in row:
                    if isinstance(value, str):
                        self.strings.code(value, FOREVER)

    # Where things stand in a row of the ring ---------------------------------------------------

    def _place_columns(self) -> None:
        streams, pattern = self.plan.query.streams, self.plan.pattern
        several = len(streams) > 1 or any(stream.order_by for stream in streams)
        makers = {
            layout.MASK: True,
            layout.NULLS: not self._packs_nulls(),
            layout.TIE: several,
            layout.STREAM: several,
            layout.KEY: needs_keys(pattern),
            layout.GROUP: any(stream.alternatives for stream in streams),
            layout.P: any(stream.probability for stream in streams),
        }
        self.where: Words = np.full(layout.VALUES + len(self.attributes), -1, np.int64)
        self.where[layout.TIME] = WHEN
        self.width = FIXED_COLUMNS
        for column, is_needed in makers.items():
            if is_needed:
                self.where[column] = self._next_place()
        if self._packs_nulls():
            self.where[layout.NULLS] = self.where[layout.MASK]
        for a in range(len(self.attributes)):
            self.where[layout.VALUES + a] = self._next_place()
        self._place_stored()

    def _packs_nulls(self) -> bool:
        """Whether the NULL bits have room in the word of the mask, above the components."""
        columns = len(self.attributes) + len(stored_columns(self.plan))
        return len(self.plan.pattern.components) + columns <= MOST_COLUMNS

    def _next_place(self) -> int:
        self.width += 1
        return self.width - 1

    def _place_stored(self) -> None:
        self.n_texts = 0
        for name, kind in stored_columns(self.plan).items():
            is_text = kind is DataType.STRING or name == ROW
            shared = None if is_text else self._attribute_place(name, kind)
            if is_text:
                place, self.n_texts = self.n_texts, self.n_texts + 1
            else:
                place = shared if shared is not None else self._next_place()
            self.stored[name] = Stored(name, kind, place, is_text)

    def _attribute_place(self, name: str, kind: DataType) -> int | None:
        """Return the place of an attribute that is just this column in every stream."""
        for a, column in enumerate(self.attributes):
            plain = column.expression
            if isinstance(plain, Input) and plain.column.lower() == name and column.type is kind:
                return int(self.where[layout.VALUES + a])
        return None

    def null_bit(self, place: int) -> int:
        """Return the bit of the NULL word that belongs to a column of the ring."""
        first = int(self.where[layout.VALUES]) if len(self.attributes) else self._first_stored()
        shift = len(self.plan.pattern.components) if self._is_packed else 0
        return place - first + shift

    @property
    def _is_packed(self) -> bool:
        return bool(self.where[layout.NULLS] == self.where[layout.MASK])

    def _first_stored(self) -> int:
        return min((s.place for s in self.stored.values() if not s.is_text), default=self.width)


class _StreamEncoder:
    """The closures of one stream."""

    def __init__(self, owner: LiveEncoder, stream: StreamSchema, number: int) -> None:
        self.owner, self.stream, self.number = owner, stream, number
        self.streams = len(owner.plan.query.streams)
        self.drops_others = owner.plan.drops_others
        self._any_type, self._by_type = self._plays()
        self._partition = self._partition_of()
        self._heads = self._head_columns()
        self._columns = self._word_columns()
        self._texts = [self._value_of(s.name) for s in owner.stored.values() if s.is_text]
        self._nulls_place = int(owner.where[layout.NULLS])

    def encode(self, arrival: Arrival, number: int) -> Encoded | None:
        values = arrival.values
        mask = self._mask(values)
        if not mask and self.drops_others:
            return None
        words = [0, arrival.time, mask] if self._nulls_place == 2 else [0, arrival.time, mask, 0]
        tie = self._tie(values)
        words += [head(arrival, tie, number) for head in self._heads]
        nulls = 0
        for bit, value_of, word_of in self._columns:
            value = value_of(values)
            if value is None:
                nulls |= bit
                words.append(0)
            else:
                words.append(word_of(value, arrival.time))
        words[self._nulls_place] |= nulls
        texts = tuple([text(values) for text in self._texts])
        partition = self._partition(values, number)
        if arrival.alternatives is None:
            return Encoded(arrival.time, tie or 0, words, texts, partition)
        name = self.stream.name
        return Encoded(arrival.time, tie or 0, words, texts, partition, arrival, name)

    def _mask(self, values: dict[str, Any]) -> int:
        plays = self._any_type
        if self.stream.type is not None:
            plays = self._by_type.get(values[self.stream.type], plays)
        mask = 0
        for bit, filters in plays:
            for passes in filters:
                if not passes(values):
                    break
            else:
                mask |= bit
        return mask

    def _plays(self) -> tuple[list[Any], dict[str, list[Any]]]:
        """Return who may play what: events of any type, and those of each type that is named."""
        own = [play for play in self.owner.plan.plays if play.stream == self.stream.name]
        made = [
            (p.type, (1 << p.component, [scalar(f, self.owner.tables) for f in p.filters]))
            for p in own
        ]
        types = {type_ for type_, _ in made if type_ is not None}
        by_type = {t: [play for type_, play in made if type_ in (None, t)] for t in types}
        return [play for type_, play in made if type_ is None], by_type

    def _partition_of(self) -> Callable[[dict[str, Any], int], Hashable]:
        names = self.owner.plan.partition_by.get(self.stream.name) or ()
        if self.owner.plan.pattern.stays_in_a_key and not names:
            key = self.stream.key
            return lambda values, number: tuple(values[name] for name in key)
        if not names:
            return lambda values, number: ()
        if len(names) == 1:
            (name,) = names
            form = self._form_of(name)
            # NULL equals nothing, so such an event is alone in its partition.
            return lambda values, number: (
                (None, number) if values[name] is None else form(values[name])
            )
        forms = [(name, self._form_of(name)) for name in names]
        return lambda values, number: _joint([form(values[name]) for name, form in forms], number)

    def _form_of(self, name: str) -> Callable[[Any], Any]:
        """Return how values of a column become parts of a partition."""
        is_real = column_type((self.stream,), name) is DataType.DOUBLE
        return as_key if is_real else lambda value: value

    def _tie(self, values: dict[str, Any]) -> int | None:
        if self.stream.order_by is None:
            return 0
        value = values[self.stream.order_by]
        return ordered_word(value) if isinstance(value, float) else value

    def _head_columns(self) -> list[Callable[[Arrival, int | None, int], int]]:
        """Return what the search reads besides time, mask and attributes, in the ring's order."""
        makers = {
            layout.TIE: lambda arrival, tie, number: tie or 0,
            # Without a tie-breaker an event has equal order with all others of its time.
            layout.STREAM: self._stream_word,
            layout.KEY: self._key_word,
            layout.GROUP: self._group_word,
            layout.P: self._chance_word,
        }
        return [make for column, make in makers.items() if self.owner.where[column] >= 0]

    def _stream_word(self, arrival: Arrival, tie: int | None, number: int) -> int:
        return self.number if tie is not None else -2 - number * self.streams - self.number

    def _key_word(self, arrival: Arrival, tie: int | None, number: int) -> int:
        names = self.stream.key
        values = arrival.values
        key = values[names[0]] if len(names) == 1 else tuple(values[name] for name in names)
        return self.owner.keys.code(key, arrival.time)

    def _group_word(self, arrival: Arrival, tie: int | None, number: int) -> int:
        if arrival.alternatives is None:
            return -1
        return self.owner.groups.code((self.number, arrival.group), arrival.time)

    def _chance_word(self, arrival: Arrival, tie: int | None, number: int) -> int:
        name = self.stream.probability
        return bits_of(1.0 if name is None else chance(arrival.values[name]))

    def _word_columns(self) -> list[tuple[int, Scalar, Callable[[Any, int], int]]]:
        """Return, in the ring's order, attributes and stored words: NULL bit, value, word."""
        owner = self.owner
        first = int(owner.where[layout.VALUES]) if owner.attributes else None
        found: dict[int, tuple[Scalar, DataType]] = {}
        for a, column in enumerate(owner.attributes):
            place = int(owner.where[layout.VALUES + a])
            found[place] = self._attribute(column.expression), column.type
        for stored in owner.stored.values():
            if not stored.is_text and stored.place not in found:
                found[stored.place] = self._value_of(stored.name), stored.type
        assert first is None or first == min(found)
        return [
            (1 << owner.null_bit(place), value, self._word_of(kind))
            for place, (value, kind) in sorted(found.items())
        ]

    def _attribute(self, expression: Typed) -> Scalar:
        names = {column.name for column in self.stream.columns}
        if any(node.column not in names for node in inputs_within(expression)):
            return lambda values: None
        return scalar(expression, self.owner.tables)

    def _value_of(self, name: str) -> Scalar:
        if name == ROW:
            return self._row()
        if name == ID:
            return self._id()
        column = self.stream.column(name)
        if column is None:
            return lambda values: None
        own = column.name
        return lambda values: values[own]

    def _row(self) -> Scalar:
        if len(self.owner.plan.query.streams) == 1:
            return lambda values: values
        # Streams may have the same columns, so a row does not tell whose it is.
        origin = {ORIGIN: self.stream.name}
        return lambda values: values | origin

    def _id(self) -> Scalar:
        name = self.stream.id
        if self.owner.stored[ID].is_text:
            return lambda values: str(values[name])
        return lambda values: values[name]

    def _word_of(self, kind: DataType) -> Callable[[Any, int], int]:
        if kind is DataType.STRING:
            return self.owner.strings.code
        if kind is DataType.DOUBLE:
            return lambda value, time: bits_of(value)
        return lambda value, time: int(value)


def stream_number(word: int, streams: int) -> int:
    """Return which of so many streams an event came by, of the word that stands for its stream."""
    return word if word >= 0 else (-2 - word) % streams


class EqualRows:
    """Numbers the equal rows of a time, as its events are released: all of them in one step."""

    def __init__(self, stored: Mapping[str, Stored]) -> None:
        self._place = stored[ROW].place if ROW in stored else -1
        self._time: int | None = None
        self._counts: dict[Hashable, int] = {}
        self._first: Encoded | None = None

    def numbered(self, encoded: Encoded) -> Encoded:
        """Return an event that knows its number, unless it is the first of its like."""
        if self._place < 0:
            return encoded
        if encoded.time != self._time:
            # Most events have a time of their own, and are not looked at.
            self._time, self._first = encoded.time, encoded
            return encoded
        if self._first is not None:
            self._counts = {self._key(self._first): 1}
            self._first = None
        key = self._key(encoded)
        number = self._counts.get(key, 0)
        self._counts[key] = number + 1
        if not number:
            return encoded
        row = encoded.texts[self._place] | {NUMBER: number}
        texts = (*encoded.texts[: self._place], row, *encoded.texts[self._place + 1 :])
        return replace(encoded, texts=texts)

    def _key(self, encoded: Encoded) -> Hashable:
        values = encoded.texts[self._place].values()
        # NaN equals itself here, but not as Python sees it.
        return tuple(_NOT_A_NUMBER if value != value else value for value in values)  # noqa: PLR0124


def _joint(values: list[Any], number: int) -> Hashable:
    return (None, *values, number) if None in values else tuple(values)


def ordered_word(value: float) -> int:
    """Return a word that orders as the double does; both zeros are one, NaN is largest."""
    if value != value:  # noqa: PLR0124
        return FOREVER
    word = bits_of(value + 0.0)
    return word if word >= 0 else -(word & FOREVER)


def needs_keys(pattern: Pattern) -> bool:
    """Whether it matters which events are about one object."""
    inner = [guard.inside for guard in pattern.guards if guard.inside]
    return (
        pattern.strategy == "PARTITION"
        or any(edge.adjacent for edge in pattern.edges)
        or any(guard.kind == "NEXT" for guard in pattern.guards)
        or any(needs_keys(part) for part in inner)
    )


def stored_columns(plan: MatchPlan) -> dict[str, DataType]:
    """Return the columns, in lower case, that answers read from the events of a match."""
    query = plan.query
    found: dict[str, DataType] = {}
    if any(needs_whole_row(stream) for stream in query.streams):
        found[ROW] = DataType.NULL
        return found
    found[ID] = DataType.LONG if has_long_ids(query.streams) else DataType.STRING
    for key in query.keys:
        if partition_place(plan, key.name) is not None:
            continue
        names = {
            key.name,
            *(c for e in query.equalities for _, c in e.members if _has(e, key.name)),
        }
        found |= {name.lower(): key.type for name in names}
    for _, expression in plan.outputs:
        for node in nodes_within(expression):
            if isinstance(node, Input | Aggregated) and node.column not in OF_NO_ROW:
                assert node.column is not None
                found[node.column.lower()] = column_type(query.streams, node.column)
    return found


def partition_place(plan: MatchPlan, key: str) -> int | None:
    """Return which part of the partition's value a key of the answer is; None if none is."""
    names = [plan.partition_by.get(stream.name) or () for stream in plan.query.streams]
    places = {own.index(key) if key in own else None for own in names}
    return places.pop() if len(places) == 1 else None


def partition_part(plan: MatchPlan, partition: Any, place: int) -> Any:
    """Return one of the values that a partition stands for."""
    width = len(next(iter(plan.partition_by.values())))
    if not isinstance(partition, tuple):
        return partition
    if width == 1:
        return None
    return partition[place] if len(partition) == width else partition[1 + place]


def _has(equality: Any, name: str) -> bool:
    return any(column == name for _, column in equality.members)


def column_type(streams: Sequence[StreamSchema], name: str) -> DataType:
    """Return the type of a column by the first stream that has it."""
    found = (stream.column(name) for stream in streams)
    return next((column.type for column in found if column), DataType.NULL)


def needs_whole_row(stream: StreamSchema) -> bool:
    """Whether naming an event takes its row: it has no ID that is a number or a text."""
    if stream.id is None or stream.alternatives:
        return True
    return column_type((stream,), stream.id) not in (DataType.LONG, DataType.STRING)


def has_long_ids(streams: Sequence[StreamSchema]) -> bool:
    """Whether all events are named by whole numbers."""
    return all(
        stream.id is not None and column_type((stream,), stream.id) is DataType.LONG
        for stream in streams
    )

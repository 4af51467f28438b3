"""Which rows of a stream matter to a network, and to which shard they belong; over Arrow.

What Catalyst does to rows of Spark before they are packed is done here for rows that did not come
through it. Answers do not depend on which shard a key belongs to, so the hash may be another one
than Spark's; but all streams of a pass must have the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.catalog import StreamSchema
from augury.evaluation.answers.match_answers import column_hashes
from augury.evaluation.encoding import chances_of, declaration_of, kinds_of, who_plays
from augury.evaluation.network import Network
from augury.evaluation.packing import SHARD
from augury.evaluation.travelling import plays_of, values_read
from augury.kernels.rows import numbering
from augury.kernels.rows.identity import deal, mix_hashes
from augury.records import Flags, Words
from augury.sources.columns import ARROW_TYPES
from augury.sources.rows import is_sound

# Texts of a dictionary that are looked at in every step rather than written anew as codes.
FEW_TEXTS = 256


class RowFilter:
    """Which rows of a stream have no fault and may change an answer of a network.

    With `codes_types`, a type that is asked for and not read is given as a code, as a dictionary of
    Arrow has it, and no text is made of it.
    """

    def __init__(
        self, network: Network, stream: StreamSchema, *, codes_types: bool = False
    ) -> None:
        self.network, self.stream = network, stream
        self.codes_types = codes_types and not _reads_type(network, stream)
        self.plays = plays_of(network, stream)
        self.kinds = {column.name: ARROW_TYPES[column.type.value] for column in stream.columns}
        self.kinds[SHARD] = pa.int64()

    def of(self, rows: pa.Table, here: Flags | None = None) -> pa.Table:
        """Return the rows that are wanted, in the declared types; only those marked, if any are."""
        if self.plays is not None and self.stream.type is not None:
            # Types first: they are told by codes, and most rows are over with that.
            rows, typed = self._of_a_type(rows)
            here = typed if here is None else typed & here
        rows = rows if here is None else _marked(rows, here)
        rows = pa.table([self._typed(rows, name) for name in rows.column_names], rows.column_names)
        sound = is_sound(rows, declaration_of(self.stream))
        if self.plays is not None:
            sound &= self._may_play(rows)
        return _marked(rows, sound)

    def _of_a_type(self, rows: pa.Table) -> tuple[pa.Table, Flags]:
        """Return the rows, with codes for types that nobody reads, and those of a wanted type."""
        assert self.plays is not None
        types = [play.type for play, _ in self.plays]
        if None in types or not types:
            return rows, np.full(rows.num_rows, bool(types))
        codes, known = kinds_of(self.stream, rows, types)
        if self.codes_types and not _has_few_texts(rows.column(self.stream.type)):
            place = rows.column_names.index(self.stream.type)
            # Rows of other types have the code -1, which is none, and are left out right after.
            named = pa.DictionaryArray.from_arrays(
                pa.array(codes.astype(np.int32)), pa.array(known, pa.string()), safe=False
            )
            rows = rows.set_column(place, self.stream.type, named)
        return rows, codes >= 0

    def _typed(self, rows: pa.Table, name: str) -> Any:
        is_coded = self.codes_types and name == self.stream.type
        column, kind = rows.column(name), self.kinds[name]
        return column if is_coded else as_kind(column, kind, texts=True)

    def _may_play(self, rows: pa.Table) -> Flags:
        assert self.plays is not None
        if all(not play.filters and least is None for play, least in self.plays):
            return np.ones(rows.num_rows, np.bool_)
        p = chances_of(self.stream, rows)
        kinds = kinds_of(self.stream, rows, [play.type for play, _ in self.plays])
        found = np.zeros(rows.num_rows, np.bool_)
        for play, least in self.plays:
            own = who_plays(play, kinds, rows, self.network.relations)
            found |= own if least is None else own & (p >= least)
        return found


def _has_few_texts(column: Any) -> bool:
    """Whether texts are codes already, into so few that each step may look at all of them."""
    is_coded = pa.types.is_dictionary(column.type)
    return is_coded and all(len(chunk.dictionary) <= FEW_TEXTS for chunk in column.chunks)


def _marked(rows: pa.Table, flags: Flags) -> pa.Table:
    """Return some of the rows: by their places, which mostly takes half as long as by the marks."""
    return rows if flags.all() else rows.take(pa.array(_places(flags)))


def _places(flags: Flags) -> np.ndarray:
    places = np.empty(len(flags) + 1, np.int32)
    return places[: numbering.chosen(flags, places)]


def as_kind(column: Any, kind: Any, *, texts: bool = False) -> Any:
    """Return a column in its declared type; codes of texts stay codes unless `texts` are wanted.

    A whole number is made a double as Spark makes it, though a very large one is rounded.
    """
    if column.type == kind or (pa.types.is_dictionary(column.type) and not texts):
        return column
    return column.cast(kind, safe=not pa.types.is_floating(kind))


def _reads_type(network: Network, stream: StreamSchema) -> bool:
    """Whether some expression, or the identity of events, reads the column of types."""
    asked = (stream.type or "").lower() in values_read(network, stream)
    return stream.id is None or network.whole_rows or asked


def shard_numbers(
    rows: pa.Table, columns: Sequence[str], shards: int, kinds: Mapping[str, Any]
) -> Words:
    """Return the shard of each row: a hash of its values in some columns, in their `kinds`.

    Streams may hold one key in columns of several types; what they declare is the same.
    """
    total = np.zeros(rows.num_rows, np.uint64)
    for name in columns:
        mix_hashes(column_hashes(as_kind(rows.column(name), kinds[name]), 1), total)
    found = np.empty(rows.num_rows, np.int64)
    deal(total, shards, found)
    return found

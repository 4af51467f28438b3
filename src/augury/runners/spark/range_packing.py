"""Rows packed by the ranges of time that have to see them; what runs where the rows lie.

A row goes to the range of its own time, and a copy of it to every range within a window, because a
match there may take it. A blob holds rows of one stream and one range that are alike: its kind says
whether they are its own or copies, and whether they leave the place of their stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from augury.evaluation.encoding import whole
from augury.evaluation.packing import Packer, blob_of, blobs_batch, cut
from augury.planning.distribution.layout import Layout, Moving, read_sketches
from augury.records import Flags, Words

# Whether a row enters a queue; and, with the first row of a partition, the sketches of all streams.
ENTERS, SKETCHES = "augury enters", "augury sketches"
# By (is a copy, leaves the place of its stream).
KINDS = {
    (False, False): "rows",
    (False, True): "moved",
    (True, False): "copy",
    (True, True): "moved copy",
}


class Sending(NamedTuple):
    """Rows by number, the range that each is sent to, and whether that is the range of its time."""

    row: Words
    number: Words
    is_own: Flags


@dataclass(frozen=True)
class RangePacker(Packer):
    """Packs the rows of one stream by range; see `Packer`.

    `layout` is given where the streams were sketched before; otherwise the first row brings the
    sketches, and all packers make the same layout of them.
    """

    moving: Moving
    shards: int = 1
    layout: Layout | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield blobs for batches of rows."""
        rest = (batch for batch in batches if batch.num_rows)
        first = next(rest, None)
        if first is not None:
            known = replace(self, layout=self.layout or self._layout_from(first))
            yield from Packer.__call__(known, chain([first], rest))

    def _layout_from(self, first: pa.RecordBatch) -> Layout:
        return self.moving.layout(read_sketches(first.column(SKETCHES)[0].as_py()))

    def _by_shard(self, rows: pa.Table) -> Iterator[pa.RecordBatch]:
        assert self.layout is not None
        times = whole(rows.column(self.stream.time))
        enters = np.ones(len(times), np.bool_)
        if ENTERS in rows.column_names:
            enters = np.asarray(rows.column(ENTERS), np.bool_)
        name = self.stream.name.lower()
        leaves = np.array([place != name for place in self.layout.places])
        sent = sending(self.moving, self.layout, times, enters, leaves)
        yield from self._blobs(self.travelling(rows), sent, leaves)

    def _blobs(self, table: pa.Table, sent: Sending, leaves: Flags) -> Iterator[pa.RecordBatch]:
        order = np.lexsort((sent.is_own, sent.number))
        row, number, is_own = (each[order] for each in sent)
        table = table.take(pa.array(row))
        alike = 2 * number + is_own
        starts = np.flatnonzero(np.concatenate([[True], alike[1:] != alike[:-1]])[: len(alike)])
        for start, end in zip(starts, np.append(starts[1:], len(alike)), strict=False):
            kind = KINDS[not is_own[start], bool(leaves[number[start]])]
            to, pieces = int(number[start]), cut(table.slice(start, end - start))
            blobs = [(to % self.shards, to, piece.num_rows, blob_of(piece)) for piece in pieces]
            yield blobs_batch(self.stream.name, kind, blobs)


def sending(moving: Moving, layout: Layout, times: Words, enters: Flags, leaves: Flags) -> Sending:
    """Return which row goes to which ranges.

    `leaves` says of each range whether it is at another place. Events that leave go whole, whether
    they enter a queue or not; of others only what enters one.
    """
    low, high = layout.numbers(times - moving.lookahead), layout.numbers(times + moving.lookback)
    counts = high - low + 1
    row = np.repeat(np.arange(len(times)), counts)
    number = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts - low, counts)
    is_own = number == layout.numbers(times)[row]
    whole_rows = leaves[number] if moving.movement == "events" else np.zeros(len(row), np.bool_)
    goes = enters[row] | (is_own & whole_rows)
    return Sending(row[goes], number[goes], is_own[goes])

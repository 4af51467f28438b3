"""Shards that are ranges of time: rows near a border are in two of them, a match in one.

A range has its own rows, and copies of rows within a window of it. A match belongs to the range
that holds its last event; what is found of it elsewhere is left out there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.catalog import StreamSchema
from augury.evaluation.answers.answers import Answers
from augury.evaluation.answers.match_answers import Inputs
from augury.evaluation.encoding import declaration_of, whole
from augury.evaluation.evaluator import Evaluator
from augury.evaluation.network import Network
from augury.evaluation.packing import rows_of
from augury.evaluation.stream_rows import StreamRows
from augury.evaluation.travelling import travelling
from augury.records import Matches, Words
from augury.runners.spark.range_packing import KINDS
from augury.sources.rows import sift

# Whether a row lies in the range, or near it.
OWN = "augury own"
_IS_OWN = {kind: not is_copy for (is_copy, _), kind in KINDS.items()}
MOVEMENT = pa.schema(
    [
        ("range", pa.int64()),
        ("stream", pa.string()),
        ("kind", pa.string()),
        ("rows", pa.int64()),
        ("bytes", pa.int64()),
    ]
)


@dataclass(frozen=True)
class Ranges:
    """Evaluates queries over the rows of one range after the other."""

    network: Network

    @cached_property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each stream's rows as they travel."""
        return {name: travelling(self.network, each) for name, each in self.network.bases.items()}

    def answers(self, blobs: Sequence[Any]) -> Answers:
        """Return the matches whose last event is in the range of the blobs."""
        if not any(_IS_OWN.get(blob.kind) for blob in blobs):
            return Answers({}, {})
        rows = self._unpacked(blobs)
        kept, rejected = {}, {}
        for name, stream in self.network.bases.items():
            kept[name], bad = self._checked(rows.get(name), stream)
            if bad.num_rows:
                rejected[name] = bad
        runner = self._runner(kept)
        queries = self.network.queries
        found = {queries[n].name: runner.table(n) for n in self.network.names}
        return Answers(found, rejected, runner.clock.measured, self._tied(kept))

    def _tied(self, kept: Mapping[str, pa.Table]) -> dict[str, int]:
        """Return how many of the range's own events are tied; it has all of a time."""
        return self.network.tied(
            StreamRows(stream, kept[name].filter(kept[name].column(OWN)), kept[name].slice(0, 0))
            for name, stream in self.network.bases.items()
        )

    def _unpacked(self, blobs: Sequence[Any]) -> dict[str, pa.Table]:
        """Return the rows by stream, which know whether they are the range's own."""
        rows: dict[str, list[pa.Table]] = {}
        for blob in blobs:
            if blob.kind in _IS_OWN:
                name = blob.stream.lower()
                table = rows_of([blob.data], self.schemas[name])
                own = pa.repeat(pa.scalar(_IS_OWN[blob.kind]), table.num_rows)
                rows.setdefault(name, []).append(table.append_column(OWN, own))
        return {name: pa.concat_tables(tables) for name, tables in rows.items()}

    def _checked(self, rows: pa.Table | None, stream: StreamSchema) -> tuple[pa.Table, pa.Table]:
        """Return good and bad rows in the order of time; a bad one is told by its own range."""
        if rows is None:
            rows = self.schemas[stream.name.lower()].append(pa.field(OWN, pa.bool_())).empty_table()
        order = np.argsort(whole(rows.column(stream.time)), kind="stable")
        good, bad = sift(rows.take(pa.array(order)), declaration_of(stream))
        return good, bad.filter(bad.column(OWN))

    def _runner(self, kept: Mapping[str, pa.Table]) -> Evaluator:
        network = self.network
        nothing = pa.table({})
        return Evaluator(
            network.catalog,
            network.queries,
            dict(network.tables),
            {name: StreamRows(each, kept[name], nothing) for name, each in network.bases.items()},
            plans=dict(network.plans),
            keeps=_own,
        )


def _own(matches: Matches, inputs: Inputs) -> Words:
    """Return the matches whose last event is the range's own."""
    if not len(matches):
        return np.zeros(0, np.int64)
    own = np.concatenate([np.asarray(table.column(OWN), np.bool_) for table in inputs.tables])
    first = matches.first_item[:-1]
    times = inputs.time[matches.row]
    ends = np.repeat(np.maximum.reduceat(times, first), np.diff(matches.first_item))
    # Events of one time are in one range, so any of the last ones tells.
    found: Words = np.flatnonzero(np.logical_or.reduceat(own[matches.row] & (times == ends), first))
    return found


def movement_of(blobs: Iterable[Any]) -> pa.Table:
    """Return how many rows and bytes of each stream came to a range, and from where."""
    counted = sorted(
        (blob for blob in blobs if blob.kind in _IS_OWN),
        key=lambda blob: (blob.first, blob.stream, blob.kind),
    )
    rows = [
        {
            **dict(zip(MOVEMENT.names, key, strict=False)),
            "rows": sum(blob.n for blob in own),
            "bytes": sum(len(blob.data) for blob in own),
        }
        for key, group in groupby(counted, key=lambda blob: (blob.first, blob.stream, blob.kind))
        for own in [list(group)]
    ]
    return pa.Table.from_pylist(rows, MOVEMENT)

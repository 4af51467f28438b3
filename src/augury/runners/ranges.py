"""Shards that are ranges of time: rows near a border are in two of them, a match in one.

A row comes once for every range that has to see it, and says which. Ranges are searched as parts of
the stream that do not meet; a match belongs to the range that holds its last event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from augury.analysis.catalog import StreamSchema
from augury.records import Matches, Words
from augury.runners.encoding import declaration_of, whole
from augury.runners.loaded import Loaded
from augury.runners.local import LocalRunner
from augury.runners.network import Network
from augury.runners.results import Inputs
from augury.runners.shard import Answers, travelling
from augury.runners.sharding import Sharding
from augury.sources.rows import sift

RANGE = "augury range"


@dataclass(frozen=True)
class Ranges:
    """Evaluates one query over the rows of some ranges."""

    network: Network
    sharding: Sharding

    @cached_property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each stream's rows as they travel."""
        return {
            name: travelling(self.network, each).append(pa.field(RANGE, pa.int64()))
            for name, each in self.network.bases.items()
        }

    def answers(self, batch: Mapping[str, pa.Table]) -> Answers:
        """Return the matches whose last event is in one of the ranges."""
        (name,) = self.network.names
        kept, rejected = {}, {}
        for stream, schema in self.network.bases.items():
            rows = batch.get(stream)
            rows = self.schemas[stream].empty_table() if rows is None else rows
            kept[stream], bad = self._checked(rows, schema)
            if bad.num_rows:
                rejected[stream] = bad
        found = self._runner(kept).table(name)
        return Answers({self.network.queries[name].name: found}, rejected)

    def _checked(self, rows: pa.Table, stream: StreamSchema) -> tuple[pa.Table, pa.Table]:
        """Return good and bad rows of each range; a row that was bad is told by its own range."""
        time, ranges = whole(rows.column(stream.time)), whole(rows.column(RANGE))
        order = np.lexsort((time, ranges))
        rows, ranges, time = rows.take(pa.array(order)), ranges[order], time[order]
        starts = np.flatnonzero(np.concatenate([[True], ranges[1:] != ranges[:-1]])[: len(ranges)])
        ends = [*starts[1:].tolist(), len(ranges)]
        pairs = [
            sift(rows.slice(a, b - a), declaration_of(stream))
            for a, b in zip(starts.tolist(), ends, strict=True)
        ]
        if not pairs:
            return sift(rows, declaration_of(stream))
        bad = pa.concat_tables([each for _, each in pairs])
        own = whole(bad.column(stream.time)) // self.sharding.width == whole(bad.column(RANGE))
        return pa.concat_tables([each for each, _ in pairs]), bad.filter(pa.array(own))

    def _runner(self, kept: Mapping[str, pa.Table]) -> LocalRunner:
        network = self.network
        by_range = {stream.name: (RANGE,) for stream in network.bases.values()}
        plans = {name: replace(plan, partition_by=by_range) for name, plan in network.plans.items()}
        nothing = pa.table({})
        return LocalRunner(
            network.catalog,
            network.queries,
            dict(network.tables),
            {name: Loaded(each, kept[name], nothing) for name, each in network.bases.items()},
            plans=plans,
            keeps=self._own,
        )

    def _own(self, matches: Matches, inputs: Inputs) -> Words:
        """Return the matches whose last event is in the range they were found in."""
        ranges = np.concatenate([whole(table.column(RANGE)) for table in inputs.tables])
        if not len(matches):
            return np.zeros(0, np.int64)
        first = matches.first_item[:-1]
        ends = np.maximum.reduceat(inputs.time[matches.row], first)
        found: Words = np.flatnonzero(ends // self.sharding.width == ranges[matches.row[first]])
        return found

"""The local runner on several cores: a query over many rows is cut by its key, as on Spark.

Each thread evaluates shards of its own, step by step in the order of time; kernels, Arrow and most
of NumPy do not hold the interpreter's lock. Steps keep what is worked on small, so that memory is
used again instead of asked for: that alone makes one thread faster, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.kernels import sorting
from augury.matching.matcher import ALWAYS
from augury.records import Words
from augury.runners.encoding import whole
from augury.runners.local import LocalRunner
from augury.runners.network import Network
from augury.runners.packing import ROWS, Packer
from augury.runners.shard import Shard, steps_of
from augury.runners.sharding import sharding_of
from augury.runners.tasks import STEP, BoundedTask
from augury.runners.wanted import Wanted, shard_numbers

# With fewer rows, threads would not pay.
MANY = 2 * STEP
# Rows of one shard that are evaluated in one step: what they need fits a cache.
FEW = STEP // 2


class ThreadedRunner(LocalRunner):
    """A local runner that evaluates large inputs of plain queries in threads."""

    def _evaluate(self, query: CheckedQuery) -> None:
        network = self._cut_by_key(query)
        if network is None:
            super()._evaluate(query)
            return
        rows = self._load(query.streams[0].name).table
        if rows.num_rows < MANY or not _is_sorted(whole(rows.column(query.streams[0].time))):
            super()._evaluate(query)
            return
        self.answers[query.name.lower()] = InThreads(network, cores()).answer(rows)

    def _cut_by_key(self, query: CheckedQuery) -> Network | None:
        """Return the network of a query that each key can answer for itself; None of another."""
        (first, *others), name = query.streams, query.name.lower()
        plain = query.correlated_by is None and query.learn_gaps_from is None
        # Steps would count the matches of one event apart.
        plain = plain and query.match_limit is None
        asked_here = name not in self.spans and self.keeps is None and not self._is_read(name)
        bound = first.name.lower() in self.bound and first.markov is None
        if others or not (plain and asked_here and bound):
            return None
        network = Network.of([name], self.queries, self.catalog)
        tables = {each: self.bound[each] for each in network.tables_read if each in self.bound}
        sharding = sharding_of(network, bounded=True)
        goes_on = BoundedTask(network, sharding).goes_on_in_steps
        if sharding.kind != "key" or not goes_on or len(tables) < len(network.tables_read):
            return None
        return replace(network, tables=tables, made=self.plan(name).made)


@dataclass(frozen=True)
class InThreads:
    """One query over the rows of one stream, which are in the order of time, cut into shards."""

    network: Network
    shards: int

    def answer(self, rows: pa.Table) -> pa.Table:
        """Return the matches, shard by shard."""
        (stream,) = self.network.bases.values()
        shard, wanted = Shard(self.network), Wanted(self.network, stream, codes_types=True)
        packer = Packer(stream, shard.schemas[stream.name.lower()])
        cut_by = dict(sharding_of(self.network, bounded=True).columns)[stream.name.lower()]
        parts = [rows.slice(at, ROWS) for at in range(0, rows.num_rows, ROWS)]

        def dealt(part: pa.Table) -> list[pa.Table]:
            own = wanted.of(part.select(packer.columns))
            return _dealt(
                packer.travelling(own),
                shard_numbers(own, cut_by, self.shards, wanted.kinds),
                self.shards,
            )

        with ThreadPoolExecutor(self.shards) as pool:
            by_part = list(pool.map(dealt, parts))
            ends = [int(whole(part.column(stream.time))[0]) for part in parts[1:]]
            own = [[part[k] for part in by_part] for k in range(self.shards)]
            times = whole(rows.column(stream.time))
            step = steps_of(self.network, FEW, int(times[0]), int(times[-1]))
            found = pool.map(
                lambda each: list(self._matches(shard, each, [*ends, ALWAYS], step)), own
            )
            return pa.concat_tables(table for tables in found for table in tables)

    def _matches(
        self, shard: Shard, parts: list[pa.Table], ends: list[int], step: int
    ) -> Iterator[pa.Table]:
        """Yield the matches of one shard, step by step."""
        (stream,), (name,) = self.network.bases, self.network.names
        state, held = shard.start(), list[pa.Table]()
        for part, end in zip(parts, ends, strict=True):
            held.append(part)
            if end == ALWAYS or sum(each.num_rows for each in held) >= step:
                batch = {stream: pa.concat_tables(held)}
                state, answers = shard.advance(state, batch, end)
                held = []
                table = answers.found.get(self.network.queries[name].name)
                if table is not None:
                    yield table


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _dealt(rows: pa.Table, numbers: Words, shards: int) -> list[pa.Table]:
    """Return the rows of each shard, in their order."""
    if shards == 1:
        return [rows]
    taken = rows.take(pa.array(sorting.stable_order(numbers, shards)))
    ends = np.cumsum([0, *np.bincount(numbers, minlength=shards)]).tolist()
    return [taken.slice(a, b - a) for a, b in pairwise(ends)]


def _is_sorted(time: Words) -> bool:
    return bool((time[1:] >= time[:-1]).all())

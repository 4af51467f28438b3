"""One query on several cores: its rows are cut, as on Spark.

Where windows are short each thread evaluates a stretch of time, and before that the rows that its
matches may reach back to; where they are long, the rows whose key hashes to its own shard. Where
they are long and there is no key, one evaluates all. Each goes step by step in the order of time;
kernels, Arrow and most of NumPy do not hold the interpreter's lock. Steps keep what is worked on
small, so that memory is used again instead of asked for: that alone makes one thread faster, too.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.catalog import StreamSchema
from augury.evaluation.encoding import whole
from augury.evaluation.executor import Executor, steps_of
from augury.evaluation.network import Network
from augury.evaluation.packing import ROWS, Packer
from augury.evaluation.row_filter import RowFilter, shard_numbers
from augury.evaluation.sharding import sharding_of
from augury.kernels.rows import sorting
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET
from augury.records import Words
from augury.runners.spark.tasks import MOST_TWICE, STEP, BoundedTask
from augury.sources.rows import follow

# With fewer rows, threads would not pay.
MANY = 2 * STEP
# Rows of one thread that are evaluated in one step: what they need fits a cache.
FEW = STEP // 2
# Rows of a part are no fewer than that, however many threads there are.
LEAST_PART = 2**16


def cut_for_threads(network: Network) -> Network | None:
    """Return the network of one query that key or time can cut; None of another."""
    (name,) = network.names
    query = network.queries[name]
    (first, *others) = query.streams
    # Steps would count the matches of one event apart.
    plain = query.correlated_by is None and query.match_limit is None
    if others or not plain or first.name.lower() not in network.bases or first.markov is not None:
        return None
    tables = {each: network.tables[each] for each in network.tables_read if each in network.tables}
    sharding = sharding_of(network, bounded=True)
    goes_on = BoundedTask(network, sharding).goes_on_in_steps
    if sharding.kind == "single" or not goes_on or len(tables) < len(network.tables_read):
        return None
    return replace(network, tables=tables)


@dataclass(frozen=True)
class ThreadInput:
    """What one thread evaluates: rows in the order of time, each part with the time of the next.

    Matches that end before `since` are found elsewhere; rows before it are what others reach back
    to, and must be taken in together with the first ones after it.
    """

    since: int
    parts: Sequence[tuple[pa.Table, int]]


@dataclass(frozen=True)
class InThreads:
    """One query over the rows of one stream, which are in the order of time."""

    network: Network
    threads: int

    def answer(self, rows: pa.Table) -> pa.Table:
        """Return the matches, line by line."""
        size = max(LEAST_PART, min(ROWS, rows.num_rows // self.threads))
        parts = [rows.slice(at, size) for at in range(0, rows.num_rows, size)]
        times = rows.column(self.stream.time)
        firsts = [_one(times, at) for at in range(0, rows.num_rows, size)]
        step = steps_of(self.network, FEW, firsts[0], _one(times, rows.num_rows - 1))
        with ThreadPoolExecutor(self.threads) as pool:
            own = list(pool.map(self._needed_rows, parts))
            lines = self._by_time(own, firsts) if step != ALWAYS else []
            lines = lines or self._by_key(own, firsts, pool) or [_line(own, firsts)]
            found = pool.map(lambda line: self._matches(line, step), lines)
            return pa.concat_tables(table for tables in found for table in tables)

    @cached_property
    def stream(self) -> StreamSchema:
        """The stream that is read."""
        (stream,) = self.network.bases.values()
        return stream

    @cached_property
    def _shard(self) -> Executor:
        return Executor(self.network)

    @cached_property
    def _packer(self) -> Packer:
        return Packer(self.stream, self._shard.schemas[self.stream.name.lower()])

    @cached_property
    def _row_filter(self) -> RowFilter:
        return RowFilter(self.network, self.stream, codes_types=True)

    def _needed_rows(self, part: pa.Table) -> pa.Table:
        """Return the rows of a part that matter, with the columns that do."""
        return self._packer.travelling(self._row_filter.of(part.select(self._packer.columns)))

    def _by_time(self, parts: list[pa.Table], firsts: list[int]) -> list[ThreadInput]:
        """Return lines that are stretches of time; none where they would share too many rows."""
        assert self.network.memory is not None
        count = min(self.threads, len(parts))
        starts = [round(len(parts) * k / count) for k in range(count + 1)]
        ends, lines = [*firsts[1:], ALWAYS], list[ThreadInput]()
        for a, b in pairwise(starts):
            before = self._latest(parts[:a], firsts[a] - self.network.memory)
            stretch = [pa.concat_tables([*before, parts[a]]), *parts[a + 1 : b]]
            since = firsts[a] if a else NEVER_YET
            lines.append(ThreadInput(since, list(zip(stretch, ends[a:b], strict=True))))
        most = max(sum(part.num_rows for part, _ in line.parts) for line in lines)
        total = sum(part.num_rows for part in parts)
        return lines if most * count <= total * MOST_TWICE else []

    def _latest(self, parts: list[pa.Table], oldest: int) -> list[pa.Table]:
        """Return the last rows of some parts: those of a time and later."""
        found = list[pa.Table]()
        for part in reversed(parts):
            place = int(np.searchsorted(whole(part.column(self.stream.time)), oldest))
            found.insert(0, part.slice(place))
            if place:
                break
        return found

    def _by_key(
        self, parts: list[pa.Table], firsts: list[int], pool: ThreadPoolExecutor
    ) -> list[ThreadInput]:
        """Return lines that are shards of keys; none where no key cuts."""
        name = self.stream.name.lower()
        cut_by = dict(sharding_of(self.network, bounded=True).columns).get(name)
        if cut_by is None:
            return []
        kinds, shards = self._row_filter.kinds, self._shards(parts)
        by_part = pool.map(
            lambda part: _dealt(part, shard_numbers(part, cut_by, shards, kinds), shards), parts
        )
        return [_line(own, firsts) for own in zip(*by_part, strict=True)]

    def _shards(self, parts: list[pa.Table]) -> int:
        """Return how many shards there are: more than threads where each is taken in one step."""
        if all(query.after_match is None for query in self.network.queries.values()):
            return self.threads
        rows = sum(int(part.num_rows) for part in parts)
        return max(self.threads, rows // FEW)

    def _matches(self, line: ThreadInput, step: int) -> list[pa.Table]:
        """Return the matches of one line, step by step."""
        (stream,), (name,) = self.network.bases, self.network.names
        state = self._shard.start(line.since)
        held, found = list[pa.Table](), list[pa.Table]()
        for k, (part, end) in enumerate(line.parts):
            held.append(part)
            is_step = end > line.since and sum(each.num_rows for each in held) >= step
            if is_step or k + 1 == len(line.parts):
                batch = {stream: pa.concat_tables(held)}
                state, answers = self._shard.advance(state, batch, end)
                held = []
                table = answers.found.get(self.network.queries[name].name)
                found += [] if table is None else [table]
        return found


def _line(parts: Sequence[pa.Table], firsts: Sequence[int]) -> ThreadInput:
    """Return a line of all time."""
    return ThreadInput(NEVER_YET, list(zip(parts, [*firsts[1:], ALWAYS], strict=True)))


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


def _one(times: pa.ChunkedArray, place: int) -> int:
    return int(whole(times.slice(place, 1))[0])


def is_sorted(times: pa.ChunkedArray, *, strictly: bool = False) -> bool:
    """Return whether rows are in the order of time; `strictly`: and no two of them at once."""
    how = np.less if strictly else np.less_equal
    return follow(how, [whole(chunk) for chunk in times.chunks])

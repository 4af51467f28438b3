"""Rows that workers read from Parquet themselves.

On a few cores every task reads all files and keeps the rows of its own shard, so that nothing is
moved at all (`ScanTask`). With more of them reading would cost more than moving: each task reads
its share, and packs it for the shuffle (`ScanPacker`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise

import pyarrow as pa

from augury.matching.matcher import ALWAYS
from augury.runners.network import Network
from augury.runners.packing import ROWS, SHARD, Packer
from augury.runners.shard import Shard, steps_of
from augury.runners.tasks import PAYLOAD, STEP
from augury.runners.wanted import Wanted, shard_numbers
from augury.runners.worker_memory import settle_in
from augury.sources.parquet_files import Files, Group

# Up to so many tasks, reading all files in each is cheaper than moving their rows.
FEW_TASKS = 4
# Rows that one task reads, about, where there are more than all cores together need.
TASK = 4_000_000
# Rows that a task may have to hold until their time has come, where files overlap in time.
MOST_HELD = 8 * STEP


@dataclass(frozen=True)
class Scan:
    """The files of one stream, and what is read of them.

    `names` has the column of the files for each column; `cut_by` are those whose hash names one of
    the `shards`.
    """

    packer: Packer
    groups: tuple[Group, ...]
    names: tuple[tuple[str, str], ...]
    cut_by: tuple[str, ...]
    shards: int

    def rows(
        self, files: Files, groups: Sequence[Group], wanted: Wanted, shard: int | None = None
    ) -> Iterator[pa.Table]:
        """Yield the wanted rows of some groups: of one shard, or all with the shard of each."""
        own, theirs = zip(*self.names, strict=True)
        for batch in files.batches(groups, theirs, ROWS):
            read = pa.Table.from_batches([batch.select(theirs).rename_columns(own)])
            numbers = shard_numbers(read, self.cut_by, self.shards, wanted.kinds)
            if shard is None:
                yield wanted.of(read.append_column(SHARD, pa.array(numbers)))
            else:
                yield wanted.of(read, numbers == shard)


# To be moved --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScanPacker:
    """Reads and packs the rows of one stream; for `mapInArrow` over the numbers of `tasks`."""

    network: Network
    scan: Scan
    tasks: tuple[tuple[Group, ...], ...]

    def __call__(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the blobs of the tasks of the given numbers."""
        settle_in()
        wanted = Wanted(self.network, self.scan.packer.stream)
        for number in _listed(numbers):
            read = self.scan.rows(Files(), self.tasks[number], wanted)
            batches = (batch for rows in read for batch in rows.combine_chunks().to_batches())
            yield from self.scan.packer.packed(batches)


def shared(groups: Sequence[Group], at_least: int) -> tuple[tuple[Group, ...], ...]:
    """Return the groups dealt out to tasks, in the order of the files."""
    rows = sum(group.rows for group in groups)
    tasks = max(1, min(len(groups), max(at_least, -(-rows // TASK))))
    ends = [round(len(groups) * k / tasks) for k in range(tasks + 1)]
    return tuple(tuple(groups[a:b]) for a, b in pairwise(ends))


# Where they are -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScanTask:
    """Reads all files and evaluates one shard of each number that comes; for `mapInArrow`.

    The answer is that of one query over base streams, in the columns of `schema`. Rows are
    evaluated in steps of about `step`.
    """

    network: Network
    scans: tuple[Scan, ...]
    schema: pa.Schema
    step: int = STEP

    def __call__(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the answer."""
        settle_in()
        (name,) = self.network.names
        for number in _listed(numbers):
            shard = Shard(self.network)
            state = shard.start()
            for rows, horizon in self._steps(number):
                state, answers = shard.advance(state, rows, horizon)
                table = answers.found.get(self.network.queries[name].name)
                if table is not None:
                    yield from table.cast(self.schema).to_batches(max_chunksize=PAYLOAD)

    def _steps(self, shard: int) -> Iterator[tuple[dict[str, pa.Table], int]]:
        """Yield the rows of a shard by stream, and up to which time all of them are there."""
        streams = [scan.packer.stream for scan in self.scans]
        wanted = [Wanted(self.network, stream, codes_types=True) for stream in streams]
        held: dict[str, list[pa.Table]] = {}
        files, count, in_order = Files(), 0, in_time(self.scans)
        step = steps_of(self.network, self.step, in_order[0][1].first, in_order[-1][1].last)
        for k, (of, group) in enumerate(in_order):
            scan = self.scans[of]
            for rows in scan.rows(files, [group], wanted[of], shard):
                part = scan.packer.travelling(rows)
                held.setdefault(scan.packer.stream.name.lower(), []).append(part)
                count += part.num_rows
            is_last = k + 1 == len(in_order)
            if count >= step or is_last:
                rest = ALWAYS if is_last else in_order[k + 1][1].first or 0
                yield {name: pa.concat_tables(parts) for name, parts in held.items()}, rest
                held, count = {}, 0


def in_time(scans: Sequence[Scan]) -> list[tuple[int, Group]]:
    """Return the groups of all streams, with the number of the stream, by their earliest time."""
    every = [(k, group) for k, scan in enumerate(scans) for group in scan.groups]
    return sorted(every, key=lambda each: (each[1].first or 0, each[0]))


def held_at_once(scans: Sequence[Scan]) -> int | None:
    """Return how many rows must wait for others at some time; None where files tell no times."""
    groups = [group for _, group in in_time(scans)]
    if any(group.first is None or group.last is None for group in groups):
        return None
    # Those that wait, by their latest time.
    waiting, held, most = list[tuple[int, int]](), 0, 0
    for group in groups:
        while waiting and waiting[0][0] < (group.first or 0):
            held -= heappop(waiting)[1]
        heappush(waiting, (group.last or 0, group.rows))
        held += group.rows
        most = max(most, held)
    return most


def _listed(numbers: Iterable[pa.RecordBatch]) -> Iterator[int]:
    for batch in numbers:
        yield from batch.column(0).to_pylist()

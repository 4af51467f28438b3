"""Rows that workers read from Parquet themselves.

Files in the order of time are cut by time: each task reads a span of it and, before that, as much
as a match may reach back, so that nothing is moved at all and little is read twice. Others are cut
by key: on a few cores every task reads all files and keeps the rows of its own shard (`ScanTask`
does both). With more of them reading would cost more than moving: each task reads its share, and
packs it for the shuffle (`ScanPacker`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
import pyarrow as pa

from augury.evaluation.encoding import whole
from augury.evaluation.executor import Executor, steps_of
from augury.evaluation.network import Network
from augury.evaluation.packing import ROWS, SHARD, Packer
from augury.evaluation.row_filter import RowFilter, shard_numbers
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET
from augury.records import Words
from augury.runners.spark.tasks import MOST_TWICE, PAYLOAD, STEP
from augury.sources.parquet_files import Files, Group

# Up to so many tasks, reading all files in each is cheaper than moving their rows.
FEW_TASKS = 4
# Rows that one task reads, about, where there are more than all cores together need.
TASK = 4_000_000
# Rows that a task may have to hold until their time has come, where files overlap in time.
MOST_HELD = 8 * STEP
# Rows that one task reads of a span of time: no more than SPAN, step by step. With less than LEAST
# a task there is little to gain, and a repeat of an ID in another span would not be noticed.
SPAN, LEAST = 4 * TASK, STEP
Span = tuple[int, int]
EVER: Span = (NEVER_YET, ALWAYS)


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

    def read(self, files: Files, group: Group) -> Iterator[pa.Table]:
        """Yield all rows of a group."""
        own, theirs = zip(*self.names, strict=True)
        for batch in files.batches(group, theirs, ROWS):
            yield pa.Table.from_batches([batch.select(theirs).rename_columns(list(own))])

    def times(self, rows: pa.Table) -> Words:
        """Return the time of each row."""
        return whole(rows.column(self.packer.stream.time))

    def numbered(self, rows: pa.Table, row_filter: RowFilter) -> Words:
        """Return the shard of each row."""
        return shard_numbers(rows, self.cut_by, self.shards, row_filter.kinds)


# To be moved --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScanPacker:
    """Reads and packs the rows of one stream; for `mapInArrow` over the numbers of `tasks`."""

    network: Network
    scan: Scan
    tasks: tuple[tuple[Group, ...], ...]

    def __call__(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the blobs of the tasks of the given numbers."""
        row_filter, files = RowFilter(self.network, self.scan.packer.stream), Files()
        for number in _listed(numbers):
            read = (
                row_filter.of(
                    rows.append_column(SHARD, pa.array(self.scan.numbered(rows, row_filter)))
                )
                for group in self.tasks[number]
                for rows in self.scan.read(files, group)
            )
            batches = (batch for rows in read for batch in rows.combine_chunks().to_batches())
            yield from self.scan.packer(batches)


def shared(groups: Sequence[Group], at_least: int) -> tuple[tuple[Group, ...], ...]:
    """Return the groups dealt out to tasks, in the order of the files."""
    rows = sum(group.rows for group in groups)
    tasks = max(1, min(len(groups), max(at_least, -(-rows // TASK))))
    ends = [round(len(groups) * k / tasks) for k in range(tasks + 1)]
    return tuple(tuple(groups[a:b]) for a, b in pairwise(ends))


# Where they are -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScanTask:
    """Reads files and evaluates one span of time of each number that comes; for `mapInArrow`.

    Without `spans`, a number is that of a shard, of which all files are read. The answer is that of
    one query over base streams, in the columns of `schema`. Rows are evaluated in steps of about
    `step`.
    """

    network: Network
    scans: tuple[Scan, ...]
    schema: pa.Schema
    spans: tuple[Span, ...] = ()
    step: int = STEP

    def __call__(self, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the answer."""
        (name,) = self.network.names
        for number in _listed(numbers):
            span = self.spans[number] if self.spans else EVER
            shard = Executor(self.network)
            # What ends before the span is the answer of another task.
            state = shard.start(span[0])
            for rows, horizon in self._steps(span, None if self.spans else number):
                state, answers = shard.advance(state, rows, horizon)
                table = answers.found.get(self.network.queries[name].name)
                if table is not None:
                    yield from table.cast(self.schema).to_batches(max_chunksize=PAYLOAD)

    def _steps(self, span: Span, shard: int | None) -> Iterator[tuple[dict[str, pa.Table], int]]:
        """Yield the rows of a span or shard by stream, and up to when all of them are there."""
        streams = [scan.packer.stream for scan in self.scans]
        row_filter = [RowFilter(self.network, stream, codes_types=True) for stream in streams]
        held: dict[str, list[pa.Table]] = {}
        files, count, in_order = Files(), 0, reached(in_time(self.scans), span, self.network)
        since = NEVER_YET if span == EVER else _oldest(span, self.network)
        if not in_order:
            return
        step = steps_of(self.network, self.step, in_order[0][1].first, in_order[-1][1].last)
        for k, (of, group) in enumerate(in_order):
            scan = self.scans[of]
            for rows in scan.read(files, group):
                here = None if shard is None else scan.numbered(rows, row_filter[of]) == shard
                if (group.first or 0) < since:
                    here = scan.times(rows) >= since
                part = scan.packer.travelling(row_filter[of].of(rows, here))
                held.setdefault(scan.packer.stream.name.lower(), []).append(part)
                count += part.num_rows
            is_last = k + 1 == len(in_order)
            rest = span[1] if is_last else in_order[k + 1][1].first or 0
            # What comes before the span is taken in together with what comes first in it.
            if (count >= step and rest > span[0]) or is_last:
                yield {name: pa.concat_tables(parts) for name, parts in held.items()}, rest
                held, count = {}, 0


def reached(
    groups: Sequence[tuple[int, Group]], span: Span, network: Network
) -> list[tuple[int, Group]]:
    """Return the groups that have a say in what ends within a span of time."""
    if span == EVER:
        return list(groups)
    oldest = _oldest(span, network)
    return [
        each for each in groups if (each[1].last or 0) >= oldest and (each[1].first or 0) < span[1]
    ]


def _oldest(span: Span, network: Network) -> int:
    """Return from when on events have a say in what ends within a span of time."""
    assert network.memory is not None
    # Once more as far, so that a row of an ID that was there before is known as a repeat.
    return span[0] - 2 * network.memory


def spans_of(network: Network, scans: Sequence[Scan], tasks: int) -> tuple[Span, ...]:
    """Return spans of time, as many rows in each; none where they would share too many.

    Groups must tell their times.
    """
    groups = in_time(scans)
    rows = sum(group.rows for _, group in groups)
    tasks *= -(-rows // (tasks * SPAN))
    if not network.goes_by_time or are_few(scans, tasks):
        return ()
    starts, before = list[int](), 0
    for _, group in groups:
        if before >= rows * (len(starts) + 1) / tasks and starts[-1:] != [group.first]:
            starts.append(group.first or 0)
        before += group.rows
    spans = tuple(pairwise([NEVER_YET, *starts, ALWAYS]))
    most = most_reached([group for _, group in groups], spans, network)
    return spans if most * tasks <= rows * MOST_TWICE else ()


def are_few(scans: Sequence[Scan], tasks: int) -> bool:
    """Return whether one task may as well read all rows."""
    return tasks < 2 or sum(group.rows for scan in scans for group in scan.groups) < tasks * LEAST


def most_reached(groups: Sequence[Group], spans: Sequence[Span], network: Network) -> int:
    """Return the most rows that `reached` has of a span; files may have groups by the thousand."""
    firsts, begun = _running(groups, [group.first or 0 for group in groups])
    lasts, ended = _running(groups, [group.last or 0 for group in groups])
    # Before the first span there is all the past, which no number of 64 bits goes beyond.
    oldest = [max(_oldest(span, network), -(2**63)) for span in spans]
    ends = [span[1] for span in spans]
    return int((begun[np.searchsorted(firsts, ends)] - ended[np.searchsorted(lasts, oldest)]).max())


def _running(groups: Sequence[Group], times: Sequence[int]) -> tuple[Words, Words]:
    """Return times in order, and how many rows the groups have that come before each."""
    order = np.argsort(times, kind="stable")
    rows = np.array([group.rows for group in groups])[order]
    return np.array(times)[order], np.concatenate([[0], np.cumsum(rows)])


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

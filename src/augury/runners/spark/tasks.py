"""What runs in Spark's Python workers: blobs of rows in, blobs of answers out.

No Spark here: a task is a function over Arrow batches (`mapInArrow`). It takes its network along,
and makes plans once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa

from augury.evaluation.answers.answers import Answers, as_rows
from augury.evaluation.codec import ipc_bytes
from augury.evaluation.executor import Executor
from augury.evaluation.network import Network
from augury.evaluation.packing import REJECTED, rows_of
from augury.evaluation.sharding import Sharding
from augury.matching.matcher import ALWAYS
from augury.runners.spark.ranges import Ranges, movement_of

ANSWERS = pa.schema(
    [("kind", pa.string()), ("name", pa.string()), ("n", pa.int64()), ("payload", pa.binary())]
)
# Rows that are evaluated in one step, and rows of an answer in one payload.
STEP, PAYLOAD = 250_000, 50_000
# By so much a task may read more than its share, since it reads what its matches reach back to.
MOST_TWICE = 1.5
MEASURES = pa.schema(
    [
        ("stage", pa.string()),
        ("rows_in", pa.int64()),
        ("rows_out", pa.int64()),
        ("milliseconds", pa.float64()),
        ("state_bytes", pa.int64()),
    ]
)
# The kinds of answers that are rows of a stream.
ASIDE = ("late", "rejected", "repeated")
Answer = tuple[str, str, int, bytes]


@dataclass(frozen=True)
class Blob:
    """Rows of one stream, packed; or rows of it that were put aside."""

    stream: str
    kind: str
    first: int
    n: int
    data: bytes | pa.Buffer


def blobs_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Blob]:
    """Yield the blobs of batches as Spark hands them over."""
    for batch in batches:
        about = [batch.column(name).to_pylist() for name in ("stream", "kind", "first", "n")]
        # A buffer is a view of the batch; bytes would be a copy.
        blobs = [blob.as_buffer() for blob in batch.column("blob")]
        yield from map(Blob, *about, blobs)


@dataclass(frozen=True)
class BoundedTask:
    """Evaluates the shards of one Spark partition, whose blobs come in the order of time.

    `reported` are the streams whose rows are put aside here, by lower-case name; None: all of them.
    `tells_movement` brings along what came to each range of time, and from where; `measures` what
    each stage did.
    """

    network: Network
    sharding: Sharding
    reported: frozenset[str] | None = None
    tells_movement: bool = False
    measures: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield answers; every row of a step is earlier than those of the next."""
        reported = frozenset(self.network.bases) if self.reported is None else self.reported
        for put_aside, answers in self.steps(blobs_of(batches)):
            if self.measures:
                measured = pa.Table.from_pylist(as_rows(answers.measured), MEASURES)
                yield from as_batches(pieces("stage", "", measured))
            yield from as_batches(only_reported(put_aside + listed(answers), reported))

    def steps(self, blobs: Iterator[Blob]) -> Iterator[tuple[list[Answer], Answers]]:
        """Yield what was put aside before it came here, and the answers, step by step."""
        if self.sharding.kind == "time":
            # Blobs of ranges come in the order of their number, which they have for a time.
            for _, own in groupby(blobs, key=lambda blob: blob.first):
                yield self._in_range(list(own))
            return
        shard = Executor(self.network)
        state, held, rows = shard.start(), list[Blob](), 0
        step = STEP if self.goes_on_in_steps and self.network.goes_by_time else ALWAYS
        for blob in blobs:
            if rows >= step and blob.first > held[-1].first:
                batch, put_aside = unpacked(held, shard.schemas)
                state, found = shard.advance(state, batch, blob.first)
                yield put_aside, found
                held, rows = [], 0
            held.append(blob)
            rows += blob.n
        if held or not state.is_empty:
            batch, put_aside = unpacked(held, shard.schemas)
            state, found = shard.advance(state, batch, ALWAYS)
            yield put_aside, found

    @property
    def goes_on_in_steps(self) -> bool:
        """Matches may be found bit by bit; a count, a probability and a belief are of the whole."""
        act = self.network.act
        if act is not None and act.acting.uncertain:
            return False
        return all(self.network.graph.of(name).step != "all" for name in self.network.queries)

    def _in_range(self, blobs: list[Blob]) -> tuple[list[Answer], Answers]:
        _, put_aside = unpacked([blob for blob in blobs if blob.kind == "rejected"], {})
        if self.tells_movement:
            put_aside += pieces("movement", self.network.names[0], movement_of(blobs))
        return put_aside, Ranges(self.network).answers(blobs)


def unpacked(
    blobs: Sequence[Blob], schemas: Mapping[str, pa.Schema]
) -> tuple[dict[str, pa.Table], list[Answer]]:
    """Return the rows by stream, and what was put aside before it came here."""
    rows: dict[str, pa.Table] = {}
    ordered = sorted((b for b in blobs if b.kind == "rows"), key=lambda blob: blob.stream.lower())
    for name, own in groupby(ordered, key=lambda blob: blob.stream.lower()):
        rows[name] = rows_of([blob.data for blob in own], schemas[name])
    aside = [("rejected", b.stream, b.n, _row_texts(b.data)) for b in blobs if b.kind == "rejected"]
    return rows, aside


def _row_texts(blob: bytes | pa.Buffer) -> bytes:
    return ipc_bytes(rows_of([blob], REJECTED))


def listed(answers: Answers) -> list[Answer]:
    """Return answers as rows: what kind, of which query or stream, and the packed table."""
    found = [
        answer for name, table in answers.found.items() for answer in pieces("match", name, table)
    ]
    for name, table in answers.rejected.items():
        found += pieces("repeated", name, table)
    return found + [("tied", name, count, b"") for name, count in answers.tied.items()]


def only_reported(answers: Sequence[Answer], streams: frozenset[str]) -> list[Answer]:
    """Return matches, and of the rows that were put aside those of some streams.

    A row that several parts of a pipeline see, and put aside, is told by one of them.
    """
    return [each for each in answers if each[0] not in ASIDE or each[1].lower() in streams]


def pieces(kind: str, name: str, table: pa.Table) -> list[Answer]:
    """Return a table in payloads of bounded size."""
    parts = [table.slice(at, PAYLOAD) for at in range(0, table.num_rows, PAYLOAD)]
    return [(kind, name, part.num_rows, ipc_bytes(part.combine_chunks())) for part in parts]


def as_batches(answers: Sequence[Answer]) -> Iterator[pa.RecordBatch]:
    """Yield answers as Arrow batches, one each: payloads are large."""
    for answer in answers:
        arrays = [pa.array([value], f.type) for value, f in zip(answer, ANSWERS, strict=True)]
        yield pa.record_batch(arrays, schema=ANSWERS)


@dataclass(frozen=True)
class MatchRows:
    """Evaluates the shards of one Spark partition, and gives the rows of `name` as they are."""

    task: BoundedTask
    schema: pa.Schema
    name: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the answer."""
        for _, answers in self.task.steps(blobs_of(batches)):
            table = answers.found.get(self.name)
            if table is not None:
                yield from table.cast(self.schema).to_batches(max_chunksize=PAYLOAD)


@dataclass(frozen=True)
class Unpacked:
    """Turns payloads back into rows; for `mapInArrow`."""

    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows inside."""
        for batch in batches:
            for payload in batch.column("payload"):
                table = pa.ipc.open_stream(payload.as_buffer()).read_all()
                yield from self._conforming(table).to_batches()

    def _conforming(self, table: pa.Table) -> pa.Table:
        """Return the wanted columns; one that did not travel is NULL."""
        columns: list[Any] = [
            table.column(f.name).cast(f.type)
            if f.name in table.column_names
            else pa.nulls(table.num_rows, f.type)
            for f in self.schema
        ]
        return pa.table(columns, schema=self.schema)

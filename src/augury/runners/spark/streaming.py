"""The stateful operator of a streaming run: the blocks and the head of each shard, kept by Spark.

Spark hands over the blobs of one shard, once per micro-batch; the shard takes them in and reports
what the watermark lets it know. What the step added to its state and what it dropped goes to the
state store (docs/decisions/0025); the state itself stays with the worker (`live_shards`). Rows
behind the watermark are put aside as late. A shard that holds something asks to be called again
when the watermark has moved, so that answers do not wait for new rows of their shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from secrets import token_hex
from typing import Any, NamedTuple

import pandas as pd
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from augury.errors import AuguryError, StateError
from augury.evaluation.answers.schemas import spark_schema
from augury.evaluation.executor import shard_for
from augury.evaluation.network import Network
from augury.runners.process.worker_process import settle_in
from augury.runners.spark.live_shards import LIVE, AnyShard, AnyState, Outcome, StateAddress, Step
from augury.runners.spark.sent import Sent, received, sent
from augury.runners.spark.shard_ids import ids_by_partition
from augury.runners.spark.tasks import ANSWERS, Answer, Blob, only_reported
from augury.runners.spark.watermark import EXACT, horizon_of, moment_of
from augury.sources.parquet_frames import is_remote

HEAD = "shards bigint, alarm bigint, holder string, token binary, head binary"
NUMBER, BLOCK = "number bigint", "rows binary"
# Parts of a pipeline have numbers of shards of their own: those of part n begin at n * PART.
PART = 2**32
# How shards are numbered is stored beside how many there are: state under other numbers is lost.
NUMBERING = 1 * PART
# The same numbers, and ticks above EXACT are counted as `augury.runners.spark.watermark` says.
NUMBERING_OF_TICKS = 2 * PART
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@dataclass(frozen=True)
class StreamingPart:
    """Queries that are cut alike, their blobs, and the streams whose rows they put aside."""

    network: Network
    blobs: DataFrame
    reported: frozenset[str]


def stateful(parts: Sequence[StreamingPart], shards: int) -> DataFrame:
    """Return the streaming answers of all parts: Spark allows one such operator in a query."""
    blobs = [
        part.blobs.withColumn("shard", _evenly(shards, number * PART))
        for number, part in enumerate(parts)
    ]
    _expect_rocksdb(parts[0].blobs.sparkSession)
    task = StreamingTask(tuple((part.network, part.reported) for part in parts), shards)
    first = parts[0].blobs
    context = None if is_remote(first) else first.sparkSession.sparkContext
    return (
        _never_late(reduce(lambda one, other: one.unionByName(other), blobs))
        .groupBy("shard")
        .transformWithStateInPandas(
            processor_of(sent(task, context)), spark_schema(ANSWERS), "append", "EventTime"
        )
    )


def processor_of(task: StreamingTask | Sent) -> StatefulProcessor:
    """Return what Spark calls; benchmarks put others in its place."""
    return ShardProcessor(task)


def _expect_rocksdb(spark: SparkSession) -> None:
    """Raise where Spark would refuse the operator, in words that name neither."""
    provider = spark.conf.get(PROVIDER)
    if provider is not None and "rocksdb" not in provider.lower():
        raise AuguryError(
            f"a streaming run keeps its state in RocksDB, and this Spark session has {provider}; "
            f"set {PROVIDER} to {ROCKSDB}, for example with spark.conf.set, and ask again"
        )


def _evenly(shards: int, first: int) -> Column:
    """Return numbers for shards that Spark spreads evenly over as many partitions, or a divisor.

    How many partitions there are is not asked: numbers that depend on it would not be those of a
    checkpoint if it changes.
    """
    numbers = [f.lit(n).cast("bigint") for n in ids_by_partition(shards, shards, first)]
    return f.element_at(f.array(*numbers), f.col("shard").cast("int") + 1)


def _never_late(blobs: DataFrame) -> DataFrame:
    """Return the blobs with a time that Spark never finds late.

    Spark calls an operator by its watermark only if a column of the input bears the mark of one,
    and drops what that column says is late. Rows inside a blob are judged here, one by one, and
    none is dropped; so the mark is on a column that is NULL, which is never late.
    """
    unknown = f.lit(None).cast("timestamp")
    return blobs.withColumn("at", unknown).withMetadata("at", {"spark.watermarkDelayMs": 0})


class Kept(NamedTuple):
    """What the store has of a shard beside its blocks."""

    shards: int
    alarm: int | None
    holder: str
    token: bytes
    head: bytes


@dataclass(frozen=True)
class StreamingTask:
    """One micro-batch of one shard of some part."""

    parts: tuple[tuple[Network, frozenset[str]], ...]
    shards: int

    def part(self, shard: int) -> tuple[Network, frozenset[str]]:
        """Return the queries that a shard belongs to, and the streams that they tell of."""
        number = shard // PART
        if number >= len(self.parts):
            raise StateError(
                "the checkpoint was written by other queries; go on with those that began it, or "
                "start with a new checkpoint"
            )
        return self.parts[number]

    def numbering(self, network: Network) -> int:
        """Return how many shards there are, and how they are numbered."""
        return (NUMBERING_OF_TICKS if _is_ticks(network) else NUMBERING) + self.shards

    def expect(self, kept: Kept, network: Network, watermark: int) -> None:
        """Raise where stored state is that of other shards."""
        numbering, shards = divmod(kept.shards, PART)
        if numbering * PART not in (NUMBERING, NUMBERING_OF_TICKS):
            raise StateError(
                "the checkpoint was written by a version that numbers shards in another way; go on "
                "with that version, or start with a new checkpoint"
            )
        if shards != self.shards:
            raise StateError(
                f"the checkpoint was written with {shards} shards, and this run has {self.shards}; "
                "set shards to what it was, or start with a new checkpoint"
            )
        counted_otherwise = numbering * PART == NUMBERING and _is_ticks(network)
        if counted_otherwise and watermark > EXACT:
            raise StateError(
                f"the checkpoint was written by a version that counts ticks above {EXACT} in "
                "another way; go on with that version, or start with a new checkpoint"
            )


class ShardProcessor(StatefulProcessor):
    """The shards of one partition: Spark's store on one side, live states on the other."""

    def __init__(self, task: StreamingTask | Sent) -> None:
        self._sent = task
        # Who starts from a checkpoint loads what is stored, and checks whose it is.
        self.run = token_hex(8)

    @cached_property
    def task(self) -> StreamingTask:
        """What is done with a micro-batch; not asked for on the driver, where nothing is done."""
        found: StreamingTask = received(self._sent)
        return found

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name what is stored."""
        self.handle = handle
        self.head = handle.getValueState("head", HEAD)
        self.blocks = handle.getMapState("blocks", NUMBER, BLOCK)

    def handleInputRows(  # noqa: N802
        self,
        key: tuple[int],
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Yield the new answers of a shard that has rows, and store what has changed."""
        blobs = [Blob(*row) for batch in rows for row in _rows(batch)]
        yield from self._answers(int(key[0]), blobs, timerValues)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: tuple[int],
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Yield the answers for which a shard has waited."""
        yield from self._answers(int(key[0]), [], timerValues, expiredTimerInfo.getExpiryTimeInMs())

    def close(self) -> None:
        """Nothing is open: states stay with the worker."""

    def _answers(
        self, shard: int, blobs: list[Blob], timers: TimerValues, fired: int | None = None
    ) -> Iterator[pd.DataFrame]:
        settle_in()
        network, reported = self.task.part(shard)
        watermark = timers.getCurrentWatermarkInMs()
        found = self.head.get()
        kept = None if found is None else Kept(*found)
        if kept is not None:
            self.task.expect(kept, network, watermark)
        step = Step(blobs, horizon_of(watermark, ticks=_is_ticks(network)))
        outcome = self._stepped(shard, kept, step)
        before = None if kept is None or kept.alarm == fired else kept.alarm
        alarms = before, _alarm(network, outcome, watermark)
        self._store(network, outcome, alarms)
        answers: list[Answer] = only_reported(outcome.answers, reported)
        if answers:
            yield pd.DataFrame(answers, columns=ANSWERS.names)

    def _stepped(self, number: int, kept: Kept | None, step: Step) -> Outcome:
        """Make a step with the state that lives, or with one that is loaded."""
        name = f"{self.run} {_query()}", number
        if kept is not None:
            place = StateAddress(kept.holder, bytes(kept.token))
            outcome = LIVE.go_on(name, place, step)
            if outcome is not None:
                return outcome
        shard = self.shard(number)
        return LIVE.begin(name, shard, self._state(shard, kept), step)

    def shard(self, number: int) -> AnyShard:
        """Return what evaluates a shard."""
        return shard_for(self.task.part(number)[0])

    def _state(self, shard: AnyShard, kept: Kept | None) -> AnyState:
        if kept is None:
            return shard.start()
        return shard.load(bytes(kept.head), self._stored_blocks())

    def _stored_blocks(self) -> Mapping[int, bytes]:
        """Return the blocks one by one: all of them may be too much for one message."""
        numbers = [int(number) for (number,) in iter(self.blocks.keys())]
        found = {number: self.blocks.getValue((number,)) for number in numbers}
        return {number: bytes(block[0]) for number, block in found.items() if block is not None}

    def _store(
        self, network: Network, outcome: Outcome, alarms: tuple[int | None, int | None]
    ) -> None:
        """Store what a step has changed, and be called again when something is due."""
        stored, (before, alarm) = outcome.stored, alarms
        if before is not None and before != alarm:
            # Otherwise a shard that had rows would be called once more.
            self.handle.deleteTimer(before)
        if stored is None:
            self.head.clear()
            self.blocks.clear()
            return
        for number in stored.dropped:
            self.blocks.removeKey((number,))
        for number, block in stored.added.items():
            self.blocks.updateValue((number,), (block,))
        place = outcome.place
        own = Kept(self.task.numbering(network), alarm, place.holder, place.token, stored.head)
        self.head.update(tuple(own))
        if alarm is not None and alarm != before:
            self.handle.registerTimer(alarm)


def _alarm(network: Network, outcome: Outcome, watermark: int) -> int | None:
    """Return the watermark, in milliseconds, at which a shard wants to go on."""
    if outcome.due is None:
        return None
    return max(watermark + 1, moment_of(outcome.due, ticks=_is_ticks(network)))


def _is_ticks(network: Network) -> bool:
    return next(iter(network.bases.values())).time_is_ticks


def _query() -> str:
    """Return which streaming query this is, as Spark names it."""
    context = TaskContext.get()
    return "" if context is None else context.getLocalProperty("sql.streaming.queryId") or ""


def _rows(batch: pd.DataFrame) -> Iterable[tuple[Any, ...]]:
    names = ["stream", "kind", "first", "n", "blob"]
    return zip(*(batch[name].tolist() for name in names), strict=True)

"""The stateful operator of a streaming run: one blob of state per shard, kept by Spark.

Spark hands over the blobs of one shard and its state, once per micro-batch; the shard takes them in
and reports what the watermark lets it know. Rows behind the watermark are put aside as late. A
shard that holds something asks to be called again when the watermark has moved, so that answers do
not wait for new rows of their shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from augury.analysis.declarations.catalog import StreamSchema
from augury.errors import StateError
from augury.evaluation.answers.schemas import spark_schema
from augury.evaluation.encoding import whole
from augury.evaluation.network import Network
from augury.evaluation.probability.chain_shard import shard_for
from augury.runners.process.worker_process import settle_in
from augury.runners.spark.shard_ids import spread
from augury.runners.spark.tasks import ANSWERS, Answer, Blob, listed, only_told, pieces, unpacked
from augury.runners.spark.watermark import EXACT, horizon_of, moment_of
from augury.sources.intake import written
from augury.sources.rows import REASON

STATE = "shards bigint, blob binary"
# Parts of a pipeline have numbers of shards of their own: those of part n begin at n * PART.
PART = 2**32
# How shards are numbered is stored beside how many there are: state under other numbers is lost.
NUMBERING = 1 * PART
# The same numbers, and ticks above EXACT are counted as `augury.runners.spark.watermark` says.
NUMBERING_OF_TICKS = 2 * PART
# A shard of either kind with its own state: both obey `augury.operator`.
AnyShard = Any
AnyState = Any


@dataclass(frozen=True)
class StreamingPart:
    """Queries that are cut alike, their blobs, and the streams whose rows they put aside."""

    network: Network
    blobs: DataFrame
    told: frozenset[str]


def stateful(parts: Sequence[StreamingPart], shards: int) -> DataFrame:
    """Return the streaming answers of all parts: Spark allows one such operator in a query."""
    blobs = [
        part.blobs.withColumn("shard", _evenly("shard", shards, number * PART))
        for number, part in enumerate(parts)
    ]
    task = StreamingTask(tuple((part.network, part.told) for part in parts), shards)
    return (
        _never_late(reduce(lambda one, other: one.unionByName(other), blobs))
        .groupBy("shard")
        .applyInPandasWithState(
            task, spark_schema(ANSWERS), STATE, "append", GroupStateTimeout.EventTimeTimeout
        )
    )


def _evenly(column: str, shards: int, first: int) -> Column:
    """Return numbers for shards that Spark spreads evenly over as many partitions, or a divisor.

    How many partitions there are is not asked: numbers that depend on it would not be those of a
    checkpoint if it changes.
    """
    numbers = [f.lit(n).cast("bigint") for n in spread(shards, shards, first)]
    return f.element_at(f.array(*numbers), f.col(column).cast("int") + 1)


def _never_late(blobs: DataFrame) -> DataFrame:
    """Return the blobs with a time that Spark never finds late.

    Spark calls an operator by its watermark only if a column of the input bears the mark of one,
    and drops what that column says is late. Rows inside a blob are judged here, one by one, and
    none is dropped; so the mark is on a column that is NULL, which is never late.
    """
    unknown = f.lit(None).cast("timestamp")
    return blobs.withColumn("at", unknown).withMetadata("at", {"spark.watermarkDelayMs": 0})


@dataclass(frozen=True)
class StreamingTask:
    """One micro-batch of one shard of some part."""

    parts: tuple[tuple[Network, frozenset[str]], ...]
    shards: int

    def __call__(
        self, key: tuple[int], batches: Iterable[pd.DataFrame], state: GroupState
    ) -> Iterator[pd.DataFrame]:
        """Yield the new answers of a shard, and store what it still needs."""
        settle_in()
        number = key[0] // PART
        if number >= len(self.parts):
            raise StateError(
                "the checkpoint was written by other queries; go on with those that began it, or "
                "start with a new checkpoint"
            )
        network, told = self.parts[number]
        answers = self._step(shard_for(network), batches, state)
        kept = only_told(answers, told)
        if kept:
            yield pd.DataFrame(kept, columns=ANSWERS.names)

    def _step(
        self, shard: AnyShard, batches: Iterable[pd.DataFrame], state: GroupState
    ) -> list[Answer]:
        before = self._stored(shard, state)
        horizon = self._horizon(shard, state)
        blobs = [Blob(*row) for batch in batches for row in _rows(batch)]
        after, answers = step(shard, before, blobs, horizon)
        if after.is_empty:
            state.remove()
        else:
            numbering = NUMBERING_OF_TICKS if _is_ticks(shard.network) else NUMBERING
            state.update((numbering + self.shards, shard.dump(after)))
            alarm = self._alarm(shard, state, after)
            if alarm is not None:
                state.setTimeoutTimestamp(alarm)
        return answers

    def _stored(self, shard: AnyShard, state: GroupState) -> AnyState:
        if not state.exists:
            return shard.start()
        stored, blob = state.get
        numbering, shards = divmod(stored, PART)
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
        if numbering * PART == NUMBERING and _is_ticks(shard.network):
            _refuse_ticks_counted_otherwise(state)
        return shard.load(bytes(blob))

    def _horizon(self, shard: AnyShard, state: GroupState) -> int:
        """Return the watermark in the units of event time."""
        return horizon_of(state.getCurrentWatermarkMs(), ticks=_is_ticks(shard.network))

    def _alarm(self, shard: AnyShard, state: GroupState, after: AnyState) -> int | None:
        """Return the watermark, in milliseconds, at which the shard wants to go on."""
        soonest: int = state.getCurrentWatermarkMs() + 1
        if shard.network.waits and any(rows.num_rows for rows in after.kept.values()):
            return soonest
        due: int | None = shard.due(after)
        if due is None:
            return None
        return max(soonest, moment_of(due, ticks=_is_ticks(shard.network)))


def _refuse_ticks_counted_otherwise(state: GroupState) -> None:
    """Raise where a watermark of former versions would now mean another tick."""
    if state.getCurrentWatermarkMs() > EXACT:
        raise StateError(
            f"the checkpoint was written by a version that counts ticks above {EXACT} in another "
            "way; go on with that version, or start with a new checkpoint"
        )


def _is_ticks(network: Network) -> bool:
    return next(iter(network.bases.values())).time_is_ticks


def step(
    shard: AnyShard, before: AnyState, blobs: list[Blob], horizon: int
) -> tuple[AnyState, list[Answer]]:
    """Take the blobs of one micro-batch in; return the state after it, and the new answers."""
    rows, answers = unpacked(blobs, shard.schemas)
    for name, stream in shard.network.bases.items():
        if name in rows:
            late = whole(rows[name].column(stream.time)) < horizon
            if late.any():
                answers += pieces(
                    "late", name, _told_late(rows[name].filter(pa.array(late)), stream, horizon)
                )
                rows[name] = rows[name].filter(pa.array(~late))
    after, found = shard.advance(before, rows, max(horizon, before.horizon))
    return after, answers + listed(found)


def _told_late(rows: pa.Table, stream: StreamSchema, horizon: int) -> pa.Table:
    kind = "LONG" if stream.time_is_ticks else "TIMESTAMP"
    times = whole(rows.column(stream.time)).tolist()
    reasons = [
        f"{stream.time} is {written(time, kind)}, before the watermark {written(horizon, kind)}"
        for time in times
    ]
    return rows.append_column(REASON, pa.array(reasons, pa.string()))


def _rows(batch: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    names = ["stream", "kind", "first", "n", "blob"]
    return zip(*(batch[name].tolist() for name in names), strict=True)

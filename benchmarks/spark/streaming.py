"""Streaming: events per second at full speed, latency at half of it, bytes of state, the floor.

- Full speed: SEQ of 3 over a folder of files, 1 M events a micro-batch, all that is there. Events
  that no component can play count as events, as they do for who sends them. It is asked for the ids
  of the three events, as in the other benchmarks, and again for all columns of a match. A run is as
  fast as the median of its micro-batches after the first two; of three runs the median counts.
- Floor: the same source, filter and columns, packed into the same shards by mapInArrow, and an
  applyInPandasWithState that keeps the packed rows of a micro-batch, as whoever waits for the
  watermark must, and returns them with the next.
- Latency: files arrive at half of that speed; a match's latency is the time from the arrival of
  the file with its last event until the match is delivered.
- State: a pattern whose last event never comes, so that every A and B in the window stays. The
  bytes are read from the checkpoint with Spark's own reader of state.

Run: python benchmarks/spark/streaming.py
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import events
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import stateful
from measuring import (
    ROUNDS,
    Seconds,
    median,
    ratio,
    record,
    scaled,
    scratch,
    seconds,
    session,
    shown,
)
from patterns import ABC, COLUMNS, UNCERTAIN, asked

# Micro-batches of a run: those that warm up, and those that count. A run of a few seconds says more
# of its neighbours on the machine than of itself.
WARM, COUNTED = 2, 10
LONG_WINDOW = 400_000
OPEN_ENDED = UNCERTAIN.replace("C c", "NEVER c").replace(
    f"WITHIN {events.WINDOW - 1}", f"WITHIN {LONG_WINDOW}"
)
SCHEMA = "id LONG, key LONG, kind STRING, t LONG, p DOUBLE"
SECONDS_OF_LOAD, FILES_A_SECOND = 40, 2


def stream_of(spark: Any, folder: Path, files: int = 2) -> Any:
    """Return a folder of files as a stream."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files)
    return reader.parquet(str(folder))


def progress_of(frame: Any, checkpoint: Path) -> list[Any]:
    """Run a stream to the end of what is there; return what Spark says of each batch with rows."""
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return [each for each in query.recentProgress if each.numInputRows]


def measured(frame: Any) -> Seconds:
    """Return the clock's median of the batches after the first ones, and processor a batch."""
    found: list[Any] = []
    with scratch() as checkpoint:
        whole = seconds(lambda: found.extend(progress_of(frame, checkpoint)))
    clock = [each.durationMs["triggerExecution"] / 1000 for each in found[WARM:]]
    return Seconds(statistics.median(clock), whole.processor / len(found))


# Full speed and the floor ----------------------------------------------------------------------


def augury(
    spark: Any, rows: Any, script: str = UNCERTAIN, columns: Sequence[str] | None = None
) -> Any:
    """Return the streaming matches."""
    return asked(script, rows, spark, columns, shards=stateful.SHARDS)


def bare(rows: Any) -> Any:
    """Return a bare stateful operator over the same rows, packed alike."""
    return stateful.holding(stateful.packed(rows.where(ABC).select(*COLUMNS)))


def speeds(spark: Any, a_batch: int) -> dict[str, Any]:
    """Return events per second, and the ratio to the bare operator."""
    folder = events.files(a_batch * (WARM + COUNTED), size=a_batch // 2)
    shapes: dict[str, Callable[[], Any]] = {
        "bare_operator": lambda: bare(stream_of(spark, folder)),
        "augury": lambda: augury(spark, stream_of(spark, folder), columns=["a", "b", "c"]),
        "augury_all_columns": lambda: augury(spark, stream_of(spark, folder)),
    }
    for shape in shapes.values():
        measured(shape())
    runs: dict[str, list[Seconds]] = {name: [] for name in shapes}
    for _ in range(ROUNDS):
        for name, shape in shapes.items():
            runs[name].append(measured(shape()))
    taken = {name: median(each) for name, each in runs.items()}
    return {
        "events_a_batch": a_batch,
        "seconds_a_batch": shown(taken),
        "events_per_second": round(a_batch / taken["augury"].clock),
        "ratio_to_bare_operator": ratio(taken["augury"], taken["bare_operator"]),
        "ratio_with_all_columns": ratio(taken["augury_all_columns"], taken["bare_operator"]),
    }


# Latency ---------------------------------------------------------------------------------------


class Arrivals:
    """Puts files into a folder at a steady pace, and remembers when each event came."""

    def __init__(self, folder: Path, rate: int, duration: int) -> None:
        self.folder, self.size = folder, max(1, rate // FILES_A_SECOND)
        self.count = duration * FILES_A_SECOND
        self.moments = np.full(self.count, np.nan)
        self.thread = threading.Thread(target=self._arrive, daemon=True)

    def _arrive(self) -> None:
        start = time.time()
        for k in range(self.count):
            table = events.chunk(k * self.size, self.size)
            waiting = self.folder.parent / "next.parquet"
            pq.write_table(table, waiting)
            time.sleep(max(0.0, start + k / FILES_A_SECOND - time.time()))
            self.moments[k] = time.time()
            waiting.rename(self.folder / f"part-{k:05d}.parquet")

    def since(self, ids: np.ndarray) -> np.ndarray:
        """Return the seconds since each event arrived."""
        return time.time() - self.moments[ids // self.size]


def latencies(spark: Any, rate: int, duration: int) -> np.ndarray:
    """Return the latency of every match of a steady stream, without those of a warm-up."""
    found: list[np.ndarray] = []
    with scratch() as place:
        folder = place / "arriving"
        folder.mkdir()
        arrivals = Arrivals(folder, rate, duration)

        def deliver(batch: Any, _: int) -> None:
            ids = batch.select("c").toArrow().column("c").to_numpy()
            found.append(np.stack([ids, arrivals.since(ids)]))

        frame = augury(spark, stream_of(spark, folder, 1000))
        writer = frame.writeStream.foreachBatch(deliver)
        query = writer.option("checkpointLocation", str(place / "checkpoint")).start()
        arrivals.thread.start()
        arrivals.thread.join()
        query.processAllAvailable()
        query.stop()
    ids, waited = np.concatenate(found, axis=1)
    return waited[ids >= arrivals.size * arrivals.count // 4]


def paced(spark: Any, rate: int, duration: int = SECONDS_OF_LOAD) -> dict[str, Any]:
    """Return percentiles of latency at a load."""
    waited = latencies(spark, rate, duration)
    marks = {"p50": 50, "p95": 95, "p99": 99}
    return {
        "offered_events_per_second": rate,
        "matches": len(waited),
        "latency_seconds": {
            name: round(float(np.percentile(waited, q)), 2) for name, q in marks.items()
        },
    }


# State -----------------------------------------------------------------------------------------


def state_sizes(spark: Any, folder: Path, script: str) -> list[int]:
    """Run a query over a folder; return the bytes of state that each shard has at the end."""
    with scratch() as checkpoint:
        progress_of(augury(spark, stream_of(spark, folder), script), checkpoint)
        heads = _stored(spark, checkpoint, "head").selectExpr("key", "length(value.head) AS n")
        blocks = _stored(spark, checkpoint, "blocks")
        sizes = blocks.selectExpr("key", "length(user_map_value.rows) AS n")
        by_shard = heads.unionByName(sizes).groupBy("key").agg({"n": "sum"})
        return by_shard.toArrow()["sum(n)"].to_pylist()


def _stored(spark: Any, checkpoint: Path, variable: str) -> Any:
    reader = spark.read.format("statestore").option("stateVarName", variable)
    return reader.load(str(checkpoint))


def state_of(spark: Any, a_batch: int) -> dict[str, Any]:
    """Return the bytes of state for each event that may still be in a match."""
    folder = events.files(a_batch * (WARM + COUNTED), size=a_batch // 2)
    sizes, live = state_sizes(spark, folder, OPEN_ENDED), live_events(folder)
    return {
        "live_events": live,
        "state_bytes": sum(sizes),
        "state_bytes_per_live_event": round(sum(sizes) / live, 1),
    }


def live_events(folder: Path) -> int:
    """Return how many A and B lie in the window before the last event."""
    table = pq.read_table(folder, columns=["kind", "t"])
    t = table.column("t").to_numpy()
    kinds = table.column("kind").combine_chunks()
    wanted = pc.is_in(kinds, value_set=pa.array(["A", "B"])).to_numpy(zero_copy_only=False)
    return int((wanted & (t >= t.max() - LONG_WINDOW)).sum())


def main() -> None:
    """Measure."""
    a_batch = scaled(1_000_000)
    with session("streaming") as spark:
        state = state_of(spark, a_batch)
        print(state, flush=True)
        full = speeds(spark, a_batch)
        print(full, flush=True)
        load = paced(spark, full["events_per_second"] // 2)
    figures = {"shards": stateful.SHARDS, "full_speed": full, "half_load": load, "state": state}
    record("spark_streaming", figures)


if __name__ == "__main__":
    main()

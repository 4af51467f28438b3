"""The stateful operators of Structured Streaming, bare: which should carry the shards.

Bare operators: each keeps one blob of fixed size per shard in RocksDB, and returns one. They are
fed plain rows, or rows that `mapInArrow` has packed into Arrow IPC blobs, one per shard and
200,000 rows. Printed: seconds per micro-batch of 1 M rows, the median over the batches after the
first two: three of plain rows, which take up to half a minute each, and ten of packed ones, between
which the choice is.

Then ways to keep a window of 100 micro-batches, of which one comes and one goes each time: written
whole, as numbered blocks in a map, in pandas and by rows, and appended to four lists, the oldest of
which is cleared. Printed: seconds per micro-batch and bytes in the checkpoint's changelogs, of 700
KB that are new; half of them do not compress.
Run: python benchmarks/spark/stateful.py [rows a batch, 1 million]
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any

import events
import pyarrow as pa
from measuring import ROUNDS, record, rounded, scaled, scratch, session

SHARDS, BLOB, WARM = 8, 500_000, 2
COUNTED = {"rows": ROUNDS, "packed": 10}
PACK_ROWS = 200_000
ANSWER = "n LONG, payload BINARY"
PACKED = "shard INT, n LONG, payload BINARY"


def rows(stream):
    """Return plain rows with their shard."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    return stream.withColumn("shard", f.expr(f"CAST(pmod(hash(key), {SHARDS}) AS INT)"))


def packed(stream):
    """Return one row per shard and 200,000 rows."""
    return rows(stream).mapInArrow(pack, PACKED)


def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Cut rows into shards, and each shard into a blob."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= PACK_ROWS:
            yield blobs(pa.Table.from_batches(waiting))
            waiting = []
    if waiting:
        yield blobs(pa.Table.from_batches(waiting))


def blobs(table: pa.Table) -> pa.RecordBatch:
    """Return shard, number of rows and Arrow IPC bytes for each shard of a table."""
    import numpy as np  # noqa: PLC0415

    shard = table.column("shard").to_numpy()
    order = np.argsort(shard, kind="stable")
    cuts = np.searchsorted(shard[order], np.arange(SHARDS + 1))
    plain = table.drop_columns(["shard"]).combine_chunks()
    out: dict[str, list[Any]] = {"shard": [], "n": [], "payload": []}
    for k in range(SHARDS):
        part = plain.take(order[cuts[k] : cuts[k + 1]])
        if part.num_rows:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, part.schema) as writer:
                writer.write_table(part)
            out["shard"].append(k)
            out["n"].append(part.num_rows)
            out["payload"].append(sink.getvalue().to_pybytes())
    schema = pa.schema([("shard", pa.int32()), ("n", pa.int64()), ("payload", pa.binary())])
    return pa.RecordBatch.from_pydict(out, schema=schema)


def stateless(frame):
    """Return what arrives after the shuffle, without a stateful operator."""
    return frame.repartition("shard")


def in_pandas_with_state(frame):
    """Keep a blob with applyInPandasWithState."""
    return _kept_by(keep, frame)


def holding(frame):
    """Hold the packed rows of a micro-batch until the next one comes, and return them then."""
    return _kept_by(hold, frame)


def _kept_by(operator, frame):
    return frame.groupBy("shard").applyInPandasWithState(
        operator, ANSWER, "payload BINARY", "append", "NoTimeout"
    )


def keep(key, pdfs, state):
    """Take all rows in, keep a blob; yield how many rows came, and the blob."""
    n = sum(len(pdf) for pdf in pdfs)
    yield _put(state, state.get[0] if state.exists else bytes(BLOB), n)


def hold(key, pdfs, state):
    """Keep what came; yield what came before. Real bytes: zeros would be stored for nothing."""
    came = [payload for pdf in pdfs for payload in pdf["payload"]]
    yield _put(state, b"".join(came), len(came))


def _put(state, blob: bytes, n: int):
    import pandas as pd  # noqa: PLC0415

    before = state.get[0] if state.exists else blob
    state.update((blob,))
    return pd.DataFrame({"n": [n], "payload": [before]})


def transform_in_pandas(frame):
    """Keep a blob with transformWithStateInPandas."""
    return frame.groupBy("shard").transformWithStateInPandas(
        _processor(in_pandas=True), ANSWER, "append", "None"
    )


def transform_rows(frame):
    """Keep a blob with transformWithState, row by row."""
    return frame.groupBy("shard").transformWithState(
        _processor(in_pandas=False), ANSWER, "append", "None"
    )


def _processor(*, in_pandas: bool):
    import pandas as pd  # noqa: PLC0415
    from pyspark.sql import Row  # noqa: PLC0415
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor  # noqa: PLC0415

    class Keep(StatefulProcessor):
        def init(self, handle):
            self.kept = handle.getValueState("kept", "payload BINARY")

        def handleInputRows(self, key, rows, timerValues):  # noqa: N802, N803
            n = sum(len(pdf) for pdf in rows) if in_pandas else sum(1 for _ in rows)
            found = self.kept.get()
            blob = bytes(found[0]) if found else bytes(BLOB)
            self.kept.update((blob,))
            if in_pandas:
                yield pd.DataFrame({"n": [n], "payload": [blob]})
            else:
                yield Row(n=n, payload=blob)

        def close(self):
            pass

    return Keep()


# A window that moves ------------------------------------------------------------------------------

WINDOW, MOVES, NEW = 100, 25, 88_000


def fresh() -> bytes:
    """Return bytes that are new, half of which compress."""
    return os.urandom(NEW // 2) + bytes(NEW // 2)


def whole_window(frame):
    """Keep the window as one value, written anew each time."""
    import pandas as pd  # noqa: PLC0415

    def keep(key, pdfs, state):
        old = state.get[0] if state.exists else b""
        state.update((old[-NEW * (WINDOW - 1) :] + fresh(),))
        yield pd.DataFrame({"n": [len(old)], "payload": [b""]})

    return _kept_by(keep, frame)


def window_in_a_map(frame, *, in_pandas: bool = True):
    """Keep the window as blocks by number: one is put, one is removed."""

    def move(states, n):
        states["blocks"].updateValue((n,), (fresh(),))
        if n >= WINDOW:
            states["blocks"].removeKey((n - WINDOW,))

    def named(handle):
        return {"blocks": handle.getMapState("blocks", "number LONG", "payload BINARY")}

    return _moved(frame, named, move, in_pandas=in_pandas)


def window_in_a_map_by_rows(frame):
    """Keep the same blocks with transformWithState over rows."""
    return window_in_a_map(frame, in_pandas=False)


def window_in_lists(frame):
    """Keep the window in four lists: one is appended to, the oldest cleared when its turn comes."""
    turn = WINDOW // 3

    def move(states, n):
        own = states[n // turn % 4]
        if n % turn == 0:
            own.clear()
        own.appendValue((fresh(),))

    def named(handle):
        return {k: handle.getListState(f"list{k}", "payload BINARY") for k in range(4)}

    return _moved(frame, named, move, in_pandas=True)


def _moved(frame, named, move, *, in_pandas: bool):
    import pandas as pd  # noqa: PLC0415
    from pyspark.sql import Row  # noqa: PLC0415
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor  # noqa: PLC0415

    class Move(StatefulProcessor):
        def init(self, handle):
            self.head, self.states = handle.getValueState("head", "n LONG"), named(handle)

        def handleInputRows(self, key, rows, timerValues):  # noqa: N802, N803
            for _ in rows:
                pass
            found = self.head.get()
            n = found[0] if found else 0
            move(self.states, n)
            self.head.update((n + 1,))
            answer = {"n": n, "payload": b""}
            yield pd.DataFrame([answer]) if in_pandas else Row(**answer)

        def close(self):
            pass

    grouped = frame.groupBy("shard")
    way = grouped.transformWithStateInPandas if in_pandas else grouped.transformWithState
    return way(Move(), ANSWER, "append", "None")


def moving(spark, way: Callable[[Any], Any]) -> dict[str, float]:
    """Return seconds and bytes of changelogs of the later micro-batches of a window that moves."""
    folder = events.files(200 * MOVES, size=200)
    rows_of = spark.readStream.schema(spark.read.parquet(str(folder)).schema)
    stream = rows(rows_of.option("maxFilesPerTrigger", 1).parquet(str(folder)))
    with scratch() as checkpoint:
        writer = way(stream.select("shard")).writeStream.format("noop")
        writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        query = writer.start()
        query.awaitTermination()
        taken = [p.durationMs["triggerExecution"] for p in query.recentProgress if p.numInputRows]
        last = checkpoint.rglob(f"{MOVES}*.changelog")
        written = sum(path.stat().st_size for path in last)
    return {"median": statistics.median(taken[-10:]) / 1000, "last_changelog_bytes": written}


WAYS: dict[str, Callable[[Any], Any]] = {
    "whole": whole_window,
    "map_in_pandas": window_in_a_map,
    "map_by_rows": window_in_a_map_by_rows,
    "lists": window_in_lists,
}
OPERATORS: dict[str, Callable[[Any], Any]] = {
    "shuffle_alone": stateless,
    "applyInPandasWithState": in_pandas_with_state,
    "transformWithStateInPandas": transform_in_pandas,
    "transformWithState": transform_rows,
}
FORMS: dict[str, Callable[[Any], Any]] = {"rows": rows, "packed": packed}


def batch_seconds(spark, folder, shape: Callable[[Any], Any]) -> list[float]:
    """Return how long each micro-batch of two files took, without the first ones."""
    first = spark.read.parquet(str(folder))
    stream = spark.readStream.schema(first.schema).option("maxFilesPerTrigger", 2)
    with scratch() as checkpoint:
        query = (
            shape(stream.parquet(str(folder)))
            .writeStream.format("noop")
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        done = [p for p in query.recentProgress if p.numInputRows]
    return [p.durationMs["triggerExecution"] / 1000 for p in done[WARM:]]


def main() -> None:
    """Measure."""
    a_batch = scaled(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
    figures: dict[str, Any] = {"rows_a_batch": a_batch, "shards": SHARDS, "blob_bytes": BLOB}
    with session("stateful operators") as spark:
        for form, feed in FORMS.items():
            folder = events.files(a_batch * (WARM + COUNTED[form]), size=a_batch // 2)
            for name, operator in OPERATORS.items():
                taken = batch_seconds(spark, folder, lambda s, f=feed, o=operator: o(f(s)))
                middle = statistics.median(taken)
                figures[f"{form}_{name}"] = {
                    "seconds": rounded(dict(enumerate(taken))),
                    "median": round(middle, 2),
                    "rows_per_second": round(a_batch / middle),
                }
                print(form, name, figures[f"{form}_{name}"], flush=True)
        figures["moving_window"] = {name: moving(spark, way) for name, way in WAYS.items()}
    record("spark_stateful_operators", figures)


if __name__ == "__main__":
    main()

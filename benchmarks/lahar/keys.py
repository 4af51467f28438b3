"""A hundred thousand keys in one streaming run: a chain each, with constant state, on Spark.

Each micro-batch is a file: a few ticks of two alternatives per key. Printed: rows a second over the
run, seconds of each micro-batch, and the bytes of stored state per key of a short stream and of one
ten times as long. The answers are held against the local engine's.
Run: python benchmarks/lahar/keys.py [keys 100000] [files 6]
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from augury import Session
from augury.evaluation.network import Network
from augury.evaluation.probability.chain_shard import ChainShard
from augury.evaluation.stream_rows import EVENT_ID
from augury.runners.process.local_spark import start
from matching.harness import machine, record, sized

SHARDS, TICKS = 16, 2
SCRIPT = """
CREATE STREAM at (tag LONG, place STRING, t LONG, p DOUBLE)
KEY tag TIME t ALTERNATIVES place PROBABILITY p;
CREATE QUERY coffee ON at PATTERN SEQ(at a, at b) WHERE [tag] AND a.place = 'hall'
AFTER WHERE b.place = 'room' USING SKIP TILL NEXT MATCH GROUP BY tag
HAVING PROBABILITY >= 0.6 RETURN PROBABILITY BY TIME;
"""


def rows(keys: int, start_at: int, rng: np.random.Generator) -> pa.Table:
    """Return some ticks of every key."""
    n = keys * TICKS
    p = rng.random(n)
    tag, t = np.tile(np.arange(keys), TICKS), np.repeat(np.arange(TICKS) + start_at, keys)
    return pa.table(
        {
            "tag": np.concatenate([tag, tag]),
            "place": ["hall"] * n + ["room"] * n,
            "t": np.concatenate([t, t]),
            "p": np.concatenate([p, 1.0 - p]),
        }
    )


def written(folder: Path, keys: int, files: int) -> pa.Table:
    """Write a file per micro-batch, and one that closes the stream; return all rows."""
    rng = np.random.default_rng(1)
    parts = [rows(keys, 1 + k * TICKS, rng) for k in range(files)]
    last = rows(1, 10**6, rng).slice(0, 1)
    for k, part in enumerate([*parts, last]):
        path = folder / f"{k:03}.parquet"
        pq.write_table(part, path)
        os.utime(path, (1_000_000_000 + k, 1_000_000_000 + k))
    return pa.concat_tables(parts)


def main() -> None:
    """Print and store the figures."""
    keys, files = (int(a) for a in [*sys.argv[1:], *(sized(100_000, 50), 6)[len(sys.argv) - 1 :]])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "in"
        folder.mkdir()
        table = written(folder, keys, files)
        expected = _expected(table)
        spark = start({"spark.ui.enabled": "false"})
        figures = _streamed(spark, folder, Path(place) / "checkpoint", table.num_rows)
        spark.stop()
    about = {"machine": machine(), "keys": keys, "rows": table.num_rows, "shards": SHARDS}
    about["answers_are_those_of_the_local_engine"] = figures.pop("answers") == expected
    record(
        "lahar_keys",
        about | figures | {"answers": expected[0], "state_bytes_per_key_by_ticks": state_bytes()},
    )


def state_bytes(keys: int = 1000) -> dict[str, float]:
    """Return the stored bytes per key after 20 ticks, and after ten times as many."""
    ag = Session(engine="local")
    ag.sql(SCRIPT)
    network = Network.of(
        ["coffee"], {"coffee": ag._declared.queries["coffee"][0]}, ag._declared.catalog
    )
    shard, rng, found = ChainShard(network), np.random.default_rng(1), {}
    for ticks in (20, 200):
        parts = [rows(keys, at, rng) for at in range(0, ticks, TICKS)]
        table = pa.concat_tables(parts)
        ids = pa.array([""] * table.num_rows, pa.string())
        batch = {"at": table.append_column(EVENT_ID, ids)}
        state, _ = shard.advance(shard.start(), batch, ticks)
        found[str(ticks)] = round(len(shard.dump(state)) / keys, 1)
    return found


def _expected(table: pa.Table) -> tuple[int, int]:
    ag = Session(engine="local")
    ag.sql(SCRIPT)
    ag.bind("at", table)
    return _summary(ag.table("coffee"))


def _summary(found: pa.Table) -> tuple[int, int]:
    """Return how many answers there are, and a sum over all of them."""
    return found.num_rows, int(sum(np.round(found.column("probability").to_numpy() * 1e6)))


def _streamed(spark: Any, folder: Path, checkpoint: Path, n: int) -> dict[str, Any]:
    ag = Session(spark, shards=SHARDS)
    ag.sql(SCRIPT)
    schema = spark.read.parquet(str(folder)).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    ag.bind("at", reader.parquet(str(folder)))
    answers: list[pa.Table] = []
    writer = ag.table("coffee").writeStream.trigger(availableNow=True)
    writer = writer.foreachBatch(lambda batch, _: answers.append(batch.toArrow()))
    before = perf_counter()
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    query.awaitTermination()
    seconds = perf_counter() - before
    batches = [p for p in query.recentProgress if p["numInputRows"]]
    return {
        "answers": _summary(pa.concat_tables(answers)),
        "seconds": round(seconds, 2),
        "rows_per_second": round(n / seconds),
        "seconds_by_batch": [round(p["batchDuration"] / 1000, 2) for p in batches],
    }


if __name__ == "__main__":
    main()

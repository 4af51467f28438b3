"""Rules on Spark: events a second in batch, and what they cost in a stream.

The workload of `contents.py`: two queries read a table, two rules write it. Measured is
the same without rules and with them, by the clock: in batch over files, and as a stream that reads
the same files one after another.

    PYTHONPATH=benchmarks python benchmarks/rules/on_spark.py [batch|stream] [events] [keys] [files]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from augury import Session
from matching.harness import record, sized
from rules.contents import RULES, SAFE, SCRIPT, WARNED, doors

EVENTS, KEYS, FILES = sized(10_000_000, 2_000), sized(100_000, 50), 10
SCHEMA = "id LONG, worker LONG, action STRING, room LONG, t LONG"


def session() -> SparkSession:
    """Return a Spark session of this machine that keeps state as streams need it."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    made = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    made = made.config("spark.sql.shuffle.partitions", "2").config("spark.driver.memory", "4g")
    made = made.config("spark.sql.streaming.stateStore.providerClass", provider)
    return made.config("spark.log.level", "ERROR").getOrCreate()


def timed(work: Callable[[], Any]) -> float:
    """Return the seconds that some work takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def batch(spark: SparkSession, rows: Path, keys: int, *, acts: bool) -> float:
    """Return the seconds of a pass over all files."""
    ag = asked(spark, spark.read.schema(SCHEMA).parquet(str(rows)), keys, acts=acts)
    found = answers(ag, acts=acts)
    return timed(lambda: found.write.format("noop").mode("overwrite").save())


def stream(spark: SparkSession, rows: Path, keys: int, *, acts: bool) -> float:
    """Return the seconds of a stream that reads one file after another."""
    read = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(rows))
    ag = asked(spark, read, keys, acts=acts)
    found = answers(ag, acts=acts)
    with tempfile.TemporaryDirectory() as folder:
        writer = found.writeStream.format("noop").option("checkpointLocation", folder)
        return timed(lambda: writer.trigger(availableNow=True).start().awaitTermination())


def asked(spark: SparkSession, rows: Any, keys: int, *, acts: bool) -> Session:
    """Return a session over the rows, with rules or without."""
    ag = Session(spark, shards=2)
    ag.sql(SCRIPT.format(safe=SAFE if acts else "", warned=WARNED if acts else ""))
    if acts:
        ag.sql(RULES)
        ag.bind("status", pa.table({"worker": np.arange(keys), "state": ["safe"] * keys}))
    ag.bind("doors", rows)
    return ag


def answers(ag: Session, *, acts: bool) -> Any:
    """Return what is asked for: the firings of a rule, or the matches of both queries."""
    return ag.table("warn") if acts else ag.pipeline(["unwashed", "cleaned"]).answers


def main() -> None:
    """Measure what rules cost, in batch and in a stream, or in one of them."""
    kinds = [each for each in sys.argv[1:] if each in RUNS] or list(RUNS)
    given = [int(each) for each in sys.argv[1:] if each not in RUNS]
    events, keys, files = (*given, *(EVENTS, KEYS, FILES)[len(given) :])
    spark = session()
    with tempfile.TemporaryDirectory() as folder:
        table, size = doors(events, keys), -(-events // files)
        for k in range(files):
            own = table.slice(k * size, size)
            plain = own.set_column(2, "action", own.column("action").cast(pa.string()))
            pq.write_table(plain, Path(folder) / f"{k:03}.parquet")
        for kind in kinds:
            run = RUNS[kind]
            # The first pass starts workers.
            run(spark, Path(folder), keys, acts=True)
            without, took = (run(spark, Path(folder), keys, acts=a) for a in (False, True))
            figures = {
                "events": events,
                "keys": keys,
                "without_events_per_second": round(events / without),
                "with_events_per_second": round(events / took),
                "times_the_time": round(took / without, 2),
            }
            record(f"rules_on_spark_{kind}", figures)
    spark.stop()


RUNS = {"batch": batch, "stream": stream}


if __name__ == "__main__":
    main()

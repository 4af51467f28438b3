"""A client of Spark Connect: a query in batch, one as a stream, and what the local engine says.

Run by `test_connect` in a process of its own, because a process talks to one kind of Spark only.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from augury import Session
from contracts.live_cases import comparable
from spark.queries import events, files_as_a_stream, local, script, shuffled, written_in_files

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}


def session(spark: SparkSession, data: Any) -> Session:
    """Return a session over the data."""
    ag = Session(spark, shards=3)
    ag.sql(script())
    ag.bind("s", data)
    return ag


def main(folder: Path) -> None:
    """Print which of the answers are those of the local engine."""
    builder = SparkSession.builder.config(map=SETTINGS)
    spark = builder.remote("local[2]").getOrCreate()
    rows = events(40)
    names = ("plain", "over", "keyless")
    wanted = {name: [r for r in local(rows) if r["query"] == name] for name in names}
    batch = [name for name in names if name != "plain" and not asked(spark, rows, wanted, name)]
    print("batch", batch == [])  # noqa: T201
    stream = files_as_a_stream(spark, written_in_files(shuffled(rows, 1), 20, folder))
    writer = session(spark, stream).table("plain").writeStream.trigger(availableNow=True)
    target, checkpoint = folder.parent / "out", folder.parent / "checkpoint"
    writer.format("json").option("checkpointLocation", str(checkpoint)).start(
        str(target)
    ).awaitTermination()
    ids = {row.match_id for row in spark.read.json(str(target)).collect()}
    print("stream", ids == {row["match_id"] for row in wanted["plain"]} != set())  # noqa: T201
    spark.stop()


def asked(spark: SparkSession, rows: Any, wanted: dict[str, Any], name: str) -> bool:
    """Return whether a query gets the answer of the local engine in batch."""
    found = session(spark, rows).table(name).collect()
    return same([row.asDict(recursive=True) for row in found], wanted[name])


def same(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> bool:
    return bool(wanted) and comparable(found) == comparable(wanted)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""A streaming run to be killed: files in, checkpoint, one folder of answers per query.

`python driver.py FOLDER` reads FOLDER/in and goes on where FOLDER/checkpoint ends, until
FOLDER/last says that nothing more comes; then it finishes what is there and ends with 0. A query
that fails because its Python workers were killed is started again, as an operator would.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import StreamingQueryException

from augury import Session
from augury.runners.process.local_spark import start
from augury.sinks.checkpoint import Identity, claim
from augury.sinks.delivery import Delivery
from augury.sinks.folder import FolderSink, Owner
from augury.sinks.store import Store
from fault_tolerance.scenario import QUERIES, SCRIPT

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

COLUMNS = "id LONG, tag STRING, kind STRING, at LONG, p DOUBLE"
SETTINGS = {"spark.sql.shuffle.partitions": "2", "spark.log.level": "FATAL"}
POLL_S = 0.2


def started(spark: Any, folder: Path) -> StreamingQuery:
    ag = Session(spark, shards=3)
    ag.sql(SCRIPT)
    reader = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
    ag.bind("reads", reader.json(str(folder / "in")))
    places = [("match", name) for name in QUERIES] + [("late", "reads"), ("rejected", "reads")]
    return delivering(ag, SCRIPT, places, folder)


def delivering(
    ag: Session, script: str, places: list[tuple[str, str]], folder: Path
) -> StreamingQuery:
    """Return a running query that puts every kind of answer into its folder."""
    spark: Any = ag.spark
    pipeline = ag.pipeline([n for kind, n in places if kind == "match"], tells_faults=True)
    run = claim(
        Store(spark, str(folder / "checkpoint")),
        str(folder / "checkpoint"),
        Identity({"script": script}, 1),
    )
    sinks = {
        (kind, name): [FolderSink(spark, str(folder / kind / name), "parquet", Owner(run, name))]
        for kind, name in places
    }
    delivery = Delivery(pipeline, sinks)
    delivery.open()
    writer = pipeline.answers.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    return writer.foreachBatch(delivery.deliver).start()


def attend(query: StreamingQuery, folder: Path) -> bool:
    """Wait for the end of the input; return whether all of it was used up."""
    try:
        while not query.awaitTermination(POLL_S):
            if (folder / "last").exists():
                query.processAllAvailable()
                query.stop()
                return True
    except StreamingQueryException as problem:
        if "crashed" not in str(problem) and "EOF" not in str(problem):
            raise
    return False


def main(folder: Path, begin: Callable[[Any, Path], StreamingQuery] = started) -> None:
    # Tasks are tried again, as on a cluster.
    spark = start(SETTINGS, "local[2,4]")
    done = False
    while not done:
        query = begin(spark, folder)
        (folder / "running").write_text(str(time.time()))
        done = attend(query, folder)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Micro-batches from files, one each, and what a pipeline makes of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from os import utime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from augury import Session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = pa.schema(
    [
        ("id", pa.int64()),
        ("tag", pa.string()),
        ("kind", pa.string()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("p", pa.float64()),
    ]
)
STREAM = """
CREATE STREAM reads (id LONG, tag STRING, kind STRING, at TIMESTAMP, p DOUBLE)
ID id KEY tag TIME at TYPE kind PROBABILITY p LATENESS 2 SECONDS;
"""
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)

Row = tuple[int | None, str | None, str, float, float | None]


def table_of(rows: Sequence[Row]) -> pa.Table:
    """Return rows as a table; times are seconds after noon."""
    named = [
        {"id": one, "tag": tag, "kind": kind, "at": NOON + timedelta(seconds=second), "p": p}
        for one, tag, kind, second, p in rows
    ]
    return pa.Table.from_pylist(named, COLUMNS)


def write_batches(folder: Path, batches: Sequence[Sequence[Row]], first: int = 0) -> None:
    """Write one file per micro-batch; files are read in the order of their times."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(batches, first):
        place = folder / f"{number:03d}.parquet"
        pq.write_table(table_of(rows), place)
        utime(place, (1_700_000_000 + number,) * 2)


def session(spark: SparkSession, script: str, folder: Path, shards: int = 2) -> Session:
    """Return a session whose stream `reads` comes from a folder, a file per micro-batch."""
    ag = Session(spark, shards=shards)
    ag.sql(STREAM + script)
    columns = "id LONG, tag STRING, kind STRING, at TIMESTAMP, p DOUBLE"
    reader = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1)
    ag.bind("reads", reader.parquet(str(folder)))
    return ag


@dataclass
class Collected:
    """The rows of a run by kind and name, and how many answers each micro-batch had."""

    pipeline: Any
    places: Sequence[tuple[str, str]]
    rows: dict[tuple[str, str], list[dict[str, Any]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    batches: list[int] = field(default_factory=list)

    def take(self, answers: DataFrame, _: int) -> None:
        kept = answers.persist()
        self.batches.append(kept.count())
        for place in self.places if self.batches[-1] else ():
            self.rows[place] += self.pipeline.rows(kept, *place).toArrow().to_pylist()
        kept.unpersist()


def run(ag: Session, queries: Sequence[str], checkpoint: Path) -> Collected:
    """Stream all that is there, then end."""
    pipeline = ag.pipeline(queries, tells_faults=True)
    places = [("match", name) for name in queries] + [("late", "reads"), ("rejected", "reads")]
    collected = Collected(pipeline, places)
    writer = pipeline.answers.writeStream.option("checkpointLocation", str(checkpoint))
    running = writer.trigger(availableNow=True).foreachBatch(collected.take).start()
    running.awaitTermination()
    return collected

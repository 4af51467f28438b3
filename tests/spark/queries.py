"""Queries of every construct over one small stream, and ways to run them on Spark."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from augury import Session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LATENESS = 4
STREAM = (
    "CREATE STREAM s (id LONG, tag STRING, kind STRING, t LONG, tie LONG, p DOUBLE, v LONG) "
    f"ID id KEY tag TIME t ORDER BY tie TYPE kind PROBABILITY p LATENESS {LATENESS};"
)
QUERIES = {
    "plain": "SEQ(A a, B b, C c) WHERE [tag] WITHIN 20 RETURN a.v AS v, c.t - a.t AS lasted",
    "threshold": "SEQ(A a, B b) WHERE [tag] WITHIN 20 HAVING CONFIDENCE >= 0.4",
    "middle": "SEQ(A a, !B b, C c) WHERE [tag] WITHIN 20",
    "leading": "SEQ(!A a, B b, C c) WHERE [tag] WITHIN 12",
    "trailing": "SEQ(A a, B b, !C c) WHERE [tag] WITHIN 12",
    "repeated": "SEQ(A a, B+ b, C c) WHERE [tag] AND SUM(b.v) > 1 WITHIN 15",
    "greedy": "SEQ(A a, B+ b) WHERE [tag] USING SKIP TILL NEXT MATCH WITHIN 8",
    "all_of": "AND(A a, SEQ(B b, C c)) WHERE [tag] WITHIN 12",
    "one_of": "SEQ(A a, OR(B b, C c)) WHERE [tag] AND a.v <= 2 WITHIN 9",
    "ends": "SEQ(FIRST(A a), LAST(B b)) WHERE [tag] WITHIN 9",
    "strict": "SEQ(A a, B b) USING STRICT WITHIN 9",
    "contiguous": "SEQ(A a, B b) WHERE [tag] USING PARTITION CONTIGUITY WITHIN 9",
    "neighbours": "NEXT(A a, B b) WITHIN 9",
    "keyless": "SEQ(A a, C c) WHERE a.v = c.v WITHIN 4",
    "anywhere": "SEQ(A a, !B b, C c) WHERE a.v < c.v WITHIN 4",
    "nowhere_after": "SEQ(A a, C+ c, !B b) WHERE a.v > 1 WITHIN 4",
    "counted": "SEQ(A a, C c) WITHIN 4 EVENTS",
    "unread_middle": "SEQ(A a, B b, C c) WHERE [tag] WITHIN 15 ALLOW 1 MISSED OF (b) "
    "MISS RATE (b 0.2)",
    "unread_end": "SEQ(A a, B b) WHERE [tag] WITHIN 9 ALLOW 1 MISSED MISS RATE (a 0.1, b 0.3)",
    "unread_negation": "SEQ(A a, !B b, C c) WHERE [tag] WITHIN 15 MISS RATE (b 0.2)",
}
GAPS = """
CREATE GAPS g1 ON unread_middle (a TO b EXPONENTIAL(4) REACHES 0.9);
CREATE GAPS g2 ON unread_end (a TO b GAMMA(4, 2) REACHES 0.8, a BEFORE b EXPONENTIAL(3));
CREATE GAPS g3 ON unread_negation (a TO b UNIFORM(1, 9) REACHES 0.7);
"""
OVER = "CREATE QUERY over ON middle, s PATTERN SEQ(middle m, D d) WHERE [tag] WITHIN 15;"


def script() -> str:
    """Return the declarations."""
    queries = [f"CREATE QUERY {name} ON s PATTERN {rest};" for name, rest in QUERIES.items()]
    return "\n".join([STREAM, *queries, GAPS, OVER])


NAMES = (*QUERIES, "over")


def events(n: int, seed: int = 7) -> pa.Table:
    """Return a random stream: ties, equal times, uncertain and certain events, NULL values."""
    rng = random.Random(seed)
    t, rows = 0, []
    for k in range(n):
        t += rng.choice((0, 1, 1, 2))
        rows.append(
            {
                "id": k,
                "tag": rng.choice("xyz"),
                "kind": rng.choice("AABBCCDX"),
                "t": t,
                "tie": k,
                "p": rng.choice((1.0, 0.9, 0.5, 0.3)),
                "v": rng.choice((0, 1, 2, 3, None)),
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)


SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("tag", pa.string()),
        ("kind", pa.string()),
        ("t", pa.int64()),
        ("tie", pa.int64()),
        ("p", pa.float64()),
        ("v", pa.int64()),
    ]
)
DDL = "id long, tag string, kind string, t long, tie long, p double, v long"


def local(rows: pa.Table) -> list[dict[str, Any]]:
    """Return what the local engine answers."""
    ag = Session(engine="local")
    ag.sql(script())
    ag.bind("s", rows)
    return [row for name in NAMES for row in ag.table(name).to_pylist()]


def shuffled(rows: pa.Table, seed: int) -> pa.Table:
    """Return rows in an order that LATENESS allows."""
    rng = random.Random(seed)
    times = [t + rng.random() * (LATENESS - 0.01) for t in rows.column("t").to_pylist()]
    return rows.take(pa.array(sorted(range(len(times)), key=times.__getitem__)))


def written_in_files(rows: pa.Table, size: int, folder: Path) -> Path:
    """Write a file per micro-batch, and a last one whose time lets every match be known."""
    last = {"id": -1, "tag": "end", "kind": "X", "t": 10**6, "tie": 0, "p": 1.0, "v": 0}
    parts = [rows.slice(at, size) for at in range(0, rows.num_rows, size)]
    for k, part in enumerate([*parts, pa.Table.from_pylist([last], SCHEMA)]):
        path = folder / f"{k:05}.parquet"
        pq.write_table(part, path)
        os.utime(path, (1_000_000_000 + k, 1_000_000_000 + k))
    return folder


def files_as_a_stream(spark: SparkSession, folder: Path) -> DataFrame:
    """Return a streaming DataFrame that takes one file at a time."""
    reader = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def opened(answers: DataFrame) -> list[dict[str, Any]]:
    """Return the match rows of answers, with one job of Spark."""
    rows: list[dict[str, Any]] = []
    for row in answers.where("kind = 'match'").collect():
        rows += pa.ipc.open_stream(bytes(row.payload)).read_all().to_pylist()
    return rows


@contextmanager
def kept(batch: DataFrame) -> Iterator[DataFrame]:
    """Give a batch that is computed once, however often it is looked at."""
    own = batch.persist()
    yield own
    own.unpersist()


def streamed(session: Session, checkpoint: Path) -> list[dict[str, Any]]:
    """Return what one streaming run answers to every query."""
    found: list[dict[str, Any]] = []
    writer = session.pipeline(NAMES).answers.writeStream.trigger(availableNow=True)
    writer = writer.foreachBatch(lambda batch, number: found.extend(opened(batch)))
    writer.option("checkpointLocation", str(checkpoint)).start().awaitTermination()
    return found

"""CREATE GAPS ... LEARN FROM on Spark: what is learned is what the local engine learns."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from augury import DataError, Session
from contracts.live_cases import comparable
from spark.queries import opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STREAMS = """
CREATE STREAM s (tag LONG, kind STRING, t LONG) KEY tag TIME t TYPE kind MISS RATE 0.2;
CREATE TABLE wanted (kind STRING);
CREATE QUERY q ON s PATTERN SEQ(X x, !N n, Y y, Z z) WHERE [tag] AND y.kind IN wanted
WITHIN 9000 ALLOW 1 MISSED OF (y);
CREATE GAPS g ON q LEARN FROM history;
"""
HISTORY = "CREATE STREAM history (tag LONG, kind STRING, t LONG) KEY tag TIME t TYPE kind"
READS = [
    {"tag": tag, "kind": kind, "t": t}
    for tag in range(3)
    for kind, t in (("X", 100 * tag), ("Z", 2500), ("Y", 4000), ("Z", 5000 + tag))
]


def history(n: int = 200) -> pa.Table:
    rng = np.random.default_rng(11)
    start = np.arange(n) * 20_000
    times = {"X": start, "N": start + rng.exponential(2000, n), "Y": start + rng.gamma(2, 500, n)}
    times["Z"] = times["Y"] + rng.exponential(1500, n)
    tables = []
    for kind, own in times.items():
        kept = rng.random(n) > 0.2
        tables.append(
            pa.table(
                {
                    "tag": np.flatnonzero(kept) // 2,
                    "kind": np.repeat(kind, kept.sum()),
                    "t": own[kept].astype(np.int64),
                }
            )
        )
    return pa.concat_tables(tables)


def session(spark: SparkSession | None, declared: str = f"{HISTORY};") -> Session:
    ag = Session(spark, shards=2) if spark else Session(engine="local")
    ag.sql(declared + STREAMS)
    ag.bind("wanted", [{"kind": "Y"}])
    return ag


def expected() -> dict[str, Any]:
    ag = session(None)
    ag.bind("s", READS)
    ag.bind("history", history())
    found = ag.table("q").to_pylist()
    assert any(row["n_missed"] for row in found)
    return comparable(found)


def test_gaps_learned_on_spark_are_those_learned_here(spark: SparkSession) -> None:
    ag = session(spark)
    ag.bind("s", READS)
    ag.bind("history", spark.createDataFrame(history()).orderBy("t").repartition(3))
    assert comparable([row.asDict(recursive=True) for row in ag.table("q").collect()]) == expected()
    here = session(None)
    here.bind("history", history())
    assert ag.gaps("q") == here.gaps("q")


def test_a_stream_learns_from_files_that_have_an_end(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(history(), tmp_path / "history.parquet")
    (tmp_path / "in").mkdir()
    end = {"tag": -1, "kind": "X", "t": 10**6}
    for k, rows in enumerate(([*READS], [end])):
        path = tmp_path / "in" / f"{k}.parquet"
        pq.write_table(pa.Table.from_pylist(rows), path)
        # Spark takes the older file first.
        os.utime(path, (1_000_000_000 + k, 1_000_000_000 + k))
    ag = session(spark, f"{HISTORY} FROM parquet '{tmp_path}/history.parquet';")
    reads = spark.readStream.schema("tag long, kind string, t long")
    ag.bind("s", reads.option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in")))
    found: list[dict[str, Any]] = []
    writer = ag.pipeline(["q"]).answers.writeStream.trigger(availableNow=True)
    writer = writer.foreachBatch(lambda batch, number: found.extend(opened(batch)))
    writer.option("checkpointLocation", str(tmp_path / "ck")).start().awaitTermination()
    assert comparable(found) == expected()


def test_a_history_without_end_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    ag = session(spark)
    ag.bind("s", READS)
    rows = spark.readStream.schema("tag long, kind string, t long").parquet(str(tmp_path))
    ag.bind("history", rows)
    with pytest.raises(DataError, match="a stream without end; bind bounded rows"):
        ag.table("q")

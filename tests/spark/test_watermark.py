"""Ticks of any size in a streaming run, and DataFrames that bring a watermark of their own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from augury import DataError, Session
from augury.runners.spark.watermark import EXACT, STEP, horizon_of, moment_of_tick
from augury.sources.rows import MOST_TICKS
from spark.queries import kept, opened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE STREAM s (id LONG, tag STRING, kind STRING, t LONG)
ID id KEY tag TIME t TYPE kind LATENESS 5;
CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 100;
"""
DDL = "id long, tag string, kind string, t long"
NANOSECONDS = 1_767_261_600 * 10**9


def files(batches: list[list[tuple[Any, ...]]], folder: Path) -> str:
    folder.mkdir()
    for k, batch in enumerate(batches):
        rows = [dict(zip(("id", "tag", "kind", "t"), row, strict=True)) for row in batch]
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{k}.parquet")
        os.utime(folder / f"{k}.parquet", (10**9 + k, 10**9 + k))
    return str(folder)


def stream(spark: SparkSession, folder: str) -> DataFrame:
    return spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(folder)


def session(spark: SparkSession, rows: DataFrame) -> Session:
    ag = Session(spark, shards=2)
    ag.sql(SCRIPT)
    ag.bind("s", rows)
    return ag


@pytest.mark.rotating(4)
@pytest.mark.parametrize("base", [0, EXACT - 1000, NANOSECONDS], ids=["small", "edge", "ns"])
def test_ticks_that_no_watermark_counts_are_rejected_and_the_stream_goes_on(
    spark: SparkSession, tmp_path: Path, base: int
) -> None:
    batches = [
        [(1, "x", "A", base + 10), (2, "x", "B", base + 20)],
        [(3, "y", "A", 2**63 - 1), (4, "y", "B", -(2**63)), (5, "x", "A", base + 3000)],
        [(6, "x", "A", base + 5)],
        [(7, "x", "B", base + 3010), (8, "x", "A", base + 6000)],
    ]
    pipeline = session(spark, stream(spark, files(batches, tmp_path / "in"))).pipeline(
        ["q"], tells_faults=True
    )
    matches: list[tuple[int, int]] = []
    aside: list[tuple[str, int, str]] = []

    def take(batch: DataFrame, number: int) -> None:
        with kept(batch) as own:
            matches.extend((row["start_ts"], row["end_ts"]) for row in opened(own))
            for kind in ("late", "rejected"):
                rows = pipeline.rows(own, kind, "s").collect()
                aside.extend((kind, row.id, row.reason) for row in rows)

    writer = pipeline.answers.writeStream.trigger(availableNow=True).foreachBatch(take)
    writer.option("checkpointLocation", str(tmp_path / "state")).start().awaitTermination()
    assert sorted(matches) == [(base + 10, base + 20), (base + 3000, base + 3010)]
    beyond = f"t is not a tick between -{MOST_TICKS} and {MOST_TICKS}"
    assert {(kind, n) for kind, n, _ in aside} == {("rejected", 3), ("rejected", 4), ("late", 6)}
    assert {reason for kind, _, reason in aside if kind == "rejected"} == {beyond}


def test_spark_counts_ticks_less_lateness_as_they_are_counted_back(spark: SparkSession) -> None:
    lateness = 7
    near = [EXACT + k for k in (-1, 0, 1, lateness, lateness + 1, STEP + lateness, 2 * STEP)]
    ticks = [1, 7, 8, 10**6, *near, NANOSECONDS, MOST_TICKS, MOST_TICKS + 1, 2**63 - 1, -(2**63)]
    rows = spark.createDataFrame([(tick,) for tick in [*ticks, None]], "t long")
    moment = moment_of_tick("t", lateness)
    found = rows.selectExpr("t", f"unix_millis(timestamp_millis({moment})) AS m").collect()
    counted = {row.t: row.m for row in found}
    for tick in ticks:
        if lateness < tick <= MOST_TICKS:
            behind = tick - lateness
            reached = horizon_of(counted[tick], ticks=True)
            assert reached == behind if behind <= EXACT else behind - STEP < reached <= behind
        else:
            assert counted[tick] == 0
    assert counted[None] == 0


def test_rows_with_a_watermark_of_their_own_are_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = stream(spark, files([[(1, "x", "A", 10)]], tmp_path / "in"))
    marked = rows.selectExpr("*", "timestamp_millis(t) AS at").withWatermark("at", "2 hours")
    for own in (marked, marked.drop("at"), marked.where("id > 0").select("id", "tag", "kind", "t")):
        with pytest.raises(DataError, match="stream s have a watermark of their own"):
            session(spark, own).table("q")
    assert session(spark, rows).table("q").isStreaming

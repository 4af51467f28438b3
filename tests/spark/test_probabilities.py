"""RETURN PROBABILITY BY TIME: local, batch and streaming runs give the same, and so does push.

Over rows without end, rows of groups with probability 0 are left out.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from augury import QueryError, Session
from contracts.test_chain_shards import (
    LOOKING_BACK,
    QUERIES,
    SCRIPT,
    TABLES,
    Rows,
    comparable,
    expected_rows,
    random_rows,
    session,
)
from runners.test_floors import ENTERED, FLOOR, READS
from runners.test_floors import TABLES as FLOOR_TABLES
from spark.queries import opened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
LATELY = ("anyone_lately", "each_lately", "markovian_lately", "exactly_lately")
MORE = {
    "archived": "CREATE STREAM then AS SMOOTH reads USING building;"
    "CREATE QUERY archived ON then PATTERN SEQ(then a, then b) WHERE [tag] AND a.place = 'hall'"
    " AFTER WHERE b.place = 'room' USING SKIP TILL NEXT MATCH RETURN PROBABILITY BY TIME;",
    "decided": "CREATE STREAM path AS VITERBI reads USING building;"
    "CREATE QUERY decided ON path PATTERN SEQ(path a, path b) WHERE [tag] AND a.place <> b.place"
    " WITHIN 3;",
}


def on_spark(spark: SparkSession, data: dict[str, Any]) -> Session:
    ag = Session(spark, shards=3)
    ag.sql(SCRIPT)
    for name, rest in QUERIES.items():
        ag.sql(f"CREATE QUERY {name} {rest} RETURN PROBABILITY BY TIME;")
    for name in LATELY:
        rest = LOOKING_BACK[name]
        ag.sql(f"CREATE QUERY {name} {rest} RETURN PROBABILITY BY TIME OVER 3;")
    for name, rows in {**TABLES, **data}.items():
        ag.bind(name, rows)
    return ag


def by_query(rows: Rows) -> dict[str, Any]:
    names = {row["query"] for row in rows}
    return {name: comparable([row for row in rows if row["query"] == name]) for name in names}


def expected(data: dict[str, Rows]) -> dict[str, Any]:
    ag = session(data)
    return {name: comparable(ag.table(name).to_pylist()) for name in (*QUERIES, *LATELY)}


def test_batch_is_local(spark: SparkSession) -> None:
    data = random_rows(3)
    found = by_query(opened(on_spark(spark, data).pipeline((*QUERIES, *LATELY)).answers))
    for name, rows in expected(data).items():
        assert found[name] == pytest.approx(rows, abs=1e-9)


def in_files(spark: SparkSession, rows: Rows, folder: Path, size: int) -> DataFrame:
    """Return rows as a stream, a file per few ticks, and one at the end that closes it."""
    folder.mkdir()
    table = pa.Table.from_pylist(rows)
    last = pa.Table.from_pylist([rows[0] | {"tag": "end", "t": 10**4}], table.schema)
    times = table.column("t").to_pylist()
    parts = [
        table.filter(pa.array([start <= t < start + size for t in times]))
        for start in range(0, 9, size)
    ]
    for k, part in enumerate([*parts, last]):
        path = folder / f"{k:03}.parquet"
        pq.write_table(part, path)
        os.utime(path, (1_000_000_000 + k, 1_000_000_000 + k))
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


@pytest.mark.rotating(2)
def test_streaming_is_local(spark: SparkSession, tmp_path: Path) -> None:
    data = random_rows(4)
    streams = {name: in_files(spark, rows, tmp_path / name, 5) for name, rows in data.items()}
    ag, found = on_spark(spark, streams), list[dict[str, Any]]()
    writer = ag.pipeline((*QUERIES, *LATELY)).answers.writeStream.trigger(availableNow=True)
    writer = writer.foreachBatch(lambda batch, number: found.extend(opened(batch)))
    writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    wanted = expected(data)
    here = session(data)
    wanted |= {name: expected_rows(here, name, data) for name in LATELY}
    until = max(row["t"] for row in data["s"])
    known = [row for row in found if row.get("tag") != "end" and row["ts"] <= until]
    at_once = ("anyone", "each", "certain", "strictly", "alternatives", "markovian")
    for name in (*at_once, "filtered", "exactly", *LATELY):
        assert by_query(known)[name] == pytest.approx(wanted[name], abs=1e-9)
    # The last steps of a lag are known at the end of the stream, which does not come.
    for name in ("lagged", "closely"):
        told = by_query(known)[name]
        assert told == pytest.approx({k: p for k, p in wanted[name].items() if k in told})


def test_archived_readings_are_inferred_in_batch(spark: SparkSession) -> None:
    data = {"reads": random_rows(5)["reads"]}
    here, there = session(data), on_spark(spark, data)
    for name, text in MORE.items():
        here.sql(text)
        there.sql(text)
        found = [row.asDict(recursive=True) for row in there.table(name).collect()]
        assert sorted(map(rounded, found)) == sorted(map(rounded, here.table(name).to_pylist()))


def test_particles_are_followed_in_batch(spark: SparkSession) -> None:
    here, there = Session(engine="local"), Session(spark, shards=3)
    for ag in (here, there):
        ag.sql(f"{FLOOR} CREATE STREAM at AS PARTICLES (200) reads USING floor SMOOTHED; {ENTERED}")
        for name, rows in {**FLOOR_TABLES, "reads": READS}.items():
            ag.bind(name, rows)
    found = [row.asDict(recursive=True) for row in there.table("entered").collect()]
    assert sorted(map(rounded, found)) == sorted(map(rounded, here.table("entered").to_pylist()))


def rounded(row: dict[str, Any]) -> str:
    kept = {k: v for k, v in row.items() if k in ("ts", "probability", "start_ts", "end_ts", "tag")}
    return str({k: round(v, 9) if isinstance(v, float) else v for k, v in sorted(kept.items())})


def test_readings_that_no_model_takes_are_told(spark: SparkSession) -> None:
    ag = on_spark(spark, {"reads": [{"tag": "x", "reader": r, "t": t} for t, r in enumerate("AZ")]})
    told = [(row.t, row.reason) for row in ag.rejected("now").collect()]
    assert told == [(1, "sensor 'Z' is not in model building")]


@pytest.mark.parametrize(("text", "reason"), [(MORE["archived"], "needs all readings")])
def test_what_needs_all_rows_is_refused_in_a_stream(
    spark: SparkSession, tmp_path: Path, text: str, reason: str
) -> None:
    ag = on_spark(spark, {"reads": in_files(spark, random_rows(1)["reads"], tmp_path / "in", 9)})
    ag.sql(text)
    with pytest.raises(QueryError, match=reason):
        ag.table("archived")

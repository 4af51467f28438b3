"""Local, batch and streaming runs give the same answers, however Spark cuts and moves the rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from augury import DataError, QueryError, Session
from contracts.live_cases import comparable
from spark.queries import (
    DDL,
    NAMES,
    SCHEMA,
    STREAM,
    events,
    files_as_a_stream,
    local,
    opened,
    script,
    shuffled,
    streamed,
    written_in_files,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def on_spark(spark: SparkSession, data: Any, shards: int) -> Session:
    ag = Session(spark, shards=shards)
    ag.sql(script())
    ag.bind("s", data)
    return ag


@pytest.mark.parametrize("shards", [1, 3, 16])
def test_batch_is_local(spark: SparkSession, shards: int) -> None:
    rows = events(60)
    data = spark.createDataFrame(shuffled(rows, shards)).repartition(3)
    found = opened(on_spark(spark, data, shards).pipeline(NAMES).answers)
    assert comparable(found) == comparable(local(rows))
    missing = {row["query"] for row in found if row["n_missed"]}
    assert missing == {"unread_middle", "unread_end"}


@pytest.mark.parametrize("name", ["plain", "keyless", "over"])
def test_one_query_is_a_lazy_table(spark: SparkSession, name: str) -> None:
    rows = events(60)
    found = on_spark(spark, spark.createDataFrame(rows), 3).table(name).collect()
    wanted = [row for row in local(rows) if row["query"] == name]
    assert wanted
    assert comparable([r.asDict(recursive=True) for r in found]) == comparable(wanted)


def test_a_stream_makes_the_columns_that_are_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    rows, found = events(42), dict[str, float]()
    (tmp_path / "files").mkdir()
    folder = written_in_files(rows, 21, tmp_path / "files")
    ag = on_spark(spark, files_as_a_stream(spark, folder), 3)
    answer = ag.table("plain", ["confidence", "match_id"])
    assert answer.columns == ["confidence", "match_id"]

    def take(batch: DataFrame, _: int) -> None:
        found.update((row.match_id, row.confidence) for row in batch.collect())

    writer = answer.writeStream.trigger(availableNow=True).foreachBatch(take)
    writer.option("checkpointLocation", str(tmp_path / "state")).start().awaitTermination()
    wanted = [row for row in local(rows) if row["query"] == "plain"]
    assert wanted
    assert found == {row["match_id"]: row["confidence"] for row in wanted}


@pytest.mark.rotating(3)
@pytest.mark.parametrize(("size", "shards", "n"), [(1, 3, 12), (7, 16, 42), (10**6, 1, 60)])
def test_streaming_is_local(
    spark: SparkSession, tmp_path: Path, size: int, shards: int, n: int
) -> None:
    rows = events(n)
    folder = tmp_path / "in"
    folder.mkdir()
    written_in_files(shuffled(rows, size), size, folder)
    session = on_spark(spark, files_as_a_stream(spark, folder), shards)
    found = streamed(session, tmp_path / "checkpoint")
    assert comparable(found) == comparable(local(rows))


def test_counts_and_probabilities_are_local_in_batch(spark: SparkSession) -> None:
    text = STREAM + (
        "CREATE QUERY n ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 9 RETURN COUNT;"
        "CREATE QUERY p ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 9 RETURN PROBABILITY;"
    )
    rows = events(20)
    here, there = Session(engine="local"), Session(spark, shards=3)
    for ag in (here, there):
        ag.sql(text)
        ag.bind("s", rows)
    for name in ("n", "p"):
        found = [row.asDict() for row in there.table(name).collect()]
        assert sorted(map(rounded, found)) == sorted(map(rounded, here.table(name).to_pylist()))


def rounded(row: dict[str, Any]) -> str:
    return str({k: round(v, 9) if isinstance(v, float) else v for k, v in row.items()})


def test_a_streaming_run_needs_a_window_and_answers_before_its_end(
    spark: SparkSession, tmp_path: Path
) -> None:
    ag = Session(spark)
    ag.sql(
        STREAM
        + "CREATE QUERY endless ON s PATTERN SEQ(A a, B b) WHERE [tag];"
        + "CREATE QUERY ever ON s PATTERN SEQ(A a, B b) RETURN PROBABILITY;"
    )
    ag.bind("s", files_as_a_stream(spark, tmp_path))
    for name, code in (("endless", "P004"), ("ever", "P003")):
        with pytest.raises(QueryError) as caught:
            ag.table(name)
        assert [d.code for d in caught.value.diagnostics] == [code]


def test_nothing_runs_before_rows_are_asked_for(spark: SparkSession) -> None:
    def fails(batches: Any) -> Any:
        raise AssertionError("a row was read")

    data = spark.range(1).mapInArrow(fails, DDL)
    ag = on_spark(spark, data, 3)
    for name in NAMES:
        assert ag.table(name).columns[:2] == ["query", "match_id"]
    assert ag.rejected("s").columns[-1] == "reason"


def test_bad_rows_are_told_with_their_reason(spark: SparkSession) -> None:
    good = events(3).to_pylist()
    bad = [
        good[0] | {"id": 10, "tag": None},
        good[0] | {"id": 11, "t": None},
        good[0] | {"id": 12, "p": 1.5},
        good[0] | {"id": 13, "p": float("nan")},
        good[0] | {"id": None},
        good[1],
    ]
    ag = on_spark(spark, spark.createDataFrame(pa.Table.from_pylist(good + bad, SCHEMA)), 3)
    told = {(row.id, row.reason) for row in ag.rejected("s").collect()}
    assert told == {
        (10, "tag is null"),
        (11, "t is null"),
        (12, "p is not a probability between 0 and 1"),
        (13, "p is not a probability between 0 and 1"),
        (None, "id is null"),
        (1, "id was seen before"),
    }
    pipeline = ag.pipeline(["plain"], tells_faults=True)
    rows = pipeline.rows(pipeline.answers, "rejected", "s").collect()
    assert {(row.id, row.reason) for row in rows} >= {pair for pair in told if pair[0] != 1}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"v": None}, "declares column v, which the data do not have"),
        ({"t": "cast(t as string)"}, "column t of stream s is declared LONG, but the data have"),
        ({"p": "cast(p as string)"}, "column p of stream s is declared DOUBLE, but the data have"),
    ],
)
def test_wrong_columns_are_an_error_that_says_what_to_do(
    spark: SparkSession, change: dict[str, str | None], told: str
) -> None:
    columns = {name: name for name in SCHEMA.names} | change
    texts = [f"{text} AS {name}" for name, text in columns.items() if text is not None]
    ag = on_spark(spark, spark.createDataFrame(events(3)).selectExpr(*texts), 3)
    with pytest.raises(DataError, match=told):
        ag.table("plain")

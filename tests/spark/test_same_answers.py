"""Local, batch and streaming runs give the same answers, however Spark cuts and moves the rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from augury import Session
from contracts.live_cases import comparable
from spark.queries import (
    NAMES,
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
    from pyspark.sql import SparkSession

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


@pytest.mark.parametrize("name", ["plain", "keyless", "over"])
def test_one_query_is_a_lazy_table(spark: SparkSession, name: str) -> None:
    rows = events(60)
    found = on_spark(spark, spark.createDataFrame(rows), 3).table(name).collect()
    wanted = [row for row in local(rows) if row["query"] == name]
    assert wanted
    assert comparable([r.asDict(recursive=True) for r in found]) == comparable(wanted)


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

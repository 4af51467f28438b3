"""Matches that are too many for one step end a run on Spark in words, from inside a worker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from augury import Session
from augury.errors import DataError
from augury.runners.process.failures import OF_SPARK, explained
from spark.queries import written_in_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE STREAM s (kind STRING, t LONG) TIME t TYPE kind;
CREATE QUERY q ON s PATTERN SEQ(A a, B b) WITHIN 1000000;
"""
ROWS = 20_000


def rows() -> pa.Table:
    kinds = pa.array(np.where(np.arange(ROWS) % 2 == 0, "A", "B"))
    return pa.table({"kind": kinds, "t": np.arange(ROWS)})


def test_a_batch_run_tells_what_is_too_much(spark: SparkSession) -> None:
    ag = Session(spark)
    ag.sql(SCRIPT)
    ag.bind("s", spark.createDataFrame(rows()))
    with pytest.raises(OF_SPARK) as problem:
        ag.table("q").collect()
    told = explained(problem.value)
    assert isinstance(told, DataError)
    assert str(told).startswith("query q: more than 20,000,000 matches in one step; narrow WITHIN")


@pytest.mark.rotating(3, 0)
def test_a_streaming_run_tells_what_is_too_much(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    folder = written_in_files(rows(), ROWS, tmp_path / "in")
    ag = Session(spark, shards=1)
    ag.sql(SCRIPT)
    ag.bind("s", spark.readStream.schema("kind string, t long").parquet(str(folder)))
    writer = ag.pipeline(["q"]).answers.writeStream.trigger(availableNow=True).format("noop")
    with pytest.raises(OF_SPARK) as problem:
        writer.option("checkpointLocation", str(tmp_path / "c")).start().awaitTermination()
    assert str(explained(problem.value)).startswith("query q: more than 20,000,000 matches in one")

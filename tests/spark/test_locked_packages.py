"""The locked packages work together: Spark starts, and its workers see this environment."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_workers_run_this_interpreter_and_exchange_arrow(spark: SparkSession) -> None:
    def which(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import sys as worker

        import pyarrow as pa

        for batch in batches:
            names = [worker.executable] * batch.num_rows
            yield pa.RecordBatch.from_pydict({"executable": names})

    rows = spark.range(4).mapInArrow(which, "executable string").distinct().collect()
    assert [row.executable for row in rows] == [sys.executable]


def test_times_are_utc(spark: SparkSession) -> None:
    (row,) = spark.sql("SELECT CAST(TIMESTAMP '1970-01-02 00:00:00' AS LONG) AS at").collect()
    assert row["at"] == 86_400

"""Equal rows are numbered after the shuffle: ids are those of a local run, however rows are cut."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from augury import Session
from contracts.live_cases import comparable
from contracts.test_event_ids import QUERIES, READS, bound, reads
from spark.queries import opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("read", ["rows", "files"])
def test_ids_in_batch_are_those_of_a_local_run(
    spark: SparkSession, tmp_path: Path, read: str
) -> None:
    rows = pa.concat_tables([reads(60, seed) for seed in range(2)])
    data = spark.createDataFrame(rows).repartition(3)
    if read == "files":
        for k in range(2):
            pq.write_table(rows.slice(60 * k, 60), tmp_path / f"{k}.parquet")
        data = spark.read.parquet(str(tmp_path))
    ag = Session(spark, shards=3)
    ag.sql(READS)
    ag.bind("reads", data)
    for query in QUERIES:
        wanted = comparable(bound(READS, query, reads=rows))
        assert len(wanted) > 100
        assert comparable([r.asDict(recursive=True) for r in ag.table(query).collect()]) == wanted
    wanted = comparable([row for name in QUERIES for row in bound(READS, name, reads=rows)])
    assert comparable(opened(ag.pipeline(QUERIES).answers)) == wanted

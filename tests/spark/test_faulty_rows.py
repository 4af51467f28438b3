"""Rows with a fault change nothing but the table they are put into."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from augury import Session
from spark.queries import kept, opened, written_in_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

READS = """
CREATE STREAM s (id LONG, tag STRING, kind STRING, t LONG, p DOUBLE)
ID id KEY tag TIME t TYPE kind PROBABILITY p LATENESS 2;
CREATE QUERY q ON s PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 10;
"""
DDL = "id long, tag string, kind string, t long, p double"
COLUMNS = ("id", "tag", "kind", "t", "p")


@pytest.mark.rotating(3)
@pytest.mark.parametrize("fault", [{"tag": None}, {"p": 1.5}])
def test_a_rejected_row_does_not_move_the_watermark(
    spark: SparkSession, tmp_path: Path, fault: dict[str, Any]
) -> None:
    far = dict(zip(COLUMNS, (9, "x", "A", 5000, 0.5), strict=True)) | fault
    good = [(1, "x", "A", 100, 0.5), (2, "x", "B", 103, 0.5), (3, "z", "B", 9000, 0.5)]
    first, *others = (dict(zip(COLUMNS, row, strict=True)) for row in good)
    (tmp_path / "in").mkdir()
    table = pa.Table.from_pylist([first, far, *others])
    folder = written_in_files(table, 1, tmp_path / "in")
    ag = Session(spark, shards=2)
    ag.sql(READS)
    ag.bind("s", spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(folder)))
    pipeline = ag.pipeline(["q"], tells_faults=True)
    found: list[float] = []
    aside: list[tuple[str, int]] = []

    def take(batch: DataFrame, _: int) -> None:
        with kept(batch) as own:
            found.extend(row["confidence"] for row in opened(own))
            for kind in ("late", "rejected"):
                aside.extend((kind, row.id) for row in pipeline.rows(own, kind, "s").collect())

    writer = pipeline.answers.writeStream.trigger(availableNow=True).foreachBatch(take)
    writer.option("checkpointLocation", str(tmp_path / "state")).start().awaitTermination()
    assert (found, aside) == ([0.25], [("rejected", 9)])


PLACES = """
CREATE STREAM s (person STRING, place STRING, t LONG, p DOUBLE)
KEY person TIME t ALTERNATIVES place PROBABILITY p;
CREATE QUERY q ON s PATTERN SEQ(s a, s b)
WHERE [person] AND a.place = 'x' AND b.place = 'z' WITHIN 10;
"""


@pytest.mark.parametrize(("other", "matches"), [(0.7, 0), (0.3, 1)])
def test_alternatives_are_added_up_although_none_of_them_may_play(
    spark: SparkSession, other: float, matches: int
) -> None:
    rows = [("j", "x", 1, 0.7), ("j", "y", 1, other), ("j", "z", 2, 1.0)]
    ag = Session(spark, shards=2)
    ag.sql(PLACES)
    ag.bind("s", spark.createDataFrame(rows, "person string, place string, t long, p double"))
    assert ag.table("q").count() == matches


TIMED = """
CREATE STREAM s (tag STRING, at TIMESTAMP) KEY tag TIME at;
CREATE QUERY q ON s PATTERN SEQ(s a, s b) WHERE [tag] WITHIN 1 HOUR;
"""


def test_rejected_rows_keep_their_microseconds(spark: SparkSession) -> None:
    moment = datetime(2026, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)
    ag = Session(spark)
    ag.sql(TIMED)
    ag.bind("s", spark.createDataFrame([(None, moment)], "tag string, at timestamp"))
    pipeline = ag.pipeline(["q"], tells_faults=True)
    rejected = pipeline.rows(pipeline.answers, "rejected", "s")
    assert rejected.toArrow().column("at").to_pylist() == [moment]

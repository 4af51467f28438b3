"""A checkpoint that is not one's own: refused in plain words, and left as it was.

Spark would take any state for its own, and fail somewhere inside; the state itself knows better.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from augury.errors import StateError
from fault_tolerance.feeding import Row, run, session, write_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SCRIPT = "CREATE QUERY pair ON reads PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 50 SECONDS;"
OTHER = "CREATE QUERY pair ON reads PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 60 SECONDS;"
BEFORE: list[list[Row]] = [[(1, "x", "A", 0, 0.5), (2, "y", "A", 0, 0.5)], [(3, "x", "C", 10, 1.0)]]
AFTER: list[list[Row]] = [[(4, "x", "B", 20, 0.5), (5, "y", "B", 20, 1.0), (6, "z", "C", 200, 1.0)]]


@pytest.fixture(scope="module")
def begun(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a checkpoint that holds live rows, and rows that have come since."""
    folder = tmp_path_factory.mktemp("begun")
    write_batches(folder / "in", BEFORE)
    run(session(spark, SCRIPT, folder / "in", shards=2), ["pair"], folder / "checkpoint")
    write_batches(folder / "in", AFTER, first=len(BEFORE))
    return folder


@pytest.mark.rotating(2)
def test_other_queries_are_refused(spark: SparkSession, begun: Path) -> None:
    from augury.runners.process.running import Trigger, run_stream
    from augury.sinks.delivery import Delivery

    pipeline = session(spark, OTHER, begun / "in").pipeline(["pair"], tells_faults=True)
    place, trigger = str(begun / "checkpoint"), Trigger(once=True)
    with pytest.raises(StateError, match="belongs to other declarations than queries pair has now"):
        run_stream(pipeline.answers, Delivery(pipeline, {}), place, trigger, lambda _: None)


def test_another_number_of_shards_is_refused_in_words_that_spark_passes_on(
    spark: SparkSession, begun: Path
) -> None:
    from pyspark.errors import StreamingQueryException

    ag = session(spark, SCRIPT, begun / "in", shards=3)
    with pytest.raises(
        StreamingQueryException,
        match=r"StateError: the checkpoint was written with 2 shards, and this run has 3; set",
    ):
        run(ag, ["pair"], begun / "checkpoint")


def test_its_own_run_goes_on_as_if_nothing_had_been_tried(spark: SparkSession, begun: Path) -> None:
    found = run(session(spark, SCRIPT, begun / "in"), ["pair"], begun / "checkpoint")
    matches = found.rows["match", "pair"]
    assert sorted((match["tag"], match["confidence"]) for match in matches) == [
        ("x", 0.25),
        ("y", 0.5),
    ]

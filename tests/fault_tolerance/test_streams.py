"""What may happen to a stream: rows that come twice, bad rows, empty batches, pauses, lone keys.

One run sees all of it, so that nothing hides behind a stream that is otherwise well behaved.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from augury import Session
from augury.errors import DataError
from fault_tolerance.feeding import STREAM, Collected, Row, run, session, table_of, write_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SCRIPT = """
CREATE QUERY pair ON reads PATTERN SEQ(A a, B b) WHERE [tag] WITHIN 5 SECONDS;
CREATE QUERY quiet ON reads PATTERN SEQ(A a, !B b) WHERE [tag] WITHIN 5 SECONDS;
CREATE QUERY anyone ON reads PATTERN SEQ(B b, A a) WITHIN 5 SECONDS;
"""
QUERIES = ("pair", "quiet", "anyone")
NAN = float("nan")
PAUSE = 600.0
BATCHES: list[list[Row]] = [
    [(1, "x", "A", 0, 0.5), (2, "lone", "A", 1, 0.9), (3, "x", "B", 2, 0.8)],
    # The whole batch again, as a producer that had no answer sends it.
    [(1, "x", "A", 0, 0.5), (2, "lone", "A", 1, 0.9), (3, "x", "B", 2, 0.8)],
    [],
    [
        (4, None, "A", 3, 0.5),
        (5, "x", "A", 3, 1.5),
        (6, "x", "A", 3, NAN),
        (7, "x", "A", 3, None),
        (None, "x", "B", 3, 0.5),
        (8, "y", "A", 3, 1.0),
    ],
    [(9, "y", "B", PAUSE, 1.0), (10, "y", "A", PAUSE + 1, 0.5)],
    [(11, "y", "B", PAUSE + 2, 0.5), (12, "x", "A", 0, 0.25)],
    [(13, "none", "END", 2 * PAUSE, 1.0)],
]
LATE = {12}
NO_PROBABILITY = "p is not a probability between 0 and 1"


@pytest.fixture(scope="module")
def eventful(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Collected:
    folder = tmp_path_factory.mktemp("eventful")
    write_batches(folder / "in", BATCHES)
    return run(session(spark, SCRIPT, folder / "in"), QUERIES, folder / "checkpoint")


def local(query: str) -> list[tuple[str, float]]:
    ag = Session(engine="local")
    ag.sql(STREAM + SCRIPT)
    ag.bind("reads", table_of([row for batch in BATCHES for row in batch if row[0] not in LATE]))
    return facts(ag.table(query).to_pylist())


def facts(matches: list[dict[str, Any]]) -> list[tuple[str, float]]:
    return sorted((match["match_id"], match["confidence"]) for match in matches)


@pytest.mark.rotating(2)
@pytest.mark.parametrize("query", QUERIES)
def test_each_match_comes_once_whatever_happens_between(eventful: Collected, query: str) -> None:
    found = facts(eventful.rows["match", query])
    assert len(found) > 0
    assert found == local(query)


def test_a_key_that_appears_once_is_waited_for_and_reported(eventful: Collected) -> None:
    (alone,) = [each for each in eventful.rows["match", "quiet"] if each["tag"] == "lone"]
    assert alone["confidence"] == 0.9


def test_a_pause_ends_what_was_under_way(eventful: Collected) -> None:
    starts = {each["events"][0]["event_id"] for each in eventful.rows["match", "pair"]}
    assert starts == {"1", "10"}


def test_bad_rows_are_told_with_their_reason_and_copies_once_each(eventful: Collected) -> None:
    told = [(row["id"], row["reason"]) for row in eventful.rows["rejected", "reads"]]
    assert sorted(told, key=str) == sorted(
        [
            (1, "id was seen before"),
            (2, "id was seen before"),
            (3, "id was seen before"),
            (4, "tag is null"),
            (5, NO_PROBABILITY),
            (6, NO_PROBABILITY),
            (7, NO_PROBABILITY),
            (None, "id is null"),
        ],
        key=str,
    )


def test_a_row_after_the_watermark_is_told_once(eventful: Collected) -> None:
    (row,) = eventful.rows["late", "reads"]
    assert row["id"] == 12
    assert "before the watermark" in row["reason"]


def test_a_batch_without_rows_is_a_batch(eventful: Collected) -> None:
    assert len(eventful.batches) >= len(BATCHES)


def test_a_stream_without_a_declared_column_is_refused(spark: SparkSession) -> None:
    ag = Session(spark)
    ag.sql(STREAM + SCRIPT)
    ag.bind("reads", spark.readStream.format("rate").load())
    with pytest.raises(DataError, match="declares column id, which the data do not have"):
        ag.pipeline(["pair"])


def test_a_column_of_another_type_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    ag = Session(spark)
    ag.sql(STREAM + SCRIPT)
    columns = "id LONG, tag STRING, kind STRING, at LONG, p DOUBLE"
    ag.bind("reads", spark.readStream.schema(columns).json(str(tmp_path)))
    with pytest.raises(DataError, match=r"at of stream reads is declared TIMESTAMP, but .* bigint"):
        ag.pipeline(["pair"])

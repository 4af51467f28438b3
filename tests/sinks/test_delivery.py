"""Delivery: the rows of a batch go to their sinks, are counted, and nothing is delivered twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from augury.sinks.sink import Mode

pytestmark = pytest.mark.spark

ANSWERS = """
SELECT *, concat(kind, '!') AS reason
FROM VALUES ('match', 'theft', 2L), ('match', 'Theft', 1L), ('late', 'reads', 4L),
            ('rejected', 'reads', 1L), ('repeated', 'reads', 2L) AS t(kind, name, n)
"""


class Plain:
    """Answers whose rows are the answers themselves."""

    def rows(self, answers: DataFrame, kind: str, name: str) -> DataFrame:
        return answers.where(f"kind = '{kind}' AND lower(name) = '{name}'")


class Noting:
    """A sink that notes what it was asked."""

    mode: Mode = "upsert"

    def __init__(self) -> None:
        self.asked: list[tuple[str, int, int]] = []

    def open(self) -> None:
        self.asked.append(("open", 0, 0))

    def write(self, rows: DataFrame, batch: int) -> None:
        self.asked.append(("write", batch, rows.count()))

    def clear(self, batch: int) -> None:
        self.asked.append(("clear", batch, 0))


def test_rows_go_to_the_sinks_of_their_kind_and_name(spark: SparkSession) -> None:
    from augury.sinks.delivery import Delivery

    theft, other, late = Noting(), Noting(), Noting()
    places = {("match", "theft"): [theft], ("match", "other"): [other], ("late", "reads"): [late]}
    delivery = Delivery(Plain(), places)
    delivery.open()
    delivery.deliver(spark.sql(ANSWERS), 5)
    assert theft.asked == [("open", 0, 0), ("write", 5, 2)]
    assert other.asked == [("open", 0, 0), ("clear", 5, 0)]
    assert late.asked == [("open", 0, 0), ("write", 5, 1)]
    assert delivery.first_reasons == {("late", "reads"): "late!"}


def test_numbers_hear_how_sure_the_answers_of_each_place_are(spark: SparkSession) -> None:
    from augury.runners.metrics import Metrics
    from augury.sinks.delivery import Delivery

    metrics = Metrics({"theft": "theft"})
    delivery = Delivery(Plain(), {("match", "theft"): [Noting()]}, metrics=metrics)
    delivery.deliver(spark.sql(f"SELECT *, n / 4D AS confidence FROM ({ANSWERS})"), 0)
    assert 'augury_confidence_mean{query="theft"} 0.375' in metrics.text()
    assert metrics.text().count("augury_confidence_mean{") == 1


def test_rows_inside_the_answers_are_counted(spark: SparkSession) -> None:
    from augury.sinks.delivery import Delivery

    delivery = Delivery(Plain(), {})
    delivery.deliver(spark.sql(ANSWERS), 0)
    delivery.deliver(spark.sql(ANSWERS), 1)
    assert delivery.totals == {
        ("match", "theft"): 6,
        ("late", "reads"): 8,
        ("rejected", "reads"): 6,
    }
    assert delivery.total("match") == 6


def test_only_the_first_batch_of_a_run_may_be_a_repetition(spark: SparkSession) -> None:
    from augury.sinks.delivery import Delivery

    sink = Noting()
    delivery = Delivery(Plain(), {("match", "other"): [sink]})
    delivery.deliver(spark.sql(ANSWERS), 8)
    delivery.deliver(spark.sql(ANSWERS), 9)
    assert sink.asked == [("clear", 8, 0)]


def test_a_run_that_is_to_stop_begins_no_batch(spark: SparkSession) -> None:
    from augury.sinks.delivery import Delivery, StoppedError

    sink = Noting()
    delivery = Delivery(Plain(), {("match", "theft"): [sink]})
    delivery.stopping.set()
    with pytest.raises(StoppedError):
        delivery.deliver(spark.sql(ANSWERS), 0)
    assert sink.asked == []
    assert isinstance(delivery.failure, StoppedError)


def test_the_console_shows_each_row(spark: SparkSession) -> None:
    from augury.sinks.console import ConsoleSink

    shown: list[tuple[str, str, int]] = []
    sink = ConsoleSink("theft", lambda query, row: shown.append((query, row["kind"], row["n"])))
    sink.open()
    sink.write(spark.sql(ANSWERS).where("kind = 'late'"), 0)
    sink.clear(1)
    assert shown == [("theft", "late", 4)]

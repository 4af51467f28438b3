"""Kafka as source and sink: what is wrong with messages and topics, and batches that come again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from augury.errors import DataError
from kafka.topics import create, options, received, send
from sources.declaring import stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from augury.sinks.topic import TopicSink
    from kafka.broker import Broker

pytestmark = [pytest.mark.spark, pytest.mark.slow]

COLUMNS = "tag STRING, n LONG, at TIMESTAMP"
GOOD = {"tag": "a", "n": 7, "at": "2026-01-31T12:00:00Z"}

Fresh = Callable[[str], str]


def origin(broker: Broker, topic: str) -> str:
    return f"kafka '{topic}' OPTIONS (servers = '{broker.servers}')"


def test_messages_are_objects_with_the_declared_columns(
    spark: SparkSession, broker: Broker, fresh_topic: Fresh
) -> None:
    from augury.sources.spark_sources import read

    topic = fresh_topic("reads")
    send(spark, broker, topic, [GOOD, "{oops", GOOD | {"n": "x"}, {"tag": "a"}, b"\xff", None])
    schema = stream(COLUMNS, origin=origin(broker, topic), clauses="KEY tag")
    found = read(spark, schema, False).toArrow().to_pylist()
    assert [row["_augury_fault"] for row in found] == [
        None,
        "the text is not a JSON object",
        "n is declared LONG, but is x",
        "column at is missing",
        "the text is not UTF-8",
        "the message is empty",
    ]
    assert (found[0]["tag"], found[0]["n"]) == ("a", 7)
    assert found[1]["_augury_raw"] == "{oops"


def test_a_new_stream_begins_with_the_earliest_message(
    spark: SparkSession, broker: Broker, fresh_topic: Fresh
) -> None:
    from augury.sources.spark_sources import read

    topic = fresh_topic("reads")
    send(spark, broker, topic, [GOOD, GOOD])
    arriving = read(spark, stream(COLUMNS, origin=origin(broker, topic)), True)
    query = arriving.writeStream.format("memory").queryName("from_kafka")
    query.trigger(availableNow=True).start().awaitTermination(120)
    assert spark.table("from_kafka").count() == 2


@pytest.mark.parametrize("streaming", [False, True])
def test_a_topic_that_does_not_exist_is_named(
    spark: SparkSession, broker: Broker, fresh_topic: Fresh, streaming: bool
) -> None:
    from augury.sources.spark_sources import read

    known = fresh_topic("known")
    create(spark, broker, known)
    schema = stream(COLUMNS, origin=origin(broker, "nowhere"))
    with pytest.raises(DataError, match=r"s reads topic nowhere, which .* does not have") as caught:
        read(spark, schema, streaming)
    assert known in str(caught.value)


def test_a_broker_that_does_not_answer_is_named(
    spark: SparkSession, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    from augury import brokers
    from augury.sources.spark_sources import read

    monkeypatch.setattr(brokers, "_PATIENCE_MS", 3000)
    schema = stream(COLUMNS, origin="kafka 'reads' OPTIONS (servers = '127.0.0.1:1')")
    with pytest.raises(DataError, match=r"servers 127\.0\.0\.1:1 could not list its topics"):
        read(spark, schema, True)


# The sink ----------------------------------------------------------------------------------------


def hits(spark: SparkSession, *names: str) -> DataFrame:
    values = ", ".join(f"('{name}', 0L, CAST(NULL AS STRING))" for name in names)
    return spark.sql(f"SELECT * FROM VALUES {values} AS t(match_id, revision, item)")


@pytest.fixture
def make_sink(
    spark: SparkSession, broker: Broker, fresh_topic: Fresh, tmp_path: Path
) -> Callable[[], TopicSink]:
    from augury.sinks.topic import TopicSink

    topic = fresh_topic("hits")

    def make() -> TopicSink:
        made = TopicSink(spark, "theft", topic, options(broker), str(tmp_path / "notes"))
        made.open()
        return made

    return make


def keys(messages: list[dict[str, Any]]) -> list[str]:
    return sorted(message["key"] for message in messages)


def test_a_message_has_the_match_id_the_row_and_its_origin(
    spark: SparkSession, broker: Broker, make_sink: Callable[[], TopicSink]
) -> None:
    sink = make_sink()
    sink.write(hits(spark, "a"), 17)
    assert received(spark, broker, sink.topic) == [
        {
            "key": "a",
            "value": {"match_id": "a", "revision": 0, "item": None},
            "headers": {"query": "theft", "batch": "17"},
        }
    ]


def test_a_batch_that_is_repeated_sends_only_what_did_not_arrive(
    spark: SparkSession, broker: Broker, make_sink: Callable[[], TopicSink]
) -> None:
    first = make_sink()
    first.write(hits(spark, "z"), 3)
    first.write(hits(spark, "a", "b"), 4)
    again = make_sink()
    again.write(hits(spark, "a", "b", "c"), 4)
    again.write(hits(spark, "d"), 5)
    assert keys(received(spark, broker, first.topic)) == ["a", "b", "c", "d", "z"]


def test_a_batch_that_was_noted_but_not_sent_is_sent(
    spark: SparkSession,
    broker: Broker,
    make_sink: Callable[[], TopicSink],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from augury.sinks.topic import TopicSink as Sink

    sink = make_sink()
    monkeypatch.setattr(Sink, "_messages", lambda *_: spark.sql("SELECT 1 AS nothing"))
    with pytest.raises(Exception, match="value"):
        sink.write(hits(spark, "a"), 0)
    monkeypatch.undo()
    make_sink().write(hits(spark, "a"), 0)
    assert keys(received(spark, broker, sink.topic)) == ["a"]


def test_an_answer_that_is_revised_is_another_message(
    spark: SparkSession, broker: Broker, make_sink: Callable[[], TopicSink]
) -> None:
    sink = make_sink()
    sink.write(hits(spark, "a"), 0)
    revised = hits(spark, "a").selectExpr("match_id", "revision + 1 AS revision", "item")
    sink.write(revised, 0)
    sink.write(revised, 0)
    found = received(spark, broker, sink.topic)
    assert sorted(message["value"]["revision"] for message in found) == [0, 1]


def revisions(spark: SparkSession, *rows: tuple[str, int, float]) -> DataFrame:
    return spark.createDataFrame(list(rows), "match_id string, revision long, confidence double")


def test_a_match_is_taken_back_by_a_message_or_by_a_tombstone(
    spark: SparkSession, broker: Broker, make_sink: Callable[[], TopicSink]
) -> None:
    from augury.sinks.sink import Revisions

    plain = make_sink()
    erasing = replace(plain, revisions=Revisions(erased_up_to=0.5))
    plain.write(revisions(spark, ("a", 0, 0.9)), 0)
    plain.write(revisions(spark, ("a", 1, 0.0)), 1)
    erasing.write(revisions(spark, ("a", 2, 0.8), ("b", 1, 0.5)), 2)
    erasing.write(revisions(spark, ("a", 2, 0.8), ("b", 1, 0.5), ("c", 4, 0.2)), 2)
    told = {"a": list[Any](), "b": list[Any](), "c": list[Any]()}
    for message in received(spark, broker, plain.topic):
        told[message["key"]].append(message["value"] and message["value"]["confidence"])
    assert told == {"a": [0.9, 0.0, 0.8], "b": [None], "c": [None]}


def test_the_log_of_a_match_arrives_in_order_also_when_its_batch_is_repeated(
    spark: SparkSession, broker: Broker, make_sink: Callable[[], TopicSink]
) -> None:
    from augury.sinks.revisions import in_order

    sink, numbers = make_sink(), range(12)
    batch = revisions(spark, *((key, k, 0.5) for k in reversed(numbers) for key in "ab"))
    sink.write(in_order(batch.where("revision < 3"), 1), 0)
    sink.write(in_order(batch, 2), 0)
    arrived: dict[str, list[int]] = {"a": [], "b": []}
    for message in received(spark, broker, sink.topic):
        arrived[message["key"]].append(message["value"]["revision"])
    assert arrived == {"a": list(numbers), "b": list(numbers)}


def test_forecasts_of_one_match_are_told_apart_when_a_batch_is_repeated(
    spark: SparkSession, broker: Broker, make_sink: Callable[[], TopicSink]
) -> None:
    sink, columns = make_sink(), "match_id string, forecast double"
    rows = [("a", 0.25), ("a", 0.5)]
    sink.write(spark.createDataFrame(rows[:1], columns), 0)
    sink.write(spark.createDataFrame(rows, columns), 0)
    found = [message["value"]["forecast"] for message in received(spark, broker, sink.topic)]
    assert sorted(found) == [0.25, 0.5]


def test_rows_without_a_match_id_are_known_by_their_content(
    spark: SparkSession, broker: Broker, make_sink: Callable[[], TopicSink]
) -> None:
    sink = make_sink()
    counts = spark.sql("SELECT 'q' AS query, 3L AS count")
    sink.write(counts, 0)
    sink.write(counts, 0)
    (message,) = received(spark, broker, sink.topic)
    assert message["value"] == {"query": "q", "count": 3}
    assert len(message["key"]) == 64

"""Sending to and reading from topics with Spark, and the store that most tests of Kafka watch."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import augury
from augury import brokers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka.broker import Broker

DECLARED = """
CREATE STREAM reads (id LONG, tag STRING, reader STRING, at TIMESTAMP, p DOUBLE)
ID id KEY tag TIME at TYPE reader PROBABILITY p LATENESS 1 MINUTE
"""
QUERY = """
CREATE QUERY theft ON reads
PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
WHERE [tag]
WITHIN 10 MINUTES
RETURN z.tag AS item;
"""


def options(broker: Broker) -> dict[str, str]:
    """Return what the connector needs to find the broker."""
    return {"kafka.bootstrap.servers": broker.servers}


def create(spark: SparkSession, broker: Broker, topic: str) -> None:
    """Create a topic with the broker's defaults."""
    brokers.ensure_topic(spark, options(broker), topic)


def send(spark: SparkSession, broker: Broker, topic: str, values: list[Any]) -> None:
    """Send texts, bytes, or what JSON is to be made of, in order, to partition 0."""
    create(spark, broker, topic)
    rows = [(_bytes(value), 0) for value in values]
    frame = spark.createDataFrame(rows, "value binary, partition int").coalesce(1)
    frame.write.format("kafka").options(**options(broker), topic=topic).save()


def _bytes(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode()


def received(spark: SparkSession, broker: Broker, topic: str) -> list[dict[str, Any]]:
    """Return the messages of a topic: key, value (read as JSON; None of a tombstone), headers."""
    reader = spark.read.format("kafka").options(**options(broker), subscribe=topic)
    rows = reader.option("includeHeaders", "true").load().orderBy("partition", "offset").collect()
    return [
        {
            "key": bytes(row["key"]).decode(),
            "value": None if row["value"] is None else json.loads(bytes(row["value"])),
            "headers": {each["key"]: bytes(each["value"]).decode() for each in row["headers"]},
        }
        for row in rows
    ]


def script(broker: Broker, source: str, target: str, more: str = "") -> str:
    """Return the script that reads one topic and writes another."""
    servers = f"servers = '{broker.servers}'"
    return (
        f"{DECLARED} FROM kafka '{source}' OPTIONS ({servers}{more});\n{QUERY}"
        f"WRITE theft TO kafka '{target}' OPTIONS ({servers});\n"
    )


def store(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Return reads of a store in the order of time; the last one is a day later, to end all."""
    rng, at = Random(seed), datetime(2026, 1, 1, tzinfo=UTC)
    reads = []
    for number in range(count):
        at += timedelta(seconds=rng.randint(1, 20))
        reader = rng.choice(["SHELF", "COUNTER", "EXIT"])
        reads.append(_read(number, f"t{rng.randint(0, 9)}", reader, at, round(rng.random(), 2)))
    return [*reads, _read(count, "last", "SHELF", at + timedelta(days=1), 1.0)]


def _read(number: int, tag: str, reader: str, at: datetime, p: float) -> dict[str, Any]:
    return {"id": number, "tag": tag, "reader": reader, "at": at.isoformat(), "p": p}


def thefts(reads: list[dict[str, Any]]) -> dict[str, float]:
    """Return what the local engine finds: match ids with their confidence."""
    session = augury.Session(engine="local")
    session.sql(f"{DECLARED};{QUERY}")
    session.bind("reads", [r | {"at": datetime.fromisoformat(r["at"])} for r in reads])
    found = session.table("theft")
    ids, chances = found.column("match_id").to_pylist(), found.column("confidence").to_pylist()
    return dict(zip(ids, chances, strict=True))

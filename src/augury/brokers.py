"""What a Kafka cluster says about itself: its topics, and where they end.

Asked through the Kafka client in Spark's own JVM, so that no other client is needed and the options
of the connector (security and all) hold here too. Where there is no JVM at hand (Spark Connect),
topics are not checked beforehand, and Spark's own error comes later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from augury.errors import DataError

SERVERS = "kafka.bootstrap.servers"
_PATIENCE_MS = 20_000
# A broker that is restarted while a run goes on is waited for.
_LONG_PATIENCE_MS = 180_000

Offsets = dict[str, int]


def connector(version: str) -> str:
    """Return the Maven coordinates of the connector that fits a Spark version.

    >>> connector("4.2.0")
    'org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0'
    """
    return f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version}"


def connector_is_missing(version: str, name: str) -> DataError:
    """Return the error for a Spark session without the connector."""
    return DataError(
        f"{name} needs Kafka, but this Spark session has no Kafka connector; start the session "
        f"with spark.jars.packages={connector(version)}, or use `augury run`, which does so"
    )


def with_servers(options: Mapping[str, str], user: str) -> dict[str, str]:
    """Return options in which the servers have Spark's name; `servers` is short for it."""
    found = dict(options)
    short = next((key for key in found if key.lower() == "servers"), None)
    if short is not None:
        found[SERVERS] = found.pop(short)
    if SERVERS not in found:
        raise DataError(
            f"{user} uses Kafka but says no servers; add OPTIONS (servers = 'host:9092')"
        )
    return found


def expect_topics(spark: Any, options: Mapping[str, str], topics: Sequence[str], user: str) -> None:
    """Raise `DataError` where a topic that is read does not exist, or no broker answers."""
    jvm = _jvm(spark)
    if jvm is None:
        return
    with _admin(jvm, options) as admin:
        known = _names(admin, options)
    for topic in topics:
        if topic.strip() not in known:
            have = ", ".join(sorted(known)[:10]) or "none"
            raise DataError(
                f"stream {user} reads topic {topic.strip()}, which {options[SERVERS]} does not "
                f"have; it has {have}: create the topic, or correct its name after FROM kafka"
            )


def ensure_topic(spark: Any, options: Mapping[str, str], topic: str) -> None:
    """Create a topic that is written to, with the broker's defaults, unless it exists."""
    jvm = _jvm(spark)
    if jvm is None:
        return
    with _admin(jvm, options) as admin:
        if topic not in _names(admin, options):
            default = jvm.java.util.Optional.empty()
            made = jvm.org.apache.kafka.clients.admin.NewTopic(topic, default, default)
            topics = jvm.java.util.Collections.singletonList(made)
            _answer(admin.createTopics(topics).all(), options, f"create topic {topic}")


def end_offsets(spark: Any, options: Mapping[str, str], topic: str) -> Offsets:
    """Return the offset after the last message of each partition, by its number as text."""
    jvm = _jvm(spark)
    if jvm is None:
        raise DataError("writing to Kafka needs a Spark session with its JVM in this process")
    kafka = jvm.org.apache.kafka
    with _admin(jvm, options, _LONG_PATIENCE_MS) as admin:
        named = jvm.java.util.Collections.singletonList(topic)
        described = _answer(
            admin.describeTopics(named).allTopicNames(), options, f"describe topic {topic}"
        )
        latest = jvm.java.util.HashMap()
        for each in described[topic].partitions():
            place = kafka.common.TopicPartition(topic, each.partition())
            latest.put(place, kafka.clients.admin.OffsetSpec.latest())
        ends = _answer(admin.listOffsets(latest).all(), options, f"ask where {topic} ends")
        return {str(place.partition()): int(end.offset()) for place, end in ends.items()}


def _jvm(spark: Any) -> Any:
    try:
        return spark._jvm
    except Exception:  # a Connect session refuses the attribute with an error of its own
        return None


@contextmanager
def _admin(jvm: Any, options: Mapping[str, str], patience_ms: int = 0) -> Iterator[Any]:
    properties = jvm.java.util.Properties()
    for key, value in options.items():
        if key.lower().startswith("kafka."):
            properties.put(key[len("kafka.") :], value)
    properties.put("default.api.timeout.ms", str(patience_ms or _PATIENCE_MS))
    properties.put("request.timeout.ms", str(_PATIENCE_MS // 2))
    admin = _made(jvm, properties, options)
    try:
        yield admin
    finally:
        admin.close()


def _made(jvm: Any, properties: Any, options: Mapping[str, str]) -> Any:
    try:
        return jvm.org.apache.kafka.clients.admin.AdminClient.create(properties)
    except Exception as problem:
        raise _refused(options, "be reached", problem) from problem


def _names(admin: Any, options: Mapping[str, str]) -> set[str]:
    return set(_answer(admin.listTopics().names(), options, "list its topics"))


def _answer(future: Any, options: Mapping[str, str], asked: str) -> Any:
    try:
        return future.get()
    except Exception as problem:
        raise _refused(options, asked, problem) from problem


def _refused(options: Mapping[str, str], asked: str, problem: Exception) -> DataError:
    reason = _reason(problem)
    return DataError(
        f"the Kafka servers {options[SERVERS]} could not {asked} ({reason}); "
        "is the broker running, and are the servers in OPTIONS right?"
    )


def _reason(problem: Exception) -> str:
    """Return the innermost message of an error that came through py4j."""
    cause = getattr(problem, "java_exception", None)
    if cause is None:
        return str(problem).splitlines()[0]
    while cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause.getMessage() or cause.toString())

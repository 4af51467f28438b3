"""Topics of Kafka as rows of a stream: values are JSON objects with the declared columns.

Options go to Spark's connector as they are; `servers` is short for `kafka.bootstrap.servers`. A run
begins with the earliest message unless `startingOffsets` says otherwise; afterwards its checkpoint
knows where to go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from augury import brokers
from augury.errors import DataError
from augury.sources.declared import DeclaredStream, kinds, needed
from augury.sources.texts import read_objects

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from augury.language.tree import External

_CHOICES = ("subscribe", "subscribePattern", "assign")


def read_topic(
    spark: SparkSession, declared: DeclaredStream, source: External, streaming: bool
) -> DataFrame:
    """Return the messages of a topic: all that are there, or all that will be."""
    options = connector_options(source, declared.name)
    reader = (spark.readStream if streaming else spark.read).format("kafka").options(**options)
    try:
        messages = reader.load()
    except AnalysisException as problem:
        raise brokers.connector_is_missing(spark.version, declared.name) from problem
    topic = options.get("subscribe")
    if topic is not None:
        brokers.expect_topics(spark, options, topic.split(","), declared.name)
    return read_objects(messages.select("value"), kinds(declared), needed(declared))


def connector_options(source: External, name: str) -> dict[str, str]:
    """Return the options of Spark's connector for what stands after FROM."""
    options = brokers.with_servers(source.settings, f"stream {name}")
    lowered = {key.lower() for key in options}
    if source.path is not None and not lowered & {choice.lower() for choice in _CHOICES}:
        options["subscribe"] = source.path
    elif not lowered & {choice.lower() for choice in _CHOICES}:
        raise DataError(f"stream {name} says no topic; write FROM kafka 'topic'")
    if not lowered & {"startingoffsets", "startingtimestamp", "startingoffsetsbytimestamp"}:
        options["startingOffsets"] = "earliest"
    return options

"""A topic of Kafka as a sink: one message per answer, its key the match id, its value JSON.

Kafka takes what it is given, so a batch that is repeated must skip what arrived the first time.
Before a batch writes anything, where the topic ends is stored beside the checkpoint. If that is
stored already for the same batch, the batch is repeated: the answers that the topic has since then
are not sent again. Headers name the query and the batch.

A match that is revised is a further message under its key, so that compaction keeps the last.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import functions as f

from augury import brokers
from augury.sinks.sink import MICROSECONDS, Mode, Revisions
from augury.sinks.store import Store

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ID = "match_id"


@dataclass(frozen=True)
class TopicSink:
    """A topic; `notes` is the folder, beside the checkpoint, for where batches began."""

    spark: Any
    query: str
    topic: str
    options: Mapping[str, str]
    notes: str
    revisions: Revisions = field(default_factory=Revisions)

    @property
    def mode(self) -> Mode:
        return self.revisions.mode

    def open(self) -> None:
        try:
            self.spark.read.format("kafka").options(**self.options, subscribe=self.topic).load()
        except AnalysisException as problem:
            user = f"WRITE {self.query} TO kafka"
            raise brokers.connector_is_missing(self.spark.version, user) from problem
        brokers.ensure_topic(self.spark, self.options, self.topic)

    def write(self, rows: DataFrame, batch: int) -> None:
        store, name = Store(self.spark, self.notes), f"{batch:06d}.json"
        before = store.read(name)
        messages = self._messages(rows, batch)
        if before is not None:
            messages = self._unsent(messages, before["ends"])
        else:
            ends = brokers.end_offsets(self.spark, self.options, self.topic)
            store.write(name, {"batch": batch, "ends": ends})
        messages.write.format("kafka").options(**self.options, topic=self.topic).save()
        self._forget(store, name)

    def clear(self, batch: int) -> None:
        """Do nothing: what was sent stays sent, and a repeated batch leaves it out."""

    def _messages(self, rows: DataFrame, batch: int) -> DataFrame:
        form = {"ignoreNullFields": "false", "timestampFormat": MICROSECONDS}
        value = f.to_json(f.struct("*"), form)
        identity = f.col(_ID) if _ID in rows.columns else f.sha2(value, 256)
        erased_up_to = self.revisions.erased_up_to
        if erased_up_to is not None and _ID in rows.columns:
            value = f.when(f.col("confidence") > erased_up_to, value)
        headers = f.array(_header("query", self.query), _header("batch", str(batch)))
        return rows.select(
            identity.cast("string").alias("key"), value.alias("value"), headers.alias("headers")
        )

    def _unsent(self, messages: DataFrame, ends: Mapping[str, int]) -> DataFrame:
        """Return the messages that the topic does not have since it ended there."""
        now = brokers.end_offsets(self.spark, self.options, self.topic)
        # A partition that is newer than the note is read from its first message.
        start = {self.topic: {number: ends.get(number, -2) for number in now}}
        reader = self.spark.read.format("kafka").options(**self.options, subscribe=self.topic)
        sent = reader.options(startingOffsets=json.dumps(start), endingOffsets="latest").load()
        known = sent.select(
            f.col("key").cast("string").alias("sent_key"),
            _which(f.col("value").cast("string")).alias("sent_which"),
        )
        is_sent = (f.col("key") == f.col("sent_key")) & _which(f.col("value")).eqNullSafe(
            f.col("sent_which")
        )
        rest = messages.join(known, is_sent, "left_anti")
        # The join may have put a revision before an earlier one.
        order = _revision(f.col("value")).cast("long")
        return rest.repartition("key").sortWithinPartitions("key", order)

    def _forget(self, store: Store, name: str) -> None:
        """Remove the notes of earlier batches: they are never repeated."""
        for other in store.names():
            if other < name and not other.startswith(("_", ".")):
                store.delete(other)


def _header(key: str, value: str) -> Column:
    return f.struct(f.lit(key).alias("key"), f.lit(value).cast("binary").alias("value"))


def _which(value: Column) -> Column:
    """Return what tells messages of one key apart: revisions, or all of forecasts of one match."""
    return f.coalesce(_revision(value), value)


def _revision(value: Column) -> Column:
    return f.get_json_object(value, "$.revision")

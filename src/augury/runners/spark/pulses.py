"""IDLE AFTER in a streaming run: a silent stream's time goes on with that of the streams beside it.

Spark's watermark is the least over all streams, and rows alone move it. So every stream has rows
beside its own, pulses, which carry a time, move its watermark, and go no further. The driver sends
one when a stream has been silent for so long by the clock, with the time that the others have
reached, never beyond.

A stream is silent while Spark looks for its rows and finds none: rows that wait while a long batch
is at work are not silence. What streams have reached is kept beside the checkpoint, because Spark
forgets which of them holds its watermark back.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pyspark.sql import functions as f

from augury.analysis.declarations.catalog import StreamSchema
from augury.runners.live.silence import Silence
from augury.runners.spark.pulse_source import MOMENT, STREAM, PulseSource, offset_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from augury.sinks.store import Store

PULSE = "augury pulse"
# The numbers that Spark tells of a stream's rows begin with it.
_ROWS = "augury rows"
# Numbered files, of which the last has what the streams have reached.
_FOLDER = "reached"
_WAITING = "Waiting for data to arrive"
# Without it Spark takes all input in one batch, and tells what that moved only in the next run.
_WRAPPED = "spark.sql.streaming.triggerAvailableNowWrapper.enabled"


def are_wanted(streams: Iterable[StreamSchema]) -> bool:
    """Whether a silent stream would hold others back that need not wait for it."""
    read = list(streams)
    return len(read) > 1 and any(stream.idle is not None for stream in read)


@dataclass
class Reached:
    """How far the streams of a run have come, by lower-case name, and which of them are silent.

    `own` is the watermark of each by its own rows, in Spark's milliseconds, `said` the one that
    pulses have told last.
    """

    own: dict[str, int] = field(default_factory=dict)
    said: dict[str, int] = field(default_factory=dict)
    looked: float = field(default_factory=time.time)
    streams: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._silence = Silence(lambda: self.looked)

    def expect(self, stream: StreamSchema) -> str:
        """Wait for a stream from now on; return what its rows are counted under."""
        name = stream.name.lower()
        self.streams.add(name)
        self._silence.expect(name, stream.idle)
        return f"{_ROWS} {uuid4().hex} {name}"

    def hear(self, progress: Mapping[str, Any]) -> bool:
        """Take in what came with a micro-batch, and when Spark looked for it; say if it is news."""
        self.look(datetime.fromisoformat(progress["timestamp"]).timestamp())
        before = dict(self.own)
        for told, found in (progress.get("observedMetrics") or {}).items():
            if told.startswith(_ROWS) and found["count"]:
                name = told.removeprefix(_ROWS).split(maxsplit=1)[1]
                self._silence.hear(name)
                self.own[name] = max(self.own.get(name, 0), found["latest"])
        return self.own != before

    def look(self, moment: float) -> None:
        """Take in that all rows are heard that Spark could find until a moment."""
        self.looked = max(self.looked, moment)

    def due(self) -> dict[str, int]:
        """Return what is to be said, if time of silent streams is to go on: of each how far it is.

        That is what those that are not silent have all reached; where all are, what any has.
        """
        silent = self._silence.streams()
        awake = [self.own.get(name, 0) for name in self.streams if name not in silent]
        together = min(awake) if awake else max(self.own.values(), default=0)
        known = _latest(self.said, self.own)
        behind = [name for name in silent if known.get(name, 0) < together]
        return known | dict.fromkeys(behind, together) if behind else {}


@dataclass
class Pulses:
    """What a run says to Spark of its silent streams."""

    spark: SparkSession
    store: Store
    _run: str = field(default_factory=lambda: uuid4().hex)
    _kept: int = 0

    def __post_init__(self) -> None:
        self.reached = Reached(self._restored())
        # It goes with this object, if nobody closes it.
        self._place = tempfile.TemporaryDirectory(prefix="augury-", ignore_cleanup_errors=True)
        # Spark has forgotten who has reached what; it is told again.
        self._say(self.reached.own)
        self.spark.dataSource.register(PulseSource)
        source = self.spark.readStream.format(PulseSource.name())
        self._rows = source.option("file", str(self._file)).load()

    def close(self) -> None:
        """Leave nothing behind but what the checkpoint has."""
        self._place.cleanup()

    # The plan ---------------------------------------------------------------------------------

    def beside(self, rows: DataFrame, stream: StreamSchema, mark: str, delay: int) -> DataFrame:
        """Return rows with pulses beside them, which say what time the stream has reached.

        `mark` is the column that Spark makes the watermark of, less `delay`, in milliseconds.
        """
        latest = f.max(f.unix_millis(f.col(f"`{mark}`"))) - delay
        count = f.count(f.lit(1)).alias("count")
        heard = rows.observe(self.reached.expect(stream), count, latest.alias("latest"))
        moment = f.timestamp_millis(f.col(MOMENT) + delay)
        pulses = self._rows.where(f.col(STREAM) == stream.name.lower())
        marked = pulses.select(moment.alias(mark), f.lit(True).alias(PULSE))
        own = heard.withColumn(PULSE, f.lit(False))
        return own.unionByName(marked, allowMissingColumns=True)

    def end_with_input(self) -> None:
        """Let a run that ends with its input take it in several batches, as without pulses."""
        self.spark.conf.set(_WRAPPED, "true")

    # The run ----------------------------------------------------------------------------------

    def hear(self, progress: Mapping[str, Any]) -> None:
        """Take in what came with a micro-batch, and keep it."""
        if self.reached.hear(progress):
            before, self._kept = self._kept, self._kept + 1
            self.store.write(f"{_FOLDER}/{self._kept}", dict(self.reached.own))
            # The one before goes when the new one is there.
            self.store.delete(f"{_FOLDER}/{before}")

    def without(self, progress: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what Spark says of a micro-batch as if it had had no pulses: they are no rows."""
        own = [each for each in progress.get("sources", ()) if self._run in str(each["endOffset"])]
        pulses, rows = sum(each["numInputRows"] for each in own), progress["numInputRows"]
        if not pulses:
            return progress
        rate = (progress.get("processedRowsPerSecond") or 0.0) * (rows - pulses) / rows
        return {**progress, "numInputRows": rows - pulses, "processedRowsPerSecond": rate}

    def look(self, query: StreamingQuery, interval: str | None) -> float | None:
        """Return up to when Spark has looked for rows and found none, if that is now.

        What came with a micro-batch must be heard before it is believed. With an interval Spark
        says that it waits, and does not look.
        """
        now, status = time.time(), query.status
        waits = status["message"] == _WAITING and not status["isDataAvailable"]
        return now if waits and interval is None else None

    def send(self, looked: float | None = None) -> None:
        """Let the time of silent streams go on with that of the others."""
        if looked is not None:
            self.reached.look(looked)
        due = self.reached.due()
        if due:
            self._say(due)

    @property
    def _file(self) -> Path:
        return Path(self._place.name) / "said"

    def _say(self, moments: Mapping[str, int]) -> None:
        """Write what Spark reads next; the file is there whole."""
        self.reached.said = dict(moments)
        draft = self._file.with_name("draft")
        draft.write_text(json.dumps(offset_of(self._run, moments)), encoding="utf-8")
        draft.replace(self._file)

    def _restored(self) -> dict[str, int]:
        """Return what streams had reached when a run ended."""
        names = [int(name) for name in self.store.names(_FOLDER) if name.isdigit()]
        self._kept = max(names, default=0)
        return dict(self.store.read(f"{_FOLDER}/{self._kept}") or {})


def _latest(*moments: Mapping[str, int]) -> dict[str, int]:
    """Return the latest moment of each name."""
    names = {name for each in moments for name in each}
    return {name: max(each[name] for each in moments if name in each) for name in names}

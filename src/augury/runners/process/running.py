"""A run that is under way: it is watched, and told to stop.

To stop, the batch that is being delivered is finished and the next one is not begun. So nothing is
left half written, and the checkpoint is where the sinks are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from augury.errors import AuguryError
from augury.runners.process.failures import OF_SPARK, explained, readable_failures
from augury.sinks.delivery import Delivery, StoppedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from augury.runners.spark.pulses import Pulses

_POLL_S = 0.3

Watch = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Trigger:
    """When a micro-batch begins: at once, at an interval, or until the input is used up."""

    interval: str | None = None
    once: bool = False

    def on(self, writer: Any) -> Any:
        if self.once:
            return writer.trigger(availableNow=True)
        return writer.trigger(processingTime=self.interval) if self.interval else writer


def run_batch(answers: DataFrame, delivery: Delivery) -> None:
    """Deliver the answers of a bounded input, as one batch."""
    with readable_failures():
        delivery.deliver(answers, 0)


def run_stream(
    answers: DataFrame,
    delivery: Delivery,
    checkpoint: str,
    trigger: Trigger,
    watch: Watch,
    pulses: Pulses | None = None,
) -> None:
    """Run until the input is used up, `delivery.stopping` is set, or something fails."""
    if pulses is not None and trigger.once:
        pulses.end_with_input()
    writer = answers.writeStream.outputMode("append").option("checkpointLocation", checkpoint)
    with readable_failures(streaming=True):
        query = trigger.on(writer.foreachBatch(delivery.deliver)).start()
    watched = _Watched(query, watch if pulses is None else _heard(watch, pulses))
    try:
        while not query.awaitTermination(_POLL_S):
            looked = None if pulses is None else pulses.look(query, trigger.interval)
            watched.look()
            if pulses is not None:
                pulses.send(looked)
            if delivery.stopping.is_set() and _is_idle(query, delivery):
                query.stop()
    except OF_SPARK as problem:
        _judge(problem, delivery)
    finally:
        if query.isActive:
            query.stop()
        watched.look()


def _heard(watch: Watch, pulses: Pulses) -> Watch:
    """Return what watches over a run, and lets pulses hear which streams had rows."""

    def look(progress: Mapping[str, Any]) -> None:
        pulses.hear(progress)
        watch(pulses.without(progress))

    return look


def _is_idle(query: StreamingQuery, delivery: Delivery) -> bool:
    return not delivery.is_running and not query.status["isTriggerActive"]


def _judge(problem: Exception, delivery: Delivery) -> None:
    """Raise what went wrong, unless the run was only told to stop."""
    failure = delivery.failure
    if isinstance(failure, StoppedError):
        return
    if isinstance(failure, OF_SPARK):
        # What failed in a batch says more than what Spark makes of it on the way here.
        raise explained(failure, streaming=True) from failure
    if isinstance(failure, AuguryError):
        raise failure from problem
    raise explained(problem, streaming=True) from problem


class _Watched:
    """Shows each progress of a query once."""

    def __init__(self, query: StreamingQuery, watch: Watch) -> None:
        self._query, self._watch = query, watch
        self._shown: tuple[int, str] = (-1, "")

    def look(self) -> None:
        for progress in self._query.recentProgress:
            stamp = progress["batchId"], progress["timestamp"]
            if stamp > self._shown:
                self._shown = stamp
                self._watch(progress)

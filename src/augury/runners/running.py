"""A run that is under way: it is watched, told to stop, and says in one sentence why it failed.

To stop, the batch that is being delivered is finished and the next one is not begun. So nothing is
left half written, and the checkpoint is where the sinks are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from augury import errors
from augury.errors import AuguryError
from augury.sinks.delivery import Delivery, StoppedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_POLL_S = 0.3
_OURS = re.compile(r"augury\.[\w.]+\.(\w+Error): (.+)")
_PYTHON = re.compile(r"^(\w[\w.]*(?:Error|Exception)|\w+\.[\w.]+): (.+)$", re.MULTILINE)

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
    try:
        delivery.deliver(answers, 0)
    except PySparkException as problem:
        raise explained(problem) from problem


def run_stream(
    answers: DataFrame, delivery: Delivery, checkpoint: str, trigger: Trigger, watch: Watch
) -> None:
    """Run until the input is used up, `delivery.stopping` is set, or something fails."""
    writer = answers.writeStream.outputMode("append").option("checkpointLocation", checkpoint)
    query = trigger.on(writer.foreachBatch(delivery.deliver)).start()
    watched = _Watched(query, watch)
    try:
        while not query.awaitTermination(_POLL_S):
            watched.look()
            if delivery.stopping.is_set() and _is_idle(query, delivery):
                query.stop()
    except PySparkException as problem:
        _judge(problem, delivery)
    finally:
        if query.isActive:
            query.stop()
        watched.look()


def _is_idle(query: StreamingQuery, delivery: Delivery) -> bool:
    return not delivery.is_running and not query.status["isTriggerActive"]


def _judge(problem: PySparkException, delivery: Delivery) -> None:
    """Raise what went wrong, unless the run was only told to stop."""
    if isinstance(delivery.failure, StoppedError):
        return
    if isinstance(delivery.failure, AuguryError):
        raise delivery.failure from problem
    raise explained(problem) from problem


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


def explained(problem: PySparkException) -> AuguryError:
    """Return an error of augury that crossed Spark as itself, any other in one sentence."""
    if os.environ.get("AUGURY_TRACEBACK"):
        raise problem
    text = str(problem)
    ours = _OURS.search(text)
    if ours is not None:
        kind = getattr(errors, ours[1], AuguryError)
        return kind(ours[2]) if kind is not errors.QueryError else AuguryError(ours[2])
    return AuguryError(
        f"Spark stopped the run: {_reason(text)}; nothing is lost: start it again to go on "
        "where it was, with AUGURY_TRACEBACK=1 to see all that Spark says"
    )


def _reason(text: str) -> str:
    """Return the line that says most: the last error of a Python worker, or the last cause."""
    inner = _PYTHON.findall(text)
    if inner:
        return ": ".join(inner[-1])
    causes = [line for line in text.splitlines() if line.startswith("Caused by: ")]
    line = causes[-1].removeprefix("Caused by: ") if causes else text.splitlines()[0]
    return line[:500]

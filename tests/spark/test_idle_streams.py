"""IDLE AFTER in streaming runs on Spark: a silent stream is waited for no longer than it says."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from augury import Session
from augury.runners.process.running import Trigger, run_stream
from augury.runners.spark.pulses import Pulses
from augury.runners.spark.runner import SparkRunner
from augury.sinks.delivery import Delivery
from augury.sinks.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from augury.sinks.sink import Mode

pytestmark = pytest.mark.spark

DOORS = """
CREATE STREAM doors (id LONG, kind STRING, tag STRING, t LONG)
ID id KEY tag TIME t TYPE kind LATENESS 2{doors};
CREATE STREAM alarms (id LONG, tag STRING, t LONG) ID id KEY tag TIME t{alarms};
CREATE QUERY stays ON doors PATTERN SEQ(IN a, !OUT b) WHERE [tag] WITHIN 10;
CREATE QUERY both ON doors, alarms PATTERN SEQ(doors a, alarms b) WHERE [tag] WITHIN 10;
"""
QUERIES = ["stays", "both"]
COLUMNS = {
    "doors": "id LONG, kind STRING, tag STRING, t LONG",
    "alarms": "id LONG, tag STRING, t LONG",
}
IDLE = " IDLE AFTER 1 SECOND"
# Machines are shared: what comes may come late, and what does not come is known by other means.
PATIENCE_S = 600


@dataclass
class Heap:
    """A sink that keeps rows in memory."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    batches: set[int] = field(default_factory=set)
    mode: ClassVar[Mode] = "append"

    def open(self) -> None:
        """There is nothing to open."""

    def write(self, rows: DataFrame, batch: int) -> None:
        self.rows += rows.toArrow().to_pylist()
        self.batches.add(batch)

    def clear(self, batch: int) -> None:
        """Leave what is there."""


@dataclass
class Live:
    """A run that goes on in a thread of its own."""

    spark: SparkSession
    folder: Path
    script: str
    progress: list[dict[str, Any]] = field(default_factory=list)
    heaps: dict[tuple[str, str], Heap] = field(default_factory=dict)
    problems: list[BaseException] = field(default_factory=list)

    def feed(self, stream: str, *rows: dict[str, Any]) -> None:
        """Write a file of rows, which appears whole."""
        own = self.folder / stream
        own.mkdir(parents=True, exist_ok=True)
        draft = self.folder / "draft"
        draft.write_text("".join(json.dumps(row) + "\n" for row in rows))
        # Files are read in the order of their times.
        moment = len(list(own.iterdir())) + 1_700_000_000
        os.utime(draft, (moment, moment))
        draft.rename(own / f"{moment}.json")

    def run(self, trigger: Trigger | None = None, *, idles: bool = True) -> None:
        ag = Session(engine="local")
        ag.sql(self.script)
        declared = ag._declared
        for stream in COLUMNS:
            (self.folder / stream).mkdir(parents=True, exist_ok=True)
        bound = {
            name: self.spark.readStream.schema(ddl)
            .option("maxFilesPerTrigger", 1)
            .json(str(self.folder / name))
            for name, ddl in COLUMNS.items()
        }
        state = str(self.folder / "state")
        pulses = Pulses(self.spark, Store(self.spark, state)) if idles else None
        runner = SparkRunner(
            self.spark, declared.catalog, declared.checked_queries, bound, shards=2, pulses=pulses
        )
        pipeline = runner.pipeline(QUERIES, tells_faults=True)
        places = [("match", name) for name in QUERIES]
        places += [(kind, name) for kind in ("late", "rejected") for name in COLUMNS]
        self.heaps |= {place: self.heaps.get(place, Heap()) for place in places}
        self.delivery = Delivery(pipeline, {place: [heap] for place, heap in self.heaps.items()})
        try:
            run_stream(
                pipeline.answers,
                self.delivery,
                state,
                trigger or Trigger(),
                lambda each: self.progress.append(dict(each)),
                pulses,
            )
        except BaseException as problem:  # what a thread throws is seen by nobody
            self.problems.append(problem)
        finally:
            if pulses is not None:
                pulses.close()

    @contextmanager
    def going_on(self) -> Iterator[Live]:
        """Run until the end of the block."""
        thread = Thread(target=self.run)
        thread.start()
        try:
            yield self
        finally:
            while not hasattr(self, "delivery") and thread.is_alive():
                time.sleep(0.1)
            self.delivery.stopping.set()
            thread.join(PATIENCE_S)
        assert not self.problems

    def wait_for(self, what: Callable[[], bool]) -> None:
        until = time.time() + PATIENCE_S
        while not what():
            assert not self.problems
            assert time.time() < until, self.state()
            time.sleep(0.1)

    def state(self) -> str:
        """Return how far a run has come, for who waits in vain."""
        keys = ("batchId", "numInputRows", "eventTime", "observedMetrics", "timestamp")
        batches = [str({key: each.get(key) for key in keys}) for each in self.progress]
        return "\n".join([*batches, str(self.heaps)])

    def found(self, query: str) -> list[tuple[int, int]]:
        return sorted((r["start_ts"], r["end_ts"]) for r in self.heaps["match", query].rows)

    def told(self, query: str, *matches: tuple[int, int]) -> Callable[[], bool]:
        """Return whether as many matches have been told; they are compared by the test."""
        place = "match", query
        return lambda: place in self.heaps and len(self.heaps[place].rows) >= len(matches)

    def ids(self, kind: str, stream: str) -> list[int]:
        return sorted(row["id"] for row in self.heaps[kind, stream].rows)


def door(t: int, kind: str = "IN", tag: str = "x") -> dict[str, Any]:
    return {"id": t, "kind": kind, "tag": tag, "t": t}


def alarm(t: int) -> dict[str, Any]:
    return {"id": t, "tag": "x", "t": t}


def test_a_silent_stream_holds_back_no_longer_than_it_may_and_wakes_up(
    spark: SparkSession, tmp_path: Path
) -> None:
    live = Live(spark, tmp_path, DOORS.format(doors="", alarms=IDLE))
    live.feed("doors", door(100))
    live.feed("alarms", alarm(105))
    with live.going_on():
        # The watermark is that of doors, 98, until they go on; alarms stay silent.
        live.feed("doors", door(120, "OUT"))
        live.wait_for(live.told("stays", (100, 100)))
        live.wait_for(live.told("both", (100, 105)))
        # What is behind 118 is late; what is not counts.
        live.feed("alarms", alarm(110))
        live.wait_for(lambda: live.ids("late", "alarms") == [110])
        live.feed("alarms", alarm(125))
        live.feed("doors", door(140, "OUT"))
        live.wait_for(live.told("both", (100, 105), (120, 125)))
    assert live.found("stays") == [(100, 100)]
    assert live.found("both") == [(100, 105), (120, 125)]
    assert live.ids("late", "doors") == []
    assert not any(heap.rows for (kind, _), heap in live.heaps.items() if kind == "rejected")


def test_what_streams_had_reached_outlives_a_run_and_a_batch_is_repeated_as_it_was(
    spark: SparkSession, tmp_path: Path
) -> None:
    script = DOORS.format(doors=IDLE, alarms=IDLE.replace("SECOND", "HOUR"))
    before = Live(spark, tmp_path, script)
    before.feed("doors", door(100))
    before.feed("alarms", alarm(105))
    before.feed("doors", door(107, tag="y"))
    before.feed("doors", door(120, "OUT"))
    before.run(Trigger(once=True))
    assert not before.problems
    # A file of each a batch; nobody is silent for an hour.
    assert len({each["batchId"] for each in before.progress}) >= 3
    assert before.found("stays") == before.found("both") == []
    # Both are silent from now on, and so both have reached what one has.
    after = Live(spark, tmp_path, DOORS.format(doors=IDLE, alarms=IDLE))
    with after.going_on():
        after.wait_for(after.told("stays", (100, 100), (107, 107)))
        after.wait_for(after.told("both", (100, 105)))
    assert after.found("stays") == [(100, 100), (107, 107)]
    assert after.found("both") == [(100, 105)]
    # As if the run had been killed while this batch was delivered.
    last = max(after.heaps["match", "stays"].batches)
    for kind, first in (("commits", last), ("offsets", last + 1)):
        for each in (tmp_path / "state" / kind).iterdir():
            if int(each.name.strip(".").split(".")[0]) >= first:
                each.unlink()
    again = Live(spark, tmp_path, after.script)
    again.run(Trigger(once=True))
    assert not again.problems
    assert after.heaps["match", "stays"].batches == again.heaps["match", "stays"].batches == {last}
    assert again.found("stays") == after.found("stays")
    assert again.ids("late", "doors") == again.ids("late", "alarms") == []


def test_without_idle_a_silent_stream_is_waited_for(spark: SparkSession, tmp_path: Path) -> None:
    live = Live(spark, tmp_path, DOORS.format(doors="", alarms=""))
    live.feed("doors", door(100), door(120, "OUT"))
    live.feed("alarms", alarm(105))
    live.run(Trigger(once=True), idles=False)
    assert not live.problems
    assert live.found("stays") == live.found("both") == []

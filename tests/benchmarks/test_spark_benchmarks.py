"""The Spark benchmarks run on tiny inputs, and their rulers measure what they say."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import run_all

Load = Callable[[str], ModuleType]


@pytest.fixture
def load(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Import a benchmark; its files go to a folder of the test, one measured round is enough."""
    from pyspark import cloudpickle

    monkeypatch.setenv("AUGURY_BENCH_CACHE", str(tmp_path))
    monkeypatch.setenv("AUGURY_BENCH_SCALE", "0.001")
    monkeypatch.setenv("AUGURY_BENCH_ROUNDS", "1")
    monkeypatch.syspath_prepend(str(repository / "benchmarks" / "spark"))
    loaded: dict[str, ModuleType] = {}

    def imported(name: str) -> ModuleType:
        if name not in loaded:
            loaded[name] = importlib.import_module(name)
            # Workers of a shared session do not find benchmarks: functions travel whole.
            cloudpickle.register_pickle_by_value(loaded[name])
        return loaded[name]

    yield imported
    for path in (repository / "benchmarks" / "spark").glob("*.py"):
        monkeypatch.delitem(sys.modules, path.stem, raising=False)


def test_events_are_in_the_order_of_time_and_the_same_in_every_run(load: Load) -> None:
    events = load("events")
    table = pq.read_table(events.files(5000, size=2000))
    assert table.column("t").to_pylist() == list(range(5000))
    assert table.column("id").equals(table.column("t"))
    assert events.chunk(2000, 2000).equals(table.slice(2000, 2000).combine_chunks())


def test_one_event_in_a_hundred_is_relevant(load: Load) -> None:
    kinds = load("events").chunk(0, 100_000, "ABC", 0.01).column("kind").to_pylist()
    assert 800 < sum(kind in "ABC" for kind in kinds) < 1200


def test_engines_that_disagree_end_the_run(load: Load) -> None:
    patterns = load("patterns")
    one = patterns.triples(pa.table({"a": [2, 1], "b": [3, 2], "c": [4, 3]}))
    same = patterns.triples(pa.table({"a": [1, 2], "b": [2, 3], "c": [3, 4]}))
    assert patterns.require_equal({"one": one, "same": same}) == 2
    with pytest.raises(SystemExit, match="one found 2 matches and other 1"):
        patterns.require_equal({"one": one, "other": same.slice(1)})


def test_a_family_has_the_process_its_memory_and_its_work(load: Load) -> None:
    processes = load("processes")
    mine = os.getpid()
    assert {mine} <= processes.family(mine)
    assert mine not in processes.family(2**22 + 1)
    assert processes.resident(mine) > 10 * 2**20
    before = processes.processor(mine)
    while processes.processor(mine) == before:
        sum(range(100_000))


def test_a_watch_sees_memory_come(load: Load) -> None:
    memory = load("memory")
    with memory.Watch() as watch:
        held = bytearray(200 * 2**20)
        while not watch.seen or max(watch.seen) < len(held):
            held[::4096] = b"1" * len(held[::4096])


def test_every_part_that_can_be_run_is_a_script(load: Load, repository: Path) -> None:
    known = load("run").BUDGET_SECONDS
    assert run_all.chosen(["spark"]) == [f"spark/run {part}" for part in known]
    for part in known:
        text = (repository / "benchmarks" / "spark" / f"{part}.py").read_text(encoding="utf-8")
        assert "def main() -> None:" in text


def test_the_page_is_written_from_the_figures(load: Load, repository: Path) -> None:
    written = (repository / "docs" / "benchmarks" / "spark.md").read_text(encoding="utf-8")
    assert written == load("page").page()


@pytest.mark.spark
@pytest.mark.rotating(2, 1)
def test_the_floor_and_the_selective_query_are_measured(load: Load, spark: Any) -> None:
    figures = load("floor").measured(spark, 4000)
    assert set(figures["seconds"]) == {"scan", "bare_spark", "augury", "augury_through_spark"}
    assert figures["floor_ratio"]["clock"] > 0
    chosen = load("selective").measured(spark, 4000)
    for name in ("pattern", "few_matches"):
        assert len(chosen[name]["seconds"]) == 4
        assert len(set(chosen[name]["matches"].values())) == 2
        assert chosen[name]["times_faster_by_workers"]["clock"] > 0


@pytest.mark.spark
@pytest.mark.rotating(2, 1)
def test_plain_spark_finds_the_same_matches(load: Load, spark: Any, tmp_path: Path) -> None:
    compare, events = load("against_plain_spark"), load("events")
    rows = spark.read.parquet(str(events.files(20_000)))
    for question, answers in compare.frames(spark, rows).items():
        assert compare.compared(answers, tmp_path / question, 20_000, 1)["matches"] > 0


@pytest.mark.spark
@pytest.mark.rotating(2, 0)
def test_streams_are_measured(load: Load, spark: Any) -> None:
    load("stateful")
    streaming = load("streaming")
    assert streaming.state_of(spark, 4000)["state_bytes_per_live_event"] > 0
    assert streaming.speeds(spark, 4000)["events_per_second"] > 0
    assert streaming.paced(spark, 4000, 4)["latency_seconds"]["p50"] > 0

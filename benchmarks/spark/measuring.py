"""What the Spark benchmarks share: one local session, medians of three, the machine, figures.

A benchmark is a script. It prints its figures and writes them to docs/benchmarks/<name>.json. The
variable AUGURY_BENCH_SCALE (1 unless set) multiplies the number of events, so that 0.01 tries a
script out; AUGURY_BENCH_ROUNDS (3 unless set, 1 in a shrunken run) is how often it measures.
Figures of a shrunken run are printed and not written down.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from processes import processor

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FIGURES = Path(__file__).parents[2] / "docs" / "benchmarks"
CACHE = Path(os.environ.get("AUGURY_BENCH_CACHE", Path.home() / ".cache" / "augury-bench"))
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def scale() -> float:
    """Return by how much the number of events is multiplied."""
    return float(os.environ.get("AUGURY_BENCH_SCALE", "1"))


ROUNDS = int(os.environ.get("AUGURY_BENCH_ROUNDS", "3" if scale() >= 1 else "1"))


def scaled(n: int) -> int:
    """Return a number of events after AUGURY_BENCH_SCALE, never below 2,000."""
    return max(2000, round(n * scale()))


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


@contextlib.contextmanager
def session(name: str, **settings: Any) -> Iterator[SparkSession]:
    """Give a local Spark session on all cores, on loopback, with a scratch folder of its own."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    from pyspark.sql import SparkSession  # noqa: PLC0415

    with scratch() as folder:
        builder = SparkSession.builder.master(f"local[{cores()}]").appName(name)
        for key, value in {**_defaults(folder), **settings}.items():
            builder = builder.config(key, str(value))
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        try:
            yield spark
        finally:
            spark.stop()


def _defaults(folder: Path) -> dict[str, Any]:
    return {
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": cores(),
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": folder / "warehouse",
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": True,
    }


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Give an empty folder on the disk of the cache, and remove it afterwards."""
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="scratch-", dir=CACHE))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def warm_workers(*frames: DataFrame) -> None:
    """Run what goes through Python some more times: each of Spark's workers loads all it needs."""
    for _ in range(3):
        for frame in frames:
            drain(frame)


def read_by(spark: SparkSession, reader: str, folder: Path | str) -> DataFrame:
    """Return a folder of Parquet files, for Spark to read or for augury's workers."""
    spark.conf.set("spark.augury.scan", reader)
    return spark.read.parquet(str(folder))


def drain(frame: DataFrame) -> None:
    """Compute every row of a DataFrame and throw it away."""
    frame.write.format("noop").mode("overwrite").save()


class Seconds(NamedTuple):
    """By the clock, and of processor: of this process and all below it, whatever else runs."""

    clock: float
    processor: float


def seconds(work: Callable[[], Any]) -> Seconds:
    """Return how long a piece of work takes."""
    start, busy = time.perf_counter(), processor(os.getpid())
    work()
    return Seconds(time.perf_counter() - start, processor(os.getpid()) - busy)


def median(taken: Iterable[Seconds]) -> Seconds:
    """Return the median by the clock, and the median of processor."""
    clock, busy = zip(*taken, strict=True)
    return Seconds(statistics.median(clock), statistics.median(busy))


def medians(
    pieces: Mapping[str, Callable[[], Any]],
    rounds: int = ROUNDS,
    warm_ups: int = 1,
    roused: Container[str] = (),
) -> dict[str, Seconds]:
    """Return the median seconds of each piece of work.

    First rounds warm up and do not count. The pieces take turns, so that a neighbour who is busy
    for a while slows all of them down. Meanwhile Spark ends Python workers that have had nothing to
    do for a minute, while the JVM stays warm: those of `roused` run once more before they count.
    """
    for _ in range(warm_ups):
        for work in pieces.values():
            work()
    taken: dict[str, list[Seconds]] = {name: [] for name in pieces}
    for _ in range(rounds):
        for name, work in pieces.items():
            if name in roused:
                work()
            taken[name].append(seconds(work))
    return {name: median(times) for name, times in taken.items()}


def shown(taken: Mapping[str, Seconds]) -> dict[str, dict[str, float]]:
    """Return seconds fit to be read."""
    return {name: rounded(each._asdict()) for name, each in taken.items()}


def ratio(one: Seconds, other: Seconds, digits: int = 2) -> dict[str, float]:
    """Return how many times as long one takes as the other, both ways of measuring."""
    return rounded(
        {"clock": one.clock / other.clock, "processor": one.processor / other.processor}, digits
    )


def rounded(figures: Mapping[str, float], digits: int = 2) -> dict[str, float]:
    """Return figures fit to be read."""
    return {name: round(value, digits) for name, value in figures.items()}


def machine() -> dict[str, Any]:
    """Return what the figures were measured on."""
    return {
        "cores": cores(),
        "load": round(os.getloadavg()[0], 1),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }


def record(name: str, figures: Mapping[str, Any]) -> None:
    """Print figures; write them down if the run was a full one."""
    whole = {**figures, "measured_on": machine()}
    print(json.dumps(whole, indent=2), flush=True)
    if scale() >= 1 and ROUNDS >= 3:
        FIGURES.mkdir(parents=True, exist_ok=True)
        (FIGURES / f"{name}.json").write_text(json.dumps(whole, indent=2) + "\n")

"""One query on more workers and on more cores: `python workers.py [ROWS]`.

A standalone cluster on this machine: a master and workers of one core each. Four skewed streams on
one, two and three workers; six streams on two, four and six (the paper's figure 17); and local
Spark with one core, two and four threads (figure 16). Workers share the cores of one machine, so
throughput can grow only up to their number; what the cluster shows beyond is that the work is cut:
tasks, bytes shuffled and skew are printed for each.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import augury
from augury import Session
from cluster.standalone import cluster
from dpcep.spark_log import SETTINGS, work_of
from lahar.lines import draw
from matching.harness import record, sized

ROWS = sized(100_000, 1_000)
PARTS = 6
# Workers of each cluster with four streams and with six, and threads of local Spark.
WORKERS, MORE_WORKERS, THREADS = (1, 2, 3), (2, 4, 6), (1, 2, 4)
MEASURED = "measured"


def script(streams: int) -> str:
    """Return a sequence of three over all streams."""
    names = [f"s{k}" for k in range(streams)]
    columns = "(id LONG, kind STRING, v LONG, t LONG, p DOUBLE)"
    text = [f"CREATE STREAM {n} {columns} ID id TIME t TYPE kind PROBABILITY p;" for n in names]
    return "\n".join(text) + (
        f"CREATE QUERY q ON {', '.join(names)} PATTERN SEQ(A a, B b, C c)"
        f" WHERE a.v + 1 = c.v WITHIN 60 HAVING CONFIDENCE >= 0.4 OPTIONS (partitions = {PARTS});"
    )


def written(folder: Path, streams: int, rows: int) -> list[Path]:
    """Write streams of which each has half the rows of the one before, over the same time."""
    shares = 0.5 ** np.arange(streams)
    paths = []
    for number, n in enumerate((rows * shares / shares.sum()).astype(int)):
        rng = np.random.default_rng([number, n])
        table = pa.table(
            {
                "id": np.arange(n) + number * rows,
                "kind": rng.choice(list("ABCDEFGH"), n),
                "v": rng.integers(0, 500, n),
                "t": np.sort(rng.integers(0, rows, n)),
                "p": rng.choice([1.0, 0.9, 0.7, 0.3], n),
            }
        )
        path = folder / f"s{number}"
        path.mkdir()
        for k in range(2):
            pq.write_table(table.slice(k * n // 2, n // 2), path / f"{k}.parquet")
        paths.append(path)
    return paths


@contextmanager
def spark_on(master: str, folder: Path) -> Iterator[SparkSession]:
    """Start Spark with a log in the folder."""
    source = str(Path(augury.__file__).parents[1])
    settings = SETTINGS | {
        "spark.eventLog.dir": folder.as_uri(),
        "spark.executorEnv.PYTHONPATH": source,
        "spark.executor.memory": "512m",
        "spark.sql.shuffle.partitions": str(PARTS),
    }
    spark = SparkSession.builder.master(master).config(map=settings).getOrCreate()
    yield spark
    spark.stop()


def measured(master: str, paths: list[Path], rows: int) -> dict[str, Any]:
    """Return rows a second of a second run, and what its tasks did."""
    with tempfile.TemporaryDirectory() as name:
        with spark_on(master, Path(name)) as spark:
            ag = Session(spark)
            ag.sql(script(len(paths)))
            for path in paths:
                ag.bind(path.name, spark.read.parquet(str(path)))
            matches = ag.table("q").count()
            spark.sparkContext.setJobDescription(MEASURED)
            start = time.perf_counter()
            assert ag.table("q").count() == matches
            took = time.perf_counter() - start
        told = work_of(Path(name))[MEASURED].shown()
    return {"rows_per_second": round(rows / took), "seconds": round(took, 2), **told} | {
        "matches": matches,
        "load": round(os.getloadavg()[0], 1),
    }


def on_workers(counts: tuple[int, ...], streams: int, rows: int) -> dict[int, dict[str, Any]]:
    """Return the figures for clusters of some numbers of workers."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        (data := Path(name) / "data").mkdir()
        paths = written(data, streams, rows)
        for count in counts:
            (work := Path(name) / f"cluster{count}").mkdir()
            with cluster(work, count) as master:
                found[count] = measured(master, paths, rows)
            print(f"{streams} streams, {count} workers:", found[count], flush=True)
    return found


def on_cores(counts: tuple[int, ...], streams: int, rows: int) -> dict[int, dict[str, Any]]:
    """Return the figures for local Spark with some numbers of threads."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        paths = written(Path(name), streams, rows)
        for count in counts:
            found[count] = measured(f"local[{count}]", paths, rows)
            print(f"{streams} streams, {count} threads:", found[count], flush=True)
    return found


def line(found: dict[int, dict[str, Any]]) -> list[tuple[float, float]]:
    """Return throughput by count, for a chart."""
    return [(count, each["rows_per_second"]) for count, each in found.items()]


def main() -> None:
    """Measure all, and say what this machine can show."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    limit = (
        f"All workers ran on one machine of {os.cpu_count()} cores: up to as many workers may add "
        "throughput, more cannot; nothing went over a network."
    )
    figures: dict[str, Any] = {"rows": rows, "what_this_can_show": limit}
    for name, title, across, measure in (
        ("workers", "four streams", "workers", lambda: on_workers(WORKERS, 4, rows)),
        ("workers_figure_17", "six streams", "workers", lambda: on_workers(MORE_WORKERS, 6, rows)),
        ("workers_figure_16", "local Spark", "threads", lambda: on_cores(THREADS, 4, rows)),
    ):
        figures[name] = measure()
        draw(name, f"Rows a second, {title}", across, {title: line(figures[name])})
        record("workers", figures)


if __name__ == "__main__":
    main()

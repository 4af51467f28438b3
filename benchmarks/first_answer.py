"""How long a first answer takes where nothing was compiled before.

Usage: `python benchmarks/first_answer.py [WHEEL]`.

A wheel (built here unless one is named) is installed into a fresh environment without the packages
of Spark: how long that and the first lines of README.md take together is what a newcomer waits. The
example of README.md is run there with an empty home, from start to end, and `augury run` over a
log of logins. Then a
local Spark whose workers have an empty home, and augury from that wheel, runs one query twice: by
how much the first run is longer is what a first task pays. Seconds of processor are those of Spark
and its workers together, and do not count neighbours.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from spark.processes import processor

ROOT = Path(__file__).resolve().parents[1]
RUNS = 3
FIRST = '''
import augury
from datetime import datetime
ag = augury.Session(engine="local")
ag.sql("""
    CREATE STREAM reads (tag STRING, reader STRING, at TIMESTAMP, p DOUBLE)
    KEY tag TIME at TYPE reader PROBABILITY p;
    CREATE QUERY theft ON reads PATTERN SEQ(SHELF x, !COUNTER y, EXIT z)
    WHERE [tag] WITHIN 12 HOURS;
""")
ag.bind("reads", [
    {"tag": "t1", "reader": "SHELF", "at": datetime(2026, 1, 1, 10), "p": 0.9},
    {"tag": "t1", "reader": "COUNTER", "at": datetime(2026, 1, 1, 11), "p": 0.25},
    {"tag": "t1", "reader": "EXIT", "at": datetime(2026, 1, 1, 12), "p": 0.8},
])
print([round(confidence, 6) for confidence in ag.table("theft").column("confidence").to_pylist()])
'''
# A log as long as that of an hour of attacks on one server.
LOGINS = """
CREATE STREAM logins (ts TIMESTAMP, event STRING, user STRING, ip STRING)
KEY ip TIME ts TYPE event FROM csv 'logins.csv';
CREATE QUERY guessing ON logins PATTERN SEQ(FAIL f, FAIL g, ACCEPT a)
WHERE [ip] WITHIN 10 MINUTES RETURN a.user AS user;
"""
LINES = 637
# Starts a worker as on a machine that never saw augury: an empty home, and nothing but the wheel.
WORKER = """#!/bin/sh
unset AUGURY_KERNEL_CACHE
HOME={home} PYTHONPATH={site}:$PYTHONPATH exec {python} "$@"
"""
STREAM = """
CREATE STREAM s (id LONG, tag LONG, kind STRING, t LONG, p DOUBLE)
ID id KEY tag TIME t TYPE kind PROBABILITY p;
CREATE QUERY ab ON s PATTERN SEQ(A a, !C c, B b) WHERE [tag] WITHIN 9;
"""


def built(folder: Path) -> Path:
    """Return a wheel of this source."""
    start = time.perf_counter()
    options = ["--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)]
    pip("wheel", *options)
    (wheel,) = folder.glob("augury-*.whl")
    seconds = time.perf_counter() - start
    print(f"wheel: {wheel.stat().st_size / 2**20:.1f} MB, built in {seconds:.0f} s")
    return wheel


def pip(*arguments: str, python: str = sys.executable) -> None:
    """Run pip quietly, and blind to what is on the path: that would count as installed."""
    quiet = ["-m", "pip", "-q", "--disable-pip-version-check"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([python, *quiet, *arguments], env=environment, check=True)


def fresh(folder: Path, wheel: Path) -> str:
    """Return the Python of a new environment that has the wheel and what it requires."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = str(folder / "bin" / "python")
    pip("install", "-c", str(ROOT / "constraints.txt"), str(wheel), python=python)
    return python


def seconds_to_answer(python: str, work: Path) -> list[float]:
    """Return how long the first query takes from start to end, with an empty home each time."""
    script, found = work / "first.py", []
    script.write_text(FIRST)
    for k in range(RUNS):
        home = work / f"home-{k}"
        home.mkdir()
        start = time.perf_counter()
        said = subprocess.run(
            [python, script],
            env={"HOME": str(home), "PATH": os.environ["PATH"]},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found.append(time.perf_counter() - start)
        assert said.stdout == "[0.54]\n", said.stdout
        assert not list(home.rglob("*.nbc")), "a kernel was compiled, and so not shipped"
    return found


def seconds_to_run(python: str, work: Path) -> list[float]:
    """Return how long `augury run` over a log takes from start to end."""
    (work / "logins.sql").write_text(LOGINS)
    events = ["FAIL", "FAIL", "INVALID", "ACCEPT"]
    rows = [
        f"2026-01-01T{k // 60 % 24:02d}:{k % 60:02d}:00,{events[k % 4]},u{k % 7},10.0.0.{k % 5}"
        for k in range(LINES)
    ]
    (work / "logins.csv").write_text("\n".join(["ts,event,user,ip", *rows]) + "\n")
    command, found = [str(Path(python).parent / "augury"), "run", "logins.sql"], []
    for k in range(RUNS):
        home = work / f"run-home-{k}"
        home.mkdir()
        start = time.perf_counter()
        environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
        subprocess.run(command, cwd=work, env=environment, capture_output=True, check=True)
        found.append(time.perf_counter() - start)
    return found


def seconds_of_tasks(wheel: Path, work: Path) -> list[tuple[float, float]]:
    """Return what a query on Spark takes, run by run, with workers that start from nothing.

    First by the clock, then of the processor.
    """
    site, home, worker = work / "site", work / "home", work / "python"
    pip("install", "--no-deps", "--target", str(site), str(wheel))
    home.mkdir()
    worker.write_text(WORKER.format(home=home, site=site, python=sys.executable))
    worker.chmod(0o755)
    os.environ["PYSPARK_PYTHON"] = str(worker)
    from pyspark.sql import SparkSession  # noqa: PLC0415  the rest needs no Spark

    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"}
    settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    # Spark's own first job is not what is asked for.
    spark.range(9).mapInArrow(lambda batches: batches, "id long").collect()
    found = [_seconds(spark) for _ in range(RUNS)]
    spark.stop()
    return found


def _seconds(spark: Any) -> tuple[float, float]:
    """Return what the tasks of a query on Spark take."""
    from augury import Session  # noqa: PLC0415  as above

    with warnings.catch_warnings():
        # The workers run a Python that does have augury.
        warnings.simplefilter("ignore")
        ag = Session(spark)
    ag.sql(STREAM)
    ag.bind("s", [{"id": k, "tag": 1, "kind": "AB"[k % 2], "t": k, "p": 0.5} for k in range(40)])
    answer = ag.table("ab")
    with redirect_stdout(StringIO()):
        # Plans it: that is the driver's work, and no task.
        answer.explain()
    start, busy = time.perf_counter(), processor(os.getpid())
    assert answer.collect()
    return time.perf_counter() - start, processor(os.getpid()) - busy


def main() -> None:
    """Print the figures."""
    with TemporaryDirectory() as folder:
        work = Path(folder)
        wheel = Path(sys.argv[1]).resolve() if sys.argv[1:] else built(work)
        start = time.perf_counter()
        python = fresh(work / "environment", wheel)
        installed = time.perf_counter() - start
        ran = seconds_to_run(python, work)
        print(f"installed in {installed:.0f} s, first answer after {installed + ran[0]:.0f} s")
        print(f"augury run over {LINES} logins: {statistics.median(ran):.1f} s (median of {RUNS})")
        taken = seconds_to_answer(python, work)
        print(f"first answer, empty home: {statistics.median(taken):.1f} s (median of {RUNS})")
        for k, (clock, busy) in enumerate(seconds_of_tasks(wheel, work), 1):
            print(
                f"Spark, workers with an empty home, run {k}: {clock:.1f} s, processor {busy:.1f} s"
            )


if __name__ == "__main__":
    main()

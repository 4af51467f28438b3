"""Forecasts in a stream of Spark: events a second on all cores, and a run that is killed.

- Logins of 10,000 addresses, one row told after every event (BY TIME), MARKOV 1 from a history.
  Micro-batches of 400,000 rows; what is counted are those after the first two, by the clock.
- Killed: the run is killed with signal 9 in the middle, twice, and goes on from its checkpoint.
  What it told is compared with what the local engine tells of these rows: none lost, none twice.

Writes docs/benchmarks/forecast_streaming.json. Run: python benchmarks/spark/forecasting.py
"""

from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from measuring import CACHE, cores, record, scaled, scratch, session
from windows import Written, progress

A_BATCH, KEYS = scaled(400_000), 10_000
WARM, COUNTED = 2, 4
SHARDS = int(os.environ.get("AUGURY_BENCH_SHARDS", "4"))
COLUMNS = "(id LONG, ip LONG, status STRING, t LONG)"
SCRIPT = f"""
CREATE STREAM logins {COLUMNS} ID id KEY ip TIME t TYPE status;
CREATE STREAM history {COLUMNS} ID id KEY ip TIME t TYPE status;
CREATE QUERY intrusion ON logins PATTERN SEQ(DENIED a, DENIED b, SUCCESS c) WHERE [ip]
USING SKIP TILL NEXT MATCH;
CREATE FORECAST soon ON intrusion WITHIN 10 EVENTS USING MARKOV 1 LEARN FROM history
RETURN FORECAST BY TIME;
"""
TOLD = ["ip", "ts", "forecast"]


def logins(start: int, n: int) -> pa.Table:
    """Return the logins of ticks [start, start + n)."""
    rng = np.random.default_rng([7, start])
    status = np.array(["DENIED", "SUCCESS", "OTHER"])[rng.choice(3, n, p=[0.3, 0.1, 0.6])]
    at = np.arange(start, start + n)
    return pa.table({"id": at, "ip": rng.integers(0, KEYS, n), "status": status, "t": at})


def files() -> Path:
    """Return a folder with one file per micro-batch; make it unless it is there."""
    folder = CACHE / "forecasting" / str(A_BATCH)
    if not (folder / "_SUCCESS").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for k in range(WARM + COUNTED):
            path = folder / f"part-{k:05d}.parquet"
            pq.write_table(logins(k * A_BATCH, A_BATCH), path)
            os.utime(path, (1_700_000_000 + k,) * 2)
        (folder / "_SUCCESS").touch()
    return folder


def history() -> pa.Table:
    """Return what teaches."""
    return logins(10**9, 50_000)


def forecasts(spark: Any) -> Any:
    """Return the streaming forecasts, a file per micro-batch."""
    from augury import Session  # noqa: PLC0415

    ag = Session(spark, shards=SHARDS)
    ag.sql(SCRIPT)
    schema = "id LONG, ip LONG, status STRING, t LONG"
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    ag.bind("logins", reader.parquet(str(files())))
    ag.bind("history", spark.createDataFrame(history().to_pandas(), schema))
    return ag.table("soon")


def measured() -> dict[str, Any]:
    """Return how many events a second are forecast."""
    with session("forecasting") as spark, scratch() as place:
        writer = forecasts(spark).writeStream.format("noop")
        writer = writer.option("checkpointLocation", str(place / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        done = list(progress(query, Written(place / "checkpoint")))[WARM:]
    seconds = [each.durationMs["triggerExecution"] / 1000 for each, _ in done]
    return {
        "seconds_a_batch": [round(each, 2) for each in seconds],
        "events_per_second": round(A_BATCH / statistics.median(seconds)),
    }


# Killed ----------------------------------------------------------------------------------------


def deliver(folder: Path) -> None:
    """Stream into a folder until all is delivered; to be run as a process that may be killed."""
    with session("forecasting, killed") as spark:
        writer = forecasts(spark).writeStream.format("parquet")
        writer = writer.option("path", str(folder / "told"))
        writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()
    (folder / "done").touch()


def delivered(folder: Path, kills: int) -> pa.Table:
    """Deliver, killed so often when some more micro-batches are done; return what was told."""
    for left in range(kills, -1, -1):
        work = subprocess.Popen(
            [sys.executable, __file__, "--deliver", str(folder)], start_new_session=True
        )
        target = _commits(folder) + 2
        while work.poll() is None and not (left and _commits(folder) >= target):
            time.sleep(0.05)
        if work.poll() is None:
            os.killpg(work.pid, signal.SIGKILL)
        work.wait()
    if not (folder / "done").exists():
        raise SystemExit("the run that was killed did not come to its end")
    with session("forecasting, told") as spark:
        told: pa.Table = spark.read.parquet(str(folder / "told")).select(*TOLD).toArrow()
    return told


def _commits(folder: Path) -> int:
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


def locally() -> pa.Table:
    """Return what the local engine tells of the same rows."""
    from augury import Session  # noqa: PLC0415

    ag = Session(engine="local")
    ag.sql(SCRIPT)
    ag.bind("logins", pq.read_table(files()))
    ag.bind("history", history())
    found: pa.Table = ag.table("soon", TOLD)
    return found


def killed(kills: int = 2) -> dict[str, Any]:
    """Return what a run that is killed tells, and what the local engine tells up to there."""
    files()
    with scratch() as place:
        found = delivered(place / "killed", kills).sort_by("ts")
    wanted = locally()
    # Events of the last moments wait for those that may still come.
    wanted = wanted.filter(pc.less_equal(wanted.column("ts"), pc.max(found.column("ts"))))
    wanted = wanted.sort_by("ts")
    for name in ("ip", "ts"):
        if found.column(name).to_pylist() != wanted.column(name).to_pylist():
            raise SystemExit(f"the run that was killed told other rows: {name}")
    apart = pc.subtract(found.column("forecast"), wanted.column("forecast"))
    largest = pc.max(pc.abs(apart)).as_py()
    if largest > 1e-9:
        raise SystemExit(f"the run that was killed is {largest} apart")
    return {"kills": kills, "rows": found.num_rows, "expected": wanted.num_rows}


def main() -> None:
    """Measure, kill, and write down."""
    if sys.argv[1:2] == ["--deliver"]:
        deliver(Path(sys.argv[2]))
        return
    figures = {"events_a_batch": A_BATCH, "keys": KEYS, "cores": cores(), "shards": SHARDS}
    record("forecast_streaming", {**figures, **measured(), "kill": killed()})


if __name__ == "__main__":
    main()

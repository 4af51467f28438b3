"""Memory: the resident bytes of the driver's JVM and all Python processes under it.

Batch: SEQ of 3 over 50 M and over 100 M events; the peak. Streaming: 20 M events, 500,000 a
micro-batch; the resident memory by tenths of the run. The first tenths see Spark start and the
JVM's heap fill, whatever the query; from the fifth on memory should be flat. Each run has processes
of its own, and a thread looks five times a second at every process below this one. Pages that
processes share count in each of them, so the sums are upper bounds.
Run: python benchmarks/spark/memory.py [batch EVENTS | stream EVENTS]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from typing import Any

import events
from measuring import drain, record, scaled, scratch, session
from patterns import UNCERTAIN, asked
from processes import resident
from streaming import augury, progress_of, stream_of

EVERY_SECONDS = 0.2
MIB = 2**20
HEAP = "1500m"


class Watch:
    """Looks at the resident memory of this process and all below it while a block runs."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._over.wait(EVERY_SECONDS):
            self.seen.append(resident(os.getpid()))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def batch(n: int) -> dict[str, Any]:
    """Return the peak of a batch run."""
    folder = events.files(n)
    with Watch() as watch, session("memory", **{"spark.driver.memory": HEAP}) as spark:
        start = time.perf_counter()
        drain(asked(UNCERTAIN, spark.read.parquet(str(folder)), spark))
        taken = time.perf_counter() - start
    return {
        "events": n,
        "peak_mib": round(max(watch.seen) / MIB),
        "seconds": round(taken, 1),
    }


def stream(n: int) -> dict[str, Any]:
    """Return how resident memory goes in a streaming run."""
    folder = events.files(n, size=max(1000, n // 80))
    small = {"spark.driver.memory": HEAP}
    with session("memory", **small) as spark, scratch() as checkpoint, Watch() as watch:
        batches = progress_of(augury(spark, stream_of(spark, folder)), checkpoint)
    tenths = [
        watch.seen[len(watch.seen) * k // 10 : len(watch.seen) * (k + 1) // 10 or 1]
        for k in range(10)
    ]
    middle = [statistics.median(part) / MIB for part in tenths if part]
    return {
        "events": n,
        "micro_batches": len(batches),
        "peak_mib": round(max(watch.seen) / MIB),
        "median_mib_by_tenth": [round(each) for each in middle],
    }


RUNS = {"batch": batch, "stream": stream}


def apart(kind: str, n: int) -> dict[str, Any]:
    """Run one measurement in a process of its own."""
    command = [sys.executable, __file__, kind, str(n)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3000)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    print(done.stdout, flush=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Measure."""
    if len(sys.argv) > 2:
        print(json.dumps(RUNS[sys.argv[1]](int(sys.argv[2]))))
        return
    figures = {
        "driver_heap": HEAP,
        "batch_50m": apart("batch", scaled(50_000_000)),
        "batch_100m": apart("batch", scaled(100_000_000)),
        "streaming": apart("stream", scaled(20_000_000)),
    }
    record("spark_memory", figures)


if __name__ == "__main__":
    main()

"""Run every Spark benchmark, one process each, with the time it may take.

AUGURY_BENCH_SCALE shrinks the number of events; a part that takes longer than its budget is ended,
and said to be. A full run writes docs/benchmarks/spark.md anew.
Run: python benchmarks/spark/run.py [part ...]
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import page
from measuring import cores, scale

BUDGET_SECONDS = {
    "floor": 600,
    "selective": 600,
    "against_plain_spark": 1500,
    "against_flink": 2400,
    "streaming": 900,
    "windows": 1800,
    "forecasting": 900,
    "stateful": 900,
    "memory": 2400,
}


def run(part: str) -> bool:
    """Run one part; return whether it came to its end."""
    budget = BUDGET_SECONDS[part]
    print(f"== {part}: at most {budget} s", flush=True)
    script, start = Path(__file__).with_name(f"{part}.py"), time.perf_counter()
    work = subprocess.Popen([sys.executable, str(script)], start_new_session=True)
    try:
        code = work.wait(budget)
        ended = "done" if code == 0 else f"failed with code {code}"
    except subprocess.TimeoutExpired:
        os.killpg(work.pid, signal.SIGKILL)
        work.wait()
        ended = "ended: the budget was spent"
    print(f"== {part}: {ended}, {time.perf_counter() - start:.0f} s of {budget} s", flush=True)
    return ended == "done"


def main() -> None:
    """Run the named parts, or all."""
    parts = sys.argv[1:] or list(BUDGET_SECONDS)
    unknown = [part for part in parts if part not in BUDGET_SECONDS]
    if unknown:
        raise SystemExit(f"there is no part {unknown[0]}; known: {', '.join(BUDGET_SECONDS)}")
    print(f"== {cores()} cores, load {os.getloadavg()[0]:.1f}, scale {scale():g}", flush=True)
    results = [run(part) for part in parts]
    if scale() >= 1:
        page.main()
    raise SystemExit(0 if all(results) else 1)


if __name__ == "__main__":
    main()

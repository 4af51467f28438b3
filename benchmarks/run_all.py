"""Run every benchmark, one process each, to the end: one that fails does not keep the others.

What `make bench` runs. Said at the end: how long each took and which failed; the exit code is 1 if
any did. AUGURY_BENCH_SCALE shrinks what all of them do. A shrunken run tries them out: several at
once, and its figures and pages go to a folder of their own, a copy of docs/benchmarks at first.
Run: python benchmarks/run_all.py [name ...], a name being that of a script or of its folder
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from matching.harness import scale

HERE = Path(__file__).parent
BENCHMARKS = (
    "import_time",
    "check_speed",
    "first_answer",
    "push_overhead",
    "limits",
    "why",
    "large_files",
    "matching/throughput",
    "matching/after_match",
    "matching/standing_queries",
    "matching/long_sequences",
    "lahar/throughput",
    "lahar/quality",
    "lahar/realtime",
    "lahar/home",
    "missed/throughput",
    "missed/window",
    "missed/quality",
    "missed/calibration",
    "identity/feasibility",
    "identity/figures",
    "identity/calibration",
    "identity/matches",
    "identity/outside",
    "identity/wards",
    "identity/page",
    "chain/scaling",
    "chain/hospital",
    "chain/week",
    "chain/latency",
    "chain/page",
    "forecast/throughput",
    "forecast/standing",
    "forecast/figure_10",
    "forecast/calibration",
    "forecast/heat_waves",
    "forecast/page",
    "privacy/throughput",
    "privacy/figures",
    "dpcep/movement",
    "dpcep/workers",
    "hierarchy/windows",
    "rules/schedulers",
    "rules/latency",
    "rules/contents",
    "rules/on_spark",
    "rules/page",
    "hierarchy/caviar",
    "lahar/papers_figures",
    "lahar/safe_plan",
    "lahar/keys",
    "dpcep/page",
    "spark/run",
)
# These need recordings that are not part of the repository.
RECORDINGS = HERE.parent.parent / "shared" / "data"
ON_RECORDINGS = {"forecast/heat_waves", "hierarchy/caviar", "lahar/home"}


def chosen(names: list[str]) -> list[str]:
    """Return the benchmarks of some names, or all."""
    found = [each for each in BENCHMARKS if not names or {each, each.split("/")[0]} & set(names)]
    known = {part for each in BENCHMARKS for part in (each, each.split("/")[0])}
    if unknown := sorted(set(names) - known):
        raise SystemExit(f"there is no benchmark {unknown[0]}; known: {', '.join(BENCHMARKS)}")
    return [each for each in found if RECORDINGS.is_dir() or each not in ON_RECORDINGS]


def run(name: str, docs: Path) -> tuple[str, int, float, float]:
    """Run one; return its name, its exit code, its seconds and those of the processor."""
    paths = [HERE, HERE.parent / "tests", os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(str(each) for each in paths if str(each))}
    env["AUGURY_BENCH_DOCS"] = str(docs)
    with tempfile.TemporaryFile() as said:
        out = said if scale() < 1 else None
        print(f"== {name}", flush=True)
        start = time.perf_counter()
        script = [sys.executable, str(HERE / f"{name}.py")]
        child = subprocess.Popen(script, env=env, stdout=out, stderr=out)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = code = os.waitstatus_to_exitcode(status)
        said.seek(0)
        ended = f"== {name} ended with code {code}\n" if out is not None else ""
        print(said.read().decode(errors="replace") + ended, end="", flush=True)
    return name, code, time.perf_counter() - start, used.ru_utime + used.ru_stime


def run_each(names: list[str], docs: Path) -> list[tuple[str, int, float, float]]:
    """Run all, pages after the figures that they show; what is measured in earnest runs alone."""
    at_once = 1 if scale() >= 1 else os.cpu_count() or 1
    pages = [name for name in names if name.endswith("/page")]
    found = []
    for part in ([name for name in names if name not in pages], pages):
        with ThreadPoolExecutor(at_once) as threads:
            found += threads.map(lambda name: run(name, docs), part)
    return found


def written_to() -> Path:
    """Return the folder for pages: docs, or for a shrunken run a copy of what they are made of."""
    docs = HERE.parent / "docs"
    if scale() >= 1:
        return docs
    copy = Path(tempfile.mkdtemp(prefix="augury-benchmarks-"))
    if docs.is_dir():
        shutil.copytree(docs / "benchmarks", copy / "benchmarks")
    return copy


def main() -> None:
    """Run what is asked for."""
    names = chosen(sys.argv[1:])
    left = sorted(ON_RECORDINGS & set(BENCHMARKS)) if not RECORDINGS.is_dir() else []
    docs = written_to()
    start = time.perf_counter()
    results = run_each(names, docs)
    clock, busy = time.perf_counter() - start, sum(own for *_, own in results)
    print(f"\n== {len(results)} benchmarks at scale {scale():g}, figures and pages in {docs}")
    print(f"{clock:.0f} s, {busy:.0f} s of processor")
    for name, code, took, own in results:
        ended = "done" if code == 0 else f"FAILED with code {code}"
        print(f"{name:28} {ended:22} {took:7.0f} s {own:7.0f} s of processor")
    for name in left:
        print(f"{name:28} left out: its recordings are not in {RECORDINGS}")
    raise SystemExit(1 if any(code for _, code, *_ in results) else 0)


if __name__ == "__main__":
    main()

"""Run every benchmark, one process each, to the end: one that fails does not keep the others.

What `make bench` runs. Said at the end: how long each took and which failed; the exit code is 1 if
any did. AUGURY_BENCH_SCALE shrinks what all of them do. A shrunken run tries them out: several at
once, and its figures and pages go to a folder of its own, a copy of docs/benchmarks at first.

A run that was broken off is gone on with: what ended with 0 is noted in out/bench, by commit and
scale, and left out by the next run of these; pages are written by every run. `--again` begins anew.
Run: python benchmarks/run_all.py [--again] [name ...], a name being that of a script or its folder
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

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
    # Parts of one script, each with the seconds that it may take.
    "spark/run floor",
    "spark/run selective",
    "spark/run against_plain_spark",
    "spark/run against_flink",
    "spark/run streaming",
    "spark/run windows",
    "spark/run forecasting",
    "spark/run stateful",
    "spark/run memory",
)
# These need recordings that are not part of the repository.
RECORDINGS = HERE.parent.parent / "shared" / "data"
ON_RECORDINGS = {"forecast/heat_waves", "hierarchy/caviar", "lahar/home"}


CODE = ("src", "benchmarks", "tests")


class Ended(NamedTuple):
    """How a benchmark ended: its seconds are by the clock, and of the processor."""

    name: str
    code: int
    clock: float
    processor: float
    before: bool = False

    def told(self) -> str:
        """Return the line about it."""
        how = "done" if self.code == 0 else f"FAILED with code {self.code}"
        how += ", before" if self.before else ""
        times = f"{self.clock:7.0f} s {self.processor:7.0f} s of processor"
        return f"{self.name:29} {how:20} {times}"


class Notes:
    """What ended with 0 before, for the same code at the same scale: a file for each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _file(self, name: str) -> Path:
        return self.folder / name.replace("/", ".").replace(" ", ".")

    def known(self, name: str) -> Ended | None:
        """Return how a benchmark ended before; pages are written in every run."""
        if name.endswith("/page") or not self._file(name).exists():
            return None
        clock, processor = map(float, self._file(name).read_text().split())
        return Ended(name, 0, clock, processor, before=True)

    def forget(self, names: list[str]) -> None:
        """Let some be run again."""
        for name in names:
            self._file(name).unlink(missing_ok=True)

    def note(self, ended: Ended) -> None:
        """Write down what ended with 0."""
        if ended.code == 0:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._file(ended.name).write_text(f"{ended.clock:.1f} {ended.processor:.1f}\n")


def parts(name: str) -> set[str]:
    """Return by which names a benchmark is asked for: its own, its script's, its folder's."""
    return {name, name.partition(" ")[0], name.partition("/")[0]}


def chosen(names: list[str]) -> list[str]:
    """Return the benchmarks of some names, or all."""
    found = [each for each in BENCHMARKS if not names or parts(each) & set(names)]
    known = {part for each in BENCHMARKS for part in parts(each)}
    if unknown := sorted(set(names) - known):
        raise SystemExit(f"there is no benchmark {unknown[0]}; known: {', '.join(BENCHMARKS)}")
    return [each for each in found if RECORDINGS.is_dir() or each not in ON_RECORDINGS]


def run(name: str, docs: Path) -> Ended:
    """Run one; return how it ended."""
    paths = [HERE, HERE.parent / "tests", os.environ.get("PYTHONPATH", "")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(str(each) for each in paths if str(each))}
    env["AUGURY_BENCH_DOCS"] = str(docs)
    script, *arguments = name.split()
    with tempfile.TemporaryFile() as said:
        out = said if scale() < 1 else None
        print(f"== {name}", flush=True)
        start = time.perf_counter()
        command = [sys.executable, str(HERE / f"{script}.py"), *arguments]
        child = subprocess.Popen(command, env=env, stdout=out, stderr=out)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = code = os.waitstatus_to_exitcode(status)
        said.seek(0)
        ended = f"== {name} ended with code {code}\n" if out is not None else ""
        print(said.read().decode(errors="replace") + ended, end="", flush=True)
    return Ended(name, code, time.perf_counter() - start, used.ru_utime + used.ru_stime)


def run_each(names: list[str], docs: Path, notes: Notes) -> list[Ended]:
    """Run what is left, pages after what they show; what is measured in earnest runs alone."""
    at_once = 1 if scale() >= 1 else os.cpu_count() or 1

    def run_left(name: str) -> Ended:
        if (before := notes.known(name)) is not None:
            return before
        ended = run(name, docs)
        notes.note(ended)
        return ended

    pages = [name for name in names if name.endswith("/page")]
    found: list[Ended] = []
    for part in ([name for name in names if name not in pages], pages):
        with ThreadPoolExecutor(at_once) as threads:
            found += threads.map(run_left, part)
    return found


def git(*words: str) -> str:
    """Return what git says about this tree; nothing outside of a repository."""
    command = ["git", "-C", str(HERE), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def version() -> str:
    """Return which code this is: its commit, and what is not of that; nothing if nobody knows."""
    commit = git("rev-parse", "--short=12", "HEAD")
    own = [str(HERE.parent / part) for part in CODE]
    changed = git("diff", "HEAD", "--", *own) + git("ls-files", "-o", "--exclude-standard", *own)
    return f"{commit}-{zlib.crc32(changed.encode()):08x}" if changed else commit


def written_to(folder: Path) -> Path:
    """Return the folder for pages: docs, or for a shrunken run a copy of what they are made of."""
    docs = HERE.parent / "docs"
    if scale() >= 1:
        return docs
    folder.mkdir(parents=True, exist_ok=True)
    if docs.is_dir() and not (folder / "benchmarks").exists():
        shutil.copytree(docs / "benchmarks", folder / "benchmarks")
    return folder


def main(words: Sequence[str]) -> int:
    """Run what is asked for; return the exit code."""
    names, code = chosen([word for word in words if word != "--again"]), version()
    folder = HERE.parent / "out" / "bench" / f"{code or 'unknown'}-scale-{scale():g}"
    docs, notes = written_to(folder), Notes(folder / "ended")
    if "--again" in words or not code:
        notes.forget(names)
    start = time.perf_counter()
    results = run_each(names, docs, notes)
    clock, busy = time.perf_counter() - start, sum(each.processor for each in results)
    print(f"\n== {len(results)} benchmarks at scale {scale():g}, figures and pages in {docs}")
    print(f"{clock:.0f} s, {busy:.0f} s of processor with what was done before (--again anew)")
    print("\n".join(each.told() for each in results))
    for name in sorted(ON_RECORDINGS & set(BENCHMARKS)) if not RECORDINGS.is_dir() else ():
        print(f"{name:29} left out: its recordings are not in {RECORDINGS}")
    return 1 if any(each.code for each in results) else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

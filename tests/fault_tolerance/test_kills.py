"""A run that is killed again and again finds what an undisturbed one finds: no more, no less.

The driver with all its processes, or its Python workers alone, are killed with signal 9 at moments
that nobody chooses: while Spark starts a query, reads, evaluates, writes, or notes that it did.
`AUGURY_KILLS` says how often, `AUGURY_KILLS_SEED` repeats the data and the plan of a run.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import augury
from fault_tolerance import driver
from fault_tolerance.processes import end_session, end_workers
from fault_tolerance.scenario import QUERIES, Facts, Row, arriving, end_mark, expected, facts

pytestmark = [pytest.mark.spark, pytest.mark.slow]

KILLS = int(os.environ.get("AUGURY_KILLS", "5"))
FILES_PER_KILL, ROWS_PER_FILE = 1, 24
# From the start of a query: some kills hit the start, some the first batches, some a later one.
LONGEST_WAIT_S = 8.0
PATIENCE_S = 240.0
# A driver tests what this process would.
PLACES = (str(Path(__file__).parent.parent), str(Path(augury.__file__).parent.parent))


@dataclass
class Run:
    """One run in a folder, over as many driver processes as it takes."""

    folder: Path
    program: str = driver.__file__
    queries: tuple[str, ...] = QUERIES
    process: subprocess.Popen[bytes] | None = None
    written: int = 0
    story: list[str] = field(default_factory=list)

    def feed(self, rows: list[Row]) -> None:
        """Let a file arrive, whole; files are read in the order of their times."""
        place = self.folder / "in" / f"{self.written:04d}.json"
        draft = place.with_name(f".{place.name}")
        draft.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text("".join(json.dumps(row) + "\n" for row in rows))
        moment = 1_700_000_000 + self.written
        os.utime(draft, (moment, moment))
        draft.rename(place)
        self.written += 1

    def drive(self) -> None:
        """Start a driver if none is alive, and wait until its query runs."""
        if self.process is not None and self.process.poll() is None:
            return
        signal_file = self.folder / "running"
        signal_file.unlink(missing_ok=True)
        with (self.folder / "said.txt").open("ab") as said:
            self.process = subprocess.Popen(
                [sys.executable, self.program, str(self.folder)],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(PLACES)},
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._wait(signal_file.exists, "the query did not start")

    def finish(self) -> None:
        """Say that nothing more comes, and wait until the driver is done."""
        (self.folder / "last").touch()
        process = self._alive()
        self._wait(lambda: process.poll() is not None, "the driver did not end")
        assert process.returncode == 0, self.said

    def wait_for_batches(self, count: int) -> None:
        """Wait until so many micro-batches are done, so that a kill leaves something stored."""
        done = self.folder / "checkpoint" / "commits"
        self._wait(lambda: len(list(done.glob("[0-9]*"))) >= count, "no batch was done")

    def kill(self, whom: str) -> None:
        leader = self._alive().pid
        if whom == "workers":
            # Spark starts them with the first task, and they stay; a kill that hits none is none.
            self._wait(lambda: end_workers(leader) > 0, "there were no workers")
            self.story.append("workers")
            return
        end_session(leader)
        self._alive().wait()
        self.story.append("driver")

    def close(self) -> None:
        if self.process is not None:
            end_session(self.process.pid)
            self.process.wait()

    def _alive(self) -> subprocess.Popen[bytes]:
        assert self.process is not None
        return self.process

    def _wait(self, condition: object, complaint: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():  # type: ignore[operator]
            assert time.monotonic() < deadline, f"{complaint}: {self.said}"
            time.sleep(0.1)
            if self._alive().poll() not in (None, 0):
                pytest.fail(f"the driver ended with {self._alive().returncode}: {self.said}")

    @property
    def said(self) -> str:
        return (self.folder / "said.txt").read_text()[-4000:]

    def found(self) -> Facts:
        """Return all matches that the sinks hold, as often as they are there."""
        return sorted(
            fact
            for name in self.queries
            for part in sorted((self.folder / "match" / name).glob("batch=*/*.parquet"))
            for fact in facts(name, pq.read_table(part, partitioning=None))
        )

    def put_aside(self) -> int:
        return len(list(self.folder.glob("late/*/batch=*"))) + len(
            list(self.folder.glob("rejected/*/batch=*"))
        )


@pytest.fixture
def run(tmp_path: Path) -> object:
    home = os.environ.get("JAVA_HOME")
    if shutil.which(str(Path(home, "bin", "java")) if home else "java") is None:
        pytest.skip("Java is absent; `make setup` says how to install it")
    made = Run(tmp_path)
    yield made
    made.close()


@pytest.mark.rotating(3, 1)
def test_kills_at_any_moment_lose_nothing_and_repeat_nothing(run: Run) -> None:
    seed = int(os.environ.get("AUGURY_KILLS_SEED", random.SystemRandom().randrange(2**32)))
    print(f"AUGURY_KILLS_SEED={seed}")  # noqa: T201
    rng = random.Random(seed)
    rows = arriving(rng, KILLS * FILES_PER_KILL * ROWS_PER_FILE)
    parts = [rows[at : at + ROWS_PER_FILE] for at in range(0, len(rows), ROWS_PER_FILE)]
    whom = ["driver" if number % 5 < 2 else "workers" for number in range(KILLS)]
    rng.shuffle(whom)
    for number in range(KILLS):
        for part in parts[number * FILES_PER_KILL :][:FILES_PER_KILL]:
            run.feed(part)
        if number == KILLS - 1:
            run.feed([end_mark(1)])
        run.drive()
        time.sleep(rng.uniform(0.0, LONGEST_WAIT_S))
        run.kill(whom[number])
    run.drive()
    # A kill may come between the first mark and what it brings out; new rows bring that out, too.
    run.feed([end_mark(2)])
    run.finish()
    wanted = expected(rows)
    told = f"seed {seed}, killed: {', '.join(run.story)}"
    print(told)  # noqa: T201
    assert Counter(name for name, *_ in wanted).keys() == set(QUERIES), told
    assert run.found() == wanted, told
    assert run.put_aside() == 0, told

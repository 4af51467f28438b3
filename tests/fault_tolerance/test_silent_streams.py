"""A run beside a silent stream that is killed: `augury run` goes on as if nothing had happened."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import augury
from fault_tolerance.processes import end_session

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SCRIPT = """
CREATE STREAM doors (id LONG, kind STRING, tag STRING, at TIMESTAMP)
ID id KEY tag TIME at TYPE kind LATENESS 2 SECONDS FROM json 'doors/';
CREATE STREAM alarms (id LONG, tag STRING, at TIMESTAMP)
ID id KEY tag TIME at LATENESS 5 SECONDS IDLE AFTER 3 SECONDS FROM json 'alarms/';
CREATE QUERY stays ON doors PATTERN SEQ(IN a, !OUT b) WHERE [tag] WITHIN 10 SECONDS;
CREATE QUERY both ON doors, alarms PATTERN SEQ(doors a, alarms b) WHERE [tag] WITHIN 10 SECONDS;
WRITE stays TO json 'stays/';
WRITE both TO json 'both/';
"""
PATIENCE_S = 600


def at(second: int) -> str:
    return f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z"


def door(second: int, kind: str = "IN") -> dict[str, Any]:
    return {"id": second, "kind": kind, "tag": "x", "at": at(second)}


def alarm(second: int) -> dict[str, Any]:
    return {"id": second, "tag": "x", "at": at(second)}


@dataclass
class Run:
    """`augury run` in a folder, over as many processes as it takes."""

    folder: Path
    process: subprocess.Popen[bytes] | None = None

    def feed(self, stream: str, *rows: dict[str, Any]) -> None:
        own, draft = self.folder / stream, self.folder / "draft"
        own.mkdir(exist_ok=True)
        draft.write_text("".join(json.dumps(row) + "\n" for row in rows))
        draft.rename(own / f"{len(list(own.iterdir())):03d}.json")

    def start(self) -> subprocess.Popen[bytes]:
        flags = [
            "--stream",
            "--engine",
            "spark",
            "--master",
            "local[2]",
            "--checkpoint",
            "state",
        ]
        with (self.folder / "said.txt").open("ab") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "augury", "run", "q.sql", *flags],
                cwd=self.folder,
                env=os.environ | {"PYTHONPATH": str(Path(augury.__file__).parent.parent)},
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self.process

    def close(self) -> None:
        if self.process is not None:
            end_session(self.process.pid)
            self.process.wait()

    def found(self, query: str) -> list[tuple[str, str]]:
        """Return the matches that are written, as often as they are there: minutes and seconds."""
        files = sorted((self.folder / query).glob("batch=*/*.json"))
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        return sorted((row["start_ts"][14:19], row["end_ts"][14:19]) for row in rows)

    def wait_for(self, what: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE_S
        while not what():
            assert self.process is not None
            said = (self.folder / "said.txt").read_text()[-4000:]
            assert self.process.poll() is None, said
            assert time.monotonic() < until, said
            time.sleep(0.2)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    home = os.environ.get("JAVA_HOME")
    if shutil.which(str(Path(home, "bin", "java")) if home else "java") is None:
        pytest.skip("Java is absent; `make setup` says how to install it")
    (tmp_path / "q.sql").write_text(SCRIPT)
    made = Run(tmp_path)
    yield made
    made.close()


@pytest.mark.rotating(3, 2)
def test_answers_beside_a_silent_stream_come_once_before_a_kill_and_after_it(run: Run) -> None:
    run.feed("doors", door(100))
    run.feed("alarms", alarm(105))
    run.feed("doors", door(120, "OUT"))
    run.start()
    run.wait_for(lambda: bool(run.found("stays") and run.found("both")))
    run.feed("doors", door(130))
    run.feed("alarms", alarm(135))
    run.close()
    run.feed("doors", door(150, "OUT"))
    process = run.start()
    run.wait_for(lambda: len(run.found("stays")) > 1 and len(run.found("both")) > 1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0
    assert run.found("stays") == [("01:40", "01:40"), ("02:10", "02:10")]
    assert run.found("both") == [("01:40", "01:45"), ("02:10", "02:15")]

"""kill -9 between any two writes: after the restart the store is what it would have been."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stores import pushing
from stores.databases import Server, asked

pytestmark = pytest.mark.slow
# More of them in `make fuzz`.
KILLS = int(os.environ.get("AUGURY_KILLS", "10"))


class Sessions:
    """Pushing sessions, one after another, each in a process of its own."""

    def __init__(self) -> None:
        self.running = subprocess.Popen(
            [sys.executable, pushing.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def push(self, **order: Any) -> int:
        assert self.running.stdin is not None
        assert self.running.stdout is not None
        self.running.stdin.write(json.dumps(order) + "\n")
        self.running.stdin.flush()
        return int(self.running.stdout.readline())

    def end(self) -> None:
        self.running.communicate(timeout=60)


@pytest.fixture(scope="module")
def sessions() -> Iterator[Sessions]:
    made = Sessions()
    yield made
    made.end()


def contents(url: str) -> dict[str, list[Any]]:
    """Return all tables; rules that write several have written them together.

    A table into which nothing was ever written is not made.
    """
    there, names = made(url), ("status", "counts", "alarms")
    found = {n: sorted(asked(url, f"SELECT * FROM {n}")) if n in there else [] for n in names}
    alarms = [worker for _, worker, _ in found["alarms"]]
    assert dict(found["counts"]) == {w: alarms.count(w) for w in set(alarms)}
    return found


def made(url: str) -> set[str]:
    """Return the names of all tables."""
    if url.startswith("sqlite"):
        tables = asked(url, "SELECT name FROM sqlite_master")
    else:
        tables = asked(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    return {name for (name,) in tables}


def broken_and_mended(sessions: Sessions, url: str, seed: int, folder: Path, kills: int) -> int:
    """Push the events of a seed, killed again and again; return how often it died."""
    chance, died = random.Random(seed), 0
    checkpoint = str(folder / f"{seed}.state") if seed % 2 else None
    while died < kills:
        ended = sessions.push(
            url=url, seed=seed, kill_at=chance.randint(1, 40), checkpoint=checkpoint
        )
        assert ended in (0, -9)
        contents(url)
        if ended == 0:
            break
        died += 1
    assert sessions.push(url=url, seed=seed, kill_at=0, checkpoint=checkpoint) == 0
    return died


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_killed_sessions_leave_what_one_that_lived_leaves(
    kind: str, sessions: Sessions, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server: Server | None = request.getfixturevalue("server") if kind == "postgresql" else None

    def url(name: str) -> str:
        return f"sqlite:///{tmp_path}/{name}.db" if server is None else server.database()

    died = seed = 0
    while died < KILLS // 2:
        seed += 1
        whole, broken = url(f"whole{seed}"), url(f"broken{seed}")
        assert sessions.push(url=whole, seed=seed, kill_at=0, checkpoint=None) == 0
        died += broken_and_mended(sessions, broken, seed, tmp_path, kills=3)
        assert contents(broken) == contents(whole)
        assert sessions.push(url=broken, seed=seed, kill_at=0, checkpoint=None) == 0
        assert contents(broken) == contents(whole), "a second run changes nothing"


def test_the_writes_of_a_rule_are_there_together_wherever_it_dies(
    sessions: Sessions, tmp_path: Path
) -> None:
    """The first commits, one step after another, until a run comes to its end."""
    whole = f"sqlite:///{tmp_path}/whole.db"
    assert sessions.push(url=whole, seed=3, kill_at=0, checkpoint=None) == 0
    url = f"sqlite:///{tmp_path}/ward.db"
    for kill_at in (4, 7, 9, 11, 13):
        ended = sessions.push(url=url, seed=3, kill_at=kill_at, checkpoint=None)
        assert ended == -9
        contents(url)
    assert sessions.push(url=url, seed=3, kill_at=0, checkpoint=None) == 0
    assert contents(url) == contents(whole)

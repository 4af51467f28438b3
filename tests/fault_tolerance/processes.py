"""A process with all that it started, as /proc shows them; each is ended by its own id.

A driver is started in a session of its own. Its JVM, and the Python workers of that, stay in the
session whatever becomes of their parents, so none is left behind.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

_WORKER = b"pyspark.daemon"
_DEAD = "ZX"


@dataclass(frozen=True)
class Process:
    """One process: its parent, its session, and its command."""

    pid: int
    parent: int
    session: int
    command: bytes

    @property
    def is_worker(self) -> bool:
        return _WORKER in self.command


def in_session(leader: int) -> list[Process]:
    """Return the living processes of a session."""
    numbers = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
    found = [process for number in numbers if (process := _read(number)) is not None]
    return [process for process in found if process.session == leader]


def _read(pid: int) -> Process | None:
    try:
        # The name of a program may hold anything, so fields are counted from its end.
        state, parent, _, session = (
            Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split(maxsplit=4)[:4]
        )
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return None
    return None if state in _DEAD else Process(pid, int(parent), int(session), command)


def end_session(leader: int) -> None:
    """Kill every process of a session, and wait until none is left."""
    while members := in_session(leader):
        end(members)
        time.sleep(0.05)


def end_workers(leader: int) -> int:
    """Kill the Python workers of a session, not the process that forks them; return how many."""
    members = [process for process in in_session(leader) if process.is_worker]
    daemons = {process.pid for process in members}
    workers = [process for process in members if process.parent in daemons]
    end(workers)
    return len(workers)


def end(processes: list[Process]) -> None:
    for process in processes:
        try:
            os.kill(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue

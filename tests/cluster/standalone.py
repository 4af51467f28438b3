"""A standalone cluster on loopback: a master and workers, ended by their process ids."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspark

PATIENCE_S = 120.0
HOME = Path(pyspark.__file__).parent
# What a test asks of a JVM is over before thorough compilation would pay.
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def bare_environment() -> dict[str, str]:
    """Return an environment in which Python finds none of the packages of this one."""
    paths = [str(Path(sys.base_prefix) / "bin"), "/usr/local/bin", "/usr/bin", "/bin"]
    kept = {name: os.environ[name] for name in ("HOME", "JAVA_HOME", "LANG") if name in os.environ}
    settings = {
        "SPARK_HOME": str(HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JVM,
    }
    return kept | settings | {"PATH": ":".join(paths)}


@dataclass(frozen=True)
class Cluster:
    """A running cluster: the master's address, and the processes of its workers."""

    master: str
    workers: Sequence[subprocess.Popen[bytes]]

    def kill(self, number: int) -> None:
        """End a worker and its executors at once, as a machine that loses power does."""
        worker = self.workers[number].pid
        for pid in (worker, *_children(worker)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def running(folder: Path, workers: int) -> Iterator[Cluster]:
    """Start a master and its workers, each with one core."""
    master = f"spark://127.0.0.1:{free_port()}"
    host = ["--host", "127.0.0.1", "--port"]
    started: list[subprocess.Popen[bytes]] = []
    try:
        port = master.rpartition(":")[2]
        args = [*host, port, "--webui-port", str(free_port())]
        started.append(_daemon("master.Master", args, folder / "master.log"))
        _wait_for(folder / "master.log", "New state: ALIVE", 1)
        for number in range(workers):
            own = ["--cores", "1", "--memory", "700m", "--work-dir", str(folder / f"work{number}")]
            args = [*host, str(free_port()), "--webui-port", str(free_port()), *own, master]
            started.append(_daemon("worker.Worker", args, folder / f"worker{number}.log"))
        _wait_for(folder / "master.log", "Registering worker", workers)
        yield Cluster(master, started[1:])
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait(PATIENCE_S)


@contextlib.contextmanager
def cluster(folder: Path, workers: int) -> Iterator[str]:
    """Start a master and its workers; give the master's address."""
    with running(folder, workers) as own:
        yield own.master


def _children(parent: int) -> list[int]:
    """Return the processes that a process has started, which are still there."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(path.parent.name))
    return found


def _daemon(name: str, args: list[str], log: Path) -> subprocess.Popen[bytes]:
    command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *args]
    with log.open("wb") as said:
        return subprocess.Popen(
            command, env=bare_environment(), stdout=said, stderr=subprocess.STDOUT
        )


def _wait_for(log: Path, words: str, times: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while log.read_text().count(words) < times:
        assert time.monotonic() < deadline, f"no {words!r} in: {log.read_text()[-2000:]}"
        time.sleep(0.2)

"""`augury run` in a process of its own, which can be watched, killed, and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from kafka.jars import folder

PATIENCE_S = 900


class Driver:
    """One process with all that it starts; what it says is collected as it comes."""

    def __init__(self, home: Path, *arguments: str) -> None:
        settings = ("--conf", "spark.sql.shuffle.partitions=2", "--master", "local[2]")
        self.said: list[dict[str, Any]] = []
        self._errors = (home / "stderr.txt").open("ab+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "augury", "run", *arguments, "--json", *settings],
            cwd=home,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"AUGURY_KAFKA_JARS": str(folder("connector")), "AUGURY_SHARDS": "2"},
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(json.loads(line))

    def wait_for(self, **wanted: int) -> None:
        """Wait until a line reaches the wanted numbers, as `batch=2, matches=1`."""
        deadline = time.monotonic() + PATIENCE_S
        while not any(all(said.get(k, -1) >= v for k, v in wanted.items()) for said in self.said):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the run did not get there: {self.said}\n{self.errors()}")
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill the driver, its JVM and its workers, all at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self._finish()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Ask the driver to stop; return its exit code."""
        self.process.send_signal(how)
        return self.end()

    def end(self) -> int:
        """Wait for the end; return the exit code."""
        try:
            code = self.process.wait(PATIENCE_S)
        finally:
            if self.process.poll() is None:
                self.kill()
        self._finish()
        return code

    def _finish(self) -> None:
        self.process.wait()
        self._reader.join(30)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def errors(self) -> str:
        """Return the end of what was printed on standard error."""
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")[-3000:]

    def close(self) -> None:
        """End the process if it still runs."""
        if self.process.poll() is None:
            self.kill()
        else:
            self._finish()
        self._errors.close()

"""A real Kafka broker on loopback: one process in KRaft mode, a free port, its own folder."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import time
import uuid
from pathlib import Path

PATIENCE_S = 120
_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "num.partitions": "2",
    "auto.create.topics.enable": "false",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.segment.bytes": "16777216",
}


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class Broker:
    """One broker; it can be stopped, killed and started again with what it has stored."""

    def __init__(self, jars: Path, home: Path) -> None:
        self.jars, self.home = jars, home
        self.port, self._controller = free_port(), free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._write_settings()
        self._format()

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the process and wait until it answers."""
        with (self.home / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._java("kafka.Kafka", str(self.home / "server.properties")),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        deadline = time.monotonic() + PATIENCE_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the broker did not start:\n{self.log()[-3000:]}")
            time.sleep(0.2)

    def stop(self) -> None:
        """End the process in good order, or by force where that takes too long."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def log(self) -> str:
        """Return what the broker printed."""
        return (self.home / "broker.log").read_text(errors="replace")

    def _answers(self) -> bool:
        with socket.socket() as client:
            client.settimeout(1)
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def _write_settings(self) -> None:
        public, private = f"PLAINTEXT://{self.servers}", f"127.0.0.1:{self._controller}"
        settings = _SETTINGS | {
            "listeners": f"{public},CONTROLLER://{private}",
            "advertised.listeners": public,
            "controller.quorum.voters": f"1@{private}",
            "log.dirs": str(self.home / "data"),
        }
        lines = "".join(f"{key}={value}\n" for key, value in settings.items())
        (self.home / "server.properties").write_text(lines)

    def _format(self) -> None:
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        # An id must not look like an option.
        arguments = ["format", "-t", f"A{cluster[1:]}", "-c", str(self.home / "server.properties")]
        command = self._java("kafka.tools.StorageTool", *arguments)
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)

    def _java(self, *arguments: str) -> list[str]:
        home = os.environ.get("JAVA_HOME")
        java = str(Path(home, "bin", "java")) if home else "java"
        memory = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        return [java, *memory, "-cp", f"{self.jars}/*", *arguments]

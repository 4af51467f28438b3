"""What a run has done, in numbers that Prometheus reads: on loopback, unless told otherwise.

Nothing of what events say is told: numbers, and the names that the script has. Of streams under a
policy there are no numbers either, because none are counted.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from augury.errors import AuguryError

LOOPBACK = "127.0.0.1"
# So many answers are recent.
RECENT = 1000
_HELP = {
    "augury_events_total": ("counter", "events that were read"),
    "augury_matches_total": ("counter", "rows that were told, by the name of what was asked"),
    "augury_firings_total": ("counter", "firings that were told, by rule"),
    "augury_rejected_rows_total": ("counter", "rows that could not be used, by stream"),
    "augury_late_rows_total": ("counter", "rows that came behind the watermark, by stream"),
    "augury_watermark_lag_seconds": ("gauge", "how far the watermark is behind the latest event"),
    "augury_state_rows": ("gauge", "rows that are remembered"),
    "augury_state_bytes": ("gauge", "bytes that are remembered"),
    "augury_batches_total": ("counter", "batches that were finished"),
    "augury_last_batch_timestamp_seconds": ("gauge", "when the last batch was finished"),
    "augury_confidence_mean": ("gauge", "mean confidence of all rows that were told"),
    "augury_confidence_drift": (
        "gauge",
        f"mean confidence of the last {RECENT} rows less that of all",
    ),
}
_KINDS = {"late": "augury_late_rows_total", "rejected": "augury_rejected_rows_total"}


@dataclass
class Confidences:
    """The confidences of one query: all in sum, the last ones each."""

    count: int = 0
    total: float = 0.0
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))

    def add(self, found: Iterable[float]) -> None:
        """Take confidences in."""
        for each in found:
            self.count, self.total = self.count + 1, self.total + each
            self.recent.append(each)

    @property
    def mean(self) -> float:
        return self.total / self.count

    @property
    def drift(self) -> float:
        """By how much what was told last is surer than all."""
        return sum(self.recent) / len(self.recent) - self.mean


@dataclass
class Metrics:
    """The numbers of one run; `names` are what was asked for by the places of its answers."""

    names: Mapping[str, str] = field(default_factory=dict)
    rules: frozenset[str] = frozenset()
    _values: dict[tuple[str, str], float] = field(default_factory=dict)
    _sure: dict[str, Confidences] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, found: Mapping[str, Any], totals: Mapping[tuple[str, str], int]) -> None:
        """Take in what a batch came to, and the totals so far by kind and name."""
        with self._lock:
            values = self._values
            if found["events"] is not None:
                events = values.get(("augury_events_total", ""), 0.0)
                values["augury_events_total", ""] = events + found["events"]
            batches = values.get(("augury_batches_total", ""), 0.0)
            values["augury_batches_total", ""] = batches + 1
            values["augury_last_batch_timestamp_seconds", ""] = time.time()
            for name in ("state_rows", "state_bytes", "watermark_lag_seconds"):
                if found[name] is not None:
                    values[f"augury_{name}", ""] = float(found[name])
            for (kind, own), count in totals.items():
                self._count(kind, own, count)

    def _count(self, kind: str, own: str, count: int) -> None:
        if kind in _KINDS:
            self._values[_KINDS[kind], f'stream="{_escaped(own)}"'] = count
        elif kind == "match":
            name = self.names.get(own, own)
            if name.lower() in self.rules:
                self._values["augury_firings_total", f'rule="{_escaped(name)}"'] = count
            elif "\n" not in name:
                self._values["augury_matches_total", f'query="{_escaped(name)}"'] = count

    def sure(self, own: str, confidences: Iterable[float]) -> None:
        """Take in how sure some answers are."""
        name = self.names.get(own, own)
        if "\n" in name:
            return
        with self._lock:
            known = self._sure.setdefault(name, Confidences())
            known.add(confidences)
            label = f'query="{_escaped(name)}"'
            if known.count:
                self._values["augury_confidence_mean", label] = known.mean
                self._values["augury_confidence_drift", label] = known.drift

    def text(self) -> str:
        """Return all numbers as Prometheus reads them."""
        with self._lock:
            values = dict(self._values)
        lines = list[str]()
        for name, (kind, meaning) in _HELP.items():
            own = [(label, value) for (known, label), value in values.items() if known == name]
            if own:
                lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
            for label, value in sorted(own):
                lines.append(f"{name}{{{label}}} {value!r}" if label else f"{name} {value!r}")
        return "\n".join(lines) + "\n"


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def served(metrics: Metrics, place: str) -> ThreadingHTTPServer:
    """Serve numbers at `/metrics`, of a PORT on loopback or of HOST:PORT, until it is shut down."""
    host, _, port = place.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 2**16):
        fault = f"{port or 'nothing'} is no port; say PORT or HOST:PORT"
        raise AuguryError(f"--metrics {place} cannot be served: {fault}")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404)
                return
            body = metrics.text().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing of who asks."""

    try:
        server = ThreadingHTTPServer((host.strip("[]") or LOOPBACK, int(port)), Handler)
    except OSError as problem:
        raise AuguryError(f"--metrics {place} cannot be served: {problem}") from problem
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server

"""A webhook on this machine that fails, hangs, and forgets that it has answered."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET = "s3cret"
# What it does with the next requests: takes one, answers with a number, takes it and breaks the
# line ("forgets"), does not answer until it is let go ("hangs"), or answers what is no HTTP
# ("babbles"). With 301 and the like it says that it is elsewhere, where it takes nothing.
Behaviour = str | int


@dataclass
class Hook:
    """What came: every request, and its body by idempotency key, the first time."""

    behaviours: list[Behaviour] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    log: dict[str, dict[str, Any]] = field(default_factory=dict)
    forged: int = 0
    repeats: int = 0
    go: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def rows(self, *names: str) -> list[tuple[Any, ...]]:
        """Return what was taken, once each, in order."""
        return [tuple(row[name] for name in names) for row in self.log.values()]


@contextmanager
def hook(*behaviours: Behaviour) -> Iterator[Hook]:
    """Run a webhook; after its behaviours are used up it takes everything."""
    own = Hook(list(behaviours))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            what = own.behaviours.pop(0) if own.behaviours else "takes"
            key = self.headers["Idempotency-Key"]
            own.requests.append(key)
            if what == "hangs":
                own.go.wait(20)
                return
            if what == "babbles":
                self.wfile.write(b"well, well\r\n\r\n")
                return
            if isinstance(what, int):
                self.send_response(what)
                if 300 <= what < 400:
                    self.send_header("Location", own.url)
                self.end_headers()
                return
            signed = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
            own.forged += self.headers["X-Augury-Signature"] not in (None, f"sha256={signed}")
            own.repeats += key in own.log
            own.log.setdefault(key, json.loads(body))
            if what == "forgets":
                return
            self.send_response(204)
            self.end_headers()

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    own.url = f"http://127.0.0.1:{server.server_port}/alarms"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield own
    finally:
        own.go.set()
        server.shutdown()
        server.server_close()
        thread.join()

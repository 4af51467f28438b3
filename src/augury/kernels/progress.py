"""What is said while kernels are compiled, so that nobody waits before a silent terminal.

On a terminal one line counts the seconds, and goes away; in a log there is a line now and then.
What takes no longer than a moment is not mentioned.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from numba.core import event

from augury.kernels import kept

# Seconds of compiling that nobody minds, and between two lines in a log.
MOMENT, PAUSE = 2.0, 10.0


class Progress(event.Listener):
    """Counts what is compiled in this process, and says so every second."""

    def __init__(self) -> None:
        self.depth = self.done = 0
        self.seconds = self.began = 0.0
        self.silent_until = MOMENT
        self.idle = threading.Event()

    def on_start(self, event: Any) -> None:
        """Begin to count when the outermost kernel begins; others are compiled for it."""
        if not _is_own(event):
            return
        self.depth += 1
        if self.depth == 1:
            self.began, self.idle = time.monotonic(), threading.Event()
            threading.Thread(target=self._tick, args=(self.idle,), daemon=True).start()

    def on_end(self, event: Any) -> None:
        if not _is_own(event):
            return
        self.depth -= 1
        self.done += 1
        if self.depth == 0:
            self.idle.set()
            self.seconds += time.monotonic() - self.began
            if self.seconds >= MOMENT and _is_terminal():
                _say("\r\x1b[K")

    def _tick(self, idle: threading.Event) -> None:
        while not idle.wait(1.0):
            self.tell(self.seconds + time.monotonic() - self.began)

    def tell(self, seconds: float) -> None:
        """Say how far it is after so many seconds."""
        if seconds < self.silent_until:
            return
        line = (
            "augury: compiling kernels for this processor, Python and Numba, "
            f"{kept.how_long()}: {self.done} functions in {seconds:.0f} s, of about 210"
        )
        if _is_terminal():
            _say(f"\r{line}\x1b[K")
        else:
            self.silent_until = seconds + PAUSE
            _say(f"{line}\n")


def listen() -> None:
    """Say from now on what is compiled."""
    event.register("numba:compile", Progress())


def _is_own(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("augury.")


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _say(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()

"""The Java process that is started for a run: why it gave up, and how it is ended.

Pyspark shows the process only once Java has answered. Until then, an interrupted start would leave
it behind, and why it gave up would stand nowhere but in a stack trace on the terminal.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import threading
from collections.abc import Iterator
from subprocess import PIPE, Popen, TimeoutExpired
from types import ModuleType, SimpleNamespace
from typing import IO, Any

from pyspark import java_gateway
from pyspark.core import context

from augury.runners.process import failures

_PATIENCE_S = 5.0
_STANDARD_ERROR = 2
_THROWN = re.compile(r'^Exception in thread "[^"]*" ', re.MULTILINE)
_CHATTER = re.compile(
    r"WARNING|Using |Setting |To adjust |\d\d/\d\d/\d\d |\s*$"
    r"|Error: Could not create the Java|Error: A fatal exception"
)
_DEAF = SimpleNamespace(SIGINT=signal.SIGINT, signal=lambda *_: None)


@contextlib.contextmanager
def _replaced(module: ModuleType, name: str, value: Any) -> Iterator[None]:
    """Put a value in the place of one that a module has; a pyspark without it starts as it does."""
    if name not in vars(module):
        yield
        return
    own = vars(module)[name]
    vars(module)[name] = value
    try:
        yield
    finally:
        vars(module)[name] = own


class Java:
    """A process of Java, known from the moment it is there."""

    def __init__(self) -> None:
        self._process: Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._said: list[str] = []
        self._is_starting = False
        self.is_ours = False

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Let pyspark start its process here; the session is then ours, and ours to end."""
        self.is_ours = self._is_starting = True
        try:
            # The handler that pyspark sets for Ctrl-C would take the place of the run's.
            with (
                _replaced(java_gateway, "Popen", self._launch),
                _replaced(context, "signal", _DEAF),
            ):
                yield
        finally:
            self._is_starting = False

    def _launch(self, command: Any, **options: Any) -> Popen[bytes]:
        process = Popen(command, stderr=PIPE, **options)
        self._process = process
        self._reader = threading.Thread(target=self._listen, args=(process.stderr,), daemon=True)
        self._reader.start()
        return process

    def _listen(self, lines: IO[bytes]) -> None:
        """Pass on what Java says, except for the stack trace that a start ends with."""
        is_thrown = False
        with lines:
            for line in lines:
                if self._is_starting:
                    self._said.append(line.decode(errors="replace"))
                    is_thrown = is_thrown or bool(_THROWN.match(self._said[-1]))
                if not (self._is_starting and is_thrown) or os.environ.get("AUGURY_TRACEBACK"):
                    os.write(_STANDARD_ERROR, line)

    def last_words(self) -> str | None:
        """Return why a process that ended by itself did so, if there was one and it said so."""
        if self._process is None or self._reader is None or self._process.poll() is None:
            return None
        self._reader.join(_PATIENCE_S)
        said = "".join(self._said)
        thrown = _THROWN.search(said)
        if thrown is not None:
            return failures.reason(said[thrown.end() :])
        words = [line.strip() for line in self._said if not _CHATTER.match(line)]
        return " ".join(words[-3:]) or None

    def end(self) -> None:
        """End the process, if one was started here; it has a moment to remove its files."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE_S)
        except TimeoutExpired:
            self._process.kill()


# One process of Python has one Java.
JAVA = Java()

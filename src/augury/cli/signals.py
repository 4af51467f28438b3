"""What Ctrl-C and SIGTERM do to a run: the batch under way is finished, a second Ctrl-C is not."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, Protocol

from augury.cli.progress import Reporter


class Stoppable(Protocol):
    """What stops after the batch under way."""

    @property
    def stopping(self) -> threading.Event: ...


Stop = Callable[[int, Any], None]
_STANDARD_ERROR = 2


@contextlib.contextmanager
def _on_signals(stop: Stop) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextlib.contextmanager
def ending_on_signals(reporter: Reporter) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end what has not begun to deliver, and Java with it."""
    with _on_signals(lambda number, _: _end(number, reporter, "stopped before the first batch")):
        yield


@contextlib.contextmanager
def stopping_on_signals(delivery: Stoppable, reporter: Reporter) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM finish the batch under way; a second Ctrl-C ends the run at once."""

    def stop(number: int, _: object) -> None:
        if delivery.stopping.is_set() and number == signal.SIGINT:
            _end(number, reporter, "stopped at once; a batch that was under way is not whole")
        delivery.stopping.set()
        reporter.note("stopping once the batch under way is done; Ctrl-C again stops at once")

    with _on_signals(stop):
        yield


def _end(number: int, reporter: Reporter, why: str) -> NoReturn:
    """End this process and its Java, with the exit code that shells give to a signal."""
    if "pyspark" not in sys.modules:
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        reporter.note(why)
        sys.stdout.flush()
        os._exit(128 + number)
    from augury.runners.process.java_process import JAVA

    if not JAVA.is_ours:
        raise KeyboardInterrupt
    reporter.note(why)
    sys.stdout.flush()
    # Threads that wait for Java would each tell that it has gone.
    os.dup2(os.open(os.devnull, os.O_WRONLY), _STANDARD_ERROR)
    JAVA.end()
    os._exit(128 + number)

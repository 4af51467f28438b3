"""Python's cycle collector, called less often while people are followed.

States, acts and matches are made by the hundred thousand and hardly ever in cycles; by its own
thresholds the collector walks through all of them again and again.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

# So many objects more than before are made between two walks, and walks between larger ones.
SELDOM = (50_000, 20, 20)


@dataclass
class _Seldom:
    """Who asked for fewer walks, in all threads, and the thresholds that there were before."""

    lock: Lock = field(default_factory=Lock)
    users: int = 0
    before: tuple[int, int, int] = SELDOM

    def enter(self) -> None:
        with self.lock:
            if not self.users:
                self.before = gc.get_threshold()
                gc.set_threshold(*SELDOM)
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                gc.set_threshold(*self.before)


_SELDOM = _Seldom()


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Let the collector walk seldom; a process that has turned it off stays as it is."""
    if not gc.isenabled() or not gc.get_threshold()[0]:
        yield
        return
    _SELDOM.enter()
    try:
        yield
    finally:
        _SELDOM.leave()

"""Which streams have been silent for so long that nobody waits for them: IDLE AFTER.

Silence is measured by the clock on the wall, not by the times of events: those of the stream itself
do not come, and those of others say nothing about it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

MICROSECONDS = 1_000_000


@dataclass
class Silence:
    """When rows of each stream came last; `clock` tells seconds."""

    clock: Callable[[], float] = time.monotonic
    limits: dict[str, float] = field(default_factory=dict)
    heard: dict[str, float] = field(default_factory=dict)

    def expect(self, stream: str, idle: int | None) -> None:
        """Count from now on how long a stream is silent, if it may be passed over."""
        if idle is not None:
            self.limits[stream] = idle / MICROSECONDS
            self.heard[stream] = self.clock()

    def hear(self, stream: str) -> None:
        """Note that rows of a stream came."""
        if stream in self.limits:
            self.heard[stream] = self.clock()

    def streams(self) -> list[str]:
        """Return the streams that have been silent for as long as they may be."""
        if not self.limits:
            return []
        now = self.clock()
        return [name for name, most in self.limits.items() if now - self.heard[name] >= most]

"""A value that workers need, sent by broadcast where it is too much for one message.

Spark broadcasts what a function brings along if it is long. It also starts the operator of a
streaming run once on the driver, in a process that has no broadcasts, and the run fails there. So
what is long is broadcast here, and opened only where it is asked for.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyspark import Broadcast, SparkContext, cloudpickle
from pyspark.core.broadcast import _broadcastRegistry

# Spark broadcasts a function from 2**20 bytes on.
LONGEST_MESSAGE = 2**19


@dataclass
class Sent:
    """A value that comes in pieces: here as it is, in a worker by the number of its broadcast."""

    number: int
    broadcast: Broadcast[bytes] | None = None
    _opened: list[Any] = field(default_factory=list)

    @property
    def value(self) -> Any:
        """What was sent."""
        if not self._opened:
            here = self.broadcast or _broadcastRegistry[self.number]
            self._opened.append(pickle.loads(here.value))
        return self._opened[0]

    def __reduce__(self) -> tuple[Callable[[int], Sent], tuple[int]]:
        """Leave the value behind; Spark notices which broadcasts a function brings along."""
        if self.broadcast is not None:
            self.broadcast.__reduce__()
        return Sent, (self.number,)


def sent(value: Any, context: SparkContext | None) -> Any:
    """Return a value as it is sent to workers; without a context, it is one message."""
    if context is None:
        return value
    data = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    if len(data) < LONGEST_MESSAGE:
        return value
    broadcast = context.broadcast(data)
    return Sent(broadcast._jbroadcast.id(), broadcast)


def received(value: Any) -> Any:
    """Return the value that `sent` was given."""
    return value.value if isinstance(value, Sent) else value

"""Where the state of a shard lives between micro-batches: in the worker that made its last step.

What Spark stores of a state names the worker that holds it and a token, new with every step. A
worker that gets the shard next goes on with its own state if it has that token, or lets the other
worker make the step: Spark gives a partition to any idle worker, and two workers of a machine are a
socket apart. Only where the holder is gone, or elsewhere, is the state loaded from the store.

A state is taken out before a step and comes back after it, under a new token. So an attempt that
fails, or comes a second time, finds the token of the store nowhere, and loads: it never sees what
another attempt has changed.
"""

from __future__ import annotations

import os
import secrets
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import pyarrow as pa

from augury.evaluation.encoding import whole
from augury.evaluation.row_blocks import Stored
from augury.runners.spark.tasks import Answer, Blob, listed, pieces, unpacked
from augury.sources.rows import REASON
from augury.sources.values import written

# A shard of either kind with its own state: both obey `augury.operator`.
AnyShard = Any
AnyState = Any
# A run and the number of a shard in it.
ShardName = tuple[str, int]
# States of runs that have ended are let go after so long without a step.
FORGET_AFTER_S, LOOK_EVERY_S = 300.0, 30.0


@dataclass(frozen=True, slots=True)
class StateAddress:
    """Where a state lives: the address of the process that holds it, and under which token."""

    holder: str = ""
    token: bytes = b""


@dataclass(frozen=True, slots=True)
class Step:
    """What a shard is to take in, and how far the watermark has come in units of event time."""

    blobs: list[Blob]
    horizon: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step brought: answers, what is to be stored (None: nothing is left), what is due."""

    answers: list[Answer]
    stored: Stored | None = None
    place: StateAddress = StateAddress()
    due: int | None = None


@dataclass(frozen=True, slots=True)
class _Held:
    token: bytes
    shard: AnyShard
    state: AnyState
    used: float


@dataclass
class LiveShards:
    """The states that this process holds, of each shard the last one."""

    address: str = ""
    held: dict[ShardName, _Held] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def go_on(self, name: ShardName, place: StateAddress, step: Step) -> Outcome | None:
        """Make a step with a state that lives here or in another process; None if it is gone."""
        if place.holder and place.holder != self.address:
            return _asked(name, place, step)
        own = self._take(name, place.token)
        return None if own is None else self.begin(name, own.shard, own.state, step)

    def begin(self, name: ShardName, shard: AnyShard, state: AnyState, step: Step) -> Outcome:
        """Make a step with a state that was loaded or is new, and hold what comes of it."""
        after, answers = advanced(shard, state, step)
        if after.is_empty:
            return Outcome(answers)
        stored, due = shard.stored(after), shard.due(after)
        place = StateAddress(self._listening(), secrets.token_bytes(16))
        with self.lock:
            self.held[name] = _Held(place.token, shard, after, time.monotonic())
        return Outcome(answers, stored, place, due)

    def forget(self, before: float) -> None:
        """Let go of states that had no step since a moment."""
        with self.lock:
            for name in [n for n, own in self.held.items() if own.used < before]:
                del self.held[name]

    def _take(self, name: ShardName, token: bytes) -> _Held | None:
        """Take a state out; one with another token is of another attempt, and of no use."""
        with self.lock:
            own = self.held.pop(name, None)
        return own if own is not None and own.token == token else None

    # Other processes --------------------------------------------------------------------------

    def _listening(self) -> str:
        """Return the address of this process, if others can ask it."""
        with self.lock:
            if not self.address and sys.platform == "linux":
                self.address = f"augury-{os.getpid()}-{secrets.token_hex(8)}"
                listener = socket.socket(socket.AF_UNIX)
                listener.bind(f"\0{self.address}")
                listener.listen(64)
                listener.settimeout(LOOK_EVERY_S)
                threading.Thread(target=self._listen, args=(listener,), daemon=True).start()
            return self.address

    def _listen(self, listener: socket.socket) -> None:
        while True:
            with suppress(TimeoutError):
                asking, _ = listener.accept()
                threading.Thread(target=self._serve, args=(asking,), daemon=True).start()
            self.forget(time.monotonic() - FORGET_AFTER_S)

    def _serve(self, asking: socket.socket) -> None:
        """Make the step that another process asks for.

        One that fails is answered by nothing: who asks loads the state, and fails with the reason.
        """
        with _connected(asking) as connection, suppress(Exception):
            name, token, step = connection.recv()
            connection.send(self.go_on(name, StateAddress(self.address, token), step))


LIVE = LiveShards()


def _asked(name: ShardName, place: StateAddress, step: Step) -> Outcome | None:
    """Let the process that holds a state make a step; None if it is not there or cannot."""
    with suppress(OSError, EOFError):
        asking = socket.socket(socket.AF_UNIX)
        try:
            asking.connect(f"\0{place.holder}")
        except OSError:
            asking.close()
            raise
        with _connected(asking) as connection:
            connection.send((name, place.token, step))
            found: Outcome | None = connection.recv()
            return found
    return None


@contextmanager
def _connected(peer: socket.socket) -> Iterator[Connection]:
    """Give a connection to a process of the same user; to others nothing is said."""
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    with Connection(peer.detach()) as connection:
        if user != os.getuid():
            raise EOFError
        yield connection


# The step ---------------------------------------------------------------------------------------


def advanced(shard: AnyShard, state: AnyState, step: Step) -> tuple[AnyState, list[Answer]]:
    """Take the blobs of one micro-batch in; return the state after it, and the new answers."""
    rows, answers = unpacked(step.blobs, shard.schemas)
    for name, stream in shard.network.bases.items():
        if name in rows:
            late = whole(rows[name].column(stream.time)) < step.horizon
            if late.any():
                late_rows = _late_rows(rows[name].filter(pa.array(late)), stream, step.horizon)
                answers += pieces("late", name, late_rows)
                rows[name] = rows[name].filter(pa.array(~late))
    after, found = shard.advance(state, rows, max(step.horizon, state.horizon))
    return after, answers + listed(found)


def _late_rows(rows: pa.Table, stream: Any, horizon: int) -> pa.Table:
    kind = "LONG" if stream.time_is_ticks else "TIMESTAMP"
    times = whole(rows.column(stream.time)).tolist()
    reasons = [
        f"{stream.time} is {written(time, kind)}, before the watermark {written(horizon, kind)}"
        for time in times
    ]
    return rows.append_column(REASON, pa.array(reasons, pa.string()))

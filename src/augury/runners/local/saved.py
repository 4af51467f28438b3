"""What a run keeps between two starts: how far its sources were read, and the state of its parts.

A batch is kept when all its answers are in place: one small file, written whole, says which blocks
of rows the state is made of, and how far every source was read. A run that was killed before that
makes the batch again, and folders take it in the place of what was there.
"""

from __future__ import annotations

import json
from base64 import b85decode, b85encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from augury.errors import StateError
from augury.matching.matcher import ALWAYS

if TYPE_CHECKING:
    from augury.runners.local.file_run import FileRun
    from augury.sinks.local_store import LocalStore

_NAME = "state.json"


@dataclass
class Saved:
    """The state of a run in a folder; `seen` is how far each source was read, by stream."""

    store: LocalStore
    seen: dict[str, dict[str, Any]] = field(default_factory=dict)
    _blocks: list[dict[str, str]] = field(default_factory=list)

    def load(self, run: FileRun) -> None:
        """Put a run into the state that was kept, if there is one."""
        about = self.store.read(_NAME)
        self._blocks = [{} for _ in run.parts]
        if about is None:
            return
        run.batch = about["batch"] + 1
        if about["parts"] is None:
            # The rows had ended; what comes now is new.
            return
        self.seen, run.horizon, run.greatest = about["seen"], about["horizon"], about["greatest"]
        if len(about["parts"]) != len(run.parts):
            raise StateError("the checkpoint is of other queries; start with another --checkpoint")
        self._blocks = [dict(kept["blocks"]) for kept in about["parts"]]
        for part, kept in zip(run.parts, about["parts"], strict=True):
            read = {int(n): self._read(name) for n, name in kept["blocks"].items()}
            part.state = part.shard.load(b85decode(kept["head"]), read)

    def keep(self, run: FileRun, *, ended: bool) -> None:
        """Keep what a batch came to."""
        if ended:
            dropped = [name for blocks in self._blocks for name in blocks.values()]
            self._put({"batch": run.batch, "parts": None})
            self._drop(dropped)
            return
        parts, dropped = list[dict[str, Any]](), list[str]()
        for number, (part, blocks) in enumerate(zip(run.parts, self._blocks, strict=True)):
            parts.append(self._stored(f"{number}-{run.batch}", part, blocks, dropped))
        horizon = min(run.horizon, ALWAYS)
        about = {"batch": run.batch, "seen": self.seen, "horizon": horizon, "parts": parts}
        self._put(about | {"greatest": run.greatest})
        self._drop(dropped)

    def _stored(
        self, name: str, part: Any, blocks: dict[str, str], dropped: list[str]
    ) -> dict[str, Any]:
        """Write what is new of a part's state; note the files that it needs no more."""
        stored = part.shard.stored(part.state)
        dropped += [blocks.pop(str(number)) for number in stored.dropped]
        for number, block in stored.added.items():
            if str(number) in blocks:
                dropped.append(blocks[str(number)])
            blocks[str(number)] = f"blocks/{name}-{number}"
            self.store.put(blocks[str(number)], block)
        return {"head": b85encode(stored.head).decode(), "blocks": dict(blocks)}

    def _read(self, name: str) -> bytes:
        try:
            return (self.store.root / name).read_bytes()
        except OSError as problem:
            raise StateError(f"{self.store.place(name)} cannot be read: {problem}") from problem

    def _put(self, about: dict[str, Any]) -> None:
        self.store.put(_NAME, json.dumps(about).encode())

    def _drop(self, names: list[str]) -> None:
        for name in names:
            self.store.delete(name)

"""Small files beside the data on this machine, as `augury.sinks.store` has them for Spark."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from pathlib import Path
from typing import Any

from augury.errors import StateError


class LocalStore:
    """Files and folders below one path, by relative names."""

    def __init__(self, path: str) -> None:
        self.root = Path(path.removeprefix("file://") if path.startswith("file:///") else path)

    def place(self, name: str) -> str:
        """Return the full path of a name."""
        return str(self.root / name)

    def make_private(self) -> None:
        """Make the folder, where it is not there, one that nobody but its owner can enter."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)

    def is_below_a_file(self) -> bool:
        """Whether the path, or the nearest above it that exists, is a file."""
        own = self.root.absolute()
        return not next(path for path in (own, *own.parents) if path.exists()).is_dir()

    def names(self, folder: str = "") -> list[str]:
        """Return what a folder holds, in order; a folder that is not there holds nothing."""
        own = self.root / folder
        return sorted(path.name for path in own.iterdir()) if own.is_dir() else []

    def read(self, name: str) -> dict[str, Any] | None:
        """Return what was written under a name, or None."""
        own = self.root / name
        if not own.exists():
            return None
        try:
            found: dict[str, Any] = json.loads(own.read_text(encoding="utf-8"))
        except ValueError as problem:
            raise StateError(
                f"{own} is damaged ({problem}); restore it, or start anew with another folder"
            ) from problem
        return found

    def write(self, name: str, content: dict[str, Any]) -> None:
        """Write a file, unless it is there: then it stays as it is."""
        if not (self.root / name).exists():
            self.put(name, json.dumps(content, indent=2).encode())

    def put(self, name: str, content: bytes) -> None:
        """Write a file, in place of one that is there; it appears whole or not at all."""
        own = self.root / name
        own.parent.mkdir(parents=True, exist_ok=True)
        draft = own.with_name(f"_{own.name}.{uuid.uuid4().hex}")
        with draft.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(own)

    def rename(self, name: str, new: str) -> None:
        """Give a file or folder a new name, which must be free."""
        own = self.root / new
        own.parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).rename(own)

    def delete(self, name: str) -> None:
        """Remove a file, or a folder with all it holds."""
        own = self.root / name
        if own.is_dir():
            shutil.rmtree(own)
        else:
            own.unlink(missing_ok=True)

"""Small files beside the data: who owns a folder, which batches are whole, where a topic ended.

They are kept by the file system that Spark uses for the path, so that checkpoints and targets may
be anywhere Spark can write. A file appears whole or not at all: it is written under another name,
which readers pass over, and renamed; a file that is there is never overwritten.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from typing import Any

from py4j.protocol import Py4JJavaError

from augury.errors import StateError


class Store:
    """Files and folders below one path, by relative names."""

    def __init__(self, spark: Any, path: str) -> None:
        self.path = path.rstrip("/") or "/"
        self._jvm = spark._jvm
        self._files = self._at("").getFileSystem(spark._jsc.hadoopConfiguration())

    def _at(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.path}/{name}" if name else self.path)

    def place(self, name: str) -> str:
        """Return the full path of a name."""
        return f"{self.path}/{name}"

    def exists(self, name: str) -> bool:
        return bool(self._files.exists(self._at(name)))

    def make_private(self) -> None:
        """Make the folder, where it is not there, one that nobody but its owner can enter."""
        if not self.exists(""):
            owner = self._jvm.org.apache.hadoop.fs.permission.FsPermission("700")
            self._files.mkdirs(self._at(""))
            # What was asked for when a folder is made is cut by a mask.
            self._files.setPermission(self._at(""), owner)

    def is_below_a_file(self) -> bool:
        """Whether the path, or the nearest above it that exists, is a file."""
        path = self._at("")
        while path is not None and not self._files.exists(path):
            path = path.getParent()
        return path is not None and not self._files.getFileStatus(path).isDirectory()

    def names(self, folder: str = "") -> list[str]:
        """Return what a folder holds, in order; a folder that is not there holds nothing."""
        if not self.exists(folder):
            return []
        return sorted(each.getPath().getName() for each in self._files.listStatus(self._at(folder)))

    def read(self, name: str) -> dict[str, Any] | None:
        """Return what was written under a name, or None."""
        if not self.exists(name):
            return None
        with contextlib.closing(self._files.open(self._at(name))) as stream:
            try:
                found: dict[str, Any] = json.loads(bytes(stream.readAllBytes()).decode())
            except ValueError as problem:
                raise self._damaged(name, str(problem)) from problem
            except Py4JJavaError as problem:
                # Hadoop keeps a sum beside each local file, and compares it before it gives a byte.
                if "ChecksumException" not in str(problem):
                    raise
                raise self._damaged(name, "its checksum is another") from problem
        return found

    def _damaged(self, name: str, why: str) -> StateError:
        return StateError(
            f"{self.place(name)} is damaged ({why}); restore it, or start anew with another folder"
        )

    def write(self, name: str, content: dict[str, Any]) -> None:
        """Write a file, unless it is there: then it stays as it is."""
        if self.exists(name):
            return
        folder, _, last = name.rpartition("/")
        draft = f"{folder}/_{last}.{uuid.uuid4().hex}".lstrip("/")
        stream = self._files.create(self._at(draft), True)
        stream.write(json.dumps(content, indent=2).encode())
        stream.close()
        self.rename(draft, name)

    def rename(self, name: str, new: str) -> None:
        """Give a file or folder a new name, which must be free."""
        self._files.mkdirs(self._at(new).getParent())
        if not self._files.rename(self._at(name), self._at(new)):
            raise StateError(f"{self.place(name)} could not be renamed to {self.place(new)}")

    def delete(self, name: str) -> None:
        """Remove a file, or a folder with all it holds."""
        if self.exists(name):
            self._files.delete(self._at(name), True)

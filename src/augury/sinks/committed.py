"""What a folder of answers is, whoever writes its files: one folder per batch, whole or not there.

    hits/batch=000017/      the rows of batch 17
    hits/_committed/        one file per whole batch
    hits/_augury.json       the run and the query that own the folder, and the format

A batch is written where readers do not look and then renamed, so that whoever reads `hits/` sees
whole batches only; Spark shows their number as the column `batch`. A batch that is repeated takes
the place of what was there.

Files are not rewritten when a match is revised: its new row is in a later batch, and the one with
the highest `revision` holds (docs/decisions/0024-revisions.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from augury.errors import StateError

_OWNER = "_augury.json"


class Places(Protocol):
    """Files and folders below one path, by relative names (`augury.sinks.store`)."""

    def place(self, name: str) -> str: ...
    def is_below_a_file(self) -> bool: ...
    def names(self, folder: str = "") -> list[str]: ...
    def read(self, name: str) -> dict[str, Any] | None: ...
    def write(self, name: str, content: dict[str, Any]) -> None: ...
    def rename(self, name: str, new: str) -> None: ...
    def delete(self, name: str) -> None: ...


@dataclass(frozen=True)
class Owner:
    """The run that a folder belongs to, and the query or stream whose rows it holds."""

    run: str
    name: str


class CommittedFolder:
    """A folder of Parquet, CSV or JSON files, written batch by batch."""

    path: str
    format: str
    owner: Owner

    @property
    def _store(self) -> Places:
        raise NotImplementedError

    def _save(self, rows: Any, place: str) -> None:
        """Write the files of a batch into a folder that is not there yet."""
        raise NotImplementedError

    def open(self) -> None:
        """Make sure that the folder can be written to, and is that of the run."""
        store = self._store
        if store.is_below_a_file():
            raise StateError(f"{self.path} is a file, or lies below one; write to another place")
        owner = store.read(_OWNER)
        if owner is None and any(name.startswith("batch=") for name in store.names()):
            raise StateError(f"{self.path} holds batches of unknown origin; write to another place")
        self._compare(owner or {})

    def _compare(self, owner: Mapping[str, str]) -> None:
        """Refuse a folder of others; those that older releases wrote tell the run alone."""
        if owner.get("run", self.owner.run) != self.owner.run:
            raise StateError(
                f"{self.path} holds the answers of another run; go on with the checkpoint of that "
                "run, write to another folder, or remove this one"
            )
        name, form = owner.get("name", self.owner.name), owner.get("format", self.format)
        if (name.lower(), form) != (self.owner.name.lower(), self.format):
            raise StateError(
                f"{self.path} holds rows of {name} as {form}, and these are of {self.owner.name} "
                f"as {self.format}; write to another folder, or remove this one"
            )

    def write(self, rows: Any, batch: int) -> None:
        """Put the rows of a batch in place of what it had."""
        store, name = self._store, _name(batch)
        about = {"run": self.owner.run, "name": self.owner.name, "format": self.format}
        store.write(_OWNER, about)
        draft = f"_pending/{name}"
        self._save(rows, store.place(draft))
        self.clear(batch)
        store.rename(draft, name)
        store.write(_marker(batch), {"batch": batch})

    def clear(self, batch: int) -> None:
        """Remove what a batch has left."""
        store = self._store
        store.delete(_marker(batch))
        store.delete(_name(batch))


def _name(batch: int) -> str:
    return f"batch={batch:06d}"


def _marker(batch: int) -> str:
    return f"_committed/{batch:06d}.json"

"""The answers of a run in this process to all their places, and the counts that are told of them.

A batch is a step of a streaming run, or the whole of a bounded one, whose rows come bit by bit:
what is added becomes visible when the batch is committed.
"""

from __future__ import annotations

import csv
import os
import shutil
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from augury.sinks.committed import CommittedFolder, Owner
from augury.sinks.local_store import LocalStore
from augury.sinks.plain_rows import plain_rows, write_csv, write_json

if TYPE_CHECKING:
    from augury.runners.metrics import Metrics

Place = tuple[str, str]
ASIDE = ("late", "rejected")
Show = Callable[[str, dict[str, Any]], None]


class LocalSink(Protocol):
    """A place for the rows of a batch, in parts."""

    def open(self) -> None: ...
    def add(self, rows: pa.Table) -> None: ...
    def commit(self, batch: int) -> None: ...


@dataclass
class LocalDelivery:
    """Sinks by (kind, name), with totals as `augury.sinks.delivery` has them."""

    sinks: Mapping[Place, Sequence[LocalSink]]
    totals: dict[Place, int] = field(default_factory=dict)
    first_reasons: dict[Place, str] = field(default_factory=dict)
    stopping: Event = field(default_factory=Event)
    metrics: Metrics | None = None

    def open(self) -> None:
        """Open every sink, before anything is read."""
        for sinks in self.sinks.values():
            for sink in sinks:
                sink.open()

    def add(self, place: Place, rows: pa.Table) -> None:
        """Take rows of a place in."""
        if not rows.num_rows:
            return
        self.totals[place] = self.totals.get(place, 0) + rows.num_rows
        if place[0] in ASIDE:
            self.first_reasons.setdefault(place, rows.column("reason")[0].as_py())
        for sink in self.sinks.get(place, ()):
            sink.add(rows)
        if self.metrics is not None and "confidence" in rows.column_names:
            self.metrics.sure(place[1], rows.column("confidence").drop_null().to_pylist())

    def count(self, place: Place, number: int) -> None:
        """Count what is no row of a sink."""
        self.totals[place] = self.totals.get(place, 0) + number

    def commit(self, batch: int) -> None:
        """Let everything be seen that was added for a batch."""
        for sinks in self.sinks.values():
            for sink in sinks:
                sink.commit(batch)

    def total(self, kind: str) -> int:
        """Return how many rows of a kind there were in this run."""
        return sum(count for (own, _), count in self.totals.items() if own == kind)


@dataclass
class LocalFolder(CommittedFolder):
    """A folder of Parquet, CSV or JSON files on this machine."""

    path: str
    format: str
    owner: Owner
    _writer: Any = field(default=None, init=False, repr=False)
    _is_first: bool = field(default=True, init=False, repr=False)

    @property
    def _store(self) -> LocalStore:
        return LocalStore(self.path)

    @property
    def _draft(self) -> str:
        return "_pending/batch"

    def add(self, rows: pa.Table) -> None:
        """Write rows where no reader looks."""
        if self._writer is None:
            draft = Path(self._store.place(self._draft))
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir(parents=True)
            self._writer = _writer(draft / f"part-00000.{self.format}", self.format, rows.schema)
        self._writer.write(rows)

    def commit(self, batch: int) -> None:
        """Put what was added in place, or remove what an earlier attempt has left."""
        if self._writer is None:
            if self._is_first:
                self.clear(batch)
        else:
            self._writer.close()
            self._writer = None
            self.write(None, batch)
        self._is_first = False

    def _save(self, rows: Any, place: str) -> None:
        store = self._store
        if Path(place).exists():
            shutil.rmtree(place)
        store.rename(self._draft, place.removeprefix(store.place("")).lstrip("/"))


def _writer(file: Path, form: str, schema: pa.Schema) -> Any:
    if form == "parquet":
        return pq.ParquetWriter(file, schema)
    return _TextWriter(file.open("w", encoding="utf-8", newline=""), form, schema.names)


class _TextWriter:
    """Writes rows as text."""

    def __init__(self, out: TextIO, form: str, names: list[str]) -> None:
        self.out, self.form = out, form
        if form == "csv":
            csv.writer(out, lineterminator="\n").writerow(names)

    def write(self, rows: pa.Table) -> None:
        if self.form == "csv":
            write_csv(rows, self.out)
        else:
            write_json(rows, self.out)

    def close(self) -> None:
        self.out.close()


@dataclass
class ShownRows:
    """Rows that are shown by a function of the name and the row, when their batch is whole."""

    name: str
    show: Show
    flush: Callable[[], None]

    def open(self) -> None:
        """There is nothing to open."""

    def add(self, rows: pa.Table) -> None:
        for row in plain_rows(rows):
            self.show(self.name, row)

    def commit(self, batch: int) -> None:
        self.flush()


@dataclass
class AuditFile:
    """The decisions of a policy as JSON lines, for nobody but the user who runs it."""

    path: str
    is_new: bool

    def open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if self.is_new else os.O_APPEND)
        found = os.open(self.path, flags, 0o600)
        # One that was there keeps its mode; what is no file, as a terminal, is left alone.
        if stat.S_ISREG(os.fstat(found).st_mode):
            os.fchmod(found, 0o600)
        os.close(found)

    def add(self, rows: pa.Table) -> None:
        with Path(self.path).open("a", encoding="utf-8") as out:
            write_json(rows, out)

    def commit(self, batch: int) -> None:
        """Leave what was written."""


@dataclass
class StandardOutput:
    """Rows as text on standard output."""

    format: str
    _writer: _TextWriter | None = field(default=None, init=False, repr=False)

    def open(self) -> None:
        """There is nothing to open."""

    def add(self, rows: pa.Table) -> None:
        if self._writer is None:
            self._writer = _TextWriter(sys.stdout, self.format, rows.column_names)
        self._writer.write(rows)

    def commit(self, batch: int) -> None:
        sys.stdout.flush()

"""Folders of files as a sink: one folder per batch, there as a whole or not at all.

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
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, DayTimeIntervalType, MapType, StructType

from augury.errors import StateError
from augury.sinks.sink import MICROSECONDS, Mode
from augury.sinks.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OWNER = "_augury.json"
# Spark would cut times to milliseconds, and escape quotes as no other reader of CSV expects.
_DEFAULTS = {
    "csv": {"header": "true", "escape": '"', "timestampFormat": MICROSECONDS},
    "json": {"ignoreNullFields": "false", "timestampFormat": MICROSECONDS},
    "parquet": {},
}


@dataclass(frozen=True)
class Owner:
    """The run that a folder belongs to, and the query or stream whose rows it holds."""

    run: str
    name: str


@dataclass(frozen=True)
class FolderSink:
    """A folder of Parquet, CSV or JSON files."""

    spark: Any
    path: str
    format: str
    owner: Owner
    options: Mapping[str, str] = field(default_factory=dict)
    mode: Mode = "upsert"

    @property
    def _store(self) -> Store:
        return Store(self.spark, self.path)

    def open(self) -> None:
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

    def write(self, rows: DataFrame, batch: int) -> None:
        store, name = self._store, _name(batch)
        about = {"run": self.owner.run, "name": self.owner.name, "format": self.format}
        store.write(_OWNER, about)
        draft = f"_pending/{name}"
        writer = _writable(rows, self.format).write.mode("overwrite").format(self.format)
        writer.options(**{**_DEFAULTS[self.format], **self.options}).save(store.place(draft))
        self.clear(batch)
        store.rename(draft, name)
        store.write(_marker(batch), {"batch": batch})

    def clear(self, batch: int) -> None:
        store = self._store
        store.delete(_marker(batch))
        store.delete(_name(batch))


def _name(batch: int) -> str:
    return f"batch={batch:06d}"


def _marker(batch: int) -> str:
    return f"_committed/{batch:06d}.json"


def _writable(rows: DataFrame, form: str) -> DataFrame:
    """Return the rows with columns that the format can hold: CSV has no structure."""
    if form == "parquet":
        return rows
    columns = []
    for item in rows.schema.fields:
        column = f.col(f"`{item.name.replace('`', '``')}`")
        if form == "csv" and isinstance(item.dataType, ArrayType | MapType | StructType):
            column = f.to_json(column, {"timestampFormat": MICROSECONDS})
        elif isinstance(item.dataType, DayTimeIntervalType):
            column = column.cast("string")
        columns.append(column.alias(item.name))
    return rows.select(*columns)

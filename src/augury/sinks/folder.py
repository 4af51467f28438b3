"""Folders of Parquet, CSV or JSON files as a sink of Spark (`augury.sinks.committed`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, DayTimeIntervalType, MapType, StructType

from augury.sinks.committed import CommittedFolder, Owner
from augury.sinks.sink import MICROSECONDS, Mode
from augury.sinks.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["FolderSink", "Owner"]

# Spark would cut times to milliseconds, and escape quotes as no other reader of CSV expects.
_DEFAULTS = {
    "csv": {"header": "true", "escape": '"', "timestampFormat": MICROSECONDS},
    "json": {"ignoreNullFields": "false", "timestampFormat": MICROSECONDS},
    "parquet": {},
}


@dataclass(frozen=True)
class FolderSink(CommittedFolder):
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

    def _save(self, rows: DataFrame, place: str) -> None:
        writer = _writable(rows, self.format).write.mode("overwrite").format(self.format)
        writer.options(**{**_DEFAULTS[self.format], **self.options}).save(place)


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

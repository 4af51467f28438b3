"""Which DataFrames are nothing but the rows of Parquet files, told by what Spark says in public.

A DataFrame names its files and says whether it means the same as another one. So it is compared
with one that reads the folder of these files and does nothing else. Where it is not the same, or
nobody can say, the answer is None, and Spark reads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pyspark.errors import AnalysisException

from augury.sources.parquet_files import UNREAD, Footers, Group, address, is_path
from augury.sources.texts import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Spark's own setting for one session, for who wants Spark to read: "spark".
SETTING, WORKERS = "spark.augury.scan", "workers"
# More files than that are not opened while a query is planned.
MOST_FILES = 1000
# Settings by which Spark reads otherwise than it is written, or a path twice that it is given once.
_LENIENT = (
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.parquet.int96TimestampConversion",
    "spark.sql.legacy.pathOptionBehavior.enabled",
)
_REBASED = (
    "spark.sql.parquet.datetimeRebaseModeInRead",
    "spark.sql.parquet.int96RebaseModeInRead",
)
# What `Footers` takes and gives where workers read.
_LISTED = ("path", "length", "modificationTime")
_GROUPS = "path string, number int, rows long, first long, last long"


def groups_of(frame: DataFrame, columns: Sequence[str], time: str) -> tuple[Group, ...] | None:
    """Return the groups of rows behind some columns of a DataFrame; None where Spark must read."""
    kinds = dict(frame.dtypes)
    try:
        files = None if frame.isStreaming or not _is_needed(frame) else _files(frame)
        if files is None:
            return None
        footers = Footers({name: kinds[name] for name in columns}, time)
        # Another machine, which a client of Connect is, may have other files at the same paths.
        is_here = not is_remote(frame) and all(map(is_path, files.paths))
        found = footers.of(files.paths) if is_here else _by_workers(frame, footers, files)
    except Exception:
        # Arrow, Java and Connect each throw their own. Whatever it is, Spark tells when it reads.
        return None
    return None if found is None else tuple(group for group in found if group.rows)


def is_remote(frame: DataFrame) -> bool:
    """Whether a DataFrame is one of Spark Connect."""
    return type(frame).__module__.startswith("pyspark.sql.connect")


@dataclass(frozen=True)
class _Files:
    """All files of a folder, or one alone, and the `name` by which Spark was asked for them."""

    name: str
    paths: tuple[str, ...]


def _files(frame: DataFrame) -> _Files | None:
    """Return the files of which a DataFrame is all rows."""
    uris = [unquote(uri) for uri in frame.inputFiles()]
    # Of several folders Spark makes columns; and who names files may name one twice.
    roots = {os.path.dirname(uri) for uri in uris}
    if len(roots) != 1 or len(uris) > MOST_FILES:
        return None
    names = [name for root in (*roots, *uris[: len(uris) == 1]) for name in _names(root)]
    for schema in _schemas(frame, names):
        for name in names:
            if _reads(frame, schema, name):
                return _Files(name, tuple(map(address, uris)))
    return None


def _names(root: str) -> tuple[str, ...]:
    """Return how users write an address, the usual way first: Spark keeps what they wrote."""
    path = address(root)
    if not is_path(path):
        return root, f"{root}/"
    return path, os.path.relpath(path), f"{path}/", f"file:{path}", f"file://{path}"


def _schemas(frame: DataFrame, names: Sequence[str]) -> Iterator[Any]:
    """Yield what the files may have been read as: what is there, or more of which that is left."""
    yield frame.schema
    whole = frame.sparkSession.read.parquet(names[0]).schema
    if len(whole) > len(frame.schema):
        yield whole


def _reads(frame: DataFrame, schema: Any, name: str) -> bool:
    """Whether a DataFrame means the columns that it has, read from a place in some schema.

    Columns are compared by their place and not by their names, which must therefore be the same.
    """
    try:
        rows = frame.sparkSession.read.schema(schema).parquet(name)
        rows = rows.select(*map(quoted, frame.columns)) if rows.columns != frame.columns else rows
    except AnalysisException:  # nothing is there, or has such a column
        return False
    return rows.columns == frame.columns and frame.sameSemantics(rows)


def _by_workers(frame: DataFrame, footers: Footers, files: _Files) -> list[Group] | None:
    """Return the groups of files elsewhere, where workers can read them and see what Spark sees."""
    listed = frame.sparkSession.read.format("binaryFile").load(files.name).select(*_LISTED)
    rows = listed.mapInArrow(footers, _GROUPS).collect()
    found = [Group(*row) for row in rows]
    is_whole = {group.path for group in found} == set(files.paths)
    is_read = all(group.number != UNREAD for group in found)
    return found if is_whole and is_read else None


def _is_needed(frame: DataFrame) -> bool:
    settings, level = frame.sparkSession.conf, frame.storageLevel
    is_kept = level.useMemory or level.useDisk
    is_lenient = any(_text(settings, name) == "true" for name in _LENIENT)
    moves_dates = any(str(settings.get(name)).upper() != "CORRECTED" for name in _REBASED)
    asked = settings.get(SETTING, WORKERS) == WORKERS
    return asked and not (is_kept or is_lenient or moves_dates)


def _text(settings: Any, name: str) -> str:
    # Spark refuses a default that is no value of the setting.
    return str(settings.get(name, None)).lower()

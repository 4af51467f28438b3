"""Parquet files that users bind by their path, as an Arrow table.

Apart from `tables`, since what reads files takes long to load, and workers do without.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem

from augury.errors import DataError
from augury.sources.columns import ARROW_TYPES
from augury.sources.rows import Declaration, conform
from augury.sources.strays import own_files, warn_of_strays


def stored_table(
    declared: Declaration, path: str | os.PathLike[Any], coded: str | None = None
) -> pa.Table:
    """Return the declared columns of a Parquet file, or of all files of a folder.

    Texts of the column `coded` are read as the codes that the files have for them. What a file does
    not have may be in the name of its folder, as Hive has it.
    """
    place = os.fsdecode(path)
    try:
        filesystem, files = _files(declared, place)
        parts = [_Stored(declared, each, filesystem).rows(coded) for each in files]
    except FileNotFoundError:
        parts = []
    except (OSError, pa.ArrowException) as problem:
        raise _unread(declared, place, str(problem)) from problem
    if not parts:
        raise _unread(declared, place, "no Parquet file is there")
    # Where a cell of some file is none of its type, the others have no such column.
    return pa.concat_tables(parts, promote_options="default")


def _files(declared: Declaration, place: str) -> tuple[Any, list[str]]:
    """Return the files at a place and where they lie; strays are skipped with a word."""
    filesystem, root = FileSystem.from_uri(place) if "://" in place else (LocalFileSystem(), place)
    if filesystem.get_file_info(root).type is FileType.File:
        return filesystem, [root]
    found = filesystem.get_file_info(FileSelector(root, recursive=True))
    paths = sorted(each.path for each in found if each.type is FileType.File)
    own, strays = own_files("parquet", [path for path in paths if not _is_hidden(path, root)])
    if strays:
        warn_of_strays(declared.name, "parquet", place, strays)
    return filesystem, own


def _is_hidden(path: str, root: str) -> bool:
    """Whether Spark and Arrow take a file for one of their own: its name or folder says so."""
    below = path.removeprefix(root).split("/")
    return any(part[:1] in ("_", ".") and "=" not in part for part in below)


def _unread(declared: Declaration, place: str, reason: str) -> DataError:
    return DataError(
        f"the rows of {declared.name} cannot be read from {place!r} ({reason}); "
        "bind a Parquet file, a folder of them, or rows"
    )


@dataclass(frozen=True)
class _Stored:
    """One file of a stream or table."""

    declared: Declaration
    path: str
    filesystem: Any

    def rows(self, coded: str | None) -> pa.Table:
        """Return the declared columns, in the declared types."""
        names = pq.read_schema(self.path, filesystem=self.filesystem).names
        by_name = {name.lower(): name for name in names} | {name: name for name in names}
        theirs = {own: by_name.get(own, by_name.get(own.lower())) for own in self.declared.columns}
        values = self._partition_values(
            [own for own, name in theirs.items() if name is None], names
        )
        read = {own: name for own, name in theirs.items() if name is not None}
        rows = self._read(list(read.values()), [read[coded]] if coded in read else [])
        found = {own: rows.column(name) for own, name in read.items()}
        more = {own: pa.repeat(value, rows.num_rows) for own, value in values.items()}
        here = replace(self.declared, name=f"{self.declared.name} in {self.path}")
        return conform(pa.table(found | more), here, coded)

    def _read(self, columns: list[str], coded: list[str]) -> pa.Table:
        read = partial(
            pq.read_table,
            self.path,
            columns=columns,
            filesystem=self.filesystem,
            partitioning=None,
            coerce_int96_timestamp_unit="us",
        )
        try:
            return read(read_dictionary=coded)
        except OSError:
            # Texts of some encodings Arrow reads as texts only, and not as codes.
            return read()

    def _partition_values(self, missing: list[str], names: list[str]) -> dict[str, pa.Scalar]:
        """Return the values of columns that the names of folders tell."""
        kinds = pa.schema([(name, ARROW_TYPES[self.declared.columns[name]]) for name in missing])
        values = ds.get_partition_keys(ds.HivePartitioning(kinds).parse(self.path))
        for name in missing:
            if name not in values:
                raise DataError(
                    f"{self.declared.name} declares column {name}, which {self.path} does not "
                    f"have; it has {', '.join(names)}: rename one, or change the declaration"
                )
        return {name: pa.scalar(values[name], kinds.field(name).type) for name in missing}

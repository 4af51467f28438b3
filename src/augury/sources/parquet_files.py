"""Parquet files that workers read themselves, with Arrow, from any system of files it knows.

Through Spark each row is taken apart and put together twice before it gets to a worker, which costs
more than all that augury does with it (docs/decisions/0017). `parquet_frames` says which DataFrames
are such files; here is what the files hold, and their rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

# Files that a task keeps open.
MOST_OPEN = 32
# Dates of old calendars are moved by Spark while it reads: of files that say so, and of its own
# versions that knew no other calendar.
_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_WRITTEN_BY, _NEW_CALENDAR = b"org.apache.spark.version", (3, 1)
_DATED = ("date", "timestamp")
# Names that Hadoop has for file systems, where Arrow has others.
_SCHEMES = {"s3a": "s3", "s3n": "s3"}
# What both read alike, by Spark's name for it.
_TYPES: Mapping[str, tuple[Any, ...]] = {
    "tinyint": (pa.int8(),),
    "smallint": (pa.int16(),),
    "int": (pa.int32(),),
    "bigint": (pa.int64(),),
    "float": (pa.float32(),),
    "double": (pa.float64(),),
    "boolean": (pa.bool_(),),
    "string": (pa.string(),),
    "date": (pa.date32(),),
    "timestamp": (pa.timestamp("us", "UTC"), pa.timestamp("ms", "UTC")),
}


@dataclass(frozen=True, slots=True)
class Group:
    """One group of rows of a file, which is read by itself.

    `path` is one of this machine, or an address that Arrow knows. `first` and `last` are its
    earliest and latest time, in ticks or microseconds; None: not known.
    """

    path: str
    number: int
    rows: int
    first: int | None = None
    last: int | None = None


# What an answer about files has for each group, and its number where a file cannot be read.
GROUPS = pa.schema(
    {
        "path": pa.string(),
        "number": pa.int32(),
        "rows": pa.int64(),
        "first": pa.int64(),
        "last": pa.int64(),
    }
)
UNREAD = -1

# Which there are ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Footers:
    """Reads the footers of files that have columns of some `kinds`, one of them a `time`."""

    kinds: Mapping[str, str]
    time: str

    def of(self, paths: Iterable[str]) -> list[Group] | None:
        """Return the groups of files; None where both readers may understand one otherwise."""
        found = [self._groups(path) for path in paths]
        return None if None in found else [group for own in found for group in own or ()]

    def __call__(self, files: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the groups of files that Spark lists, as GROUPS; for `mapInArrow`."""
        for batch in files:
            found = [group for row in batch.to_pylist() for group in self._listed(row)]
            rows = [dict(zip(GROUPS.names, astuple(group), strict=True)) for group in found]
            yield from pa.Table.from_pylist(rows, GROUPS).to_batches()

    def _listed(self, row: Mapping[str, Any]) -> list[Group]:
        path = address(row["path"])
        try:
            found = self._groups(path) if _is_same(path, row) else None
        except (OSError, pa.ArrowException):
            found = None
        return [Group(path, UNREAD, 0)] if found is None else found or [Group(path, 0, 0)]

    def _groups(self, path: str) -> list[Group] | None:
        """Return the groups of a file; None of one that both readers may understand otherwise."""
        with opened(path) as source:
            footer = pq.read_metadata(source)
        return list(file_groups(path, footer, self.time)) if self._are_of(footer) else None

    def _are_of(self, found: pq.FileMetaData) -> bool:
        schema, old = found.schema.to_arrow_schema(), _old_times(found)
        if _has_old_calendar(found) and any(kind in _DATED for kind in self.kinds.values()):
            return False
        return all(
            schema.names.count(name) == 1
            and (
                schema.field(name).type in _TYPES.get(kind, ())
                or (kind == "timestamp" and name in old)
            )
            for name, kind in self.kinds.items()
        )


def _has_old_calendar(found: pq.FileMetaData) -> bool:
    metadata = found.metadata or {}
    numbers = re.match(rb"(\d+)\.(\d+)", metadata.get(_WRITTEN_BY, b""))
    is_old = numbers is not None and (int(numbers[1]), int(numbers[2])) < _NEW_CALENDAR
    return is_old or any(name in metadata for name in _LEGACY)


def _old_times(found: pq.FileMetaData) -> set[str]:
    """Return the columns of times as Spark writes them unless told otherwise: 96 bits, in UTC."""
    columns = [found.schema.column(k) for k in range(len(found.schema))]
    return {column.path for column in columns if column.physical_type == "INT96"}


def file_groups(path: str, found: pq.FileMetaData, time: str) -> Iterator[Group]:
    """Yield the groups of rows of one file, with the span of a column of times."""
    paths = [found.schema.column(k).path for k in range(len(found.schema))]
    kind = found.schema.to_arrow_schema().field(time).type
    unit = 1000 if pa.types.is_timestamp(kind) and kind.unit == "ms" else 1
    for k in range(found.num_row_groups):
        group = found.row_group(k)
        # A part of a nested column may have the same path.
        statistics = group.column(paths.index(time)).statistics if paths.count(time) == 1 else None
        span: tuple[int | None, int | None] = (None, None)
        if statistics is not None and statistics.has_min_max:
            span = statistics.min_raw * unit, statistics.max_raw * unit
        yield Group(path, k, group.num_rows, *span)


# Their rows ---------------------------------------------------------------------------------------


class Files:
    """Parquet files that are open, the last few of them: a footer is read once, not per group."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, tuple[str, ...]], tuple[pa.NativeFile, pq.ParquetFile]] = {}

    def batches(self, group: Group, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        """Yield some columns of a group, in batches of so many rows.

        Texts come as codes into the texts there are.
        """
        (source, file), done = self._file(group.path, tuple(columns)), 0
        how = {"batch_size": size, "row_groups": [group.number], "columns": list(columns)}
        try:
            for batch in file.iter_batches(**how, use_threads=False):
                yield batch
                done += batch.num_rows
            return
        except OSError:
            if not any(pa.types.is_dictionary(kind) for kind in file.schema_arrow.types):
                raise
        # Texts of some encodings Arrow reads as texts only, and not as codes.
        plain = _reader(source, file.metadata)
        for batch in plain.iter_batches(**how, use_threads=False):
            if done < batch.num_rows:
                yield _coded(batch.slice(done))
            done = max(0, done - batch.num_rows)

    def _file(self, path: str, columns: tuple[str, ...]) -> tuple[pa.NativeFile, pq.ParquetFile]:
        """Return a file and its reader, which stay the same if it is replaced meanwhile."""
        known = self._open.pop((path, columns), None)
        if known is None:
            source = opened(path)
            footer = pq.read_metadata(source)
            schema = footer.schema.to_arrow_schema()
            texts = [name for name in columns if pa.types.is_string(schema.field(name).type)]
            known = source, _reader(source, footer, texts, is_far=not is_path(path))
        self._open[path, columns] = known
        if len(self._open) > MOST_OPEN:
            self._open.pop(next(iter(self._open)))[0].close()
        return known


def _reader(
    source: pa.NativeFile,
    footer: pq.FileMetaData,
    coded: Sequence[str] = (),
    *,
    is_far: bool = False,
) -> pq.ParquetFile:
    return pq.ParquetFile(
        source,
        metadata=footer,
        read_dictionary=list(coded),
        coerce_int96_timestamp_unit="us",
        pre_buffer=is_far,
    )


def _coded(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = {name: batch.column(name) for name in batch.schema.names}
    return pa.record_batch(
        {
            name: column.dictionary_encode() if pa.types.is_string(column.type) else column
            for name, column in columns.items()
        }
    )


# Where they are -----------------------------------------------------------------------------------


def address(uri: str) -> str:
    """Return the path of a file of this machine, or its address as Arrow has it."""
    scheme, _, rest = uri.partition(":")
    return f"/{rest.lstrip('/')}" if scheme == "file" else f"{_SCHEMES.get(scheme, scheme)}:{rest}"


def is_path(place: str) -> bool:
    """Whether an address is a path of this machine."""
    return place.startswith("/")


def opened(place: str) -> pa.NativeFile:
    """Return a file at an address."""
    system, path = _found(place)
    return system.open_input_file(path)


def _found(place: str) -> tuple[fs.FileSystem, str]:
    folder, _, name = place.rpartition("/")
    system, path = _system(folder or "/")
    return system, f"{path}/{name}"


@lru_cache(maxsize=16)
def _system(folder: str) -> tuple[fs.FileSystem, str]:
    """Return who has a folder: to find that out may take a request to another machine."""
    uri = folder if is_path(folder) else quote(folder, safe=":/@")
    found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(uri)
    return found


def _is_same(place: str, listed: Mapping[str, Any]) -> bool:
    """Whether a file is the one that Spark lists, and not one of that name in another account."""
    system, path = _found(place)
    here, there = system.get_file_info(path), listed["modificationTime"].timestamp()
    changed = None if here.mtime_ns is None else here.mtime_ns // 10**9
    return here.size == listed["length"] and changed == int(there)

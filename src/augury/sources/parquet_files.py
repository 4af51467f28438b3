"""The Parquet files of a DataFrame that does nothing but read them.

A worker of ours reads such files itself, a column at a time. Through Spark each row is taken apart
and put together twice before it gets there, which costs more than all that augury does with it
(docs/decisions/0017). Where anything is unusual the answer is None, and Spark reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError

from augury.sources.parquet_columns import Choice, Columns, RowGroup

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Spark's own setting for one session, for who wants Spark to read: "spark".
SETTING, WORKERS = "spark.augury.scan", "workers"
# More files than that are not opened while a query is planned.
MOST_FILES = 1000
# Files that a task keeps open.
MOST_OPEN = 32
_KNOWN_OPTIONS = {"path", "paths", "mergeschema"}
# Settings by which Spark reads otherwise than it is written.
_LENIENT = (
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.parquet.int96TimestampConversion",
)
_REBASED = (
    "spark.sql.parquet.datetimeRebaseModeInRead",
    "spark.sql.parquet.int96RebaseModeInRead",
)
# Dates of old calendars are moved by Spark while it reads: of files that say so, and of its own
# versions that knew no other calendar.
_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_WRITTEN_BY, _NEW_CALENDAR = b"org.apache.spark.version", (3, 1)
_DATED = ("date", "timestamp")
# Formats derived from Spark's own, which tables with a log have, mean more than their files say.
_FORMAT = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
_LISTED = "org.apache.spark.sql.execution.datasources.InMemoryFileIndex"
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

    `first` and `last` are its earliest and latest time, in ticks or microseconds; None: not told.
    """

    path: str
    number: int
    rows: int
    first: int | None = None
    last: int | None = None


def groups_of(frame: DataFrame, columns: Sequence[str], time: str) -> tuple[Group, ...] | None:
    """Return the groups of rows behind some columns of a DataFrame; None where Spark must read."""
    paths = _paths(frame)
    if paths is None or len(paths) > MOST_FILES:
        return None
    kinds = dict(frame.dtypes)
    found: list[Group] = []
    for path in paths:
        try:
            own = pq.read_metadata(path)
        except (OSError, pa.ArrowException):
            return None
        if not _reads_alike(own, {name: kinds[name] for name in columns}):
            return None
        found += [group for group in file_groups(path, own, time) if group.rows]
    return tuple(found)


def file_groups(path: str, found: pq.FileMetaData, time: str) -> Iterator[Group]:
    """Yield the groups of rows of one file, with the span of a column of times."""
    column = found.schema.to_arrow_schema().names.index(time)
    kind = found.schema.to_arrow_schema().field(time).type
    unit = 1000 if pa.types.is_timestamp(kind) and kind.unit == "ms" else 1
    for k in range(found.num_row_groups):
        group = found.row_group(k)
        told = group.column(column).statistics
        span: tuple[int | None, int | None] = (None, None)
        if told is not None and told.has_min_max and group.column(column).path_in_schema == time:
            span = told.min_raw * unit, told.max_raw * unit
        yield Group(path, k, group.num_rows, *span)


class Files:
    """Parquet files that are open, the last few of them: a footer is read once, not per group."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, tuple[str, ...]], tuple[pa.NativeFile, pq.ParquetFile]] = {}

    def batches(
        self, group: Group, columns: Sequence[str], size: int, choice: Choice | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield some columns of a group, in batches of so many rows, or of what is chosen of them.

        Texts come as codes into the texts there are.
        """
        source, file = self._file(group.path, tuple(columns))
        rows = Columns(RowGroup(source, file, group.number), columns)
        for start in range(0, group.rows, size):
            yield rows.take(min(size, group.rows - start), choice)

    def _file(self, path: str, columns: tuple[str, ...]) -> tuple[pa.NativeFile, pq.ParquetFile]:
        """Return a file and its reader, which stay the same if it is replaced meanwhile."""
        known = self._open.pop((path, columns), None)
        if known is None:
            source = pa.OSFile(path)
            footer = pq.read_metadata(source)
            schema = footer.schema.to_arrow_schema()
            texts = [name for name in columns if pa.types.is_string(schema.field(name).type)]
            file = pq.ParquetFile(
                source, metadata=footer, read_dictionary=texts, coerce_int96_timestamp_unit="us"
            )
            known = source, file
        self._open[path, columns] = known
        if len(self._open) > MOST_OPEN:
            self._open.pop(next(iter(self._open)))[0].close()
        return known


def _reads_alike(found: pq.FileMetaData, kinds: Mapping[str, str]) -> bool:
    schema, old = found.schema.to_arrow_schema(), _old_times(found)
    if _has_old_calendar(found) and any(kind in _DATED for kind in kinds.values()):
        return False
    return all(
        schema.names.count(name) == 1
        and (
            schema.field(name).type in _TYPES.get(kind, ()) or (kind == "timestamp" and name in old)
        )
        for name, kind in kinds.items()
    )


def _has_old_calendar(found: pq.FileMetaData) -> bool:
    told = found.metadata or {}
    numbers = re.match(rb"(\d+)\.(\d+)", told.get(_WRITTEN_BY, b""))
    is_old = numbers is not None and (int(numbers[1]), int(numbers[2])) < _NEW_CALENDAR
    return is_old or any(name in told for name in _LEGACY)


def _old_times(found: pq.FileMetaData) -> set[str]:
    """Return the columns of times as Spark writes them unless told otherwise: 96 bits, in UTC."""
    columns = [found.schema.column(k) for k in range(len(found.schema))]
    return {column.path for column in columns if column.physical_type == "INT96"}


def _paths(frame: DataFrame) -> list[str] | None:
    """Return the files of a DataFrame of classic Spark that is nothing but their rows."""
    if not hasattr(frame, "_jdf") or frame.isStreaming or not _is_wanted(frame):
        return None
    try:
        relation = _relation(frame._jdf.queryExecution().analyzed())
        if relation is None:
            return None
        uris = [urlsplit(uri) for uri in relation.location().inputFiles()]
    except (Py4JError, AttributeError, TypeError):
        # Plans are Spark's own affair and may look otherwise in another release.
        return None
    is_here = all(uri.scheme in ("", "file") and not uri.netloc for uri in uris)
    return [unquote(uri.path) for uri in uris] if is_here else None


def _is_wanted(frame: DataFrame) -> bool:
    settings, level = frame.sparkSession.conf, frame.storageLevel
    is_kept = level.useMemory or level.useDisk
    is_lenient = any(_text(settings, name) == "true" for name in _LENIENT)
    moves_dates = any(str(settings.get(name)).upper() != "CORRECTED" for name in _REBASED)
    asked = settings.get(SETTING, WORKERS) == WORKERS
    return asked and not (is_kept or is_lenient or moves_dates)


def _text(settings: Any, name: str) -> str:
    # Spark refuses a default that is no value of the setting.
    return str(settings.get(name, None)).lower()


def _relation(plan: Any) -> Any:
    """Return the relation of files under names and choices of columns; None where more is done."""
    while True:
        kind = plan.getClass().getSimpleName()
        if kind == "LogicalRelation":
            break
        if kind not in ("SubqueryAlias", "View", "Project"):
            return None
        if kind == "Project" and not _only_chooses(plan):
            return None
        plan = plan.child()
    relation = plan.relation()
    if relation.getClass().getSimpleName() != "HadoopFsRelation":
        return None
    options = set(filter(None, relation.options().keySet().mkString("\n").lower().split("\n")))
    kinds = [each.getClass().getName() for each in (relation.fileFormat(), relation.location())]
    plain = kinds == [_FORMAT, _LISTED] and relation.partitionSchema().isEmpty()
    return relation if plain and options <= _KNOWN_OPTIONS else None


def _only_chooses(project: Any) -> bool:
    chosen = project.projectList()
    kinds = [chosen.apply(k).getClass().getSimpleName() for k in range(chosen.size())]
    return all(kind == "AttributeReference" for kind in kinds)

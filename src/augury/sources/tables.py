"""What users bind, as an Arrow table: pandas, Arrow, plain rows, or Parquet files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from augury.errors import DataError


def arrow_table(name: str, data: Any) -> pa.Table:
    """Return bound data as a table; `name` is what errors call it."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    try:
        return _converted(data)
    except (pa.ArrowException, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise DataError(
            f"the rows of {name} cannot be read as a table ({problem}); "
            "bind a pandas DataFrame, an Arrow table, a list of dicts, or a dict of columns"
        ) from problem


def is_path(data: Any) -> bool:
    """Whether data are the place of files and not rows."""
    return isinstance(data, str | os.PathLike)


def stored_table(
    name: str, path: str | os.PathLike[str], columns: Sequence[str], coded: str | None = None
) -> pa.Table:
    """Return the declared columns of a Parquet file, or of all files of a folder.

    Texts of the column `coded` are read as the codes that the files have for them.
    """
    place = os.fspath(path)
    try:
        files = pq.ParquetDataset(place, read_dictionary=[coded] if coded else None)
        if not files.files:
            raise FileNotFoundError
        return files.read(_declared(columns, files.schema.names))
    except (OSError, pa.ArrowException) as problem:
        is_missing = isinstance(problem, FileNotFoundError)
        reason = "no Parquet file is there" if is_missing else problem
        raise DataError(
            f"the rows of {name} cannot be read from {place!r} ({reason}); "
            "bind a Parquet file, a folder of them, or rows"
        ) from problem


def _declared(columns: Sequence[str], names: list[str]) -> list[str] | None:
    """Return those of the names that are declared; None, which is all, where some are missing."""
    wanted = {column.lower() for column in columns}
    found = [name for name in names if name.lower() in wanted]
    # Who is told that a column is missing is told as well which ones there are.
    return found if len(found) == len(wanted) else None


def _converted(data: Any) -> pa.Table:
    if type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns"):
        return pa.Table.from_pandas(data, preserve_index=False)
    if isinstance(data, Mapping):
        return pa.table(dict(data))
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        # Arrow takes the names from the first row alone; a later row may have more.
        names = dict.fromkeys(name for row in data for name in row.keys())  # noqa: SIM118
        return pa.table({name: [row.get(name) for row in data] for name in names})
    raise TypeError(f"{type(data).__name__} is not a kind of table")

"""What users bind, as an Arrow table: pandas, Arrow, or plain rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

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
            "bind a pandas DataFrame, an Arrow table, a list of dicts, a dict of columns, or the "
            "path of a Parquet file or folder"
        ) from problem


def is_path(data: Any) -> bool:
    """Whether data are the place of files and not rows."""
    return isinstance(data, str | os.PathLike)


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

"""Files of text that are bound by their paths: by the rules by which runs read them.

A line that is no row is put aside with the reason, as everywhere. Columns that nobody has declared
are kept as texts: there may be truth in them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from augury.errors import DataError
from augury.language.tree import External
from augury.sources.declared import FAULT, RAW, DeclaredColumn, needed
from augury.sources.local_files import Lines, LocalFiles, rows_of_files, why_not_local

# How the names of files of text end, and what they are.
TEXTS = {".csv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}


@dataclass(frozen=True)
class _Text:
    """A type that is a text."""

    value: str = "STRING"


@dataclass(frozen=True)
class _Column:
    """A column that a file has, and nobody has declared."""

    name: str
    type: _Text = _Text()


@dataclass(frozen=True)
class _Wider:
    """A declaration with the further columns of a file."""

    name: str
    columns: Sequence[DeclaredColumn]
    source: External | None


def text_rows(declared: Any, path: Any) -> pa.Table | None:
    """Return the rows of a file of CSV or JSON (a row a line); None of any other place."""
    place = Path(os.fsdecode(path))
    form = TEXTS.get(place.suffix.lower())
    if form is None or place.is_dir():
        return None
    if not place.is_file():
        raise DataError(f"the rows of {declared.name} cannot be read from {place}: it is no file")
    found = rows_of_files(_with_all_columns(_files(declared, form, place)))
    found = found.drop_columns([RAW]) if RAW in found.column_names else found
    is_good = FAULT in found.column_names and found.column(FAULT).null_count == found.num_rows
    return found.drop_columns([FAULT]) if is_good else found


def _files(declared: Any, form: str, place: Path) -> LocalFiles:
    """Return the file, read with the options that the declaration has for its format."""
    own = declared.source
    options = own.options if own is not None and own.format == form else ()
    source = External(form, str(place), options)
    reason = why_not_local(source)
    if reason is not None:
        raise DataError(f"the rows of {declared.name} cannot be read here from {reason}")
    is_stream = hasattr(declared, "time")
    found = LocalFiles(declared, source, tuple(needed(declared)) if is_stream else ())
    found.refuse_unread()
    return found


def _with_all_columns(files: LocalFiles) -> LocalFiles:
    known = {column.name.lower() for column in files.declared.columns}
    more = [_Column(name) for name in _names(files) if name.lower() not in known]
    columns = [*files.declared.columns, *more]
    wider = _Wider(files.declared.name, columns, files.declared.source)
    return LocalFiles(wider, files.source, files.roles)


def _names(files: LocalFiles) -> tuple[str, ...]:
    """Return the columns that a file has by its first line."""
    with files.opened(files.root) as file:
        first = Lines(file).line()
    if files.source.format == "csv":
        return files.csv_form(first, files.root).names if first.strip() else ()
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return ()
    return tuple(row) if isinstance(row, dict) else ()

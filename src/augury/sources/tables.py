"""What users bind, as an Arrow table: pandas, Arrow, or plain rows.

Arrow takes the type of a column from its first values, and refuses what differs, or makes a day of
a moment among days. So values that Python or pandas hold as they are become those of the declared
types one by one, by the rule for pushed rows; what fits none is a fault of its row.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from augury.errors import DataError
from augury.sources.columns import ARROW_TYPES, Faults, can_hold, fit_values
from augury.sources.rows import with_faults
from augury.sources.values import is_missing

# A type that Arrow gives to values of Python says the same as looking at each of them.
_TOLD_BY_ARROW = ("LONG", "DOUBLE", "STRING", "BOOLEAN")


def arrow_table(name: str, data: Any, kinds: Mapping[str, str] | None = None) -> pa.Table:
    """Return bound data as a table; `name` is what errors call it.

    `kinds` has the names of the declared types by column; a column that is not declared, and that
    Arrow has no type for, is left out.
    """
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    try:
        return _converted(data, kinds)
    except (pa.ArrowException, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise _no_table(name, problem) from problem


def plain_rows(name: str, data: Any) -> list[dict[str, Any]]:
    """Return data as rows of Python's values, as they are pushed."""
    try:
        if not _is_pandas(data):
            rows: list[dict[str, Any]] = arrow_table(name, data).to_pylist()
            return rows
        lists = {own: _listed(values) for own, values in _columns_of_frame(data).items()}
        return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    except (pa.ArrowException, TypeError, ValueError) as problem:
        raise _no_table(name, problem) from problem


def _no_table(name: str, problem: Exception) -> DataError:
    return DataError(
        f"the rows of {name} cannot be read as a table ({problem}); "
        "bind a DataFrame of pandas or polars, an Arrow table, a list of dicts, a dict of "
        "columns, or the path of a file of Parquet, CSV or JSON"
    )


def is_path(data: Any) -> bool:
    """Whether data are the place of files and not rows."""
    return isinstance(data, str | os.PathLike)


def _converted(data: Any, kinds: Mapping[str, str] | None) -> pa.Table:
    if _is_pandas(data):
        return _typed(_columns_of_frame(data), kinds)
    if isinstance(data, Mapping):
        return _typed(dict(data), kinds)
    if hasattr(data, "__arrow_c_stream__"):
        # Polars, DuckDB and others: whatever gives its columns away.
        return _plain_texts(pa.table(data))
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        # Arrow takes the names from the first row alone; a later row may have more.
        names = dict.fromkeys(name for row in data for name in row.keys())  # noqa: SIM118
        return _typed({name: [row.get(name) for row in data] for name in names}, kinds)
    raise TypeError(f"{type(data).__name__} is not a kind of table")


def _plain_texts(table: pa.Table) -> pa.Table:
    """Return a table whose texts are plain, in the place of views and of codes for them."""
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        texts = kind.value_type if pa.types.is_dictionary(kind) else kind
        is_view = pa.types.is_string_view(texts)
        if is_view and pa.types.is_dictionary(kind):
            chunks = [_recoded(chunk) for chunk in column.chunks]
            columns[name] = pa.chunked_array(chunks, pa.string())
        else:
            columns[name] = column.cast(pa.string()) if is_view else column
    return pa.table(columns)


def _recoded(codes: pa.DictionaryArray) -> pa.Array:
    return codes.dictionary.cast(pa.string()).take(codes.indices)


def _is_pandas(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns")


def _columns_of_frame(frame: Any) -> dict[str, Any]:
    """Return the columns of a DataFrame: of Arrow, or a list where cells are whatever they are."""
    if frame.columns.has_duplicates:
        raise ValueError("two columns have one name")
    return {
        str(name): _without_missing(frame[name])
        if _holds_objects(frame[name])
        else pa.Array.from_pandas(frame[name])
        for name in frame.columns
    }


def _holds_objects(values: Any) -> bool:
    return str(getattr(values, "dtype", "")) == "object"


def _without_missing(series: Any) -> list[Any]:
    """Return objects of pandas, among which NaN stands for none."""
    return [None if is_missing(v) or v != v else v for v in series]  # noqa: PLR0124


def _listed(values: Any) -> list[Any]:
    found: list[Any] = values if isinstance(values, list) else values.to_pylist()
    return found


def _typed(columns: Mapping[str, Any], kinds: Mapping[str, str] | None) -> pa.Table:
    """Return columns in types of Arrow, and what is wrong with single cells."""
    if not columns:
        # No row names a column, so there are those that were declared.
        return pa.table({n: pa.array([], ARROW_TYPES[k]) for n, k in (kinds or {}).items()})
    by_name = {name.lower(): kind for name, kind in (kinds or {}).items()}
    made, faults = dict[str, Any](), Faults()
    for name, given in columns.items():
        kind = by_name.get(name.lower()) if isinstance(name, str) else None
        values = _without_missing(given) if _holds_objects(given) else given
        if not isinstance(values, list | tuple):
            made[name] = values
        elif kind is not None:
            made[name] = _declared(values, name, kind, faults)
        elif (plain := _of_one_type(values)) is not None or kinds is None:
            made[name] = values if plain is None else plain
    return with_faults(pa.table(made), faults)


def _declared(values: Sequence[Any], name: str, kind: str, faults: Faults) -> Any:
    """Return a declared column; where all cells are of another type, it is left to be refused."""
    plain = _of_one_type(values)
    is_ready = plain is not None and kind in _TOLD_BY_ARROW and plain.type == ARROW_TYPES[kind]
    # Among fractions Arrow takes a truth value for a number.
    if is_ready and not (kind == "DOUBLE" and any(isinstance(v, bool | np.bool_) for v in values)):
        return plain
    fitted = fit_values(values, name, kind)
    if fitted.faults and plain is not None and not can_hold(kind, plain.type):
        return plain
    for k, reason in fitted.faults.items():
        faults.setdefault(k, reason)
    return fitted.column


def _of_one_type(values: Sequence[Any]) -> Any | None:
    """Return values as Arrow takes them; None where they are of several types, or of none."""
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None

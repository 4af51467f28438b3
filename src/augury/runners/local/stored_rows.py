"""Rows of a stream or table that lie in Parquet files, for the local engine."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from augury.analysis.declarations.catalog import StreamSchema, TableSchema
from augury.evaluation.encoding import declaration_of
from augury.sources.rows import Declaration
from augury.sources.stored_tables import stored_table


def stored_rows(schema: StreamSchema | TableSchema, path: Any) -> pa.Table:
    """Return the rows at a path, with types of events as the codes that the files have."""
    if isinstance(schema, StreamSchema):
        return stored_table(declaration_of(schema), path, coded=schema.type)
    columns = {column.name: column.type.value for column in schema.columns}
    return stored_table(Declaration(f"table {schema.name}", columns, time=""), path)

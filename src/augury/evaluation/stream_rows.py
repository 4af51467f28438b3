"""The rows of a stream, loaded: checked, and with what they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.catalog import StreamSchema
from augury.evaluation.answers.match_answers import text_hashes
from augury.evaluation.encoding import DerivedPlaces, declaration_of
from augury.matching.lineage import Formula
from augury.records import Words
from augury.sources.rows import alternative_groups

# The column of rows that bring the id of their event along.
EVENT_ID = "augury id"


@dataclass
class StreamRows:
    """The rows of a stream that a query can read, and what they are made of.

    `formulas` is None for a declared stream: its rows are base events.
    """

    schema: StreamSchema
    table: pa.Table
    rejected: pa.Table
    formulas: list[Formula] | None = None
    place: DerivedPlaces | None = None

    def groups(self) -> Words:
        """Return, for alternatives, the row of the first that excludes it; -1 where none does."""
        if not self.schema.alternatives:
            return np.full(self.table.num_rows, -1, np.int64)
        group = alternative_groups(self.table, declaration_of(self.schema))
        firsts = np.unique(group, return_index=True)[1]
        first: Words = firsts[group]
        return first


def event_ids(source: StreamRows) -> Any:
    """Return the ids of a stream's events: its ID column, or a hash of the row."""
    schema, table = source.schema, source.table
    if EVENT_ID in table.column_names:
        return table.column(EVENT_ID)
    if schema.id is not None and not schema.alternatives:
        return table.column(schema.id)
    names = [c.name for c in schema.columns]
    total = np.zeros(table.num_rows, np.uint64)
    for seed, name in enumerate(names, 1):
        column = table.column(name)
        text = column if pa.types.is_string(column.type) else column.cast(pa.string())
        total = total * np.uint64(31) + text_hashes(text.fill_null(""), seed)
    return pa.array([f"{word:016x}" for word in total.tolist()], pa.string())

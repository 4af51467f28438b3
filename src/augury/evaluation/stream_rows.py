"""The rows of a stream, loaded: checked, and with what they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.catalog import StreamSchema
from augury.evaluation.answers.match_answers import Inputs, joined_ids, text_hashes
from augury.evaluation.encoding import DerivedPlaces, chances_of, declaration_of, whole
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


def inputs_of(sources: Sequence[StreamRows]) -> Inputs:
    """Return the rows of all sources, numbered one after the other."""
    sizes = [source.table.num_rows for source in sources]
    firsts = tuple(sum(sizes[:k]) for k in range(len(sizes)))
    tables = tuple(source.table for source in sources)
    ids = joined_ids([event_ids(source) for source in sources])
    chances = np.concatenate([chances_of(s.schema, s.table) for s in sources])
    return Inputs(tables, firsts, ids, all_times(sources), chances)


def all_times(sources: Sequence[StreamRows]) -> Words:
    """Return the times of the rows of all sources, one after the other."""
    return np.concatenate([whole(s.table.column(s.schema.time)) for s in sources])

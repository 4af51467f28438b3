"""CREATE CORRELATION ... LEARN FROM: conditional probabilities, counted in a history.

A history is a stream like the query's own, whose PROBABILITY says what turned out: 1 where the
event happened, 0 where it did not, something between where that is not certain. The query's pattern
is looked for among all its events; of the pairs that follow each other in a match, each counted
once,

    P(b | a) = sum of p_a p_b / sum of p_a

is how often b's event had happened where a's had. Oracle: tests/matching/test_correlations.py.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import StreamSchema
from augury.errors import DataError
from augury.evaluation.answers.match_answers import Inputs
from augury.evaluation.encoding import chances_of
from augury.evaluation.learning.correlation_table import is_unlisted_independent
from augury.evaluation.stream_rows import EVENT_ID, StreamRows
from augury.matching.correlation import LearnedCorrelation
from augury.records import Reals


def as_candidates(history: StreamRows, stream: StreamSchema) -> StreamRows:
    """Return the rows of a history as certain events of a stream, known by their numbers."""
    if history.schema.probability is None:
        raise DataError(
            f"stream {history.schema.name} has no PROBABILITY, so it does not say what turned out "
            "to have happened; declare one: 1 for what happened, 0 for what did not"
        )
    numbers = pa.array([str(row) for row in range(history.table.num_rows)], pa.string())
    columns: dict[str, Any] = {EVENT_ID: numbers}
    for column in stream.columns:
        if column.name == stream.probability:
            columns[column.name] = pa.array(np.ones(history.table.num_rows))
        elif history.schema.column(column.name) is None:
            raise DataError(f"history {history.schema.name} has no column {column.name}")
        else:
            columns[column.name] = history.table.column(column.name)
    certain = replace(stream, id=EVENT_ID, alternatives=())
    return StreamRows(certain, pa.table(columns), history.rejected)


def learned_correlation(
    query: CheckedQuery, candidates: pa.Table, history: StreamRows, inputs: Inputs
) -> LearnedCorrelation:
    """Return what the matches in a history say of pairs that follow each other."""
    having = query.having
    return LearnedCorrelation(
        query=query.name,
        components=tuple(c.name for c in query.components),
        p=inputs.p,
        chance=_chances(query, candidates, chances_of(history.schema, history.table)),
        unlisted_is_independent=is_unlisted_independent(query),
        threshold=having.threshold if having else 0.0,
        strict=bool(having and having.strict),
    )


def _chances(query: CheckedQuery, candidates: pa.Table, happened: Reals) -> Reals:
    """Return P(later | earlier) by components; NaN where the earlier never happened."""
    numbers = {component.name: component.index for component in query.components}
    pairs = {
        (numbers[a["component"]], int(a["event_id"]), numbers[b["component"]], int(b["event_id"]))
        for events in candidates.column("events").to_pylist()
        for a, b in pairwise(events)
    }
    size = len(numbers)
    both, earlier = np.zeros((size, size)), np.zeros((size, size))
    for a, row, b, later in pairs:
        earlier[a, b] += happened[row]
        both[a, b] += happened[row] * happened[later]
    with np.errstate(invalid="ignore"):
        return np.where(earlier > 0.0, both / np.maximum(earlier, 1e-300), np.nan)

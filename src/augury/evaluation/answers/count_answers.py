"""The answer of RETURN COUNT: one row per key, `query, <keys>, count, expected`.

`count` is the number of matches that RETURN would list; `expected` is the sum of their confidences:
how many of them to expect to be real. Over certain events the two are equal. As in SQL, a key
without matches has no row, and a query without keys has one row, with zeros if there are none.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.evaluation.answers.match_answers import Inputs, key_column
from augury.evaluation.enumeration import Enumeration
from augury.matching.counting import Counts


def count_table(evaluation: Enumeration, inputs: Inputs) -> pa.Table:
    """Return how many matches there are, by key."""
    query, counts = evaluation.plan.query, evaluation.counts()
    names = [key.name for key in query.keys]
    summed = _by_key(query, counts, inputs) if names else _whole(counts)
    columns = {"query": pa.repeat(pa.scalar(query.name, pa.string()), summed.num_rows)}
    columns |= {name: summed.column(name) for name in names}
    columns |= {"count": summed.column("count_sum"), "expected": summed.column("expected_sum")}
    return pa.table(columns)


def _whole(counts: Counts) -> pa.Table:
    total = {
        "count_sum": np.array([counts.count.sum()], np.int64),
        "expected_sum": np.array([counts.expected.sum()], np.float64),
    }
    return pa.table(total)


def _by_key(query: CheckedQuery, counts: Counts, inputs: Inputs) -> pa.Table:
    columns = {
        key.name: key_column(query, key, (counts.component, counts.row), inputs)
        for key in query.keys
    }
    rows = pa.table({**columns, "count": counts.count, "expected": counts.expected})
    grouped = rows.group_by([key.name for key in query.keys], use_threads=False)
    return grouped.aggregate([("count", "sum"), ("expected", "sum")])

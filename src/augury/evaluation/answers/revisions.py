"""From the log of revisions to what holds now: of each match the last row, if HAVING shows it.

A match is told again under its `match_id` with the next `revision`. The log has every row that was
told, in any order; a row that HAVING does not show takes its match back, and so does a confidence
of 0. `sinks/revisions.py` does the same to DataFrames.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.language.tree import Having
from augury.matching.resolve_confidence import TOLERANCE


def latest(log: pa.Table, floor: float = 0.0) -> pa.Table:
    """Return what a log of matches has come to: last rows with a confidence above `floor`."""
    last = last_revisions(log)
    return last.filter(pc.greater(last.column("confidence"), floor))


def last_revisions(log: pa.Table) -> pa.Table:
    """Return the row with the highest revision of each match, retractions too, in their order."""
    if not log.num_rows:
        return log
    ids: Any = log.column("match_id").combine_chunks()
    match = np.asarray(ids.dictionary_encode().indices)
    order = np.lexsort((np.asarray(log.column("revision")), match))
    is_last = np.append(match[order][1:] != match[order][:-1], True)
    return log.take(pa.array(np.sort(order[is_last])))


def floor_of(having: Having | None) -> float:
    """Return the greatest confidence that a query does not show."""
    if having is None or having.measure != "CONFIDENCE":
        return 0.0
    if having.strict:
        return having.threshold + TOLERANCE
    return max(0.0, math.nextafter(having.threshold - TOLERANCE, -math.inf))

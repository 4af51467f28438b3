"""New rows of a stream as events: what stages of matches and of forecasts do with them first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from augury.evaluation.encoding import Encoder
from augury.evaluation.stream_rows import EVENT_ID, NUMBERED, StreamRows
from augury.records import Events

# Numbers of rows of one ON stream: those of the next begin here.
STREAM = 2**44


def encoded(
    encoder: Encoder, source: StreamRows, first: int, groups: int
) -> tuple[Events, pa.Table]:
    """Return the events of new rows, numbered from `first`, and the rows as they are kept.

    Alternatives are numbered from `groups` on, which have as many numbers as there are rows.
    """
    table = kept(source.table)
    events = encoder.encode(source.schema, table, first, source.groups())
    if source.schema.alternatives:
        moved = np.where(events.group < 0, -1, events.group - first + groups)
        events = replace(events, group=moved)
    return events, table


def kept(table: pa.Table) -> pa.Table:
    """Return rows as they are kept: the hash of a row has become the id of its event."""
    if NUMBERED in table.column_names and EVENT_ID in table.column_names:
        return table.drop_columns([EVENT_ID])
    return table

"""Rows as standing forecasts read them: many forecasts share what they make of the same rows.

Where all events are of one partition and HAVING says what is told, a forecast needs of an event its
number, its time and the components that it fits. Numbers and times are the same for all who read a
stream, and so are the types of rows; each forecast translates types to what it calls a symbol.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from augury.evaluation.encoding import Encoder
from augury.evaluation.stream_rows import StreamRows
from augury.forecast.batch import Passing
from augury.forecast.tables import numbered
from augury.planning.forecast_plan import ForecastPlan
from augury.planning.match_plan import MatchPlan


def stands(plan: ForecastPlan) -> bool:
    """Return whether all events are of one partition, and HAVING says what is told."""
    streams = plan.forecast.query.streams
    if len(streams) > 1 or plan.match.partition_by or plan.match.pattern.stays_in_a_key:
        return False
    plain = not any(s.alternatives or s.order_by for s in streams)
    return plain and plan.forecast.having is not None


def can_pass(rows: StreamRows) -> bool:
    """Return whether rows are certain events, one after the other."""
    return rows.is_in_strict_order and rows.is_certain


def passing(encoder: Encoder, rows: StreamRows, base: int = 0) -> Passing:
    """Return rows that can pass as events of the stream that is read, numbered from `base` on."""
    if any(play.filters for play in encoder.plan.plays):
        (stream,) = encoder.plan.query.streams
        masks, places = numbered(encoder.mask(replace(rows.schema, name=stream.name), rows.table))
        known, code = masks.tolist(), places.astype(np.int32)
    else:
        kinds, code = rows.coded_types
        own, others = _masks_of(encoder.plan)
        known = [own.get(kind, others) for kind in kinds]
    return Passing(code, known, rows.times, rows.places, rows.places, base)


def _masks_of(plan: MatchPlan) -> tuple[dict[str | None, int], int]:
    """Return the components that events of each type fit, where nothing else is asked.

    Then those that events of all other types fit.
    """
    others, own = 0, dict[str | None, int]()
    for play in plan.plays:
        if play.type is None:
            others |= 1 << play.component
    for play in plan.plays:
        if play.type is not None:
            own[play.type] = own.get(play.type, others) | 1 << play.component
    return own, others

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
        known = [_mask_of(encoder.plan, kind) for kind in kinds]
    return Passing(code, known, rows.times, rows.places, rows.places, base)


def _mask_of(plan: MatchPlan, kind: str | None) -> int:
    """Return the components that an event of a type fits, where nothing else is asked."""
    fits = (play.component for play in plan.plays if play.type in (None, kind))
    return sum(1 << component for component in set(fits))

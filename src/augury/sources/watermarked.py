"""Whether a streaming DataFrame brings a watermark along: Spark allows one in a streaming query.

Augury makes it from TIME and LATENESS. With a second one Spark stops in the second micro-batch, or,
where the other is on another column, waits for that and gives no answers. Spark has no way to take
one off again, so it is refused before the run begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError

from augury.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MARK = "spark.watermarkDelayMs"


def refuse_watermark(rows: DataFrame, name: str) -> None:
    """Raise `DataError` if rows that have no end bear a watermark already."""
    if rows.isStreaming and (_is_marked(rows) or _is_planned(rows)):
        raise DataError(
            f"the rows of stream {name} have a watermark of their own, and Spark allows one, which "
            "TIME and LATENESS make; bind the DataFrame before withWatermark, and say LATENESS"
        )


def _is_marked(rows: DataFrame) -> bool:
    """Whether a column bears the mark; this is all that Spark Connect tells."""
    return any(_MARK in (field.metadata or {}) for field in rows.schema.fields)


def _is_planned(rows: DataFrame) -> bool:
    """Whether the plan has a watermark, also on a column that was left out afterwards."""
    if not hasattr(rows, "_jdf"):
        return False
    try:
        return "EventTimeWatermark" in _kinds(rows._jdf.queryExecution().analyzed())
    except (Py4JError, AttributeError, TypeError):
        # Plans are Spark's own affair and may look otherwise in another release.
        return False


def _kinds(plan: Any) -> Iterator[str]:
    """Yield what the nodes of a plan are."""
    yield plan.getClass().getSimpleName()
    children = plan.children()
    for k in range(children.size()):
        yield from _kinds(children.apply(k))

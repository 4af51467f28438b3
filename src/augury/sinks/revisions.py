"""Matches that are told again, as DataFrames: the last revision of each, or all of them in order.

The slow twin is `evaluation/answers/revisions.py`, over Arrow tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def latest(log: DataFrame, floor: float = 0.0) -> DataFrame:
    """Return what a log of matches has come to: last rows with a confidence above `floor`."""
    return last_revisions(log).where(f.col("confidence") > floor)


def last_revisions(log: DataFrame) -> DataFrame:
    """Return the row with the highest revision of each match, retractions too."""
    last = f.max_by(f.struct("*"), "revision").alias("last")
    return log.groupBy("match_id").agg(last).select("last.*")


def in_order(log: DataFrame, parts: int) -> DataFrame:
    """Return all rows, those of a match in one part and in the order they were told."""
    return log.repartition(parts, "match_id").sortWithinPartitions("match_id", "revision")

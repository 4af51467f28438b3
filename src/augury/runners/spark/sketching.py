"""Sketches of streams, made by Spark: how many rows, how many enter the queues, and when.

As a lazy part of a plan: one line of text, which Spark finds before it packs rows, in the same run.
Or at once, when a user asks for it, so that plans can be priced before anything is moved.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from augury.analysis.declarations.catalog import DataType, StreamSchema
from augury.planning.distribution.layout import SHARES, Sketch, read_sketches
from augury.planning.expressions.spark_sql import quoted
from augury.runners.spark.catalyst_rows import time_in_units
from augury.runners.spark.range_packing import ENTERS, SKETCHES

# Quantiles may be off by this part of the rows; a cut need not be exact.
PRECISION = 2000
# Rows are numbered in the lower bits, partitions in the upper ones.
_ROW_BITS = 33
_TASK = "augury task"


def sketch_text(rows: Mapping[str, tuple[DataFrame, StreamSchema]], *, full: bool) -> DataFrame:
    """Return one row with the sketches of all streams; without `full`, of their entries only.

    Rows say whether they enter a queue; those that do not say it all do.
    """
    lines = [
        _line(data, stream, full=full).select(f.to_json("sketch").alias(f"s{number}"))
        for number, (data, stream) in enumerate(rows.values())
    ]
    joined = reduce(lambda one, other: one.crossJoin(other), lines)
    parts: list[Column] = []
    for number, name in enumerate(rows):
        parts += [f.lit(f"{', ' if number else '{'}{json.dumps(name)}: "), f.col(f"s{number}")]
    return joined.select(f.concat(*parts, f.lit("}")).alias(SKETCHES))


def _line(data: DataFrame, stream: StreamSchema, *, full: bool) -> DataFrame:
    at = f.expr(time_in_units(stream))
    enters = f.col(quoted(ENTERS)) if ENTERS in data.columns else f.lit(True)
    entry = f.when(enters, at)
    facts = [
        f.count(f.lit(1)).alias("rows"),
        f.count(entry).alias("entries"),
        _quantiles(entry).alias("entry_times"),
    ]
    if full:
        text = [c.name for c in stream.columns if c.type is DataType.STRING]
        lengths = [f.avg(f.octet_length(quoted(n))).alias(n) for n in text]
        facts.append(_quantiles(at).alias("times"))
        facts.append(f.count_distinct(f.col(quoted(_TASK))).alias("tasks"))
        data = data.withColumn(_TASK, f.spark_partition_id())
        facts += [f.struct(*lengths).alias("text")] if lengths else []
    return data.agg(f.struct(*facts).alias("sketch"))


def _quantiles(at: Column) -> Column:
    """Return the first and the last time exactly, and others between them about."""
    inner = [k / SHARES for k in range(1, SHARES)]
    between = f.percentile_approx(at, inner, PRECISION)
    return f.concat(f.array(f.min(at)), between, f.array(f.max(at)))


def with_sketches(rows: DataFrame, text: DataFrame) -> DataFrame:
    """Return rows, of which the first in every partition brings the sketches."""
    number = f.monotonically_increasing_id().bitwiseAND(f.lit((1 << _ROW_BITS) - 1))
    return rows.withColumn(SKETCHES, f.when(number == 0, text.scalar()))


def analysed(rows: Mapping[str, tuple[DataFrame, StreamSchema]]) -> dict[str, Sketch]:
    """Return the sketches of streams: reads all their rows, now."""
    (line,) = sketch_text(rows, full=True).collect()
    return read_sketches(line[0])

"""LEARN FROM on Spark: a history becomes instances where its rows are, and only those come back.

This is a job of Spark, which runs when a query with LEARN FROM is planned: gaps are part of the
plan. Rows stay in the cluster; of the instances no more than `history_limit` are brought here.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from augury.config import value_of
from augury.errors import DataError
from augury.evaluation.answers.schemas import spark_schema
from augury.evaluation.learning.instances import HASH, Lesson
from augury.planning.expressions.spark_sql import quoted
from augury.runners.spark import catalyst_rows as spark_rows


def collected(lesson: Lesson, data: DataFrame) -> pa.Table:
    """Return the instances of a history, as the local engine would find them."""
    if data.isStreaming:
        raise DataError(
            f"gaps are learned from {lesson.schema.name}, which is bound to a stream without end; "
            "bind bounded rows, such as those of yesterday"
        )
    rows = spark_rows.declared_rows(data, lesson.schema)
    good = rows.where(spark_rows.fault_of(lesson.schema, rows.columns).isNull())
    if lesson.schema.id and not lesson.schema.alternatives:
        good = good.dropDuplicates([lesson.schema.id])
    columns = [f.col(quoted(name)) for name in lesson.columns]
    keys = [f.col(quoted(name)) for name in lesson.equated]
    by_key = good.select(*columns).repartition(*keys) if keys else good.select(*columns).coalesce(1)
    ordered = by_key.sortWithinPartitions(*(column.asc_nulls_last() for column in columns))
    found = ordered.mapInArrow(lesson, spark_schema(lesson.answer))
    others = [f.col(name) for name in found.columns if name != HASH]
    few = found.orderBy(f.col(HASH), *others).limit(value_of("history_limit"))
    return few.toArrow().cast(lesson.answer)

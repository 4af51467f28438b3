"""What Catalyst does before any row is packed: types, faults, filters, shards, watermark.

Rows that no component can play, and columns that nobody reads, go no further. Rows with a fault
are told as text, whole, when the pipeline wants them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from augury.analysis.declarations.catalog import DataType, StreamSchema
from augury.errors import DataError
from augury.evaluation.network import Network
from augury.evaluation.packing import FAULT, ROW_TEXT
from augury.evaluation.sharding import Sharding
from augury.planning.expressions.spark_sql import (
    can_be_pushed,
    quoted,
    string_literal,
    to_spark_sql,
)
from augury.planning.expressions.typed import Apply, Typed, nodes_within
from augury.planning.match_plan import Play
from augury.records import ROUNDING
from augury.runners.spark.watermark import moment_of_tick
from augury.sinks.sink import MICROSECONDS
from augury.sources.rows import MOST_TICKS, REASON, beyond_count, improbable

SPARK_TYPES = {
    DataType.BOOLEAN: "boolean",
    DataType.LONG: "bigint",
    DataType.DOUBLE: "double",
    DataType.STRING: "string",
    DataType.TIMESTAMP: "timestamp",
    DataType.DATE: "date",
}
# What Spark may cast without guessing, by the types that the data have.
_READABLE = {
    DataType.BOOLEAN: ("boolean",),
    DataType.LONG: ("tinyint", "smallint", "int", "bigint"),
    DataType.DOUBLE: ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"),
    DataType.STRING: ("string", "varchar", "char"),
    DataType.TIMESTAMP: ("timestamp", "timestamp_ntz"),
    DataType.DATE: ("date",),
}
SOURCE_FAULT, SOURCE_RAW, WATERMARK = "_augury_fault", "_augury_raw", "augury watermark"
# A longer list of a table's rows is no filter any more, but a join; the shards check again anyway.
MOST_ROWS_IN_A_FILTER = 1000


def declared_rows(data: DataFrame, stream: StreamSchema) -> DataFrame:
    """Return the declared columns, in their types and names, and what the source says of faults."""
    types = {name.lower(): (name, kind) for name, kind in data.dtypes}
    columns = [_declared(types, column.name, column.type, stream) for column in stream.columns]
    extra = [f.col(name) for name in (SOURCE_FAULT, SOURCE_RAW) if name in types]
    return data.select(*columns, *extra)


def _declared(
    types: Mapping[str, tuple[str, str]], name: str, kind: DataType, stream: StreamSchema
) -> Column:
    if name.lower() not in types:
        have = ", ".join(own for own, _ in types.values())
        raise DataError(
            f"stream {stream.name} declares column {name}, which the data do not have; "
            f"they have {have}: rename one, or change the declaration"
        )
    own, found = types[name.lower()]
    if found.partition("(")[0] not in (*_READABLE[kind], "void"):
        raise DataError(
            f"column {name} of stream {stream.name} is declared {kind.value}, but the data have "
            f"{found}; cast it, or change the declaration"
        )
    column = f.col(quoted(own))
    if found == "timestamp_ntz":
        # A time without a zone is in UTC, whatever the session's zone is.
        column = f.expr(_moment_in_utc(quoted(own)))
    return column.cast(SPARK_TYPES[kind]).alias(name)


def _moment_in_utc(column: str) -> str:
    """Return a time without a zone as a moment; a cast would take the zone of the session."""
    since = f"CAST({column} - TIMESTAMP_NTZ '1970-01-01 00:00:00' AS INTERVAL SECOND)"
    return f"timestamp_micros(CAST(CAST({since} AS DECIMAL(38, 6)) * 1000000 AS BIGINT))"


def fault_of(stream: StreamSchema, columns: list[str]) -> Column:
    """Return why a row cannot be used, or NULL; the reasons are those of `sources.rows`."""
    cases: list[tuple[Column, Any]] = []
    if SOURCE_FAULT in columns:
        cases.append((f.col(SOURCE_FAULT).isNotNull(), f.col(SOURCE_FAULT)))
    for name in (*stream.key, stream.time):
        assert name is not None
        cases.append((_column(stream, name).isNull(), f.lit(f"{name} is null")))
    if stream.time_is_ticks:
        assert stream.time is not None
        is_counted = _column(stream, stream.time).between(-MOST_TICKS, MOST_TICKS)
        cases.append((~is_counted, f.lit(beyond_count(stream.time))))
    if stream.probability:
        p = _column(stream, stream.probability)
        is_one = f.coalesce(p.between(-ROUNDING, 1.0 + ROUNDING), f.lit(False))
        cases.append((~is_one, f.lit(improbable(stream.probability))))
    if stream.id and not stream.alternatives:
        cases.append((_column(stream, stream.id).isNull(), f.lit(f"{stream.id} is null")))
    first, *others = cases
    chain = f.when(*first)
    for case in others:
        chain = chain.when(*case)
    return chain


def _column(stream: StreamSchema, name: str) -> Column:
    column = stream.column(name)
    assert column is not None
    return f.col(quoted(column.name))


def time_in_units(stream: StreamSchema) -> str:
    """Return event time as a whole number, in SQL: microseconds, or ticks."""
    assert stream.time is not None
    column = stream.column(stream.time)
    assert column is not None
    return quoted(column.name) if stream.time_is_ticks else f"unix_micros({quoted(column.name)})"


def with_watermark(rows: DataFrame, stream: StreamSchema) -> DataFrame:
    """Return streaming rows whose latest time, less LATENESS, is Spark's watermark.

    A row with a fault says nothing about time: its own may be what is wrong with it.
    """
    assert stream.time is not None
    if stream.time_is_ticks:
        moment = moment_of_tick(time_in_units(stream), stream.lateness)
        at, late = f.expr(f"timestamp_millis({moment})"), 0
    else:
        at, late = _column(stream, stream.time), -(-stream.lateness // 1000)
    watermark = f.when(f.col(quoted(FAULT)).isNull(), at).otherwise(f.timestamp_micros(f.lit(0)))
    rows = rows.withColumn(WATERMARK, watermark)
    return rows.withWatermark(quoted(WATERMARK), f"{late} milliseconds")


def matters(network: Network, stream: StreamSchema, *, streaming: bool) -> Column:
    """Return whether a row can change an answer.

    In a stream, rows that go no further still move the watermark: a condition on their time, which
    none fulfils, keeps Spark from putting the filter before it.
    """
    condition = row_filter(network, stream)
    if condition is None:
        return f.lit(True)
    never = f.col(quoted(WATERMARK)) < f.timestamp_micros(f.lit(-(2**61)))
    return f.expr(condition) | never if streaming else f.expr(condition)


def row_filter(network: Network, stream: StreamSchema) -> str | None:
    """Return what a row must pass to matter to some query; None where every row matters."""
    plays = network.plays_of(stream)
    if plays is None:
        return None
    conditions = [_play(stream, play, network.relations, least) for play, least in plays]
    if "true" in conditions:
        return None
    return " OR ".join(dict.fromkeys(conditions)) or "false"


def _play(stream: StreamSchema, play: Play, tables: Mapping[str, Any], least: float | None) -> str:
    """Return what an event needs to play a component; what Spark cannot tell is left to shards.

    `least` is the probability below which it cannot reach the threshold.
    """
    small = {name: rows for name, rows in tables.items() if len(rows) <= MOST_ROWS_IN_A_FILTER}
    parts = list(_texts(play.filters, small))
    if play.type is not None and stream.type is not None:
        parts.insert(0, f"{quoted(stream.type)} = {string_literal(play.type)}")
    if least is not None and stream.probability:
        parts.append(f"{quoted(stream.probability)} >= {least!r}D")
    return "(" + " AND ".join(parts) + ")" if parts else "true"


def _texts(filters: tuple[Typed, ...], tables: Mapping[str, Any]) -> Iterator[str]:
    for expression in filters:
        nodes = [node for node in nodes_within(expression) if isinstance(node, Apply)]
        asked = [node.detail.lower() for node in nodes if node.operator == "member"]
        if all(name in tables for name in asked) and can_be_pushed(expression):
            yield to_spark_sql(expression, tables)


def shard_of(stream: StreamSchema, sharding: Sharding, shards: int) -> Column:
    """Return the number of the shard that a row belongs to."""
    if sharding.kind != "key":
        return f.lit(0).cast("bigint")
    names = dict(sharding.columns)[stream.name.lower()]
    # Minus zero equals zero, but has a hash of its own.
    doubles = {c.name for c in stream.columns if c.type is DataType.DOUBLE}
    columns = [
        _column(stream, n) + f.lit(0.0) if n in doubles else _column(stream, n) for n in names
    ]
    return f.pmod(f.xxhash64(*columns), f.lit(shards))


def row_texts(stream: StreamSchema, columns: list[str]) -> Column:
    """Return the whole row as text where it has a fault; NULL for a good one."""
    fields = [f.col(quoted(c.name)) for c in stream.columns]
    raw = f.col(SOURCE_RAW) if SOURCE_RAW in columns else f.lit(None).cast("string")
    whole = f.to_json(f.struct(*fields, raw.alias("raw")), {"timestampFormat": MICROSECONDS})
    return f.when(f.col(quoted(FAULT)).isNotNull(), whole)


def rows_of_texts(texts: DataFrame, stream: StreamSchema) -> DataFrame:
    """Return rows that were made text, in their columns again."""
    fields = ", ".join(f"{quoted(c.name)} {SPARK_TYPES[c.type]}" for c in stream.columns)
    form = {"timestampFormat": MICROSECONDS}
    row = f.from_json(f.col(quoted(ROW_TEXT)), f"{fields}, raw string", form)
    read = texts.select(row.alias("row"), f.col(quoted(FAULT)).alias(REASON))
    return read.select("row.*", REASON)

"""What Catalyst does before any row is packed: types, faults, filters, shards, watermark.

Rows that no component can play, and columns that nobody reads, go no further. Rows with a fault
are told as text, whole, when the pipeline wants them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from augury.analysis.declarations.catalog import DataType, StreamSchema
from augury.errors import DataError
from augury.evaluation.network import Network
from augury.evaluation.packing import FAULT, ROW_TEXT
from augury.evaluation.sharding import Sharding
from augury.evaluation.travelling import plays_of
from augury.planning.expressions.spark_sql import (
    can_be_pushed,
    quoted,
    string_literal,
    to_spark_sql,
)
from augury.planning.expressions.typed import Apply, Typed, nodes_within
from augury.planning.match_plan import Play
from augury.records import ROUNDING
from augury.runners.spark.pulses import PULSE, Pulses
from augury.runners.spark.watermark import moment_of_tick
from augury.sinks.sink import MICROSECONDS
from augury.sources.frames import can_hold, fitted, is_plain
from augury.sources.rows import MOST_TICKS, REASON, beyond_count, improbable
from augury.sources.texts import Case, first_of, unfit

SPARK_TYPES = {
    DataType.BOOLEAN: "boolean",
    DataType.LONG: "bigint",
    DataType.DOUBLE: "double",
    DataType.STRING: "string",
    DataType.TIMESTAMP: "timestamp",
    DataType.DATE: "date",
}
SOURCE_FAULT, SOURCE_RAW, WATERMARK = "_augury_fault", "_augury_raw", "augury watermark"
# A longer list of a table's rows is no filter any more, but a join; the shards check again anyway.
MOST_ROWS_IN_A_FILTER = 1000


def declared_rows(data: DataFrame, stream: StreamSchema) -> DataFrame:
    """Return the declared columns, in their types and names, and what is wrong with single cells.

    What a source says of its rows stays; cells of bound rows are judged here.
    """
    types = {name.lower(): (name, kind) for name, kind in data.dtypes}
    columns, faults = list[Column](), list[Case]()
    for column in stream.columns:
        own, found = _found(types, column.name, column.type, stream)
        given = f.col(quoted(own))
        value = fitted(given, column.type.value, found)
        columns.append(value.alias(column.name))
        if not is_plain(column.type.value, found):
            reason = unfit(column.name, column.type.value, given.cast("string"))
            faults.append((given.isNotNull() & value.isNull(), reason))
    if SOURCE_FAULT in types:
        faults.insert(0, (f.col(SOURCE_FAULT).isNotNull(), f.col(SOURCE_FAULT)))
    extra = [first_of(faults).alias(SOURCE_FAULT)] if faults else []
    raw = [f.col(SOURCE_RAW)] if SOURCE_RAW in types else []
    return data.select(*columns, *extra, *raw)


def are_plain(data: DataFrame, stream: StreamSchema, names: Iterable[str]) -> bool:
    """Whether the values of some columns are all of their declared types."""
    types = {name.lower(): kind for name, kind in data.dtypes}
    kinds = {column.name: column.type.value for column in stream.columns}
    return all(is_plain(kinds[name], types[name.lower()]) for name in names)


def _found(
    types: Mapping[str, tuple[str, str]], name: str, kind: DataType, stream: StreamSchema
) -> tuple[str, str]:
    """Return the name and the type that a declared column has in the data."""
    if name.lower() not in types:
        have = ", ".join(own for own, _ in types.values())
        raise DataError(
            f"stream {stream.name} declares column {name}, which the data do not have; "
            f"they have {have}: rename one, or change the declaration"
        )
    own, found = types[name.lower()]
    if not can_hold(kind.value, found):
        raise DataError(
            f"column {name} of stream {stream.name} is declared {kind.value}, but the data have "
            f"{found}; cast it, or change the declaration"
        )
    return own, found


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


def has_good_row(data: DataFrame, stream: StreamSchema) -> bool:
    """Whether some row has no fault of its own: reads rows until one has none."""
    rows = declared_rows(data, stream)
    return not rows.where(fault_of(stream, rows.columns).isNull()).isEmpty()


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


def with_watermark(rows: DataFrame, stream: StreamSchema, pulses: Pulses | None) -> DataFrame:
    """Return streaming rows whose latest time, less LATENESS, is Spark's watermark.

    A row with a fault says nothing about time: its own may be what is wrong with it. Pulses are
    beside them where the time of silent streams is to go on.
    """
    assert stream.time is not None
    if stream.time_is_ticks:
        moment = moment_of_tick(time_in_units(stream), stream.lateness)
        at, late = f.expr(f"timestamp_millis({moment})"), 0
    else:
        at, late = _column(stream, stream.time), -(-stream.lateness // 1000)
    watermark = f.when(f.col(quoted(FAULT)).isNull(), at).otherwise(f.timestamp_micros(f.lit(0)))
    rows = rows.withColumn(WATERMARK, watermark)
    if pulses is not None:
        rows = pulses.beside(rows, stream, WATERMARK, late)
    return rows.withWatermark(quoted(WATERMARK), f"{late} milliseconds")


def matters(network: Network, stream: StreamSchema, *, streaming: bool) -> Column:
    """Return whether a row can change an answer.

    In a stream, rows that go no further still move the watermark: a condition on their time, which
    none fulfils, keeps Spark from putting the filter before it.
    """
    condition = row_filter(network, stream)
    if condition is None:
        return f.lit(True)
    return f.expr(condition) | _never() if streaming else f.expr(condition)


def is_own() -> Column:
    """Return whether a row is one of the stream, and not a pulse that has moved the watermark."""
    return ~f.col(quoted(PULSE)) | _never()


def _never() -> Column:
    """Return what no row fulfils, and Spark tests behind the watermark alone."""
    return f.col(quoted(WATERMARK)) < f.timestamp_micros(f.lit(-(2**61)))


def row_filter(network: Network, stream: StreamSchema) -> str | None:
    """Return what a row must pass to matter to some query; None where every row matters."""
    plays = plays_of(network, stream)
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

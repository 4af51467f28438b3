"""The console as a sink: each row is shown once it is known; a repeated batch is shown again.

What was shown cannot be taken back, so a match that is revised is a further line. Moments leave
Spark as numbers: its Python side makes them in the zone of the process, and fails at those that
this zone has no year for, such as 0001-01-01.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, DataType, StructType, TimestampType

from augury.sinks.moments import moment_text

if TYPE_CHECKING:
    from augury.sinks.sink import Mode

Show = Callable[[str, dict[str, Any]], None]


def as_numbers(rows: DataFrame) -> DataFrame:
    """Return the rows with their moments as microseconds since 1970, inside of others, too."""
    return rows.select(
        *(_number(rows[quoted(each.name)], each.dataType).alias(each.name) for each in rows.schema)
    )


def quoted(name: str) -> str:
    """Return the name of a column in backquotes."""
    return "`" + name.replace("`", "``") + "`"


def _number(column: Column, kind: DataType) -> Column:
    if isinstance(kind, TimestampType):
        return f.unix_micros(column)
    if isinstance(kind, ArrayType):
        return f.transform(column, lambda item: _number(item, kind.elementType))
    if isinstance(kind, StructType):
        fields = [_number(column[each.name], each.dataType).alias(each.name) for each in kind]
        return f.when(column.isNotNull(), f.struct(*fields))
    return column


def with_moments(value: Any, kind: DataType) -> Any:
    """Return a value whose moments are numbers with their text in their place."""
    if value is None:
        return None
    if isinstance(kind, TimestampType):
        return moment_text(value)
    if isinstance(kind, ArrayType):
        return [with_moments(item, kind.elementType) for item in value]
    if isinstance(kind, StructType):
        return {each.name: with_moments(value[each.name], each.dataType) for each in kind}
    return value


@dataclass(frozen=True)
class ConsoleSink:
    """Rows of a query, shown by a function of its name and the row."""

    query: str
    show: Show
    mode: ClassVar[Mode] = "append"

    def open(self) -> None:
        """There is nothing to open."""

    def write(self, rows: DataFrame, batch: int) -> None:
        for row in as_numbers(rows).toLocalIterator():
            self.show(self.query, with_moments(row, rows.schema))

    def clear(self, batch: int) -> None:
        """There is nothing to clear."""

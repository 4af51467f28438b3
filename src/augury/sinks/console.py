"""The console as a sink: each row is shown once it is known; a repeated batch is shown again.

What was shown cannot be taken back, so a match that is revised is a further line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from augury.sinks.sink import Mode

Show = Callable[[str, dict[str, Any]], None]


def in_utc(value: Any) -> Any:
    """Return a value with its moments as text in UTC: Spark gives them in the process's zone."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, dict):
        return {name: in_utc(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [in_utc(inner) for inner in value]
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
        for row in rows.toLocalIterator():
            self.show(self.query, in_utc(row.asDict(recursive=True)))

    def clear(self, batch: int) -> None:
        """There is nothing to clear."""

"""The console as a sink: each row is shown once it is known; a repeated batch is shown again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Show = Callable[[str, dict[str, Any]], None]


@dataclass(frozen=True)
class ConsoleSink:
    """Rows of a query, shown by a function of its name and the row."""

    query: str
    show: Show

    def open(self) -> None:
        """There is nothing to open."""

    def write(self, rows: DataFrame, batch: int) -> None:
        for row in rows.toLocalIterator():
            self.show(self.query, row.asDict(recursive=True))

    def clear(self, batch: int) -> None:
        """There is nothing to clear."""

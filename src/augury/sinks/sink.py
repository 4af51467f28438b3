"""The protocol of sinks: rows of one micro-batch in, once; the same batch again changes nothing.

Spark repeats the batch that was under way when a run ended, with the same number and the same rows.
A sink must leave the same behind however often that happens, and wherever in the writing it was
interrupted before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# How text holds times: as exactly as they are, to be joined with where they came from.
MICROSECONDS = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"


class Sink(Protocol):
    """A place for rows."""

    def open(self) -> None:
        """Make sure that the place can be written to, and belongs to this run."""

    def write(self, rows: DataFrame, batch: int) -> None:
        """Put the rows of a batch in place; if they are there already, nothing changes."""

    def clear(self, batch: int) -> None:
        """Note that a batch has no rows, in case it had some before."""

"""The protocol of sinks: rows of one micro-batch in, once; the same batch again changes nothing.

Spark repeats the batch that was under way when a run ended, with the same number and the same rows.
A sink must leave the same behind however often that happens, and wherever in the writing it was
interrupted before.

A match may be told again, under its id with the next `revision`. What *upserts* holds a row by its
`match_id`, and gets the last of each batch; what *appends* gets the log: all of them, in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# How text holds times: as exactly as they are, to be joined with where they came from.
MICROSECONDS = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
Mode = Literal["append", "upsert"]


@dataclass(frozen=True)
class Revisions:
    """How a topic takes matches that are told again.

    A message whose confidence is not above `erased_up_to` is sent as a tombstone, that is, without
    a value; where it is None, a match is taken back by a message like any other.
    """

    mode: Mode = "upsert"
    erased_up_to: float | None = None


class Sink(Protocol):
    """A place for rows."""

    @property
    def mode(self) -> Mode:
        """Whether each row stands for itself, or takes the place of those under its id."""
        ...

    def open(self) -> None:
        """Make sure that the place can be written to, and belongs to this run."""

    def write(self, rows: DataFrame, batch: int) -> None:
        """Put the rows of a batch in place; if they are there already, nothing changes."""

    def clear(self, batch: int) -> None:
        """Note that a batch has no rows, in case it had some before."""

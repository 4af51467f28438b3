"""What is told of a firing outside; it travels through machines that know no database."""

from __future__ import annotations

from dataclasses import dataclass

OUTBOX = "augury_outbox"


@dataclass(frozen=True)
class Letter:
    """A firing for a target: its place in the order of firings, and its text.

    `store` is that of the tables that its rule writes, in lower case.
    """

    firing_id: str
    target: str
    ts: int
    number: int
    body: str
    store: str = ""

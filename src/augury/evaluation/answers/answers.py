"""What a step gives back: rows of queries, rows of streams that were put aside, and measures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

import pyarrow as pa


@dataclass
class Measured:
    """What a stage has done: rows in and out, milliseconds, and the bytes that it remembers."""

    rows_in: int = 0
    rows_out: int = 0
    milliseconds: float = 0.0
    state_bytes: int = 0

    def add(self, other: Measured) -> None:
        """Count what was done later, too."""
        self.rows_in += other.rows_in
        self.rows_out += other.rows_out
        self.milliseconds += other.milliseconds
        self.state_bytes = max(self.state_bytes, other.state_bytes)


@dataclass(frozen=True, slots=True)
class Answers:
    """New rows of each query, and by stream the rows that were put aside, with their reason.

    `measured` is what each stage did, by its name, in the order of the graph. `tied` is how many
    events of a query no tie-breaker orders, where that is counted.
    """

    found: Mapping[str, pa.Table]
    rejected: Mapping[str, pa.Table]
    measured: Mapping[str, Measured] = field(default_factory=dict)
    tied: Mapping[str, int] = field(default_factory=dict)


class Clock:
    """Measures stages that run inside of each other: each has the time that is its own."""

    def __init__(self) -> None:
        self.measured: dict[str, Measured] = {}
        self._inside = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[Measured]:
        """Measure one stage; the caller says which rows went in and out."""
        outside, self._inside = self._inside, 0.0
        begin, own = perf_counter(), Measured()
        yield own
        spent = (perf_counter() - begin) * 1e3
        own.milliseconds, self._inside = spent - self._inside, outside + spent
        # Listed when it is done: after the stages that it reads.
        self.measured.setdefault(name, Measured()).add(own)


def joined(steps: Iterable[Mapping[str, Measured]]) -> dict[str, Measured]:
    """Return what was done in some steps together."""
    total: dict[str, Measured] = {}
    for step in steps:
        for name, each in step.items():
            total.setdefault(name, Measured()).add(each)
    return total


def as_rows(measured: Mapping[str, Measured]) -> list[dict[str, Any]]:
    """Return one row per stage, in order."""
    return [{"stage": name, **asdict(each)} for name, each in measured.items()]

"""What a forecast is, and what a row of it says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from augury.forecast.machine import Machine
from augury.forecast.past import Bound, Condition, Past

# The code of what parts a forecast.
Partition = int
# What all events are of where nothing parts them.
ALL: Partition = 0


@dataclass(frozen=True, slots=True)
class Horizon:
    """How far ahead: `length` events of the partition or of the stream, or a time."""

    length: int
    in_time: bool = False
    of_stream: bool = False


@dataclass(frozen=True)
class Setting:
    """The pattern as a machine, its window, the model, and the horizon.

    `window` is in events (`counts_events`) or in time. `online` counts what goes by,
    which weighs half as much after `half_life`.
    """

    machine: Machine
    horizon: Horizon
    kind: Literal["MARKOV", "EDGES", "MODEL"] = "MARKOV"
    order: int = 0
    smoothing: float = 0.0
    online: bool = False
    half_life: int | None = None
    by_value: bool = False
    steady: bool = False
    by_time: bool = False
    window: int | None = None
    counts_events: bool = False
    state_limit: int = 100_000
    partial_limit: int = 1_000_000
    row_limit: int = 20_000_000

    @property
    def timed_window(self) -> int | None:
        """The window in time, if it is one."""
        return None if self.counts_events else self.window

    @property
    def needs_gaps(self) -> bool:
        """Whether it has to be known how fast events come."""
        return self.horizon.in_time or self.timed_window is not None

    @property
    def needs_shares(self) -> bool:
        """Whether it has to be known which part of the events a partition has."""
        machine = self.machine
        return machine.foreign_breaks or machine.foreign_ticks or self.horizon.of_stream

    @property
    def waits_in_time(self) -> bool:
        """Whether a negation at the end is waited for until a moment that no event tells."""
        timed = self.timed_window is not None and not self.steady
        return timed and self.kind == "MARKOV" and bool(self.machine.trailing)

    def past(self, conditions: tuple[Condition, ...] = ()) -> Past:
        """Return how what has gone by is followed: windows in time by the clock."""
        edges = self.kind == "EDGES"
        return Past(
            replace(self.machine, ticks=self.counts_events, _steps={}, _needs={}),
            0 if edges else self.order,
            self.timed_window,
            self.window if self.counts_events else None,
            lists=edges or not self.by_time,
            joins=self.by_time,
            limit=self.partial_limit,
            conditions=conditions,
        )

    def future(self) -> Machine:
        """Return how what comes is read: windows in time are steps where arrivals are steady."""
        ticks = self.timed_window is None or self.steady
        return replace(self.machine, ticks=ticks, _steps={}, _needs={})


@dataclass(frozen=True, slots=True)
class Row:
    """One forecast, after the event `last`; `bound` and `confidence` are of a partial match."""

    partition: Partition
    time: int
    last: int
    bound: Bound
    confidence: float
    forecast: float | None
    expected: float | None

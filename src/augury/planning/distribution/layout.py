"""Where time is cut into ranges, and at whose place each of them is matched.

A place is where the rows of one stream lie. A sketch says how a stream's rows, and those of them
that can enter a queue, are spread over time. Ranges are cut by volume, so that each holds about as
many rows, however they are spread. Any cut gives the same matches; a good one moves less.

Where events are moved, time is also cut at the first and last event of every stream, and each of
the fragments belongs to the stream that has most rows in it. Where temporal results are moved, all
ranges belong to the stream with the most entries in its queues.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from augury.records import Reals, Words

Movement = Literal["events", "results"]
MOVEMENTS: tuple[Movement, ...] = get_args(Movement)
# A sketch knows when this many equal shares of the rows had come.
SHARES = 64
# Unless asked otherwise, a range is this many times as long as what it shares with the next.
LEAST_WIDTH = 4


@dataclass(frozen=True, slots=True)
class Sketch:
    """How many rows a stream has, how many enter the queues, and when they come.

    `times` are quantiles from the first row to the last, and `entry_times` those of the entries.
    `text` has the mean length of each column of text, in bytes; `tasks` read the rows.
    """

    rows: int
    entries: int
    times: tuple[int, ...] = ()
    entry_times: tuple[int, ...] = ()
    text: tuple[tuple[str, float], ...] = ()
    tasks: int = 1

    @classmethod
    def of(cls, times: Words, enters: np.ndarray) -> Sketch:
        """Return the sketch of rows at hand."""
        entries = times[enters]
        return cls(len(times), len(entries), _quantiles(times), _quantiles(entries))

    @classmethod
    def read(cls, facts: Mapping[str, Any]) -> Sketch:
        """Return the sketch that `sketching` tells as plain values."""
        return cls(
            facts["rows"],
            facts["entries"],
            tuple(sorted(facts.get("times") or ())),
            tuple(sorted(facts.get("entry_times") or ())),
            tuple(sorted((facts.get("text") or {}).items())),
            facts.get("tasks", 1),
        )

    @property
    def rate(self) -> float:
        """The share of the rows that enter the queues: the paper's lambda."""
        return self.entries / self.rows if self.rows else 0.0

    def rows_between(self, start: float, end: float) -> float:
        """Return about how many rows there are from `start` to before `end`."""
        return self.rows * (_share(self.times, end) - _share(self.times, start))

    def entries_between(self, start: float, end: float) -> float:
        """Return about how many rows from `start` to before `end` enter the queues."""
        return self.entries * (_share(self.entry_times, end) - _share(self.entry_times, start))


Sketches = Mapping[str, Sketch]


@dataclass(frozen=True, slots=True)
class Layout:
    """Range k lasts from `cuts[k - 1]` until before `cuts[k]`, and is matched at `places[k]`."""

    cuts: tuple[int, ...]
    places: tuple[str, ...]

    def numbers(self, times: Words) -> Words:
        """Return the range of each time."""
        found: Words = np.searchsorted(np.array(self.cuts, np.int64), times, side="right")
        return found

    @property
    def ranges(self) -> list[tuple[float, float]]:
        """The start and the end of each range; the outer ones are open."""
        starts = [-np.inf, *map(float, self.cuts)]
        return list(zip(starts, [*starts[1:], np.inf], strict=True))


@dataclass(frozen=True, slots=True)
class Moving:
    """How one part of a pipeline is moved: into `parts` ranges, each with what is near it.

    `least` is how long a range is at least, but for the fragments of streams. `exactly` tells that
    OPTIONS says how many parts there are.
    """

    movement: Movement
    lookback: int
    lookahead: int
    parts: int
    least: int = 0
    exactly: bool = False

    def layout(self, sketches: Sketches) -> Layout:
        """Return the ranges for streams of which only this is known."""
        known = {name: each for name, each in sketches.items() if each.rows or each.entries}
        if not known:
            return Layout((), (next(iter(sketches)),))
        return self._fragments(known) if self.movement == "events" else self._merged(known)

    def _merged(self, sketches: Sketches) -> Layout:
        main = max(sketches, key=lambda name: sketches[name].entries)
        cuts = self._even_cuts([(s.entry_times, s.entries) for s in sketches.values()], self.parts)
        return Layout(tuple(cuts), (main,) * (len(cuts) + 1))

    def _fragments(self, sketches: Sketches) -> Layout:
        """Return ranges that no stream begins or ends in, each at the place of the majority."""
        weights = [(s.times, s.rows) for s in sketches.values()]
        borders = fragment_cuts(sketches)
        total = sum(rows for _, rows in weights)
        cuts: list[int] = []
        for start, end in Layout(tuple(borders), ()).ranges:
            inside = [(_within(times, start, end), rows) for times, rows in weights]
            rows = sum(s.rows_between(start, end) for s in sketches.values())
            pieces = max(1, round(self.parts * rows / total))
            cuts += [] if start == -np.inf else [int(start)]
            # A cut is rounded up, and may come to lie where the next fragment begins.
            cuts += [cut for cut in self._even_cuts(inside, pieces) if cut < end]
        layout = Layout(tuple(cuts), ())
        return Layout(layout.cuts, tuple(majority(sketches, *each) for each in layout.ranges))

    def _even_cuts(self, weights: Sequence[tuple[tuple[int, ...], int]], n: int) -> list[int]:
        """Return times that cut all rows into n parts of about the same number of rows."""
        weights = [(times, rows) for times, rows in weights if times and rows]
        if n <= 1 or not weights:
            return []
        grid = np.unique(np.concatenate([np.array(times, np.float64) for times, _ in weights]))
        passed = sum(rows * _shares(times, grid) for times, rows in weights)
        assert isinstance(passed, np.ndarray)
        least = max(1, self.least)
        n = min(n, int((grid[-1] - grid[0]) // least))
        quantiles = passed[-1] * np.arange(1, n) / max(1, n)
        kept = [int(grid[0])]
        for cut in np.ceil(np.interp(quantiles, passed, grid)).astype(np.int64).tolist():
            if cut - kept[-1] >= least:
                kept.append(cut)
        return kept[1:]


def fragment_cuts(sketches: Sketches) -> list[int]:
    """Return where streams begin and have ended, but for the first and last of these times."""
    known = [sketch.times for sketch in sketches.values() if sketch.times]
    ends = {times[0] for times in known} | {times[-1] + 1 for times in known}
    return sorted(ends)[1:-1]


def majority(sketches: Sketches, start: float, end: float) -> str:
    """Return the stream with the most rows between two times."""
    return max(sketches, key=lambda name: sketches[name].rows_between(start, end))


def read_sketches(text: str) -> dict[str, Sketch]:
    """Return the sketches of streams from their text."""
    return {name: Sketch.read(facts) for name, facts in json.loads(text).items()}


def _quantiles(times: Words) -> tuple[int, ...]:
    if not len(times):
        return ()
    places = np.linspace(0, len(times) - 1, SHARES + 1).round().astype(np.int64)
    return tuple(np.sort(times)[places].tolist())


def _share(times: tuple[int, ...], at: float) -> float:
    return float(_shares(times, np.array([at]))[0])


def _shares(times: tuple[int, ...], at: Reals) -> Reals:
    """Return which share of the rows comes before each time."""
    if not times:
        return np.zeros(len(at))
    grid = np.array(times, np.float64)
    # A row at the last time is before everything later, and a single time is no interval.
    found: Reals = np.interp(at, grid, np.linspace(0.0, 1.0, len(grid)))
    return np.where(at > grid[-1], 1.0, np.where(at <= grid[0], 0.0, found))


def _within(times: tuple[int, ...], start: float, end: float) -> tuple[int, ...]:
    """Return quantiles of the rows between two times, from those of all rows."""
    if not times:
        return ()
    low, high = _share(times, start), _share(times, end)
    if high <= low:
        return ()
    grid = np.linspace(0.0, 1.0, len(times))
    asked = np.linspace(low, high, SHARES + 1)
    return tuple(np.interp(asked, grid, np.array(times, np.float64)).astype(np.int64).tolist())

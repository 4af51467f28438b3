"""Readings as they come: the filter, or the smoother of a fixed lag, carried from batch to batch.

What is reported is what `smoothing.filtered` and `smoothing.lagged` give over all readings at once,
and, if it is to be correlated, the tables of `linking`: one for each step but a key's first.
State per key is constant: the belief at the oldest step that still matters, and what the sensors
said at the `lag` steps after it. A key's steps end with its last reading, so a silence is reported
when it is over.

Oracle: the functions of `smoothing`, over the whole of the readings.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from augury.inference.linking import links
from augury.inference.model import Model
from augury.inference.readings import Readings, arrange
from augury.inference.smoothing import UNEXPLAINED, Belief, decided, pruned
from augury.kernels.chain import hidden
from augury.records import Flags, Reals, Words

Rows = Sequence[tuple[Any, int, Any, Any]]


@dataclass(frozen=True)
class Followed:
    """What is kept of C keys: rows `first[c]..first[c + 1]` of `weight` (K) are of `keys[c]`.

    The last row is that of step `last[c]`. The first row of a key is P(state), the others are the
    likelihood of what was read.
    """

    keys: tuple[Any, ...]
    last: Words
    first: Words
    weight: Reals

    def dump(self) -> bytes:
        """Return the numbers as bytes; keys are stored by who knows their types."""
        stream = io.BytesIO()
        np.savez(stream, last=self.last, first=self.first, weight=self.weight)
        return stream.getvalue()

    @classmethod
    def load(cls, keys: tuple[Any, ...], data: bytes) -> Followed:
        """Return what `dump` wrote, of the given keys."""
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            return cls(keys, found["last"], found["first"], found["weight"])


@dataclass(frozen=True)
class Follower:
    """Infers one stream of readings step by step; `lag` 0 is the filter.

    One that `decides` tells the most likely state of each step as if it were certain.
    """

    model: Model
    step: int
    lag: int = 0
    prune: float = 0.0
    correlated: bool = False
    decides: bool = False

    def start(self) -> Followed:
        """Return the state before any reading."""
        none = np.zeros(0, np.int64)
        nothing = np.zeros((0, len(self.model.states)))
        return Followed((), none, np.zeros(1, np.int64), nothing)

    def load(self, keys: tuple[Any, ...], data: bytes) -> Followed:
        """Return the state of keys that was dumped."""
        return Followed.load(keys, data)

    def advance(
        self, state: Followed, rows: Rows, *, ends: bool = False
    ) -> tuple[Followed, Belief]:
        """Take in readings of steps that are complete; report the steps that are known by now.

        `ends` tells that no more will come, so that the last steps look ahead no further.
        """
        known = dict(zip(state.keys, state.last.tolist(), strict=True))
        readings = arrange(self.model, rows, self.step, since=known)
        trace = self._trace(state, readings, ends)
        alpha, evidence = np.zeros_like(trace.weight), np.ones(len(trace.weight))
        even, moves = np.ones(len(self.model.states)), self.model.transition
        hidden.forward(trace.first, trace.weight, even, moves, alpha, evidence)
        impossible = trace.impossible | (evidence == 0.0)
        trace = replace(trace, rejected=_unexplained(readings, trace.first, impossible))
        return self._kept(state, trace, alpha), self._reported(state, trace, alpha, ends)

    def finish(self, state: Followed) -> tuple[Followed, Belief]:
        """Report what remains: the readings have ended."""
        return self.advance(state, (), ends=True)

    def _trace(self, state: Followed, readings: Readings, ends: bool) -> _Trace:
        """Return the steps of keys that have new ones, and of all others if the stream ends."""
        likelihood = self.model.likelihood(readings.codes)
        place = {key: c for c, key in enumerate(state.keys)}
        silent = [key for key in place if ends and key not in readings.keys]
        parts = [
            self._continued(state, place.get(key), likelihood[start:stop].copy())
            for key, start, stop in zip(
                readings.keys, readings.first[:-1], readings.first[1:], strict=True
            )
        ]
        last = [int(readings.time[stop - 1]) // self.step for stop in readings.first[1:]]
        for key in silent:
            parts.append(self._continued(state, place[key], likelihood[:0]))
            last.append(int(state.last[place[key]]))
        sizes = [len(weight) for weight, _ in parts]
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        ends_at = np.array(last, np.int64)
        number = np.arange(first[-1]) + np.repeat(ends_at + 1 - first[1:], np.diff(first))
        impossible = np.zeros(first[-1], np.bool_)
        impossible[first[:-1]] = [begins_badly for _, begins_badly in parts]
        return _Trace(
            (*readings.keys, *silent),
            first,
            number.astype(np.int64),
            np.concatenate([state.weight[:0], *(weight for weight, _ in parts)]),
            impossible,
            ends_at,
            {},
        )

    def _continued(self, state: Followed, c: int | None, rows: Reals) -> tuple[Reals, bool]:
        """Return what was kept of a key before its new rows, and whether it begins impossibly."""
        if c is None:
            return rows, _begin(self.model, rows)
        return np.concatenate([state.weight[state.first[c] : state.first[c + 1]], rows]), False

    def _reported(self, state: Followed, trace: _Trace, alpha: Reals, ends: bool) -> Belief:
        gamma = alpha
        if self.lag:
            gamma = np.zeros_like(alpha)
            first, moves = trace.first, self.model.transition
            hidden.lagged(first, trace.weight, moves, alpha, self.lag, gamma)
        reported = dict(zip(state.keys, (state.last - self.lag).tolist(), strict=True))
        own = np.repeat(np.arange(len(trace.keys)), np.diff(trace.first))
        since = np.array([reported.get(key, -(2**62)) for key in trace.keys], np.int64)
        until = trace.last - (0 if ends else self.lag)
        is_due = (trace.number > since[own]) & (trace.number <= until[own])
        marginal, lost = pruned(gamma[is_due], self.prune)
        counts = np.bincount(own[is_due], minlength=len(trace.keys))
        first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        told_readings = Readings(
            trace.keys,
            first,
            trace.number[is_due] * self.step,
            np.zeros((int(is_due.sum()), 0), np.int64),
            {},
            trace.rejected,
        )
        by_key = np.zeros(len(trace.keys))
        np.maximum.at(by_key, own[is_due], lost)
        tables = self._tables(trace, alpha, gamma, is_due) if self.correlated else ()
        found = Belief(
            told_readings, marginal, tables, trace.impossible[is_due], by_key, np.zeros(len(by_key))
        )
        return decided(found) if self.decides else found

    def _tables(
        self, trace: _Trace, alpha: Reals, gamma: Reals, is_due: Flags
    ) -> tuple[Reals, ...]:
        """Return, by key, what leads to each reported step from the one before it, if there is."""
        found = []
        for start, stop in zip(trace.first[:-1].tolist(), trace.first[1:].tolist(), strict=True):
            due = start + np.flatnonzero(is_due[start:stop])
            own = slice(max(start, int(due[0]) - 1), int(due[-1]) + 1) if len(due) else slice(0, 1)
            found.append(links(self.model, alpha[own], gamma[own]))
        return tuple(found)

    def _kept(self, state: Followed, trace: _Trace, alpha: Reals) -> Followed:
        """Return the last steps of each key, those of keys that were not heard of as they were."""
        parts: dict[Any, tuple[int, Reals]] = {}
        for c, key in enumerate(state.keys):
            parts[key] = int(state.last[c]), state.weight[state.first[c] : state.first[c + 1]]
        for c, key in enumerate(trace.keys):
            stop = int(trace.first[c + 1])
            oldest = max(int(trace.first[c]), stop - self.lag - 1)
            rows = trace.weight[oldest:stop].copy()
            rows[0] = alpha[oldest]
            parts[key] = int(trace.last[c]), rows
        sizes = [len(rows) for _, rows in parts.values()]
        return Followed(
            tuple(parts),
            np.array([last for last, _ in parts.values()], np.int64),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.concatenate([state.weight[:0], *(rows for _, rows in parts.values())]),
        )


@dataclass(frozen=True)
class _Trace:
    """Steps of keys, the kept ones before the new: `number` and `weight` by step.

    `rejected` has the reason of each row that was put aside.
    """

    keys: tuple[Any, ...]
    first: Words
    number: Words
    weight: Reals
    impossible: Flags
    last: Words
    rejected: dict[int, str]


def _unexplained(readings: Readings, first: Words, impossible: Flags) -> dict[int, str]:
    """Return why rows were put aside, with those of steps that no reachable state explains."""
    reasons = dict(readings.rejected)
    own = np.searchsorted(readings.first, list(readings.row_step.values()), side="right") - 1
    for (row, at), c in zip(readings.row_step.items(), own.tolist(), strict=True):
        if impossible[first[c + 1] - (readings.first[c + 1] - at)]:
            reasons[row] = UNEXPLAINED
    return reasons


def _begin(model: Model, rows: Reals) -> bool:
    """Let the first step of a key know where keys begin; return whether nothing explains it."""
    joint = model.initial * rows[0]
    is_impossible = not joint.sum() > 0.0
    rows[0] = model.initial if is_impossible else joint / joint.sum()
    return is_impossible

"""Rows in, owners out: the wards of a stream, step by step.

A step is complete when no row of it can come any more. Then its badge reads are admitted, then its
other rows, each by time and id; then everything that is news is told. State is a value that goes on
step by step, and can be stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import numpy as np

from augury.errors import StateError
from augury.identity import wards as compiled
from augury.identity.telling import Strategy, Tellings, together
from augury.identity.ward import Row, Ward
from augury.identity.wards import Asked, WardState
from augury.kernels.identity.layout import BEFORE

VERSION = 2
ALWAYS = 2**63 - 1

LATE = "this row is of a step that was complete"
NO_WARD = "there is no such ward"
# The length of the first part of a stored state, in bytes.
_LENGTH = 8


@dataclass
class Identified:
    """What all wards remember: rows that wait for their step, and the steps that are complete."""

    wards: dict[Any, WardState]
    waiting: list[tuple[Any, Row]] = field(default_factory=list)
    done: int = BEFORE
    resets: int = 0

    @property
    def needed(self) -> set[Any]:
        """The ids of rows that wait for their step, and of events that may be told again."""
        waiting = {row.id for _, row in self.waiting}
        return waiting.union(*(ward.retold for ward in self.wards.values()))


@dataclass(frozen=True)
class News:
    """What a batch of rows made known: tellings in order, rejected rows with reasons, resets."""

    told: Tellings
    rejected: list[tuple[Any, Row, str]]
    resets: list[Any]


@dataclass(frozen=True)
class Identifier:
    """The wards of a stream by unit, and how events are told again."""

    wards: Mapping[Any, Ward]
    within: int
    strategy: Strategy
    rejects_impossible: bool = False
    state_limit: int = 2_000

    def start(self) -> Identified:
        """Return the state before any row."""
        return Identified({unit: compiled.begin(ward) for unit, ward in self.wards.items()})

    def advance(
        self, state: Identified, rows: Iterable[tuple[Any, Row]], horizon: int = ALWAYS
    ) -> tuple[Identified, News]:
        """Take rows (unit, row) in; return what is known once no row before the horizon comes.

        The state that is given is used up.
        """
        rejected: list[tuple[Any, Row, str]] = []
        ready, waiting = dict[Any, list[Row]](), list[tuple[Any, Row]]()
        for unit, row in (*state.waiting, *self._due(state, rows, rejected)):
            if self._is_complete(unit, row, horizon):
                ready.setdefault(unit, []).append(row)
            else:
                waiting.append((unit, row))
        state.waiting = waiting
        state.done = max(state.done, horizon)
        asked = Asked(self.within, self.strategy, self.rejects_impossible, self.state_limit)
        taken = {
            unit: compiled.take(self.wards[unit], unit, asked, state.wards[unit], ready[unit])
            for unit in sorted(ready, key=str)
        }
        aside = [
            (step, unit, row, why) for unit, own in taken.items() for step, row, why in own.rejected
        ]
        aside.sort(key=lambda each: each[0])
        rejected += [(unit, row, why) for _, unit, row, why in aside]
        resets = sorted(
            (each for own in taken.values() for each in own.resets), key=lambda each: each[0]
        )
        state.resets += len(resets)
        told = together([own.told for own in taken.values()])
        return state, News(told, rejected, [each for _, each in resets])

    def _due(
        self, state: Identified, rows: Iterable[tuple[Any, Row]], rejected: list[Any]
    ) -> list[tuple[Any, Row]]:
        due = []
        for unit, row in rows:
            if unit not in self.wards:
                rejected.append((unit, row, NO_WARD))
            elif self._is_complete(unit, row, state.done):
                rejected.append((unit, row, LATE))
            else:
                due.append((unit, row))
        return due

    def _is_complete(self, unit: Any, row: Row, horizon: int) -> bool:
        """Whether no row of a row's step can come, where none before the horizon can."""
        ward = self.wards[unit]
        return (ward.step_of(row.time) + 1) * ward.step <= horizon or horizon == ALWAYS


# Stored state -------------------------------------------------------------------------------------


def dump(state: Identified) -> bytes:
    """Return a state as bytes; ids, people and places are numbers, texts or times."""
    wards, arrays = [], list[np.ndarray[Any, Any]]()
    for unit, ward in state.wards.items():
        values, own = compiled.parts_of(ward)
        wards.append([unit, values, [[each.dtype.str, each.shape] for each in own]])
        arrays += own
    waiting = [[unit, _row_parts(row)] for unit, row in state.waiting]
    parts = {"version": VERSION, "wards": wards, "waiting": waiting}
    parts |= {"done": state.done, "resets": state.resets}
    first = json.dumps(parts, default=time_parts).encode()
    rest = b"".join(each.tobytes() for each in arrays)
    return len(first).to_bytes(_LENGTH, "little") + first + rest


def load(data: bytes) -> Identified:
    """Return the state that was dumped."""
    try:
        end = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
        parts = json.loads(data[_LENGTH:end], object_hook=time_of)
        if parts["version"] != VERSION:
            raise StateError(f"identities stored in version {parts['version']}; expected {VERSION}")
        wards = {}
        for unit, values, kinds in parts["wards"]:
            own = []
            for kind, shape in kinds:
                count = int(np.prod(shape, dtype=np.int64))
                own.append(np.frombuffer(data, kind, count, end).reshape(shape).copy())
                end += own[-1].nbytes
            wards[unit] = compiled.from_parts(values, own)
        waiting = [(unit, Row(*own)) for unit, own in parts["waiting"]]
        return Identified(wards, waiting, parts["done"], parts["resets"])
    except (ValueError, KeyError, TypeError) as problem:
        raise StateError(f"stored identities are damaged ({problem}); start anew") from problem


def time_parts(value: Any) -> dict[str, str]:
    """Return a time or a date in parts that JSON knows."""
    if isinstance(value, date):
        return {type(value).__name__: value.isoformat()}
    raise TypeError(f"a {type(value).__name__} cannot be stored as an id, a person or a place")


def time_of(parts: dict[str, Any]) -> Any:
    """Return the time or date of such parts; anything else as it is."""
    if parts.keys() == {"datetime"}:
        return datetime.fromisoformat(parts["datetime"])
    return date.fromisoformat(parts["date"]) if parts.keys() == {"date"} else parts


def _row_parts(row: Row) -> list[Any]:
    return [row.id, row.time, row.person, row.type, row.place, row.origin]

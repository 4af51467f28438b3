"""What is told of owners, in columns: tellings, each with one row for each person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from augury.kernels.identity import layout
from augury.kernels.identity.telling import SAME
from augury.records import Reals, Words

EXACT, SAMPLED = "exact", "sampled"
_KINDS = {"ANY": layout.ANY, "CERTAIN": layout.CERTAIN, "BY": layout.BY, "NEVER": layout.NEVER}


@dataclass(frozen=True)
class Strategy:
    """When an event is told again: ANY change, CERTAIN, BY a difference, NEVER."""

    kind: str = "ANY"
    least: float = 0.0

    @property
    def code(self) -> int:
        """The strategy as kernels know it."""
        return _KINDS[self.kind]

    def is_news(
        self, told: float, known: float, bound: float = 0.0, told_bound: float = 0.0
    ) -> bool:
        """Whether the probability of something is told, after what was told last, with its bound.

        A change below the bound is none, as long as what was told holds within its own.
        """
        moved = abs(known - told)
        is_beyond = moved > max(SAME, bound)
        if self.kind == "NEVER":
            return False
        if self.kind == "CERTAIN":
            sure = 1.0 - SAME
            is_sure = max(known, 1.0 - known) >= sure > max(told, 1.0 - told)
            return is_beyond and is_sure
        holds = told_bound >= 1.0 or moved + bound <= told_bound + SAME
        if not is_beyond and holds:
            return False
        return self.kind == "ANY" or moved >= self.least - SAME


@dataclass(frozen=True, slots=True)
class Told:
    """One telling of an event: (person's number, p) for each alternative, in their order."""

    id: Any
    unit: Any
    revision: int
    as_of: int
    owners: tuple[tuple[int, float], ...]
    error_bound: float = 0.0

    @property
    def method(self) -> str:
        """How the probabilities were obtained."""
        return SAMPLED if self.error_bound > 0.0 else EXACT


@dataclass(frozen=True)
class Tellings:
    """Tellings in their order, as columns.

    Fields:
        units, ids: what the numbers of `unit` and `event` stand for.
        event, unit, step, revision, as_of, bound: one for each telling.
        first: (T + 1) the rows of telling t are those from first[t] on.
        person, p: one for each row.
    """

    units: Sequence[Any]
    ids: Sequence[Any]
    event: Words
    unit: Words
    step: Words
    revision: Words
    as_of: Words
    bound: Reals
    first: Words
    person: Words
    p: Reals

    @property
    def rows_of(self) -> Words:
        """The number of its telling, for each row."""
        return np.repeat(np.arange(len(self.event)), np.diff(self.first))

    def __len__(self) -> int:
        return len(self.event)

    def __iter__(self) -> Iterator[Told]:
        """Yield the tellings one by one."""
        people, shares = self.person.tolist(), self.p.tolist()
        for t, (start, stop) in enumerate(zip(self.first[:-1], self.first[1:], strict=True)):
            yield Told(
                self.ids[self.event[t]],
                self.units[self.unit[t]],
                int(self.revision[t]),
                int(self.as_of[t]),
                tuple(zip(people[start:stop], shares[start:stop], strict=True)),
                float(self.bound[t]),
            )


def together(parts: list[Tellings]) -> Tellings:
    """Return the tellings of several wards, step by step, in each by the order of the wards."""
    units: list[Any] = []
    ids: list[Any] = []
    columns: dict[str, list[Any]] = {name: [] for name in ("event", "unit", "first")}
    for part in parts:
        columns["event"].append(part.event + len(ids))
        columns["unit"].append(part.unit + len(units))
        units.extend(part.units)
        ids.extend(part.ids)
    event, unit = (_joined(columns[name]) for name in ("event", "unit"))
    step, revision, as_of, person = (
        _joined([getattr(part, name) for part in parts])
        for name in ("step", "revision", "as_of", "person")
    )
    bound, p = (
        np.concatenate([np.zeros(0), *(getattr(part, name) for part in parts)])
        for name in ("bound", "p")
    )
    lengths = _joined([np.diff(part.first) for part in parts])
    first = np.concatenate([[0], np.cumsum(lengths)])
    if len(parts) > 1:
        order = np.argsort(step, kind="stable")
        starts, lengths = first[order], lengths[order]
        first = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.repeat(starts - first[:-1], lengths) + np.arange(first[-1])
        event, unit, step, revision, as_of = (
            column[order] for column in (event, unit, step, revision, as_of)
        )
        bound, person, p = bound[order], person[rows], p[rows]
    return Tellings(units, ids, event, unit, step, revision, as_of, bound, first, person, p)


def _joined(columns: list[Words]) -> Words:
    return np.concatenate([np.zeros(0, np.int64), *columns])

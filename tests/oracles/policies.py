"""What a policy decides, from the words of the language alone: every world, every combination.

Slow and obvious. A sequence is described by its steps, what is forbidden between them, a window and
a way of selection; an event is a dict. Nothing here is shared with the engine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np

Row = dict[str, Any]


@dataclass(frozen=True)
class Sequence:
    """`steps` and `forbidden[gap]` are (type, least v or None); gap i lies before step i.

    `rising` are pairs of steps (i, j) whose v must not fall; `keyed` equates k over all of it.
    """

    name: str
    steps: tuple[tuple[str, int | None], ...]
    window: int
    forbidden: tuple[tuple[tuple[str, int | None], ...], ...]
    takes_next: bool = False
    keyed: bool = False
    rising: tuple[tuple[int, int], ...] = ()

    @property
    def types(self) -> set[str]:
        return {kind for kind, _ in self.steps}


def order(row: Row) -> tuple[int, int]:
    return row["t"], row.get("seq", 0)


def fits(row: Row, wanted: tuple[str, int | None]) -> bool:
    return row["type"] == wanted[0] and (wanted[1] is None or row["v"] >= wanted[1])


def goes_with(sequence: Sequence, chosen: list[Row], at: int) -> bool:
    """Whether the event at a place fits it and those before."""
    own = chosen[at]
    return (
        fits(own, sequence.steps[at])
        and (not sequence.keyed or own["k"] is not None)
        and all(not sequence.keyed or own["k"] == other["k"] for other in chosen[:at])
        and all(chosen[i]["v"] <= own["v"] for i, j in sequence.rising if j == at)
        and (at == 0 or order(chosen[at - 1]) < order(own))
        and own["t"] - chosen[0]["t"] <= sequence.window
    )


def is_unbroken(sequence: Sequence, chosen: list[Row], world: list[Row], *, to_end: bool) -> bool:
    """Whether nothing forbidden lies in the gaps; with `to_end` also after the last step."""

    def breaks(row: Row, gap: int) -> bool:
        return any(fits(row, each) for each in sequence.forbidden[gap]) and (
            not sequence.keyed or row["k"] == chosen[0]["k"]
        )

    for gap in range(1, len(chosen)):
        for row in world:
            if order(chosen[gap - 1]) < order(row) < order(chosen[gap]) and breaks(row, gap):
                return False
    end = chosen[0]["t"] + sequence.window
    return not to_end or not any(
        order(chosen[-1]) < order(row) and row["t"] <= end and breaks(row, len(sequence.steps))
        for row in world
    )


def runs(sequence: Sequence, world: list[Row], length: int) -> Iterator[list[Row]]:
    """Yield the beginnings of that length that one certain world has."""
    if not sequence.takes_next:
        for chosen in combinations(sorted(world, key=order), length):
            if all(goes_with(sequence, list(chosen), at) for at in range(length)):
                yield list(chosen)
        return
    begun = [[row] for row in world if goes_with(sequence, [row], 0)]
    for at in range(1, length):
        longer = []
        for chosen in begun:
            able = [row for row in world if goes_with(sequence, [*chosen, row], at)]
            earliest = min((order(row) for row in able), default=None)
            longer += [[*chosen, row] for row in able if order(row) == earliest]
        begun = longer
    yield from begun


def worlds(rows: list[list[Row]]) -> Iterator[tuple[float, list[Row]]]:
    """Yield all worlds of events, each a list of alternatives, with their weights."""
    for picks in product(*([None, *range(len(faces))] for faces in rows)):
        weight, world = 1.0, []
        for faces, pick in zip(rows, picks, strict=True):
            if pick is None:
                weight *= 1.0 - sum(face["p"] for face in faces)
            else:
                weight *= faces[pick]["p"]
                world.append(faces[pick])
        if weight > 1e-15:
            yield weight, world


def expected_matches(sequence: Sequence, rows: list[list[Row]]) -> float:
    """Return the expected number of matches."""
    total = 0.0
    for weight, world in worlds(rows):
        for chosen in runs(sequence, world, len(sequence.steps)):
            total += weight * is_unbroken(sequence, chosen, world, to_end=True)
    return total


# What is expected -------------------------------------------------------------------------------

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def by_poisson(rates: list[float], leaving: list[float], span: float) -> float:
    """Return the integral over the time of the next step, by quadrature, step by step."""
    if not rates:
        return math.exp(-leaving[0] * span)
    points = (_NODES + 1.0) * span / 2.0
    inner = [
        rates[0] * math.exp(-leaving[0] * at) * by_poisson(rates[1:], leaving[1:], span - at)
        for at in points
    ]
    return float(np.dot(_WEIGHTS, inner) * span / 2.0)


@dataclass(frozen=True)
class Statistics:
    """What a history says: events with their alternatives, in order; `by`: each k apart."""

    rows: list[list[Row]]
    by: bool = False

    @property
    def length(self) -> float:
        times = [faces[0]["t"] for faces in self.rows]
        n = len(times)
        return (max(times) - min(times)) * n / (n - 1) if n > 1 else 0.0

    def rate(self, sequence: Sequence, wanted: list[tuple[str, int | None]], key: Any) -> float:
        """Return the rate of events that fit any of the wanted."""
        if not self.length:
            return 0.0
        number = sum(
            face["p"]
            for faces in self.rows
            for face in faces
            if any(fits(face, each) for each in wanted)
            and (not sequence.keyed or face["k"] is not None)
            and (not (sequence.keyed and self.by) or face["k"] == key)
        )
        values = {f["k"] for faces in self.rows for f in faces} - {None}
        if self.by:
            return number / self.length
        return number / self.length / (max(1, len(values)) if sequence.keyed else 1)

    def completions(self, sequence: Sequence, chosen: list[Row], span: float) -> float:
        """Return the expected completions of a beginning within a span, for Poisson arrivals."""
        rates, leaving, key = [], [], chosen[0]["k"]
        for at in range(len(chosen), len(sequence.steps)):
            rates.append(self.rate(sequence, [sequence.steps[at]], key))
            taken = [sequence.steps[at]] if sequence.takes_next else []
            leaving.append(self.rate(sequence, [*sequence.forbidden[at], *taken], key))
        leaving.append(self.rate(sequence, list(sequence.forbidden[-1]), key))
        return by_poisson(rates, leaving, span)


def in_cycles(
    sequence: Sequence, chosen: list[Row], history: list[list[Row]], period: int, dropped: set[str]
) -> float | None:
    """Return the mean number of completions in the same stretch of earlier cycles."""
    times = [faces[0]["t"] for faces in history]
    now, found = chosen[-1]["t"], []
    for back in range(1, 200):
        begin = now - back * period
        end = begin + sequence.window
        if times and begin >= min(times) and end <= max(times):
            stretch = [
                [{**face, "t": face["t"] + back * period} for face in faces]
                for faces in history
                if begin < faces[0]["t"] <= end and faces[0]["type"] not in dropped
            ]
            found.append(_completions_in(sequence, chosen, stretch))
    return sum(found) / len(found) if found else None


def _completions_in(sequence: Sequence, chosen: list[Row], stretch: list[list[Row]]) -> float:
    total = 0.0
    for weight, world in worlds(stretch):
        for whole in _grown(sequence, chosen, world):
            total += weight * is_unbroken(sequence, whole, world, to_end=True)
    return total


def _grown(sequence: Sequence, chosen: list[Row], world: list[Row]) -> list[list[Row]]:
    """Return the matches that go on from a beginning."""
    if len(chosen) == len(sequence.steps):
        return [chosen]
    able = [row for row in world if goes_with(sequence, [*chosen, row], len(chosen))]
    if sequence.takes_next:
        earliest = min((order(row) for row in able), default=None)
        able = [row for row in able if order(row) == earliest]
    return [whole for row in able for whole in _grown(sequence, [*chosen, row], world)]


# Decisions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Oracle:
    """A policy: (sequence, weight) pairs, math.inf for NEVER; `bound` types are always kept."""

    public: list[tuple[Sequence, float]]
    private: list[tuple[Sequence, float]]
    bound: set[str]
    method: str
    history: list[list[Row]]
    period: int | None = None
    patience: float = 1.0
    by: bool = False

    def dropped(self) -> set[str]:
        """Return the type level: every set of types is tried on the history."""
        free = sorted(
            {kind for each, _ in (*self.public, *self.private) for kind in each.types} - self.bound
        )
        best: tuple[float, set[str]] | None = None
        for size in range(len(free) + 1):
            for chosen in combinations(free, size):
                gone = set(chosen)
                if any(w == math.inf and not each.types & gone for each, w in self.private):
                    continue
                rows = [faces for faces in self.history if faces[0]["type"] not in gone]
                worth = self.worth(rows)
                if best is None or worth > best[0] + 1e-9 * max(abs(worth), abs(best[0])):
                    best = worth, gone
        assert best is not None
        return best[1]

    def worth(self, rows: list[list[Row]]) -> float:
        gained = sum(w * expected_matches(each, rows) for each, w in self.public)
        lost = [(each, w) for each, w in self.private if w != math.inf]
        return gained - sum(w * expected_matches(each, rows) for each, w in lost)

    def decide(
        self, kept: list[list[Row]], event: list[Row], dropped: set[str]
    ) -> tuple[bool, float, float, str]:
        """Return whether an event is kept, its gain and penalty, and the rule."""
        gain = sum(w * sum(self.expected(each, kept, event, dropped)) for each, w in self.public)
        penalty = 0.0
        for each, w in self.private:
            whole, to_come = self.expected(each, kept, event, dropped)
            number = whole + self.patience * to_come
            penalty -= w * number if number else 0.0
        if event[0]["type"] in self.bound:
            return True, gain, penalty, "bound"
        if any(w == math.inf and self.closes(each, kept, event) for each, w in self.private):
            return False, gain, -math.inf, "never"
        if penalty == -math.inf:
            return False, gain, penalty, "never"
        return gain + penalty >= -1e-9 * max(gain, -penalty), gain, penalty, "weights"

    def closes(self, sequence: Sequence, kept: list[list[Row]], event: list[Row]) -> bool:
        """Whether the event can be the last free step of a private match."""
        last = max(k for k, (kind, _) in enumerate(sequence.steps) if kind not in self.bound)
        everything = [face for faces in (*kept, event) for face in faces if face["p"] > 0]
        return any(
            any(chosen[-1] is face for face in event)
            for chosen in runs(sequence, everything, last + 1)
        )

    def expected(
        self, sequence: Sequence, kept: list[list[Row]], event: list[Row], dropped: set[str]
    ) -> tuple[float, float]:
        """Return the expected number of matches that contain the event: finished, and to come."""
        total = [0.0, 0.0]
        for weight, world in worlds([*kept, event]):
            for length in range(1, len(sequence.steps) + 1):
                for chosen in runs(sequence, world, length):
                    if any(chosen[-1] is face for face in event) and is_unbroken(
                        sequence, chosen, world, to_end=False
                    ):
                        to_come = length < len(sequence.steps)
                        total[to_come] += weight * self.completions(sequence, chosen, dropped)
        return total[0], total[1]

    def learned_patience(self) -> float:
        """Return the patience that is best on the history; of equal ones the largest."""
        best, dropped = (-math.inf, 0.0), self.dropped()
        for patience in (0.0, 0.1, 0.25, 0.5, 0.75, 1.0):
            trial, kept = replace(self, patience=patience), list[list[Row]]()
            for faces in self.history:
                kept += [faces] if trial.decide(kept, faces, dropped)[0] else []
            worth = self.worth(kept)
            if worth >= best[0] - 1e-9 * max(abs(worth), abs(best[0])) or best[0] == -math.inf:
                best = worth, patience
        return best[1]

    def completions(self, sequence: Sequence, chosen: list[Row], dropped: set[str]) -> float:
        whole = len(chosen) == len(sequence.steps)
        if self.method == "GREEDY":
            return float(whole)
        if self.period is not None:
            known = in_cycles(sequence, chosen, self.history, self.period, dropped)
            if known is not None:
                return known
        if any(kind in dropped for kind, _ in sequence.steps[len(chosen) :]):
            return 0.0
        span = chosen[0]["t"] + sequence.window - chosen[-1]["t"]
        return Statistics(self.history, self.by).completions(sequence, chosen, span)

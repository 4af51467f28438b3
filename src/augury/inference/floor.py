"""A floor plan: cells, walls, antennas, and how people walk. The position is continuous.

Cells are rectangles; several may be one state. Whoever is on the floor is in some cell. A step is
normal in each direction with the deviation `speed`; it is not taken if it would lead off the floor
or through a wall, and nobody steps with probability `rest`. An antenna reads with the largest `p`
among its rows whose `reach` holds the distance, and never beyond; walls do not stop it.

Shapes: N positions are (N, 2). Every table is checked: what makes no sense is a `ModelError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from augury.errors import ModelError
from augury.inference.model import TOLERANCE, Sensor, State, shown
from augury.records import ROUNDING, Flags, Reals, Words

Box = tuple[Any, Any, Any, Any]
OFF = -1


@dataclass(frozen=True)
class Ways:
    """How people walk: the deviation of a step in each direction, and how often they do not."""

    speed: float
    rest: float = 0.0


@dataclass(frozen=True)
class Floor:
    """Rectangles `box` (R, 4: x and y from, x and y to) of the states `owner` (R), and the rest.

    `walls` (W, 4) are segments; antenna rows have the number of their `sensor` (A), their place and
    reach `heard_at` (A, 3) and `chance` (A). `initial` (K) is where people begin, evenly in a cell.
    """

    name: str
    states: tuple[State, ...]
    box: Reals
    owner: Words
    walls: Reals
    sensors: tuple[Sensor, ...]
    sensor: Words
    heard_at: Reals
    chance: Reals
    initial: Reals
    ways: Ways

    def cell(self, at: Reals) -> Words:
        """Return the state of each position, or -1 off the floor."""
        x, y = at[:, 0, np.newaxis], at[:, 1, np.newaxis]
        low_x, low_y, high_x, high_y = self.box.T
        holds = (low_x <= x) & (x <= high_x) & (low_y <= y) & (y <= high_y)
        found: Words = np.where(holds.any(axis=1), self.owner[holds.argmax(axis=1)], OFF)
        return found

    def begin(self, n: int, rng: np.random.Generator) -> Reals:
        """Return where n people begin."""
        area = _area(self.box)
        whole = np.bincount(self.owner, area, len(self.states))
        share = self.initial[self.owner] * area / whole[self.owner]
        own = self.box[rng.choice(len(share), size=n, p=share / share.sum())]
        found: Reals = own[:, :2] + rng.random((n, 2)) * (own[:, 2:] - own[:, :2])
        return found

    def move(self, at: Reals, rng: np.random.Generator) -> tuple[Reals, Flags]:
        """Return where people are a step later, and who stepped."""
        target = at + rng.normal(0.0, self.ways.speed, at.shape)
        goes = rng.random(len(at)) >= self.ways.rest
        goes &= (self.cell(target) != OFF) & self.is_free(at, target)
        return np.where(goes[:, np.newaxis], target, at), goes

    def is_free(self, start: Reals, end: Reals) -> Flags:
        """Return whether no wall is crossed on the straight way."""
        if not len(self.walls):
            return np.ones(len(start), np.bool_)
        a, b = self.walls[:, :2], self.walls[:, 2:]
        s, e = start[:, np.newaxis], end[:, np.newaxis]
        apart = _side(s, e, a) * _side(s, e, b) < 0.0
        crossed = apart & (_side(a, b, s) * _side(a, b, e) < 0.0)
        found: Flags = np.logical_not(crossed.any(axis=1))
        return found

    def likelihood(self, codes: Words, at: Reals) -> Reals:
        """Return P(readings of a step | position): `codes[s]` is 1 where sensor s read."""
        away = np.hypot(
            at[:, 0, np.newaxis] - self.heard_at[:, 0], at[:, 1, np.newaxis] - self.heard_at[:, 1]
        )
        heard = np.where(away <= self.heard_at[:, 2], self.chance, 0.0)
        chance = np.zeros((len(at), len(self.sensors)))
        for row, s in enumerate(self.sensor):
            np.maximum(chance[:, s], heard[:, row], out=chance[:, s])
        found: Reals = np.prod(np.where(codes > 0, chance, 1.0 - chance), axis=1)
        return found


def _side(a: Reals, b: Reals, c: Reals) -> Reals:
    """Return on which side of the line from a to b the point c lies."""
    found: Reals = (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (
        c[..., 0] - a[..., 0]
    )
    return found


# From tables --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """The rows of a floor's tables: cells, walls, antennas (sensor, x, y, reach, p), and where."""

    cells: Sequence[tuple[State, Box]]
    walls: Sequence[Box]
    antennas: Sequence[tuple[Any, tuple[Any, Any, Any, Any]]]
    initial: Mapping[State, Any] | None = None


def build_floor(name: str, plan: Plan, ways: Ways) -> Floor:
    """Return the floor that tables give; without initial places, all of it is equally likely."""
    if not plan.cells or not plan.antennas:
        what = "cells" if not plan.cells else "antennas"
        raise ModelError(f"model {name} has no {what}; bind a table with at least one")
    states = tuple(dict.fromkeys(state for state, _ in plan.cells))
    owner = np.array([states.index(state) for state, _ in plan.cells])
    box = _numbers(name, "a cell", [box for _, box in plan.cells])
    _check_boxes(name, states, box, owner)
    heard = _numbers(name, "an antenna", [row for _, row in plan.antennas])
    _check_antennas(name, heard)
    names = tuple(dict.fromkeys(sensor for sensor, _ in plan.antennas))
    return Floor(
        name,
        states,
        box,
        owner,
        _numbers(name, "a wall", plan.walls),
        tuple(Sensor(each, (None,), np.zeros((2, 0))) for each in names),
        np.array([names.index(sensor) for sensor, _ in plan.antennas]),
        heard[:, :3],
        np.clip(heard[:, 3], 0.0, 1.0),
        _begins(name, states, plan.initial, np.bincount(owner, _area(box)).astype(np.float64)),
        ways,
    )


def _area(box: Reals) -> Reals:
    found: Reals = np.prod(box[:, 2:] - box[:, :2], axis=1)
    return found


def _numbers(name: str, what: str, rows: Sequence[Box]) -> Reals:
    """Return rows of four as numbers."""
    try:
        found = np.array(rows, np.float64).reshape(len(rows), 4)
    except TypeError:
        found = np.full((1, 4), np.nan)
    if not np.isfinite(found).all():
        raise ModelError(f"model {name}: {what} lacks a number; give every coordinate a value")
    return found


def _check_boxes(name: str, states: Sequence[State], box: Reals, owner: Words) -> None:
    for k, own in zip(owner.tolist(), box.tolist(), strict=True):
        if own[0] >= own[2] or own[1] >= own[3]:
            raise ModelError(
                f"model {name}: a cell of {shown(states[k])} runs from ({own[0]:g}, {own[1]:g}) to "
                f"({own[2]:g}, {own[3]:g}); x_from < x_to and y_from < y_to were expected"
            )
    low = np.maximum(box[:, np.newaxis, :2], box[:, :2])
    high = np.minimum(box[:, np.newaxis, 2:], box[:, 2:])
    both = (low < high).all(axis=2) & (owner[:, np.newaxis] != owner)
    if both.any():
        a, b = (shown(states[owner[k]]) for k in np.argwhere(both)[0])
        raise ModelError(f"model {name}: the cells of {a} and {b} overlap; let them only touch")


def _check_antennas(name: str, heard: Reals) -> None:
    if (heard[:, 2] <= 0.0).any():
        raise ModelError(f"model {name}: an antenna has no reach; it must be above 0")
    wrong = (heard[:, 3] < -ROUNDING) | (heard[:, 3] > 1.0 + ROUNDING)
    if wrong.any():
        p = heard[wrong][0, 3]
        raise ModelError(f"model {name}: {p:g} is not a probability between 0 and 1")


def _begins(
    name: str, states: Sequence[State], initial: Mapping[State, Any] | None, area: Reals
) -> Reals:
    if initial is None:
        return area / float(area.sum())
    for state in initial:
        if state not in states:
            raise ModelError(
                f"model {name}: the initial table names {shown(state)}, which is no cell; add the "
                "cell, or correct the table"
            )
    found = np.array([initial.get(state) or 0.0 for state in states], np.float64)
    if (found < 0.0).any() or not abs(found.sum() - 1.0) <= TOLERANCE:
        raise ModelError(
            f"model {name}: the initial probabilities sum to {found.sum():.6g}; 1 was expected"
        )
    return found

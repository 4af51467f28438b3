"""One ward and what it remembers: rows are numbered for the kernels, and what they tell is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from augury.identity.drawing import Room
from augury.identity.telling import Strategy, Tellings
from augury.identity.ward import Act, Place, Row, Ward
from augury.kernels.identity import layout
from augury.kernels.identity.layout import (
    EVENT,
    ORIGIN,
    PLACE,
    TO,
    UNREAD,
    Law,
    Rows,
    States,
    World,
)
from augury.kernels.identity.steps import take_steps

IMPOSSIBLE = "no world allows this event"
IMPOSSIBLE_READ = "no world allows this read (IMPOSSIBLE REJECT)"
_REASONS = {layout.IMPOSSIBLE: IMPOSSIBLE, layout.IMPOSSIBLE_READ: IMPOSSIBLE_READ}

# So many open acts may wait for their owners to be read; older ones are given to people at once.
MOST_OPEN = 40
# From so many on, acts that only one person can have done are given to that person.
MANY_OPEN = 12


@dataclass
class WardState:
    """What one ward remembers; `ids` are those of its tales, `places` what numbers stand for."""

    world: World
    places: list[Place]
    ids: list[Any] = field(default_factory=list)

    @property
    def retold(self) -> list[Any]:
        """The ids of events that may be told again."""
        alive = self.world.tales[: len(self.ids), EVENT] >= 0
        return [own for own, is_alive in zip(self.ids, alive.tolist(), strict=True) if is_alive]


@dataclass(frozen=True)
class Asked:
    """What is asked of all wards."""

    within: int
    strategy: Strategy
    rejects_impossible: bool
    state_limit: int


@dataclass(frozen=True)
class Taken:
    """What became of the rows of a ward, with their steps: told, put aside, reset."""

    told: Tellings
    rejected: list[tuple[int, Row, str]]
    resets: list[tuple[int, Any]]


def begin(ward: Ward) -> WardState:
    """Return the state of a ward before anything happened."""
    places = list(dict.fromkeys(ward.begins))
    number_of = {place: k for k, place in enumerate(places)}
    heads = np.array([number_of[place] for place in ward.begins], np.int32)
    return WardState(layout.begin(heads), places)


def take(ward: Ward, unit: Any, asked: Asked, state: WardState, rows: list[Row]) -> Taken:
    """Take in the rows of complete steps; the state goes on."""
    rows.sort(key=lambda row: (ward.step_of(row.time), row.person is None, row.time, row.id))
    acts = [ward.act(row, 0) for row in rows]
    good = [(row, act) for row, act in zip(rows, acts, strict=True) if isinstance(act, Act)]
    number_of = {place: k for k, place in enumerate(state.places)}
    encoded = _encoded(ward, good, number_of, len(state.ids))
    state.places = list(number_of)
    # Events are told by number: those that are remembered first, then those of the rows.
    events = state.world.tales[: len(state.ids), EVENT]
    events[:] = np.where(events >= 0, np.arange(len(state.ids)), -1)
    law = _law(ward, asked, number_of)
    state.world, verdicts, told = take_steps(state.world, law, encoded, max(len(number_of), 1))
    ids = [*state.ids, *(row.id for row, _ in good)]
    _remember(state, ids)
    found = iter(verdicts.tolist())
    rejected, resets = [], []
    for row, act in zip(rows, acts, strict=True):
        if isinstance(act, str):
            rejected.append((ward.step_of(row.time), row, act))
            continue
        verdict = next(found)
        if verdict in _REASONS:
            rejected.append((act.step, row, _REASONS[verdict]))
        elif verdict == layout.RESET:
            resets.append((act.step, row.id))
    return Taken(_tellings(told, unit, ids), rejected, resets)


def _encoded(
    ward: Ward, good: list[tuple[Row, Act]], number_of: dict[Place, int], before: int
) -> Rows:
    """Return rows and what they mean as numbers; places that are new get theirs."""

    def number(place: Place) -> int:
        return number_of.setdefault(place, len(number_of))

    person_of = ward.number_of
    words = np.empty((len(good), layout.ROW_WIDTH), np.int64)
    origins = [[number(place) for place in act.origins] for _, act in good]
    lengths = np.array([len(each) for each in origins], np.int64)
    columns: dict[int, Any] = {
        layout.WHO: [UNREAD if row.person is None else person_of[row.person] for row, _ in good],
        layout.FIRST_ORIGIN: np.cumsum(lengths) - lengths,
        layout.N_ORIGINS: lengths,
        layout.GOES_TO: [number(act.place) for _, act in good],
        layout.ROOM: [number(act.room) for _, act in good],
        layout.MOVES: [act.is_move for _, act in good],
        layout.ROW_STEP: [act.step for _, act in good],
        layout.ROW_TIME: [row.time for row, _ in good],
        layout.BY_TIME: sorted(range(len(good)), key=lambda k: (good[k][0].time, good[k][0].id)),
    }
    for column, values in columns.items():
        words[:, column] = values
    flat = np.array([place for each in origins for place in each], np.int64)
    return Rows(words, flat, before)


def _law(ward: Ward, asked: Asked, number_of: Mapping[Place, int]) -> Law:
    weights = np.ones((len(ward.people), len(number_of) if ward.weights else 0))
    for (person, place), weight in ward.weights.items():
        if person in ward.number_of and place in number_of:
            weights[ward.number_of[person], number_of[place]] = weight
    limit = asked.state_limit
    return Law(
        weights,
        limit,
        Room.of(limit).kept,
        MANY_OPEN,
        MOST_OPEN,
        asked.rejects_impossible,
        asked.within,
        asked.strategy.code,
        float(asked.strategy.least),
    )


def _remember(state: WardState, ids: list[Any]) -> None:
    """Keep the ids of tales that may be told again, and the places that somebody may be in."""
    world = state.world
    events = world.tales[: world.counts[layout.TALES], EVENT].tolist()
    state.ids = [ids[event] if event >= 0 else None for event in events]
    if len(state.places) <= 2 * len(world.heads) + 64:
        return
    states, n_acts = world.states, world.counts[layout.ACTS]
    moved = states.words[: states.size[0], states.place : states.step]
    numbers = [world.heads[:, PLACE], world.acts[:n_acts, ORIGIN], world.acts[:n_acts, TO], moved]
    used = np.unique(np.concatenate([each.ravel() for each in numbers]))
    used = used[used >= 0]
    new = np.full(len(state.places) + 1, -1, np.int64)
    new[used] = np.arange(len(used))
    for each in numbers:
        # What is nowhere else, -1, finds the last, and stays.
        each[:] = new[each]
    state.places = [state.places[k] for k in used.tolist()]


def _tellings(told: layout.Told, unit: Any, ids: list[Any]) -> Tellings:
    n, rows = told.size.tolist()
    words = told.words[:n]
    return Tellings(
        [unit],
        ids,
        words[:, layout.TOLD_EVENT],
        np.zeros(n, np.int64),
        words[:, layout.TOLD_STEP],
        words[:, layout.TOLD_REVISION],
        words[:, layout.AS_OF],
        told.bound[:n],
        np.append(words[:, layout.FIRST_ROW], rows),
        told.person[:rows],
        told.p[:rows],
    )


# Stored state -------------------------------------------------------------------------------------


def parts_of(state: WardState) -> tuple[dict[str, Any], list[np.ndarray[Any, Any]]]:
    """Return what is to be stored of a ward: values, and arrays cut to what they hold."""
    world, states = state.world, state.world.states
    counts, size = world.counts, states.size[0]
    acts, tales, lines = counts[layout.ACTS], counts[layout.TALES], counts[layout.LINES]
    arrays = [counts, world.lost, world.heads]
    arrays += [states.size, states.words[:size], states.reals[:size]]
    arrays += [world.acts[:acts], world.tales[:tales], world.told[:tales]]
    arrays += [world.lines[:lines], world.line_tale[:lines]]
    columns = [int(each) for each in states[3:]]
    return {"places": state.places, "ids": state.ids, "columns": columns}, arrays


def from_parts(values: Mapping[str, Any], arrays: list[np.ndarray[Any, Any]]) -> WardState:
    """Return the ward that was stored."""
    counts, lost, heads, size, words, reals, *rest = arrays
    world = World(counts, lost, heads, States(size, words, reals, *values["columns"]), *rest)
    return WardState(world, values["places"], values["ids"])

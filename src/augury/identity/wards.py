"""One ward and what it remembers: rows are numbered for the kernels, and what they tell is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from augury.errors import StateError
from augury.identity.telling import Strategy, Tellings
from augury.identity.ward import Act, Place, Row, Ward
from augury.kernels.identity import layout
from augury.kernels.identity.layout import Law, Rows, World
from augury.kernels.identity.steps import take_steps

IMPOSSIBLE = "no world allows this event"
IMPOSSIBLE_READ = "no world allows this read (IMPOSSIBLE REJECT)"
_REASONS = {layout.IMPOSSIBLE: IMPOSSIBLE, layout.IMPOSSIBLE_READ: IMPOSSIBLE_READ}

# So many open acts may wait for their owners to be read; older ones are given to people at once.
MOST_OPEN = 96
# From so many on, acts that only one person can have done are given to that person.
MANY_OPEN = 48
# Where states are sampled, this part of the limit is kept, so that few events have to sample.
KEPT = 4


@dataclass
class WardState:
    """What one ward remembers; `ids` are those of its tales, `places` what numbers stand for."""

    world: World
    places: list[Place]
    ids: list[Any] = field(default_factory=list)

    @property
    def retold(self) -> list[Any]:
        """The ids of events that may be told again."""
        alive = self.world.tales.event[: len(self.ids)] >= 0
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
    state.world.tales.event[: len(state.ids)] = np.where(
        state.world.tales.event[: len(state.ids)] >= 0, np.arange(len(state.ids)), -1
    )
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
    who = [layout.UNREAD if row.person is None else person_of[row.person] for row, _ in good]
    origins = [[number(place) for place in act.origins] for _, act in good]
    firsts = np.cumsum([0, *map(len, origins)])
    by_time = sorted(range(len(good)), key=lambda k: (good[k][0].time, good[k][0].id))
    return Rows(
        np.array(who, np.int64),
        firsts.astype(np.int64),
        np.array([place for each in origins for place in each], np.int32),
        np.array([number(act.place) for _, act in good], np.int32),
        np.array([number(act.room) for _, act in good], np.int32),
        np.array([act.is_move for _, act in good], np.bool_),
        np.array([act.step for _, act in good], np.int64),
        np.array([row.time for row, _ in good], np.int64),
        np.array(by_time, np.int64),
        np.arange(before, before + len(good)),
    )


def _law(ward: Ward, asked: Asked, number_of: Mapping[Place, int]) -> Law:
    weights = np.ones((len(ward.people), len(number_of) if ward.weights else 0))
    for (person, place), weight in ward.weights.items():
        if person in ward.number_of and place in number_of:
            weights[ward.number_of[person], number_of[place]] = weight
    limit = asked.state_limit
    return Law(
        weights,
        limit,
        max(limit // KEPT, 1),
        MANY_OPEN,
        MOST_OPEN,
        asked.rejects_impossible,
        asked.within,
        asked.strategy.code,
        asked.strategy.least,
        False,
    )


def _remember(state: WardState, ids: list[Any]) -> None:
    """Keep the ids of tales that may be told again, and the places that somebody may be in."""
    world = state.world
    n = int(world.counts[layout.TALES])
    events = world.tales.event[:n].tolist()
    state.ids = [ids[event] if event >= 0 else None for event in events]
    n_states, n_acts = int(world.states.size[0]), int(world.counts[layout.ACTS])
    numbers = [
        world.head_place,
        world.acts.origin[:n_acts],
        world.acts.place[:n_acts],
        world.states.place[:n_states].ravel(),
    ]
    if len(state.places) <= 2 * len(world.head_place) + 64:
        return
    used = np.unique(np.concatenate(numbers))
    used = used[used >= 0]
    new = np.full(len(state.places), -1, np.int32)
    new[used] = np.arange(len(used))
    for each in (world.head_place, world.acts.origin, world.acts.place, world.states.place):
        inside = (each >= 0) & (each < len(new))
        each[inside] = new[each[inside]]
    state.places = [state.places[k] for k in used.tolist()]


def _tellings(told: layout.Told, unit: Any, ids: list[Any]) -> Tellings:
    n, rows = told.size.tolist()
    return Tellings(
        [unit],
        ids,
        told.event[:n],
        np.zeros(n, np.int64),
        told.step[:n],
        told.revision[:n],
        told.as_of[:n],
        told.bound[:n],
        np.append(told.first[:n], rows),
        told.person[:rows].astype(np.int64),
        told.p[:rows],
    )


# Stored state -------------------------------------------------------------------------------------


def parts_of(state: WardState) -> tuple[dict[str, Any], list[np.ndarray[Any, Any]]]:
    """Return what is to be stored of a ward: values, and arrays cut to what they hold."""
    counts, world = state.world.counts, state.world
    sizes = {
        "states": int(world.states.size[0]),
        "acts": int(counts[layout.ACTS]),
        "tales": int(counts[layout.TALES]),
        "pool": int(counts[layout.LINES]),
    }
    arrays = [world.counts, world.lost, world.head_place, world.head_step]
    for name, n in sizes.items():
        arrays += [each if name == "states" and not k else each[:n]
                   for k, each in enumerate(getattr(world, name))]
    return {"places": state.places, "ids": state.ids}, arrays


def from_parts(
    values: Mapping[str, Any], arrays: list[np.ndarray[Any, Any]]
) -> WardState:
    """Return the ward that was stored."""
    first, kinds = 4, (layout.States, layout.Acts, layout.Tales, layout.Pool)
    found: list[Any] = arrays[:first]
    for kind in kinds:
        found.append(kind(*arrays[first : first + len(kind._fields)]))
        first += len(kind._fields)
    if first != len(arrays):
        raise StateError("stored identities are damaged (arrays are missing); start anew")
    return WardState(World(*found), values["places"], values["ids"])

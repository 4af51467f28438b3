"""Rows in, owners out: the wards of a stream, step by step.

A step is complete when no row of it can come any more. Then its badge reads are admitted, then its
other rows, each by time and id; then everything that is news is told. State is a value that goes on
step by step, and can be stored.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import numpy as np

from augury.errors import StateError
from augury.identity.admission import Admission
from augury.identity.owners import BEFORE, Owners, State, Worlds, begin
from augury.identity.telling import Strategy, Tale, Told
from augury.identity.ward import Act, Row, Ward

VERSION = 1
ALWAYS = 2**63 - 1

LATE = "this row is of a step that was complete"
NO_WARD = "there is no such ward"


@dataclass
class WardState:
    """What one ward remembers: worlds, events that may be told again, and how many acts it had."""

    worlds: Worlds
    tales: dict[int, Tale] = field(default_factory=dict)
    acts: int = 0


@dataclass
class Identified:
    """What all wards remember: rows that wait for their step, and the steps that are complete."""

    wards: dict[Any, WardState]
    waiting: list[tuple[Any, Row]] = field(default_factory=list)
    done: int = BEFORE
    resets: int = 0


@dataclass(frozen=True)
class News:
    """What a batch of rows made known: tellings in order, rejected rows with reasons, resets."""

    told: list[Told]
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
        return Identified({unit: WardState(begin(ward)) for unit, ward in self.wards.items()})

    def advance(
        self, state: Identified, rows: Iterable[tuple[Any, Row]], horizon: int = ALWAYS
    ) -> tuple[Identified, News]:
        """Take rows (unit, row) in; return what is known once no row before the horizon comes.

        The state that is given is used up.
        """
        news = News([], [], [])
        state.waiting += self._due(state, rows, news)
        ready = [each for each in state.waiting if self._is_complete(*each, horizon)]
        state.waiting = [each for each in state.waiting if not self._is_complete(*each, horizon)]
        state.done = max(state.done, horizon)
        steps: dict[tuple[int, Any], list[Row]] = {}
        for unit, row in ready:
            steps.setdefault((self.wards[unit].step_of(row.time), unit), []).append(row)
        for step, unit in sorted(steps, key=lambda each: (each[0], str(each[1]))):
            turn = _Turn(self, unit, state.wards[unit], news)
            turn.take(steps[step, unit])
        state.resets += len(news.resets)
        return state, news

    def _due(
        self, state: Identified, rows: Iterable[tuple[Any, Row]], news: News
    ) -> list[tuple[Any, Row]]:
        due = []
        for unit, row in rows:
            if unit not in self.wards:
                news.rejected.append((unit, row, NO_WARD))
            elif self._is_complete(unit, row, state.done):
                news.rejected.append((unit, row, LATE))
            else:
                due.append((unit, row))
        return due

    def _is_complete(self, unit: Any, row: Row, horizon: int) -> bool:
        """Whether no row of a row's step can come, where none before the horizon can."""
        ward = self.wards[unit]
        return (ward.step_of(row.time) + 1) * ward.step <= horizon or horizon == ALWAYS


@dataclass
class _Turn:
    """One step of one ward."""

    identifier: Identifier
    unit: Any
    state: WardState
    news: News

    def take(self, rows: list[Row]) -> None:
        """Admit the rows of a step, and tell what is news."""
        identifier, worlds = self.identifier, self.state.worlds
        owners = Owners(identifier.wards[self.unit], identifier.state_limit)
        worlds.is_changed = False
        admission = Admission(owners, worlds, identifier.rejects_impossible, self.state.acts)
        admission.take(rows)
        self.state.acts = admission.acts
        self.news.rejected.extend((self.unit, row, why) for row, why in admission.rejected)
        self.news.resets.extend(admission.resets)
        if admission.last is not None:
            self._tell(owners, admission, admission.last)
            owners.close_step(worlds)
            kept = set(worlds.tracked)
            self.state.tales = {n: tale for n, tale in self.state.tales.items() if n in kept}

    def _tell(self, owners: Owners, admission: Admission, as_of: int) -> None:
        """Tell the events of the step, and those before it of which something is news."""
        worlds, tales = self.state.worlds, self.state.tales
        number_of = owners.ward.number_of
        bound = owners.error_bound(worlds)
        # A read is what it says, unless it should have been rejected.
        doubt = bound if self.identifier.rejects_impossible else 0.0
        found, fresh = list[Told](), set[int]()
        for row, act in admission.admitted:
            if row.person is None:
                tales[act.number] = Tale(row.id, row.time)
                fresh.add(act.number)
            else:
                sure = ((number_of[row.person], 1.0),)
                found.append(Told(row.id, row.time, self.unit, 0, as_of, sure, doubt))
        self._forget_old(owners, as_of, fresh)
        asked = worlds.tracked if worlds.is_changed else [n for n in worlds.tracked if n in fresh]
        if asked:
            known = owners.posterior(worlds, asked)
            for number, own in zip(asked, known, strict=True):
                tale = tales[number]
                if number in fresh or self.identifier.strategy.is_news(tale.told, own, bound):
                    found.append(tale.tell(own, self.unit, as_of, bound))
        self.news.told.extend(sorted(found, key=lambda each: (each.time, each.id)))
        never = self.identifier.strategy.kind == "NEVER"
        owners.forget(worlds, worlds.tracked[:] if never else owners.settled(worlds))

    def _forget_old(self, owners: Owners, now: int, fresh: Collection[int]) -> None:
        """Forget events that are too old to be told again; those of the step are told anyway."""
        since, tales, worlds = now - self.identifier.within, self.state.tales, self.state.worlds
        old = [n for n in worlds.tracked if tales[n].time < since and n not in fresh]
        owners.forget(worlds, old)


# Stored state -------------------------------------------------------------------------------------


def dump(state: Identified) -> bytes:
    """Return a state as bytes; ids, people and places are numbers, texts or times."""
    wards = [[unit, _ward_parts(ward)] for unit, ward in state.wards.items()]
    waiting = [[unit, _row_parts(row)] for unit, row in state.waiting]
    parts = {"version": VERSION, "wards": wards, "waiting": waiting}
    parts |= {"done": state.done, "resets": state.resets}
    return json.dumps(parts, default=_time_parts).encode()


def load(data: bytes) -> Identified:
    """Return the state that was dumped."""
    try:
        parts = json.loads(data, object_hook=_time)
        if parts["version"] != VERSION:
            raise StateError(f"identities stored in version {parts['version']}; expected {VERSION}")
        wards = {unit: _ward_state(own) for unit, own in parts["wards"]}
        waiting = [(unit, Row(*own)) for unit, own in parts["waiting"]]
        return Identified(wards, waiting, parts["done"], parts["resets"])
    except (ValueError, KeyError, TypeError) as problem:
        raise StateError(f"stored identities are damaged ({problem}); start anew") from problem


def _time_parts(value: Any) -> dict[str, str]:
    """Return a time or a date in parts that JSON knows."""
    if isinstance(value, date):
        return {type(value).__name__: value.isoformat()}
    raise TypeError(f"a {type(value).__name__} cannot be stored as an id, a person or a place")


def _time(parts: dict[str, Any]) -> Any:
    if parts.keys() == {"datetime"}:
        return datetime.fromisoformat(parts["datetime"])
    return date.fromisoformat(parts["date"]) if parts.keys() == {"date"} else parts


def _row_parts(row: Row) -> list[Any]:
    return [row.id, row.time, row.person, row.type, row.place, row.origin]


def _ward_parts(ward: WardState) -> dict[str, Any]:
    worlds = ward.worlds
    states = [
        [*key, state.ways, state.sure, state.counts, state.extent, state.owned.tolist()]
        for key, state in worlds.states.items()
    ]
    acts = [
        [a.number, a.id, a.time, a.step, a.origins, a.place, a.room, a.is_move]
        for a in worlds.acts.values()
    ]
    tales = [[n, t.id, t.time, t.revision, t.told.tolist()] for n, t in ward.tales.items()]
    return {
        "heads": worlds.heads,
        "states": states,
        "acts": acts,
        "tracked": worlds.tracked,
        "rest": [worlds.lost, worlds.is_even, worlds.last_open, worlds.is_astray],
        "tales": tales,
        "count": ward.acts,
    }


def _ward_state(parts: Mapping[str, Any]) -> WardState:
    heads = [(place, step) for place, step in parts["heads"]]
    states = {}
    for moved, opened, done, ways, sure, counts, extent, owned in parts["states"]:
        key = _tuples(moved), _tuples(opened), _tuples(done)
        shape = (len(parts["tracked"]), len(heads))
        by_person = np.array(owned, np.float64).reshape(shape)
        states[key] = State(ways, sure, tuple(counts), extent, by_person)
    acts = {
        number: Act(number, own, time, step, tuple(origins), *rest)
        for number, own, time, step, origins, *rest in parts["acts"]
    }
    tales = {n: Tale(i, time, rev, np.array(told)) for n, i, time, rev, told in parts["tales"]}
    worlds = Worlds(heads, states, acts, parts["tracked"], *parts["rest"])
    return WardState(worlds, tales, parts["count"])


def _tuples(parts: list[list[Any]]) -> tuple[Any, ...]:
    return tuple(tuple(each) for each in parts)

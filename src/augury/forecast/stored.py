"""All that goes on from event to event, as arrays: what lives, and what was learned online.

Tokens, readings, contexts and what is bound are numbered, each once. Partitions are places in a
list of codes, and values of BY in a list of values, which who stores them has to give back. What a
history has taught is no part of it: that comes with the forecast.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.forecast.edges import Trials
from augury.forecast.forecasts import Lives
from augury.forecast.machine import Token
from augury.forecast.model import Counts, PartitionPast
from augury.forecast.past import Bound, Life
from augury.forecast.setting import Partition
from augury.forecast.standing import Standing

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass
class Stored:
    """Arrays, and the partitions and values of BY that they have numbered."""

    arrays: Arrays
    partitions: list[Partition]
    values: list[Hashable]


class _Numbers:
    """Numbers for things, in the order of their first appearance."""

    def __init__(self) -> None:
        self.known: dict[Any, int] = {}

    def of(self, thing: Any) -> int:
        return self.known.setdefault(thing, len(self.known))


@dataclass
class _Writer:
    """Collects rows of arrays."""

    partitions: _Numbers = field(default_factory=_Numbers)
    values: _Numbers = field(default_factory=_Numbers)
    tokens: _Numbers = field(default_factory=_Numbers)
    readings: _Numbers = field(default_factory=_Numbers)
    contexts: _Numbers = field(default_factory=_Numbers)
    bounds: _Numbers = field(default_factory=_Numbers)
    rows: dict[str, list[Any]] = field(default_factory=dict)
    weights: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, row: Sequence[int], weight: float) -> None:
        self.rows.setdefault(name, []).append(row)
        self.weights.setdefault(name, []).append(weight)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        found: dict[str, npt.NDArray[Any]] = {}
        for name, rows in self.rows.items():
            found[name] = np.array(rows, np.int64)
            found[f"{name} weight"] = np.array(self.weights[name], np.float64)
        readings = [[self.tokens.of(token) for token in each] for each in self.readings.known]
        found |= _lists("readings", readings)
        found |= _lists("contexts", list(self.contexts.known))
        found |= _lists(
            "bounds", [[n for item in each for n in item] for each in self.bounds.known]
        )
        tokens = [[*token[:5], *token.clear] for token in self.tokens.known]
        found["tokens"] = np.array(tokens, np.int64)
        return found


def dump(lives: Lives, *, online: bool) -> Stored:
    """Return what lives; with what was learned where that goes on."""
    to = _Writer()
    if isinstance(lives.followed, Standing):
        return _with_sets(to, lives.followed)
    for partition, life in lives.all.items():
        _write_life(to, to.partitions.of(partition), life)
        since = max(0, life.since - lives.heard.first)
        to.add("lives", (to.partitions.of(partition), since), 0.0)
        if life.time is not None:
            to.add("times", (to.partitions.of(partition), life.time), 0.0)
    if online:
        _write_model(to, lives)
    arrays = to.arrays()
    arrays["heard"] = np.array(lives.heard.chances, np.float64)
    return Stored(arrays, list(to.partitions.known), list(to.values.known))


def _with_sets(to: _Writer, followed: Standing) -> Stored:
    """Return partial matches that go on as sets."""
    nodes, slots, context = followed.stored()
    for token, end, members in slots:
        to.add("slots", (to.tokens.of(token), end, members), 0.0)
    to.add("at", (to.contexts.of(context),), 0.0)
    return Stored(to.arrays() | {"sets": nodes}, [], [])


def load(stored: Stored, lives: Lives) -> None:
    """Put back into lives that have begun what was stored, under the partitions' codes of now."""
    source = _Reader(stored)
    if "sets" in stored.arrays:
        assert isinstance(lives.followed, Standing)
        ((at,),) = (row for row, _ in source.rows("at"))
        slots = [(source.tokens[t], end, members) for (t, end, members), _ in source.rows("slots")]
        lives.followed.put_back(stored.arrays["sets"], slots, source.contexts[at])
        return
    lives.heard.chances = stored.arrays["heard"].tolist()
    for (place, since), _ in source.rows("lives"):
        lives.partitions[stored.partitions[place]] = Life(since=since)
    for (place, time), _ in source.rows("times"):
        lives.partitions[stored.partitions[place]].time = time
    for (place, bound, token, context), weight in source.rows("partial"):
        life = lives.partitions[stored.partitions[place]]
        own = life.partial.setdefault(source.bounds[bound], {})
        own[source.tokens[token], source.contexts[context]] = weight
    for (place, reading, context), weight in source.rows("whole"):
        life = lives.partitions[stored.partitions[place]]
        life.whole[source.readings[reading], source.contexts[context]] = weight
    if "events" in stored.arrays:
        _read_model(source, lives)
    lives.go_on()


def _write_life(to: _Writer, place: int, life: Life) -> None:
    for bound, worlds in life.partial.items():
        number = to.bounds.of(bound)
        for (token, context), weight in worlds.items():
            row = (place, number, to.tokens.of(token), to.contexts.of(context))
            to.add("partial", row, weight)
    for (reading, context), weight in life.whole.items():
        to.add("whole", (place, to.readings.of(reading), to.contexts.of(context)), weight)


# What was learned -----------------------------------------------------------------------------


def _write_model(to: _Writer, lives: Lives) -> None:
    model, edges = lives.model, lives.edges
    to.add("events", (), model.events)
    if model.origin is not None:
        to.add("origin", (model.origin,), model.unit)
    for number, counts in _numbered(to, model.total, model.own):
        to.add("gaps", (number,), counts.gaps)
        to.add("pairs", (number,), counts.pairs)
        for context, after in counts.after.items():
            for symbol, count in after.items():
                to.add("counts", (number, to.contexts.of(context), symbol), count)
    for number, trials in _numbered(to, edges.total, edges.own):
        to.add("trials", (number,), 0.0)
        for place, moves in trials.moves.items():
            for (target, out), count in moves.items():
                to.add("moves", (number, *place, *target, int(out)), count)
    for partition, met in model.met.items():
        to.add("met", (to.partitions.of(partition),), met)
    for partition, line in model.lines.items():
        at = to.partitions.of(partition)
        for context, weight in line.contexts.items():
            to.add("line contexts", (at, to.contexts.of(context)), weight)
        for time, weight in line.times.items():
            to.add("line times", (at, int(time is not None), time or 0), weight)


def _numbered(to: _Writer, total: Any, own: Mapping[Hashable, Any]) -> Iterator[tuple[int, Any]]:
    """Yield what was counted of all as number 0, and then of each value."""
    yield 0, total
    for value, counted in own.items():
        yield to.values.of(value) + 1, counted


def _read_model(source: _Reader, lives: Lives) -> None:
    model, edges, values = lives.model, lives.edges, source.stored.values
    model.total, model.own, model.met, model.lines = Counts(), {}, {}, {}
    edges.total, edges.own = Trials(), {}

    def counts(number: int) -> Counts:
        return model.own.setdefault(values[number - 1], Counts()) if number else model.total

    def trials(number: int) -> Trials:
        return edges.own.setdefault(values[number - 1], Trials()) if number else edges.total

    for _, weight in source.rows("events"):
        model.events = weight
    for (origin,), unit in source.rows("origin"):
        model.origin, model.unit = origin, unit
    for (number,), weight in source.rows("gaps"):
        counts(number).gaps = weight
    for (number,), weight in source.rows("pairs"):
        counts(number).pairs = weight
    for (number, context, symbol), weight in source.rows("counts"):
        counts(number).after.setdefault(source.contexts[context], {})[symbol] = weight
    for (number,), _ in source.rows("trials"):
        trials(number)
    for (number, bound, state, *target, out), weight in source.rows("moves"):
        own = trials(number).moves.setdefault((bound, state), {})
        own[(target[0], target[1]), bool(out)] = weight
    for (at,), weight in source.rows("met"):
        model.met[source.stored.partitions[at]] = weight
    for (at, context), weight in source.rows("line contexts"):
        line = model.lines.setdefault(source.stored.partitions[at], PartitionPast({}, {}))
        line.contexts[source.contexts[context]] = weight
    for (at, known, time), weight in source.rows("line times"):
        line = model.lines.setdefault(source.stored.partitions[at], PartitionPast({}, {}))
        line.times[time if known else None] = weight


# Arrays ---------------------------------------------------------------------------------------


class _Reader:
    """Things by their numbers again."""

    def __init__(self, stored: Stored) -> None:
        self.stored = stored
        tokens = stored.arrays["tokens"].tolist()
        self.tokens = [Token._make([*own[:5], tuple(own[5:])]) for own in tokens]
        readings = self._listed("readings")
        self.readings = [frozenset(self.tokens[k] for k in own) for own in readings]
        self.contexts = [tuple(own) for own in self._listed("contexts")]
        bounds = self._listed("bounds")
        self.bounds: list[Bound] = [tuple(zip(own[::2], own[1::2], strict=True)) for own in bounds]

    def _listed(self, name: str) -> list[list[int]]:
        arrays = self.stored.arrays
        ends, flat = arrays[f"{name} ends"].tolist(), arrays[name].tolist()
        return [flat[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]

    def rows(self, name: str) -> Iterable[tuple[list[int], float]]:
        arrays = self.stored.arrays
        if name not in arrays:
            return ()
        return zip(arrays[name].tolist(), arrays[f"{name} weight"].tolist(), strict=True)


def _lists(name: str, lists: Sequence[Sequence[int]]) -> dict[str, npt.NDArray[Any]]:
    ends = np.cumsum([len(each) for each in lists], dtype=np.int64)
    flat = np.array([n for each in lists for n in each], np.int64)
    return {name: flat, f"{name} ends": ends}

"""Markovian objects: the rows of a MARKOV stream and its tables, checked against each other.

An object is one key of the stream. Its first marginals and the tables rule: they give the
distribution at every later step, and the later marginals must agree with it. Where they do not,
something upstream is wrong, and no answer would be right: that is an error, never a guess.

Ticks follow each other by one; a tick without rows is nowhere. Timestamps follow each other as the
object's rows do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.catalog import StreamSchema
from augury.errors import DataError
from augury.evaluation.encoding import chances_of, keys_of, whole
from augury.evaluation.stream_rows import StreamRows
from augury.records import Reals

TOLERANCE = 1e-6
NOWHERE = None
Value = tuple[Any, ...] | None
Table = dict[Value, list[tuple[Value, float]]]
RowsByTime = Mapping[int, Mapping[Value, tuple[int, float]]]
NO_STANDS: Mapping[tuple[Any, ...], Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ObjectStep:
    """An object at one time: value j is row `rows[j]` of its stream, None where it has none.

    Nowhere is j = 0, except in streams that are CORRELATED, which have no such value.

    `values[j]` are its alternatives.
    `table[i, j]` is P(value j now | value i at the step before); one row at the first step.
    `marginal` is the distribution that follows.
    """

    time: int
    values: tuple[Value, ...]
    rows: tuple[int | None, ...]
    table: Reals
    marginal: Reals


@dataclass(frozen=True, slots=True)
class ObjectState:
    """Where an object stood at the last step that was seen: its possible values and their mass."""

    time: int
    values: tuple[Value, ...]
    marginal: Reals


@dataclass(frozen=True, slots=True)
class MarkovObject:
    """One key of a MARKOV stream, with its steps in order of time since `before`."""

    key: tuple[Any, ...]
    steps: tuple[ObjectStep, ...]
    before: ObjectState | None = None

    @property
    def stand(self) -> ObjectState | None:
        """Where the object stands after its steps."""
        if not self.steps:
            return self.before
        last = self.steps[-1]
        return ObjectState(last.time, last.values, last.marginal)


def markov_objects(
    source: StreamRows,
    moves: StreamRows,
    stands: Mapping[tuple[Any, ...], ObjectState] = NO_STANDS,
    *,
    horizon: int,
) -> list[MarkovObject]:
    """Return the objects of a stream, whose transitions are rows of `moves`.

    `stands` tells where objects stood that were seen before; steps from `horizon` on are to come.
    """
    schema = source.schema
    tables = _tables(schema, moves)
    marginals = _marginals(schema, source.table)
    found = []
    for key in dict.fromkeys((*marginals, *(key for key in stands if key in tables))):
        given = _Given(_About(schema, key), marginals.get(key, {}), tables.get(key, {}))
        before = stands.get(key)
        found.append(MarkovObject(key, tuple(_steps(given, before, horizon)), before))
    return found


# Reading ------------------------------------------------------------------------------------------


def _marginals(
    schema: StreamSchema, table: pa.Table
) -> dict[tuple[Any, ...], dict[int, dict[Value, tuple[int, float]]]]:
    assert schema.time is not None
    found: dict[tuple[Any, ...], dict[int, dict[Value, tuple[int, float]]]] = {}
    keys = _tuples(table, schema.key)
    values = _tuples(table, schema.alternatives)
    times, chances = whole(table.column(schema.time)).tolist(), _chances(schema, table)
    for row, (key, value, time, p) in enumerate(zip(keys, values, times, chances, strict=True)):
        here = found.setdefault(key, {}).setdefault(time, {})
        if _is_nowhere(value):
            continue
        if value in here:
            raise DataError(
                f"stream {schema.name} has two rows for {_shown(value)} of {_shown(key)} "
                f"at {time}; one row for each alternative was expected: add up their probabilities"
            )
        here[value] = (row, p)
    return found


def _tables(schema: StreamSchema, moves: StreamRows) -> dict[tuple[Any, ...], dict[int, Table]]:
    declared, table = moves.schema, moves.table
    assert declared.time is not None
    keys = _tuples(table, schema.key)
    origins = _tuples(table, [f"{name}_from" for name in schema.alternatives])
    targets = _tuples(table, [f"{name}_to" for name in schema.alternatives])
    times, chances = whole(table.column(declared.time)).tolist(), _chances(declared, table)
    found: dict[tuple[Any, ...], dict[int, Table]] = {}
    for key, time, origin, target, p in zip(keys, times, origins, targets, chances, strict=True):
        by_origin = found.setdefault(key, {}).setdefault(time, {})
        here = NOWHERE if _is_nowhere(origin) else origin
        by_origin.setdefault(here, []).append((NOWHERE if _is_nowhere(target) else target, p))
    return found


def _tuples(table: pa.Table, names: Sequence[str]) -> list[tuple[Any, ...]]:
    if not names:
        return [()] * table.num_rows
    by_name = {name.lower(): name for name in table.column_names}
    columns = [keys_of(table.column(by_name[name.lower()])) for name in names]
    return list(zip(*columns, strict=True))


def _chances(schema: StreamSchema, table: pa.Table) -> list[float]:
    assert schema.probability is not None
    chances: list[float] = chances_of(schema, table).tolist()
    return chances


def _is_nowhere(value: tuple[Any, ...]) -> bool:
    return all(part is None for part in value)


# Stepping -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _About:
    """The object that an error would be about."""

    schema: StreamSchema
    key: tuple[Any, ...]

    def error(self, what: str, remedy: str) -> DataError:
        place = f"stream {self.schema.name}, {_shown(self.key)}"
        return DataError(f"{place}: {what}; {remedy}")


@dataclass(frozen=True, slots=True)
class _Given:
    """What is known of one object: its rows and its tables, by time."""

    about: _About
    rows: RowsByTime
    tables: Mapping[int, Table]


def _steps(given: _Given, stand: ObjectState | None, horizon: int) -> Iterator[ObjectStep]:
    """Yield the object's steps; the first marginals and the tables rule."""
    about, previous = given.about, stand
    for time in _times(given, stand, horizon):
        here = given.rows.get(time, {})
        values: tuple[Value, ...] = (NOWHERE, *here)
        if previous is None:
            table, marginal = _first(here), np.ones(1)
        else:
            moves, marginal = given.tables.get(previous.time, {}), previous.marginal
            table = _table(about, previous.time, (previous.values, values), moves, marginal)
        marginal = marginal @ table
        _check(about, time, here, marginal)
        numbers = (None, *(row for row, _ in here.values()))
        yield ObjectStep(time, values, numbers, table, marginal)
        previous = ObjectState(time, values, marginal)


def _times(given: _Given, stand: ObjectState | None, horizon: int) -> list[int]:
    """Return each time of the object after it was last seen; a long gap's ticks are left out."""
    rows, tables = given.rows, given.tables
    start = min(rows) if stand is None else stand.time
    if given.about.schema.time_is_ticks:
        known = {start, *rows, *(t + 1 for t in tables if start <= t < horizon - 1)}
        # Where the object is not heard of for longer, the tick after its last rows is nowhere.
        known |= {t + 1 for t in known if t < max(known)}
        known |= {t - 1 for t in known if t > start}
    else:
        known = {start, *rows, *(t for t in tables if t > start)}
    return sorted(t for t in known if stand is None or t > start)


def _first(here: Mapping[Value, tuple[int, float]]) -> Reals:
    chances = np.array([p for _, p in here.values()], np.float64)
    return np.concatenate([[max(0.0, 1.0 - chances.sum())], chances])[np.newaxis, :]


def _table(
    about: _About,
    time: int,
    values: tuple[tuple[Value, ...], tuple[Value, ...]],
    given: Table,
    marginal: Reals,
) -> Reals:
    """Return the dense table between two steps; what a row leaves to 1 is nowhere."""
    before, after = values
    place = {value: j for j, value in enumerate(after)}
    table = np.zeros((len(before), len(after)))
    for i, origin in enumerate(before):
        for target, p in given.get(origin, ()):
            if target in place:
                table[i, place[target]] += p
            elif p * marginal[i] > TOLERANCE:
                raise about.error(
                    f"the table at {time} leads from {_shown(origin)} to {_shown(target)}, "
                    "which has no row at the next step",
                    "give it one, with its marginal probability",
                )
        total = float(table[i].sum())
        if total > 1.0 + TOLERANCE:
            raise about.error(
                f"the table at {time} sums to {total:.6g} from {_shown(origin)}",
                "conditional probabilities sum to 1 at most: normalise them",
            )
        table[i, 0] += max(0.0, 1.0 - total)
    return table


def _check(
    about: _About, time: int, here: Mapping[Value, tuple[int, float]], marginal: Reals
) -> None:
    for j, (value, (_, p)) in enumerate(here.items(), 1):
        if abs(marginal[j] - p) > TOLERANCE:
            raise about.error(
                f"the marginal of {_shown(value)} at {time} is {p:.6g}, "
                f"but the tables give {marginal[j]:.6g}",
                "take both from one inference, or leave MARKOV out to treat steps as independent",
            )


def _shown(value: Value) -> str:
    if value is None:
        return "nowhere"
    texts = [repr(part) if isinstance(part, str) else str(part) for part in value]
    return ", ".join(texts) if texts else "the only object"

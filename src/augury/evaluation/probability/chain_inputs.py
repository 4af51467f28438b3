"""Rows as a chain reads them: what each event means to the line, in order, part by part.

Rows are cut into chains by the attributes that the plan says are independent. Where the data do not
keep to that (alternatives of one event in two chains, or at two places in the order), the query is
no chain over these data, and the `Obstacle` says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.evaluation.encoding import (
    Tables,
    chances_of,
    keys_of,
    kinds_of,
    passing,
    who_plays,
    whole,
)
from augury.evaluation.probability.markov_objects import MarkovObject, ObjectStep
from augury.evaluation.stream_rows import StreamRows
from augury.matching.waiting_line import Sign
from augury.matching.worlds import Move, Step
from augury.planning.chain_plan import ChainPlan, Obstacle, is_mixed, is_of_the_chain
from augury.records import Flags, Reals, Words

# Equal to nothing, as NULL is; and what takes the place of a double that is no number.
NULL, NOT_A_NUMBER = float("nan"), ("not a number",)

ChainKey = tuple[Any, ...]


@dataclass(frozen=True)
class Encoded:
    """The rows of one stream: where they stand, and what they mean.

    `matches` and `accepted` are bits by component; `values[c][k]` is what component c would bring
    to remembered class k, by row, or None. `loose[g]` has the values of the g-th GROUP BY
    attribute that does not follow from the chain.
    """

    source: StreamRows
    chain: list[ChainKey]
    time: Words
    tie: Words
    p: Reals
    group: Words
    matches: Words
    accepted: Words
    values: Mapping[int, Mapping[int, list[Any]]]
    loose: tuple[tuple[int, list[Any]], ...]


@dataclass
class Part:
    """The rows of one chain: (stream, row) by place in the order, and Markovian objects."""

    places: dict[tuple[int, int], list[list[tuple[int, int]]]] = field(default_factory=dict)
    objects: list[tuple[int, MarkovObject]] = field(default_factory=list)


@dataclass(frozen=True)
class ChainInputs:
    """Everything a query reads, cut into chains."""

    plan: ChainPlan
    streams: list[Encoded]
    parts: dict[ChainKey, Part]

    def loose_groups(self, key: ChainKey) -> list[tuple[Any, ...]]:
        """Return the GROUP BY values within one chain that do not follow from it."""
        columns = len(self.streams[0].loose)
        found: list[set[Any]] = [set() for _ in range(columns)]
        for number, row in self._rows(self.parts[key]):
            stream = self.streams[number]
            for g, (component, values) in enumerate(stream.loose):
                if int(stream.accepted[row]) >> component & 1:
                    found[g].add(values[row])
        groups: list[tuple[Any, ...]] = [()]
        for known in found:
            groups = [(*group, value) for group in groups for value in sorted(known, key=repr)]
        return groups

    @staticmethod
    def _rows(part: Part) -> Iterator[tuple[int, int]]:
        for groups in part.places.values():
            for group in groups:
                yield from group
        for number, item in part.objects:
            yield from ((number, r) for step in item.steps for r in step.rows if r is not None)

    def steps(
        self, key: ChainKey, group: tuple[Any, ...] = (), span: tuple[int, int] | None = None
    ) -> list[Step]:
        """Return the steps of a chain as one group sees them, in a span of time [start, stop)."""
        part, signs = self.parts[key], _Signs(self, group)
        found: dict[tuple[int, int], tuple[list[Any], list[Move]]] = {}
        for place, groups in part.places.items():
            if _is_in(place[0], span):
                found[place] = ([signs.outcomes(rows) for rows in groups], [])
        for number, (stream, item) in enumerate(part.objects):
            first = True
            for step in (s for s in item.steps if _is_in(s.time, span)):
                here = found.setdefault((step.time, 0), ([], []))
                here[1].append(signs.move(number, stream, step, first))
                first = False
        return [
            Step(place[0], tuple(found[place][0]), tuple(found[place][1]))
            for place in sorted(found)
        ]


def _is_in(time: int, span: tuple[int, int] | None) -> bool:
    return span is None or span[0] <= time < span[1]


@dataclass
class _Signs:
    """What rows mean to one group; equal meanings are one sign."""

    inputs: ChainInputs
    group: tuple[Any, ...]
    known: dict[tuple[int, int], Sign | None] = field(default_factory=dict)

    def outcomes(self, rows: Sequence[tuple[int, int]]) -> list[tuple[float, Sign | None]]:
        streams = self.inputs.streams
        return [(float(streams[n].p[row]), self.of(n, row)) for n, row in rows]

    def move(self, number: int, stream: int, step: ObjectStep, first: bool) -> Move:
        signs = tuple(None if row is None else self.of(stream, row) for row in step.rows)
        table = step.marginal[np.newaxis, :] if first else step.table
        return Move(number, table, signs)

    def of(self, stream: int, row: int) -> Sign | None:
        if (stream, row) not in self.known:
            self.known[stream, row] = self._sign(self.inputs.streams[stream], row)
        return self.known[stream, row]

    def _sign(self, rows: Encoded, row: int) -> Sign | None:
        line = self.inputs.plan.line
        matches, accepted = int(rows.matches[row]), int(rows.accepted[row])
        for (component, values), value in zip(rows.loose, self.group, strict=False):
            # As in a tuple, where NaN is itself.
            if (values[row],) != (value,):
                accepted &= ~(1 << component)
        if not matches and not line.sees_everything:
            return None
        if not line.remembers:
            return Sign(matches, accepted)
        brought = tuple(
            tuple(self._value(rows, c, k, row) for k in range(line.remembers))
            for c in range(len(self.inputs.plan.query.components))
        )
        return Sign(matches, accepted, brought)

    @staticmethod
    def _value(rows: Encoded, component: int, k: int, row: int) -> Any:
        column = rows.values.get(component, {}).get(k)
        return None if column is None else column[row]


# Encoding -----------------------------------------------------------------------------------------


def chain_inputs_of(
    plan: ChainPlan,
    sources: Sequence[StreamRows],
    objects: Mapping[str, list[MarkovObject]],
    tables: Tables,
) -> ChainInputs | Obstacle:
    """Return the rows of the sources, cut into chains."""
    streams = [_encoded(plan, source, tables) for source in sources]
    inputs = ChainInputs(plan, streams, {})
    for number, rows in enumerate(streams):
        schema = rows.source.schema
        if schema.order_by is not None and rows.source.table.column(schema.order_by).null_count:
            return Obstacle(f"reads stream {schema.name}, of which some rows have no tie-breaker")
        place = _place_objects if schema.markov else _place_rows
        reason = place(inputs, number, objects.get(schema.name.lower(), []))
        if reason is not None:
            return Obstacle(reason)
    return inputs


def _encoded(plan: ChainPlan, source: StreamRows, tables: Tables) -> Encoded:
    schema, table = source.schema, source.table
    matches = matched_bits(plan, source, tables)
    accepted = accepted_bits(plan, source, matches, tables)
    assert schema.time is not None
    return Encoded(
        source,
        _chain_keys(plan, source),
        whole(table.column(schema.time)),
        _ties(source),
        chances_of(schema, table),
        source.groups(),
        matches,
        accepted,
        _remembered(plan, source),
        _loose(plan, source),
    )


def matched_bits(plan: ChainPlan, source: StreamRows, tables: Tables) -> Words:
    """Return, by row, the components that the event is a candidate for."""
    schema, table = source.schema, source.table
    kinds = kinds_of(schema, table)
    matches = np.zeros(table.num_rows, np.int64)
    for play in plan.plays:
        if play.stream == schema.name:
            matches |= _bits(who_plays(play, kinds, table, tables)) << play.component
    return matches


def accepted_bits(plan: ChainPlan, source: StreamRows, matches: Words, tables: Tables) -> Words:
    """Return, by row, the components that accept the event once it is chosen."""
    accepted = matches.copy()
    for component, condition in plan.judged:
        if any(p.component == component and p.stream == source.schema.name for p in plan.plays):
            fails = ~passing(condition, source.table, tables)
            accepted &= ~(_bits(fails) << component)
    return accepted


def _bits(flags: Flags) -> Words:
    return flags.astype(np.int64)


def _ties(source: StreamRows) -> Words:
    name, n = source.schema.order_by, source.table.num_rows
    if name is None:
        return np.zeros(n, np.int64)
    column = source.table.column(name)
    if pa.types.is_floating(column.type) or pa.types.is_string(column.type):
        ranks = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
        return np.asarray(ranks, np.int64)
    return whole(column)


def _chain_keys(plan: ChainPlan, source: StreamRows) -> list[ChainKey]:
    names = plan.partition_by.get(source.schema.name, ())
    if not names:
        return [()] * source.table.num_rows
    columns = [keys_of(source.table.column(name)) for name in names]
    keys = list(zip(*columns, strict=True))
    # NULL equals nothing, so such an event is alone in its chain, whatever other streams have.
    name = source.schema.name
    return [(*key, name, row) if None in key else key for row, key in enumerate(keys)]


def _remembered(plan: ChainPlan, source: StreamRows) -> dict[int, dict[int, list[Any]]]:
    found: dict[int, dict[int, list[Any]]] = {}
    for k, equality in enumerate(plan.remembered):
        for component, name in equality.members:
            if source.schema.column(name) is not None:
                column = source.table.column(name)
                if is_mixed(plan.query, equality):
                    column = column.cast(pa.float64(), safe=False)
                found.setdefault(component, {})[k] = _comparable(column.to_pylist())
    return found


def _comparable(values: list[Any]) -> list[Any]:
    """Return values such that Python finds equal what SQL does."""
    return [
        NULL if v is None else NOT_A_NUMBER if isinstance(v, float) and np.isnan(v) else v
        for v in values
    ]


def _loose(plan: ChainPlan, source: StreamRows) -> tuple[tuple[int, list[Any]], ...]:
    return tuple(
        (component, _column(source, name))
        for component, name in plan.groups
        if not is_of_the_chain(plan.query, plan.partition_by, name)
    )


def _column(source: StreamRows, name: str) -> list[Any]:
    if source.schema.column(name) is None:
        return [None] * source.table.num_rows
    return keys_of(source.table.column(name))


# Placing ------------------------------------------------------------------------------------------


def _place_rows(inputs: ChainInputs, number: int, _: list[MarkovObject]) -> str | None:
    """Put the events of an independent stream into their chains."""
    rows = inputs.streams[number]
    homes: dict[int, tuple[ChainKey, tuple[int, int], list[tuple[int, int]]]] = {}
    for row, (key, time, tie, group) in enumerate(
        zip(rows.chain, rows.time.tolist(), rows.tie.tolist(), rows.group.tolist(), strict=True)
    ):
        home = homes.get(group) if group >= 0 else None
        if home is None:
            members: list[tuple[int, int]] = []
            part = inputs.parts.setdefault(key, Part())
            part.places.setdefault((time, tie), []).append(members)
            home = homes[group] = (key, (time, tie), members)
        elif home[:2] != (key, (time, tie)):
            name = rows.source.schema.name
            return f"reads stream {name}, of which alternatives lie at several places in the order"
        home[2].append((number, row))
    return None


def _place_objects(inputs: ChainInputs, number: int, objects: list[MarkovObject]) -> str | None:
    """Put the objects of a MARKOV stream into their chains."""
    rows = inputs.streams[number]
    if rows.source.schema.order_by is not None:
        return "reads a MARKOV stream with a tie-breaker"
    for item in objects:
        seen = {rows.chain[r] for step in item.steps for r in step.rows if r is not None}
        if len(seen) > 1:
            return "would part the values of one Markovian object"
        key = seen.pop() if seen else ()
        inputs.parts.setdefault(key, Part()).objects.append((number, item))
    return None

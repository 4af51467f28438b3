"""Rows of a stream as beliefs for the operator of chains: whole columns, no loop over rows.

Only plain chains come here: no window or value to remember, no tie-breaker, and a Markovian object
alone in its chain. `chain_inputs` has the way for all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from augury.evaluation.encoding import Codes, Tables, chances_of, keys_of, whole
from augury.evaluation.probability.chain_inputs import accepted_bits, matched_bits
from augury.evaluation.probability.markov_objects import MarkovObject, Value
from augury.evaluation.stream_rows import StreamRows
from augury.matching.marginal import BEGINNING, NOWHERE, Beliefs
from augury.planning.chain_plan import ChainPlan
from augury.records import Flags, Reals, Words

_NO_STEPS = np.zeros((5, 0), np.int64)


@dataclass(frozen=True)
class Numbers:
    """The numbers that chains and hidden values have been given so far; grows as rows are told."""

    chains: Codes = field(default_factory=Codes)
    values: dict[Value, int] = field(
        default_factory=lambda: {None: NOWHERE, ("the beginning",): BEGINNING}
    )


@dataclass(frozen=True)
class KeyedBeliefs:
    """Beliefs, and what the numbers of their chains stand for."""

    beliefs: Beliefs
    chains: list[tuple[Any, ...]]
    is_markovian: bool


def keyed_beliefs(
    plan: ChainPlan,
    sources: Sequence[StreamRows],
    objects: Mapping[str, list[MarkovObject]],
    tables: Tables,
    numbers: Numbers | None = None,
) -> KeyedBeliefs | None:
    """Return the beliefs of the sources; None where the data are no plain chains."""
    numbers = numbers or Numbers()
    chains = numbers.chains
    if objects:
        (source,) = sources
        own = objects[source.schema.name.lower()]
        return _markovian(plan, source, own, (tables, numbers))
    parts, first = [], 0
    for source in sources:
        rows = _independent(plan, source, chains, tables)
        if not _keeps_together(source, rows):
            return None
        parts.append(_shifted(rows, first))
        first += source.table.num_rows
    beliefs = parts[0]
    for part in parts[1:]:
        beliefs = Beliefs.joined(beliefs, part)
    return KeyedBeliefs(beliefs, [_as_tuple(key) for key in chains.known], False)


def _as_tuple(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


# Independent streams ------------------------------------------------------------------------------


def _independent(plan: ChainPlan, source: StreamRows, chains: Codes, tables: Tables) -> Beliefs:
    schema, table, n = source.schema, source.table, source.table.num_rows
    assert schema.time is not None
    matches = matched_bits(plan, source, tables)
    groups, none = source.groups(), np.zeros(n, np.int64)
    return Beliefs(
        _chain_codes(plan, source, chains),
        whole(table.column(schema.time)),
        np.where(groups < 0, np.arange(n), groups),
        none,
        none,
        chances_of(schema, table),
        matches,
        accepted_bits(plan, source, matches, tables),
    )


def _chain_codes(plan: ChainPlan, source: StreamRows, chains: Codes) -> Words:
    names = plan.partition_by.get(source.schema.name, ())
    n = source.table.num_rows
    if not names:
        return np.full(n, chains.code(()), np.int64)
    columns = [source.table.column(name) for name in names]
    if len(columns) == 1 and not columns[0].null_count:
        return chains.encode(columns[0])
    rows = enumerate(zip(*(keys_of(column) for column in columns), strict=True))
    # NULL equals nothing, so such an event is alone in its chain.
    keys = [(*key, source.schema.name, row) if None in key else key for row, key in rows]
    return np.array([chains.code(_single(key)) for key in keys], np.int64)


def _single(key: tuple[Any, ...]) -> Any:
    return key[0] if len(key) == 1 else key


def _keeps_together(source: StreamRows, rows: Beliefs) -> bool:
    """Return whether alternatives of one event are in one chain, at one time."""
    if not source.schema.alternatives:
        return True
    first = rows.group
    same: Flags = (rows.chain == rows.chain[first]) & (rows.time == rows.time[first])
    return bool(same.all())


def _shifted(rows: Beliefs, first: int) -> Beliefs:
    """Return the rows with groups that no other stream has."""
    return Beliefs(
        rows.chain,
        rows.time,
        rows.group + first,
        rows.origin,
        rows.value,
        rows.p,
        rows.matches,
        rows.accepted,
    )


# Markovian objects --------------------------------------------------------------------------------


def _markovian(
    plan: ChainPlan, source: StreamRows, objects: list[MarkovObject], by: tuple[Tables, Numbers]
) -> KeyedBeliefs | None:
    """Return the transitions of objects, if each has a chain of its own."""
    names = plan.partition_by.get(source.schema.name, ())
    tables, numbers = by
    chains, codes = numbers.chains, numbers.values
    key = source.schema.key
    if set(names) != set(key) and len({item.key for item in objects} | {*chains.known}) > 1:
        return None
    matches = matched_bits(plan, source, tables)
    accepted = accepted_bits(plan, source, matches, tables)
    order = [key.index(name) for name in (names or key)]
    own = [chains.code(_single(tuple(item.key[k] for k in order))) for item in objects]
    parts = [_transitions(k, item, codes) for k, item in zip(own, objects, strict=True)]
    steps, chances = zip(*parts, strict=True) if parts else ((_NO_STEPS,), (np.zeros(0),))
    chain, time, origin, value, row = np.concatenate(steps, axis=1)
    is_event = row >= 0
    beliefs = Beliefs(
        chain,
        time,
        np.arange(len(chain)),
        origin,
        value,
        np.concatenate(chances),
        np.where(is_event, matches[row], 0),
        np.where(is_event, accepted[row], 0),
    )
    return KeyedBeliefs(beliefs, [_as_tuple(each) for each in chains.known], True)


def _origins(item: MarkovObject, codes: dict[Value, int]) -> Words:
    """Return where the first step comes from: the values that the object had before it."""
    if item.before is None:
        return np.array([BEGINNING])
    return np.array([codes[value] for value in item.before.values])


def _transitions(chain: int, item: MarkovObject, codes: dict[Value, int]) -> tuple[Words, Reals]:
    """Return chains, times, origins, values and rows of events (-1: none); and probabilities.

    Whole numbers stay whole: a double has no room for every tick.
    """
    before, found, chances = _origins(item, codes), [_NO_STEPS], [np.zeros(0)]
    for step in item.steps:
        here = np.array([codes.setdefault(value, len(codes)) for value in step.values])
        rows = np.array([-1 if row is None else row for row in step.rows])
        i, j = np.nonzero(step.table)
        n = len(i)
        found.append(
            np.stack([np.full(n, chain), np.full(n, step.time), before[i], here[j], rows[j]])
        )
        chances.append(step.table[i, j])
        before = here
    return np.concatenate(found, axis=1), np.concatenate(chances)

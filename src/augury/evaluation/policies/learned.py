"""What a history teaches a policy, as the kernels read it: rates, and the rows of each chain."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from augury.evaluation.policies.columns import Columns, Ordered
from augury.kernels.privacy.layout import Batch, Learned
from augury.privacy.pattern import Pattern
from augury.privacy.period import MOST_EVENTS, period_of
from augury.privacy.policy import Policy
from augury.privacy.statistics import Flow, Slot, Tally
from augury.records import Flags, Words

PAST = ("time", "order", "event", "chance", "steps", "ends")


@dataclass(frozen=True)
class Past:
    """The rows of a history by pattern and key: `entries[p, k]` is where those of a chain begin."""

    first: int
    last: int
    entries: Words
    time: Words
    order: Words
    event: Words
    chance: np.ndarray
    steps: Words
    ends: Words

    @classmethod
    def of(cls, bounds: list[int], arrays: Mapping[str, Any]) -> Past:
        """Return what was stored: its first and last time, and its arrays."""
        own = {name: np.array(arrays[f"past_{name}"]) for name in ("entries", *PAST)}
        return cls(bounds[0], bounds[1], **own)

    def widened(self, keys: int) -> Words:
        """Return where the rows of each chain begin, for keys that the history has not."""
        more = keys + 1 - self.entries.shape[1]
        return np.pad(self.entries, ((0, 0), (0, max(0, more))), mode="edge")


_NONE = np.zeros(0, np.int64)
NO_PAST = Past(0, -1, np.zeros((1, 1), np.int64), _NONE, _NONE, _NONE, np.zeros(0), _NONE, _NONE)


def tally_of(columns: Columns, history: Ordered, values: Mapping[str, list[Any]]) -> Tally:
    """Return the counts of a history; `values` are those of its equated columns."""
    policy, batch = columns.plan.policy, history.batch
    found = Tally(policy.sequences, policy.by)
    found.count = len(history)
    if found.count:
        found.first, found.last = int(batch.time[0]), int(batch.time[-1])
    for name, own in values.items():
        found.values[name] = Counter(dict.fromkeys(own, 1))
    for (number, ends, place), rows in who(columns, history.batch, (0, len(history))):
        # Where the next event that fits is taken, that ends the wait for it as well.
        both = ends or policy.sequences[number].takes_next
        for own, mass, count in _masses(columns, history, number, rows):
            for end in {ends, both}:
                slot = (number, end, place), own
                before = found.expected.get(slot, (0.0, 0))
                found.expected[slot] = before[0] + mass, before[1] + count
    return found


def who(columns: Columns, batch: Batch, events: tuple[int, int]) -> Iterator[tuple[Slot, Flags]]:
    """Yield the rows of some events that play each step, and that are forbidden before it."""
    first, last = events
    own = slice(int(batch.begin[first]), int(batch.begin[last]))
    kind = np.repeat(batch.kind[first:last], np.diff(batch.begin[first : last + 1]))
    for number, plays in enumerate(columns.plays):
        of_type = kind == number
        if not of_type.any():
            continue
        for pattern, place, ends, condition in plays:
            rows = of_type & (batch.key[columns.keys.index(columns.equated[pattern]), own] >= 0)
            rows = rows & batch.passes[condition, own] if condition >= 0 else rows
            yield (pattern, bool(ends), place), rows


def _masses(
    columns: Columns, history: Ordered, number: int, rows: Flags
) -> Iterator[tuple[Any, float, int]]:
    """Yield the expected number of rows, and how many there are: of each value kept apart."""
    by, equated, chance = columns.plan.policy.by, columns.equated[number], history.batch.chance
    if by not in equated:
        yield None, float(chance[rows].sum()), int(rows.sum())
        return
    codes = history.batch.key[columns.keys.index(equated)][rows]
    masses, counts = np.bincount(codes, chance[rows]), np.bincount(codes)
    place = equated.index(by)
    for code, key in enumerate(columns.values(number)[: len(counts)]):
        if counts[code]:
            yield key[place], float(masses[code]), int(counts[code])


def period_in(history: Ordered) -> int | None:
    """Return the period of a history; None where none is found."""
    recent = slice(max(0, len(history) - MOST_EVENTS), len(history))
    times, types = history.batch.time[recent], history.types[recent.start :].to_pylist()
    by_type = dict[Any, list[int]]()
    for time, kind in zip(times.tolist(), types, strict=True):
        by_type.setdefault(kind, []).append(time)
    return period_of(by_type.values())


def past_of(columns: Columns, history: Ordered, dropped: frozenset[str]) -> Past:
    """Return the rows of a history by chain, but for types that are dropped."""
    batch, patterns = history.batch, columns.plan.policy.sequences
    event = np.repeat(np.arange(len(history)), np.diff(batch.begin))
    bits = np.zeros((len(patterns), 2, len(event)), np.int64)
    gone = [number for number, kind in enumerate(columns.kinds) if kind in dropped]
    is_gone = np.isin(batch.kind, gone)[event]
    for (pattern, ends, place), rows in who(columns, batch, (0, len(history))):
        bits[pattern, int(ends)] |= (rows & ~is_gone).astype(np.int64) << place
    keys, chosen = columns.key_count, list[Words]()
    entries, base = np.zeros((len(patterns), keys + 1), np.int64), 0
    for number in range(len(patterns)):
        own = np.flatnonzero(bits[number, 0] | bits[number, 1])
        code = batch.key[columns.keys.index(columns.equated[number])][own]
        own = own[np.argsort(code, kind="stable")]
        entries[number] = base + np.searchsorted(np.sort(code), np.arange(keys + 1))
        chosen.append(own)
        base += len(own)
    rows = np.concatenate(chosen)
    which = np.repeat(np.arange(len(patterns)), [len(own) for own in chosen])
    first, last = (int(batch.time[0]), int(batch.time[-1])) if len(history) else (0, -1)
    return Past(
        first,
        last,
        entries,
        batch.time[event[rows]],
        batch.order[event[rows]],
        event[rows],
        batch.chance[rows],
        bits[which, 0, rows],
        bits[which, 1, rows],
    )


def learned_arrays(
    columns: Columns,
    tally: Tally,
    past: Past,
    keys: int,
    *,
    dropped: frozenset[str],
    period: int | None,
) -> Learned:
    """Return what is expected, with room for some number of keys."""
    policy = columns.plan.policy
    longest = max(map(len, policy.sequences))
    flow, rows = _flows(columns, tally, keys)
    count, shape = len(rows), (len(rows), longest + 1)
    product, rates = np.ones(shape), np.zeros((count, longest))
    leaving, all_types = np.zeros(shape), np.zeros(shape)
    for number, (pattern, own) in enumerate(rows):
        rates[number, : len(pattern)] = own.rates
        leaving[number, : len(pattern) + 1] = own.leaving
        if policy.method == "GREEDY":
            continue
        for place in range(len(pattern)):
            rest = own.rates[place:]
            product[number, place] = math.prod(rest) / math.factorial(len(rest))
            all_types[number, place] = sum(_by_type(pattern, own, place).values())
    is_left = np.flip(np.cumsum(np.flip(leaving, 1), 1), 1) > 0.0
    is_dead = np.zeros((len(policy.sequences), longest + 1), np.bool_)
    for number, pattern in enumerate(policy.sequences):
        for place in range(len(pattern)):
            is_dead[number, place] = any(s.type in dropped for s in pattern.steps[place:])
    return Learned(
        flow,
        product,
        rates,
        leaving,
        all_types,
        is_left,
        is_dead,
        (period or 0) if past.last >= past.first else 0,
        past.first,
        past.last,
        past.widened(keys),
        *(getattr(past, name) for name in PAST),
    )


def _by_type(pattern: Pattern, own: Flow, place: int) -> dict[str, float]:
    """Return the rates of the distinct types from a step on."""
    found = dict[str, float]()
    for step, rate in zip(pattern.steps[place:], own.rates[place:], strict=True):
        found[step.type] = max(rate, found.get(step.type, 0.0))
    return found


def _flows(columns: Columns, tally: Tally, keys: int) -> tuple[Words, list[tuple[Pattern, Flow]]]:
    """Return which rates each chain has, and the rates."""
    policy: Policy = columns.plan.policy
    flow = np.zeros((len(policy.sequences), keys), np.int64)
    rows = list[tuple[Pattern, Flow]]()
    for number, pattern in enumerate(policy.sequences):
        if policy.by not in pattern.equated:
            flow[number] = len(rows)
            rows.append((pattern, tally.flow(number, (None,) * len(pattern.equated))))
            continue
        for code, key in enumerate(columns.values(number)):
            flow[number, code] = len(rows)
            rows.append((pattern, tally.flow(number, key)))
    if not rows:
        nothing = Flow((0.0,) * len(policy.sequences[0]), (0.0,) * (len(policy.sequences[0]) + 1))
        rows.append((policy.sequences[0], nothing))
    return flow, rows

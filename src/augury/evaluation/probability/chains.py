"""How likely a query holds, by chains: one for each independent part, combined by 1 - prod(1 - p).

Regular queries are one chain, extended regular ones a chain per key value. A chain carries its
distribution forward through time, so nothing is enumerated; `holding` has the way of lineage, for
patterns that are no chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from augury.evaluation.answers.windows import windows_of
from augury.evaluation.probability.beliefs import KeyedBeliefs
from augury.evaluation.probability.chain_inputs import ChainInputs, ChainKey
from augury.evaluation.probability.quiet_steps import with_quiet_steps
from augury.kernels.chain.forward import none_of
from augury.matching import worlds
from augury.matching.intervals import sequence_probabilities
from augury.matching.marginal import Chances, Marginaliser, TooManyNumbersError
from augury.matching.sampled import Bits, ends, lasting, share
from augury.matching.worlds import Step
from augury.planning.chain_plan import ChainPlan, is_of_the_chain
from augury.records import Flags, Words

Group = tuple[Any, ...]
HORIZON = 2**62
Row = tuple[Group, int | None, float]


@dataclass(frozen=True, slots=True)
class GroupChances:
    """P(the query holds) in one chain and one group, by time or start of a window."""

    group: Group
    chances: Mapping[Any, float]


def operator_of(plan: ChainPlan, is_markovian: bool) -> Marginaliser:
    """Return the operator of a plain plan's chains."""
    over, stream = plan.over, plan.query.streams[0]
    ever = not plan.by_time
    steps, unit = (0, 1) if over is None else (over.steps, over.unit or 1)
    ticks, linked = stream.time_is_ticks, is_markovian and stream.is_linked
    return Marginaliser(plan.line, is_markovian, ticks, ever, steps, unit, linked)


def plain_rows(plan: ChainPlan, keyed: KeyedBeliefs, times: Words) -> Iterator[Row] | None:
    """Return the rows of plain chains by the operator; None where its tables would be too large."""
    by_time = plan.by_time
    operator, labels = operator_of(plan, keyed.is_markovian), np.unique(times)
    if plan.over is not None:
        everyone = np.arange(len(keyed.chains))
        keyed = with_quiet_steps(keyed, plan.over.length, [(everyone, labels)])
    try:
        state = operator.start(keyed.beliefs)
        _, found = operator.advance(state, keyed.beliefs, HORIZON)
    except TooManyNumbersError:
        return None
    if not by_time:
        found = _ever(found, len(keyed.chains))
    if plan.over is not None:
        # A tick at which an object is nowhere need not be one at which there are rows.
        found = _only(found, np.isin(found.time, labels))
    if plan.groups:
        place = np.searchsorted(labels, found.time) if by_time else np.zeros_like(found.time)
        return _grouped(plan, keyed, found, (labels, place))
    return _for_anyone(found, labels if by_time else None)


def known_rows(plan: ChainPlan, keyed: KeyedBeliefs, found: Chances, times: Words) -> Iterator[Row]:
    """Yield the rows of chains by time as they become known; of groups, those that may hold.

    All chains of a group have come as far as `found` tells, so each row is complete.
    """
    if not plan.groups:
        labels = np.unique(times)
        yield from _for_anyone(_only(found, np.isin(found.time, labels)), labels)
        return
    number, by_number = numbered_groups(plan, keyed)
    pairs = np.stack([found.time, number[found.chain]], axis=1)[found.p > 0.0]
    rows, place = np.unique(pairs, axis=0, return_inverse=True)
    none = np.ones(len(rows))
    none_of(place.reshape(-1), found.p[found.p > 0.0], none)
    for (time, k), p in zip(rows.tolist(), none.tolist(), strict=True):
        yield by_number[k], time, 1.0 - p


def _for_anyone(found: Chances, labels: Words | None) -> Iterator[Row]:
    """Yield P(some chain holds) by time, or over all of it."""
    shown = [None] if labels is None else labels.tolist()
    place = np.zeros_like(found.time) if labels is None else np.searchsorted(labels, found.time)
    none = np.ones(max(1, len(shown)))
    if found.time.size:
        inside = place < len(shown)
        none_of(place[inside], found.p[inside], none)
    return iter([((), label, 1.0 - float(p)) for label, p in zip(shown, none, strict=False)])


def _ever(found: Chances, n_chains: int) -> Chances:
    """Return P(a match ends at all) by chain: the mass that left it, step by step."""
    total = np.bincount(found.chain, found.p, n_chains)
    return Chances(np.arange(n_chains), np.zeros(n_chains, np.int64), np.minimum(total, 1.0))


def _grouped(
    plan: ChainPlan, keyed: KeyedBeliefs, found: Chances, by: tuple[Words, Words]
) -> Iterator[Row]:
    labels, place = by
    by_time = plan.by_time
    shown = labels.tolist() if by_time else [None]
    number, groups = numbered_groups(plan, keyed)
    none = np.ones(len(groups) * len(shown))
    none_of(number[found.chain] * len(shown) + place, found.p, none)
    chances = 1.0 - none.reshape(len(groups), len(shown))
    for k in sorted(range(len(groups)), key=lambda k: repr(groups[k])):
        if (chances[k] > 0.0).any():
            yield from zip([groups[k]] * len(shown), shown, chances[k].tolist(), strict=True)


def numbered_groups(plan: ChainPlan, keyed: KeyedBeliefs) -> tuple[Words, list[Group]]:
    """Return the number of each chain's group, and the groups in the order of their numbers."""
    groups = [_group(plan, key, ()) for key in keyed.chains]
    numbers = {group: k for k, group in enumerate(dict.fromkeys(groups))}
    return np.array([numbers[group] for group in groups], np.int64), list(numbers)


def chains_by_group(
    plan: ChainPlan, keyed: KeyedBeliefs, times: Words
) -> list[tuple[Words, Words]]:
    """Return the chains of each group that has several, and the times at which one has rows."""
    if not plan.groups:
        return [(np.arange(len(keyed.chains)), np.unique(times))]
    number, groups = numbered_groups(plan, keyed)
    several = np.flatnonzero(np.bincount(number, minlength=len(groups)) > 1)
    own = number[keyed.beliefs.chain]
    return [(np.flatnonzero(number == k), np.unique(keyed.beliefs.time[own == k])) for k in several]


def _only(found: Chances, rows: Flags) -> Chances:
    return Chances(found.chain[rows], found.time[rows], found.p[rows])


def rows_by_time(inputs: ChainInputs, times: Words) -> Iterator[Row]:
    """Yield P(some match's last event is at t), for each group and each time of the streams."""
    labels: list[int] = np.unique(times).tolist()
    found = [
        GroupChances(group, _by_time(inputs.plan, inputs.steps(key, loose), hidden, labels))
        for key, loose, group, hidden in _asked(inputs)
    ]
    yield from _combined(inputs.plan, found, labels)


def _by_time(
    plan: ChainPlan, steps: list[Step], hidden: int, labels: list[int]
) -> dict[int, float]:
    """Return P(a match ends at t) of one chain: by intervals where its plan is safe, or at once.

    Where ends count for a while, that they do so in the same world ties times together, which
    intervals do not carry.
    """
    if plan.over is not None:
        return worlds.lasting_probabilities(plan.line, steps, labels, plan.over.length, hidden)
    if plan.query.verdict.kind == "safe":
        by_intervals = sequence_probabilities(plan.line, steps)
        if by_intervals is not None:
            return by_intervals
    return worlds.probabilities(plan.line, steps, hidden)


def rows_by_window(inputs: ChainInputs, times: Words, window: int | None) -> Iterator[Row]:
    """Yield P(at least one match) for each group and each window that holds an event.

    `window` is the start of the one that is asked for.
    """
    windows = list(windows_of(inputs.plan.query, times, window))
    found = []
    for key, loose, group, hidden in _asked(inputs):
        chances: dict[int | None, float] = {}
        for start, span in windows:
            steps = inputs.steps(key, loose, span)
            chances[start] = worlds.probability(inputs.plan.line, steps, hidden)
        found.append(GroupChances(group, chances))
    yield from _combined(inputs.plan, found, [start for start, _ in windows])


def sampled_rows(inputs: ChainInputs, times: Words, size: int, window: int | None) -> Iterator[Row]:
    """Yield P(a match) by group and time or window, as its share of `size` sampled worlds."""
    plan, rng = inputs.plan, np.random.default_rng(seed_of(inputs.plan.query.name, window))
    by_time = plan.by_time
    windows: list[Any] = [] if by_time else list(windows_of(plan.query, times, window))
    found: dict[Group, dict[Any, Bits]] = {} if plan.groups else {(): {}}
    for key, loose, group, _ in _asked(inputs):
        own = found.setdefault(group, {})
        for label, span in windows or [(None, None)]:
            for time, bits in ends(plan.line, inputs.steps(key, loose, span), size, rng).items():
                at = time if by_time else label
                own[at] = own[at] | bits if at in own else bits
    labels = np.unique(times).tolist() if by_time else [start for start, _ in windows]
    for group in sorted(found, key=repr):
        own = found[group] if plan.over is None else lasting(found[group], labels, plan.over.length)
        for label in labels:
            bits_or_none = own.get(label)
            yield group, label, 0.0 if bits_or_none is None else share(bits_or_none)


def seed_of(name: str, window: int | None = None) -> int:
    """Return the seed of a query's samples: the same question gets the same answer."""
    return crc32(name.lower().encode() if window is None else f"{name.lower()} {window}".encode())


def _asked(inputs: ChainInputs) -> Iterator[tuple[ChainKey, Group, Group, int]]:
    """Yield each chain with each group in it, and how many hidden objects it has."""
    for key, part in inputs.parts.items():
        for loose in inputs.loose_groups(key):
            yield key, loose, _group(inputs.plan, key, loose), len(part.objects)


def _group(plan: ChainPlan, key: ChainKey, loose: Group) -> Group:
    """Return the GROUP BY values: of the chain's own key where they follow from it."""
    columns = next(iter(plan.partition_by.values()), ())
    rest = iter(loose)
    return tuple(
        key[columns.index(name)]
        if is_of_the_chain(plan.query, plan.partition_by, name)
        else next(rest)
        for _, name in plan.groups
    )


def _combined(plan: ChainPlan, found: list[GroupChances], labels: list[Any]) -> Iterator[Row]:
    """Yield the rows of each group that may hold at all; chains are independent."""
    never: dict[Group, dict[Any, float]] = {} if plan.groups else {(): {}}
    for each in found:
        none = never.setdefault(each.group, {})
        for label, p in each.chances.items():
            none[label] = none.get(label, 1.0) * (1.0 - p)
    for group in sorted(never, key=repr):
        chances = [1.0 - never[group].get(label, 1.0) for label in labels]
        if not plan.groups or any(p > 0.0 for p in chances):
            yield from zip([group] * len(labels), labels, chances, strict=True)

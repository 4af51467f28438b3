"""How likely a query holds, by chains: one for each independent part, combined by 1 - prod(1 - p).

Regular queries are one chain, extended regular ones a chain per key value. A chain carries its
distribution forward through time, so nothing is enumerated; `holding` has the way of lineage, for
patterns that are no chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from augury.matching import worlds
from augury.planning.chain_plan import ChainPlan, is_of_the_chain
from augury.records import Words
from augury.runners.feed import ChainKey, Feed
from augury.runners.windows import windows_of

Group = tuple[Any, ...]
Row = tuple[Group, int | None, float]


@dataclass(frozen=True, slots=True)
class Holding:
    """P(the query holds) in one chain and one group, by time or start of a window."""

    group: Group
    chances: Mapping[Any, float]


def rows_by_time(feed: Feed, times: Words) -> Iterator[Row]:
    """Yield P(some match's last event is at t), for each group and each time of the streams."""
    found = [
        Holding(group, worlds.probabilities(feed.plan.line, feed.steps(key, loose), hidden))
        for key, loose, group, hidden in _asked(feed)
    ]
    yield from _combined(feed.plan, found, np.unique(times).tolist())


def rows_by_window(feed: Feed, times: Words) -> Iterator[Row]:
    """Yield P(at least one match) for each group and each window that holds an event."""
    windows = list(windows_of(feed.plan.query, times))
    found = []
    for key, loose, group, hidden in _asked(feed):
        chances: dict[int | None, float] = {}
        for start, span in windows:
            steps = feed.steps(key, loose, span)
            chances[start] = worlds.probability(feed.plan.line, steps, hidden)
        found.append(Holding(group, chances))
    yield from _combined(feed.plan, found, [start for start, _ in windows])


def _asked(feed: Feed) -> Iterator[tuple[ChainKey, Group, Group, int]]:
    """Yield each chain with each group in it, and how many hidden objects it has."""
    for key, part in feed.parts.items():
        for loose in feed.loose_groups(key):
            yield key, loose, _group(feed.plan, key, loose), len(part.objects)


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


def _combined(plan: ChainPlan, found: list[Holding], labels: list[Any]) -> Iterator[Row]:
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

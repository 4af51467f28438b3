"""Evaluate many queries in one pass over a stream (see `matching.many`).

Queries share a pass if they read one declared stream alone, are cut by the same columns, and are
plain sequences that return matches. Each distinct predicate is evaluated once for all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from augury.evaluation.answers.match_answers import Inputs, match_table
from augury.evaluation.encoding import Encoder, Tables, kinds_of, who_plays
from augury.evaluation.enumeration import Enumeration
from augury.evaluation.stream_rows import StreamRows
from augury.matching.matcher import sort_order
from augury.matching.shared_prefixes import StandingQueries, Step, sequence_of
from augury.planning.expressions.typed import Apply, Input, Typed
from augury.planning.match_plan import MatchPlan, Play
from augury.records import Events, Flags, Matches, Words


def shareable(plans: Iterable[MatchPlan]) -> list[list[MatchPlan]]:
    """Return the groups of plans that can share a pass; a plan alone gains nothing."""
    groups: dict[Hashable, list[MatchPlan]] = {}
    for plan in plans:
        if _is_shareable(plan):
            stream = plan.query.streams[0].name.lower()
            cut = plan.partition_by.get(plan.query.streams[0].name, ())
            groups.setdefault((stream, cut), []).append(plan)
    return [group for group in groups.values() if len(group) > 1]


def _is_shareable(plan: MatchPlan) -> bool:
    query = plan.query
    plain = plan.tells == "matches" and query.correlated_by is None
    plain = plain and query.after_match is None and not query.each_event
    base = len(query.streams) == 1 and query.streams[0].query is None
    return plain and base and sequence_of(plan.pattern) is not None


@dataclass(frozen=True)
class SharedPass:
    """A group of plans over the rows of one stream."""

    plans: Sequence[MatchPlan]
    source: StreamRows
    inputs: Inputs
    tables: Tables

    def answers(self) -> Iterator[tuple[MatchPlan, pa.Table]]:
        """Yield the result of every plan."""
        events = self._skeleton()
        order = sort_order(events)
        prefixes = StandingQueries()
        for plan in self.plans:
            steps = sequence_of(plan.pattern) or []
            needed = [Step(_predicate(plan, c), neighbour) for c, neighbour in steps]
            prefixes.add(needed, plan.pattern.window)
        facts = self._facts(prefixes.predicates)
        ranges = prefixes.ranges(events, order, list(facts.values()))
        groups = self.source.groups()
        for number, plan in enumerate(self.plans):
            positions, stretch = ranges.of(number)
            found = self._search(plan, order[positions], stretch, facts, groups)
            yield plan, match_table(plan, found, self.inputs)

    def _skeleton(self) -> Events:
        """Return the events as they are ordered, cut and weighed, without what a query reads."""
        leanest = min(self.plans, key=lambda plan: len(plan.programs.columns))
        encoder = Encoder(replace(leanest, plays=(), drops_others=False), self.tables)
        return encoder.encode(self.source.schema, self.source.table, 0, self.source.groups())

    def _facts(self, predicates: Mapping[Any, int]) -> dict[Any, Flags]:
        kinds = kinds_of(self.source.schema, self.source.table)
        return {
            key: who_plays(
                Play(0, self.source.schema.name, *key), kinds, self.source.table, self.tables
            )
            for key in predicates
        }

    def _search(
        self,
        plan: MatchPlan,
        rows: Words,
        stretch: Words,
        facts: Mapping[Any, Flags],
        groups: Words,
    ) -> Matches:
        """Return the matches within stretches of the stream, each a partition of its own."""
        if not len(rows):
            return Matches.none()
        by_row = np.argsort(rows, kind="stable")
        rows, stretch = rows[by_row], stretch[by_row]
        encoder = Encoder(replace(plan, plays=(), drops_others=False), self.tables)
        table = self.source.table.take(pa.array(rows))
        events = encoder.encode(self.source.schema, table, 0, groups[rows])
        mask = np.zeros(len(rows), np.int64)
        for play in plan.plays:
            mask |= facts[_asked(play)][rows].astype(np.int64) << play.component
        events = replace(events, row=rows, partition=stretch.astype(np.int64), mask=mask)
        evaluation = Enumeration(plan, encoder, events, [self.source], {}, lineage=False)
        return evaluation.matches()[0]


def _predicate(plan: MatchPlan, component: int) -> tuple[Any, ...]:
    (play,) = [play for play in plan.plays if play.component == component]
    return _asked(play)


def _asked(play: Play) -> tuple[Any, ...]:
    """Return what a component asks of an event, whatever its place in the pattern."""
    return play.type, tuple(_placeless(expression) for expression in play.filters)


def _placeless(node: Typed) -> Typed:
    if isinstance(node, Apply):
        return replace(node, operands=tuple(_placeless(part) for part in node.operands))
    if isinstance(node, Input):
        default = None if node.default is None else _placeless(node.default)
        return replace(node, component=0, default=default)
    return node

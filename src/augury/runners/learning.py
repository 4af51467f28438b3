"""CREATE GAPS ... LEARN FROM: the gaps of a query, learned from the rows of a stream of history.

Rows of the history play the query's components as those of its own streams would: by type and by
the conditions on single events. Within one value of what the query equates, an instance is a run
of reads in the order of the pattern; a read that does not go on begins the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.catalog import Catalog, StreamSchema
from augury.analysis.checked import CheckedGap, CheckedQuery
from augury.errors import DataError
from augury.gaps.learning import Learned, Weighted, fit, learn
from augury.planning.match_plan import MatchPlan, plan_match
from augury.planning.unseen import parts_of
from augury.records import Reals, Words
from augury.runners.encoding import Codes, declaration_of, kinds_of, who_plays, whole
from augury.sources.rows import conform, sift

LONGEST = 2.0**60


def learned(query: CheckedQuery, catalog: Catalog, bound: Mapping[str, pa.Table]) -> CheckedQuery:
    """Return the query with gaps learned from its history; itself where it learns nothing."""
    name = query.learn_gaps_from
    if name is None or name.lower() not in bound:
        return query
    schema = catalog.stream(name)
    if schema is None:
        raise DataError(
            f"query {query.name} learns its gaps from {name}, which is not declared; declare it "
            "with CREATE STREAM, so that its columns are known"
        )
    # Gaps that are written stand; what is learned fills the rest.
    plain = replace(query, learn_gaps_from=None, allow=0, gaps=())
    declared = declaration_of(schema)
    rows, _ = sift(conform(bound[name.lower()], declared), declared)
    history = History(plan_match(plain, catalog), schema, rows)
    return history.taught(replace(query, learn_gaps_from=None))


class History:
    """The rows of a history, as instances of a query's pattern."""

    def __init__(self, plan: MatchPlan, schema: StreamSchema, rows: pa.Table) -> None:
        self.plan, self.schema, self.rows = plan, schema, rows
        self.query = plan.query
        time = whole(rows.column(schema.time))
        partition = self._partition()
        self.order = np.lexsort((time, partition))
        self.time = time[self.order].astype(np.float64)
        self.partition = partition[self.order]
        self.mask = self._mask()[self.order]

    def taught(self, query: CheckedQuery) -> CheckedQuery:
        """Return the query with its gaps, and with rates where none was declared."""
        positive = [
            part.components[0]
            for part in parts_of(query)
            if not part.negated and len(part.components) == 1
        ]
        given = tuple(query.miss_rates[c] for c in positive)
        horizon = (
            float(query.within.length) if query.within and not query.within.events else LONGEST
        )
        times = self._instances(positive)
        if not np.isfinite(times).any():
            raise DataError(
                f"stream {self.schema.name} has no read that can play a component of query "
                f"{query.name}, so no gap can be learned from it; bind a history of such reads"
            )
        found = learn(times, given, horizon)
        gaps = [*query.gaps, *self._forward(query, positive, found)]
        gaps += [*self._backward(positive, times), *self._negated(query, positive)]
        rates = list(query.miss_rates)
        for c, rate in zip(positive, found.rates, strict=True):
            rates[c] = rate if rates[c] is None else rates[c]
        kept = {(g.earlier, g.later, g.backward): g for g in reversed(gaps)}
        return replace(query, gaps=tuple(kept.values()), miss_rates=tuple(rates))

    def _forward(
        self, query: CheckedQuery, positive: list[int], found: Learned
    ) -> list[CheckedGap]:
        return [
            CheckedGap(a, b, False, gap.family, gap.parameters, gap.reaches)
            for a, b, gap in zip(positive, positive[1:], found.gaps, strict=False)
            if b in query.may_miss
        ]

    def _backward(self, positive: list[int], times: Reals) -> list[CheckedGap]:
        """Return the gap from the second component back to the first."""
        if len(positive) < 2 or positive[0] not in self.query.may_miss:
            return []
        second = np.isfinite(times[:, 1])
        lengths = (times[:, 1] - times[:, 0])[second & np.isfinite(times[:, 0])]
        if not len(lengths):
            return []
        gap = fit(Weighted(lengths, np.ones(len(lengths))))
        rate = self.query.miss_rates[positive[0]] or 0.0
        # Of those without a read before them, some had it missed.
        read = len(lengths) / second.sum()
        reaches = float(min(1.0, read / (1.0 - rate)))
        return [CheckedGap(positive[0], positive[1], True, gap.family, gap.parameters, reaches)]

    def _negated(self, query: CheckedQuery, positive: list[int]) -> list[CheckedGap]:
        """Return the gaps of negated components: from a read to the first of them, if any."""
        found = []
        parts = parts_of(query)
        for k, part in enumerate(parts):
            before = [p.components[0] for p in parts[:k] if not p.negated]
            if not part.negated or not before or not query.miss_rates[part.components[0]]:
                continue
            own = part.components[0]
            times = self._instances([before[-1], own])
            started = np.isfinite(times[:, 0])
            lengths = (times[:, 1] - times[:, 0])[started & np.isfinite(times[:, 1])]
            if len(lengths):
                rate = query.miss_rates[own] or 0.0
                gap = fit(Weighted(lengths, np.ones(len(lengths))))
                reaches = min(1.0, len(lengths) / started.sum() / (1.0 - rate))
                found.append(
                    CheckedGap(before[-1], own, False, gap.family, gap.parameters, float(reaches))
                )
        return found

    # Instances --------------------------------------------------------------------------------

    def _instances(self, components: list[int]) -> Reals:
        """Return the times of reads in the order of the components, NaN for what was not read."""
        rows: list[list[float]] = []
        last, owner, start = len(components), -1, 0.0
        window = self.query.within.length if self.query.within else LONGEST
        for at, key, mask in zip(
            self.time.tolist(), self.partition.tolist(), self.mask.tolist(), strict=True
        ):
            plays = [k for k, c in enumerate(components) if (mask >> c) & 1]
            if not plays:
                continue
            ahead = [k for k in plays if k > last and key == owner and at - start <= window]
            if not ahead or at <= np.nanmax(rows[-1]):
                rows.append([float("nan")] * len(components))
                owner, start, ahead = key, at, plays
            last = ahead[0]
            rows[-1][last] = at
        return np.array(rows).reshape(-1, len(components))

    def _partition(self) -> Words:
        names = next(iter(self.plan.partition_by.values()), ())
        columns = [self.rows.column(name) for name in names if name in self.rows.column_names]
        if not columns:
            return np.zeros(self.rows.num_rows, np.int64)
        text: Any = pc.binary_join_element_wise(*[c.cast(pa.string()) for c in columns], "\x1f")
        return Codes().encode(text)

    def _mask(self) -> Words:
        kinds = kinds_of(self.schema, self.rows)
        mask = np.zeros(self.rows.num_rows, np.int64)
        for play in self.plan.plays:
            mask |= who_plays(play, kinds, self.rows, {}).astype(np.int64) << play.component
        return mask

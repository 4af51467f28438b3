"""CREATE GAPS ... LEARN FROM: the gaps of a query, learned from the rows of a stream of history.

Rows become instances (see `instances`), wherever they are; gaps and rates are learned from those,
in one place. Of more instances than the setting `history_limit` a sample is taken: those of the
lowest hashes, so it is the same sample each time and in every engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.checked import CheckedGap, CheckedQuery
from augury.analysis.declarations.catalog import Catalog, StreamSchema
from augury.config import value_of
from augury.errors import DataError
from augury.evaluation.encoding import Tables, declaration_of, rows_of_table
from augury.evaluation.learning.instances import HASH, LIST, Lesson, lesson_of
from augury.gaps.families import Gap
from augury.gaps.learning import Learned, Weighted, fit, learn
from augury.planning.match_plan import plan_match
from augury.planning.missed.unseen import parts_of
from augury.records import Reals
from augury.sources.rows import conform, sift

# Rows of a history by the lesson that reads them, to instances.
Collect = Callable[[Lesson], pa.Table]


def learned(query: CheckedQuery, catalog: Catalog, bound: Mapping[str, pa.Table]) -> CheckedQuery:
    """Return the query with gaps learned from bound rows; itself where it learns nothing."""
    name = query.learn_gaps_from
    if name is None or name.lower() not in bound:
        return query
    tables = {
        table: rows_of_table(schema, bound[table])
        for table, schema in catalog.tables.items()
        if table in bound
    }
    return taught(query, catalog, tables, lambda lesson: _of_table(lesson, bound[name.lower()]))


def taught(query: CheckedQuery, catalog: Catalog, tables: Tables, collect: Collect) -> CheckedQuery:
    """Return the query with the gaps that its history teaches; `collect` gives the instances."""
    schema = catalog.stream(query.learn_gaps_from or "")
    if schema is None:
        raise DataError(
            f"query {query.name} learns its gaps from {query.learn_gaps_from}, which is not "
            "declared; declare it with CREATE STREAM, so that its columns are known"
        )
    _refuse_unlearnable_rates(query)
    # Gaps that are written stand; what is learned fills the rest.
    plain = replace(query, learn_gaps_from=None, allow=0, gaps=())
    lists = (_positive(query), *((before, own) for before, own in _negated(query)))
    lesson = lesson_of(plan_match(plain, catalog), schema, lists, tables)
    found = _sample(collect(lesson))
    times = tuple(_times(found, k, len(own)) for k, own in enumerate(lists))
    return Taught(replace(query, learn_gaps_from=None), schema, times).query


def _refuse_unlearnable_rates(query: CheckedQuery) -> None:
    """Raise where a first or last component may be missed and only a history could say how often.

    Nothing is read on its other side, so one that was missed looks like one that did not come.
    """
    ends = {*_positive(query)[:1], *_positive(query)[-1:]} & set(query.may_miss)
    names = [query.components[c].name for c in sorted(ends) if query.miss_rates[c] is None]
    if names:
        rates = ", ".join(f"{name} 0.1" for name in names)
        raise DataError(
            f"query {query.name} may miss {' and '.join(names)} at an end of its pattern, whose "
            "miss rate no history can teach (a missed one looks like one that did not come); "
            f"declare it, such as MISS RATE ({rates}), or name the others in ALLOW ... OF"
        )


def _of_table(lesson: Lesson, table: pa.Table) -> pa.Table:
    declared = declaration_of(lesson.schema)
    rows, _ = sift(conform(table, declared), declared)
    rows = rows.select(list(lesson.columns))
    keys = [(name, "ascending") for name in lesson.columns]
    order = pc.sort_indices(rows, sort_keys=keys)
    batches = rows.take(order).combine_chunks().to_batches()
    return pa.Table.from_batches(lesson(batches), lesson.answer)


def _sample(found: pa.Table) -> pa.Table:
    """Return the instances in the order of their hashes, no more than the limit allows."""
    keys = [(HASH, "ascending"), *((n, "ascending") for n in found.column_names if n != HASH)]
    order = pc.sort_indices(found, sort_keys=keys)
    return found.take(order.slice(0, value_of("history_limit")))


def _times(found: pa.Table, number: int, width: int) -> Reals:
    own = found.filter(pc.equal(found.column(LIST), number))
    columns = [np.asarray(own.column(f"t{k}"), np.float64) for k in range(width)]
    return np.stack(columns, axis=1)


def _positive(query: CheckedQuery) -> tuple[int, ...]:
    parts = [part for part in parts_of(query) if not part.negated and len(part.components) == 1]
    return tuple(part.components[0] for part in parts)


def _negated(query: CheckedQuery) -> list[tuple[int, int]]:
    """Return the negated components that can be missed, each after the one that times it."""
    found, parts = [], parts_of(query)
    for k, part in enumerate(parts):
        before = [p.components[0] for p in parts[:k] if not p.negated]
        if part.negated and before and query.miss_rates[part.components[0]]:
            found.append((before[-1], part.components[0]))
    return found


@dataclass(frozen=True)
class Taught:
    """A query and the instances of its history, list by list: `own`, then one per negation."""

    untaught: CheckedQuery
    schema: StreamSchema
    times: tuple[Reals, ...]

    @property
    def query(self) -> CheckedQuery:
        """The query with its gaps, and with rates where none was declared."""
        query, positive = self.untaught, _positive(self.untaught)
        within = query.within
        horizon = float(within.length) if within and not within.events else 2.0**60
        if not np.isfinite(self.times[0]).any():
            raise DataError(
                f"stream {self.schema.name} has no read that can play a component of query "
                f"{query.name}, so no gap can be learned from it; bind a history of such reads"
            )
        self._refuse_unseen_gaps(positive)
        rates = tuple(query.miss_rates[c] for c in positive)
        found = learn(self.times[0], rates, horizon, self._written(positive))
        gaps = [*query.gaps, *self._forward(positive, found)]
        gaps += [*self._backward(positive), *self._before_negations()]
        known = list(query.miss_rates)
        for c, rate in zip(positive, found.rates, strict=True):
            known[c] = rate if known[c] is None else known[c]
        kept = {(g.earlier, g.later, g.backward): g for g in reversed(gaps)}
        return replace(query, gaps=tuple(kept.values()), miss_rates=tuple(known))

    def _written(self, positive: tuple[int, ...]) -> tuple[Gap | None, ...]:
        """Return the gaps from each positive component to the next that CREATE GAPS gives."""
        written = {
            (gap.earlier, gap.later): Gap(gap.family, gap.parameters, gap.reaches)
            for gap in self.untaught.gaps
            if not gap.backward
        }
        return tuple(written.get(pair) for pair in pairwise(positive))

    def _refuse_unseen_gaps(self, positive: tuple[int, ...]) -> None:
        """Raise where a gap is to be learned whose both ends were never read in one instance."""
        query, read = self.untaught, np.isfinite(self.times[0])
        written = {(gap.earlier, gap.later, gap.backward) for gap in query.gaps}
        for k, (a, b) in enumerate(pairwise(positive)):
            is_forward = b in query.may_miss and (a, b, False) not in written
            is_backward = k == 0 and a in query.may_miss and (a, b, True) not in written
            if (is_forward or is_backward) and not (read[:, k] & read[:, k + 1]).any():
                one, other = (query.components[c].name for c in (a, b))
                raise DataError(
                    f"stream {self.schema.name} has no instance of query {query.name} in which "
                    f"both {one} and {other} were read, so their gap cannot be learned from it; "
                    "bind a longer history, or write the gap in CREATE GAPS"
                )

    def _forward(self, positive: tuple[int, ...], found: Learned) -> list[CheckedGap]:
        return [
            CheckedGap(a, b, False, gap.family, gap.parameters, gap.reaches)
            for a, b, gap in zip(positive, positive[1:], found.gaps, strict=False)
            if b in self.untaught.may_miss
        ]

    def _backward(self, positive: tuple[int, ...]) -> list[CheckedGap]:
        """Return the gap from the second component back to the first."""
        if len(positive) < 2 or positive[0] not in self.untaught.may_miss:
            return []
        second, first = self.times[0][:, 1], self.times[0][:, 0]
        own = self._fitted(second - first, np.isfinite(second), positive[0])
        return [replace(own, earlier=positive[0], later=positive[1], backward=True)] if own else []

    def _before_negations(self) -> list[CheckedGap]:
        """Return the gaps of negated components: from a read to the first of them, if any."""
        found = []
        for (before, own), times in zip(_negated(self.untaught), self.times[1:], strict=True):
            gap = self._fitted(times[:, 1] - times[:, 0], np.isfinite(times[:, 0]), own)
            found += [replace(gap, earlier=before, later=own)] if gap else []
        return found

    def _fitted(self, lengths: Reals, started: Reals, component: int) -> CheckedGap | None:
        """Return the gap of the known lengths; of those without one, some had it missed."""
        known = lengths[np.isfinite(lengths)]
        if not len(known):
            return None
        gap = fit(Weighted(known, np.ones(len(known))))
        rate = self.untaught.miss_rates[component] or 0.0
        reaches = float(min(1.0, len(known) / started.sum() / (1.0 - rate)))
        return CheckedGap(component, component, False, gap.family, gap.parameters, reaches)

"""The slower way to evaluate a live query: over the rows that may still matter, again and again.

For what the ring cannot do: queries over queries, whose lineage the local runner carries; strings
that are compared by order, whose codes change when a new one comes between; tie-breakers that are
strings. Each time the watermark moves, the local runner evaluates the rows of the last windows, and
the report says which of the matches are new.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from augury.analysis.catalog import Catalog, DataType, StreamSchema
from augury.analysis.checked import CheckedQuery
from augury.matching.matcher import ALWAYS
from augury.matching.pattern import Pattern
from augury.matching.retention import NEVER_YET, ends_late, looks_back
from augury.planning.match_plan import MatchPlan, plan_match
from augury.runners.learning import learned
from augury.runners.local import LocalRunner
from augury.sources.intake import Arrival, stored
from augury.sources.rows import ARROW_TYPES

Tables = Mapping[str, pa.Table]


def needs_replay(plan: MatchPlan) -> bool:
    """Whether a query takes the slower way."""
    streams = plan.query.streams
    return (
        any(stream.query is not None for stream in streams)
        or plan.programs.orders_strings
        or any(_is_text(stream, stream.order_by) for stream in streams)
    )


def _is_text(stream: StreamSchema, name: str | None) -> bool:
    column = stream.column(name) if name else None
    return column is not None and column.type is DataType.STRING


class Replay:
    """One query, with the rows of all base streams below it."""

    def __init__(
        self,
        query: CheckedQuery,
        catalog: Catalog,
        queries: Mapping[str, CheckedQuery],
        tables: Tables,
    ) -> None:
        self.query, self.catalog, self.tables = query, catalog, tables
        self.queries = _below(query, queries)
        self.plans = {
            name: plan_match(learned(each, catalog, tables), catalog)
            for name, each in self.queries.items()
        }
        self.bases = {
            stream.name.lower(): stream
            for each in self.queries.values()
            for stream in each.streams
            if stream.query is None
        }
        self.rows: dict[str, list[tuple[int, Arrival]]] = {name: [] for name in self.bases}
        self.horizon = NEVER_YET
        self.reported = NEVER_YET

    @property
    def memory(self) -> int:
        """How far behind the watermark a row can still matter; 0 where nothing bounds it."""
        return self._reach(self.query) or 0

    def accept(self, stream: str, arrival: Arrival) -> bool:
        """Keep a good row."""
        self.rows[stream.lower()].append((arrival.time, arrival))
        return True

    def advance(self, horizon: int) -> list[dict[str, Any]]:
        """Report what is known once all rows before `horizon` are there."""
        if horizon <= self.horizon:
            return []
        self.horizon = horizon
        until = self._known_until(self.query, horizon)
        answer = self._evaluate(until)
        self.reported = until
        self._drop(until)
        found: list[dict[str, Any]] = answer.to_pylist()
        return found

    def finish(self) -> list[dict[str, Any]]:
        """Report what remains: the streams have ended."""
        return self.advance(ALWAYS)

    def _evaluate(self, until: int) -> pa.Table:
        bound = dict(self.tables) | {name: self._table(name) for name in self.bases}
        spans = {
            name: (NEVER_YET, self._known_until(each, self.horizon))
            for name, each in self.queries.items()
        }
        spans[self.query.name.lower()] = (self.reported, until)
        runner = LocalRunner(self.catalog, self.queries, bound, spans=spans)
        return runner.table(self.query.name)

    def _table(self, name: str) -> pa.Table:
        ready = [
            arrival.values
            for time, arrival in self.rows[name]
            if time < self.horizon
            and not (arrival.alternatives and arrival.alternatives.is_overfull)
        ]
        return pa.table(
            {
                c.name: pa.array(
                    [stored(values[c.name], c.type.value) for values in ready],
                    ARROW_TYPES[c.type.value],
                )
                for c in self.bases[name].columns
            }
        )

    # Time -------------------------------------------------------------------------------------

    def _known_until(self, query: CheckedQuery, horizon: int) -> int:
        """Return before which time all events of a query's streams are there."""
        if horizon == ALWAYS:
            return ALWAYS
        known = [horizon]
        for stream in query.streams:
            if stream.query is not None:
                below = self.queries[stream.query.lower()]
                pattern = self.plans[below.name.lower()].pattern
                known.append(self._known_until(below, horizon) - _delay(pattern))
        return max(NEVER_YET, min(known))

    def _reach(self, query: CheckedQuery) -> int | None:
        """Return how far back a query looks, with all below it; None where nothing bounds that."""
        pattern = self.plans[query.name.lower()].pattern
        if pattern.window is None:
            return None
        own = pattern.window * (2 if looks_back(pattern) else 1) + _delay(pattern)
        deepest = 0
        for stream in query.streams:
            if stream.query is not None:
                below = self._reach(self.queries[stream.query.lower()])
                if below is None:
                    return None
                deepest = max(deepest, below)
        return own + deepest

    def _drop(self, until: int) -> None:
        reach = self._reach(self.query)
        if until == ALWAYS:
            self.rows = {name: [] for name in self.bases}
        elif reach is not None:
            oldest = until - reach
            self.rows = {
                name: [entry for entry in rows if entry[0] >= oldest]
                for name, rows in self.rows.items()
            }


def _delay(pattern: Pattern) -> int:
    """Return how long after its last event a match may become known."""
    if not ends_late(pattern):
        return 0
    # Without a window of time such a match is known when the stream ends.
    return 2**61 if pattern.window is None else pattern.window


def _below(query: CheckedQuery, queries: Mapping[str, CheckedQuery]) -> dict[str, CheckedQuery]:
    """Return a query and all queries that it reads, by lower-case name."""
    found = {query.name.lower(): query}
    for stream in query.streams:
        if stream.query is not None:
            found |= _below(queries[stream.query.lower()], queries)
    return found

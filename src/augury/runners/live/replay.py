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

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, DataType, StreamSchema
from augury.evaluation.evaluator import Evaluator
from augury.evaluation.learning.learned_gaps import learned
from augury.evaluation.network import Network, below
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET
from augury.planning.match_plan import MatchPlan
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
        self.tables, self.name = tables, query.name.lower()
        own = {n: learned(each, catalog, tables) for n, each in below(query, queries).items()}
        self.network = Network((self.name,), own, catalog)
        self.bases = self.network.bases
        self.rows: dict[str, list[tuple[int, Arrival]]] = {name: [] for name in self.bases}
        self.horizon = NEVER_YET
        self.reported = NEVER_YET

    @property
    def memory(self) -> int:
        """How far behind the watermark a row can still matter; 0 where nothing bounds it."""
        return self.network.memory or 0

    def accept(self, stream: str, arrival: Arrival) -> bool:
        """Keep a good row."""
        self.rows[stream.lower()].append((arrival.time, arrival))
        return True

    def advance(self, horizon: int) -> list[dict[str, Any]]:
        """Report what is known once all rows before `horizon` are there."""
        if horizon <= self.horizon:
            return []
        self.horizon = horizon
        until = self.network.known_until(self.name, horizon)
        answer = self._evaluate(until)
        self.reported = until
        self._drop(until)
        found: list[dict[str, Any]] = answer.to_pylist()
        return found

    def finish(self) -> list[dict[str, Any]]:
        """Report what remains: the streams have ended."""
        return self.advance(ALWAYS)

    def _evaluate(self, until: int) -> pa.Table:
        network = self.network
        bound = dict(self.tables) | {name: self._table(name) for name in self.bases}
        spans = {
            name: (NEVER_YET, network.known_until(name, self.horizon)) for name in network.queries
        }
        spans[self.name] = (self.reported, until)
        plans = dict(network.plans)
        runner = Evaluator(network.catalog, network.queries, bound, spans=spans, plans=plans)
        return runner.table(self.name)

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

    def _drop(self, until: int) -> None:
        memory = self.network.memory
        if until == ALWAYS:
            self.rows = {name: [] for name in self.bases}
        elif memory is not None:
            oldest = until - memory
            self.rows = {
                name: [entry for entry in rows if entry[0] >= oldest]
                for name, rows in self.rows.items()
            }

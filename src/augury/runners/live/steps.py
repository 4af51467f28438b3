"""A live query by the executor: pushed rows wait for their turn, then make a step together.

For every stage that has no form for single rows (`runners.live.query` is that of plain matches):
queries over queries, probabilities by time, strings that are compared by order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, DataType, StreamSchema
from augury.analysis.declarations.forecasts import CheckedForecast
from augury.errors import DataError
from augury.evaluation.executor import shard_for
from augury.evaluation.learning.learned_gaps import learned
from augury.evaluation.network import Network
from augury.evaluation.packing import Packer
from augury.evaluation.stages.forecasting import taught
from augury.evaluation.stream_rows import EVENT_ID
from augury.matching.matcher import ALWAYS
from augury.planning.base_streams import below
from augury.planning.match_plan import MatchPlan
from augury.sources.columns import ARROW_TYPES, python_rows
from augury.sources.intake import Arrival, Values
from augury.sources.rows import REASON
from augury.sources.values import stored

Aside = Mapping[str, list[tuple[Values, str]]]


def needs_steps(plan: MatchPlan) -> bool:
    """Whether matches of a query are not found row by row.

    Strings that are compared by order have codes that change when a new one comes between.
    """
    streams = plan.query.streams
    return (
        plan.tells != "matches"
        or plan.query.after_match is not None
        or plan.query.correlated_by is not None
        or plan.query.each_event
        or plan.query.looks_beside
        or any(stream.query is not None or stream.markov is not None for stream in streams)
        or plan.programs.orders_strings
        or any(_is_text(stream, stream.order_by) for stream in streams)
    )


def _is_text(stream: StreamSchema, name: str | None) -> bool:
    column = stream.column(name) if name else None
    return column is not None and column.type is DataType.STRING


class LiveSteps:
    """One query with all below it; `aside` are the lists of rejected rows by stream."""

    def __init__(
        self,
        query: CheckedQuery,
        catalog: Catalog,
        queries: Mapping[str, CheckedQuery],
        tables: Mapping[str, pa.Table],
        forecasts: Mapping[str, CheckedForecast],
    ) -> None:
        own = {n: learned(each, catalog, tables) for n, each in below(query, queries).items()}
        # Policies weigh queries that nothing reads.
        network = Network.of([query.name], {**queries, **own}, catalog)
        network = replace(network, is_behind_policies=True, forecasts=forecasts)
        missing = sorted(set(network.tables_read) - set(tables))
        if missing:
            known = catalog.tables.get(missing[0]) or catalog.streams[missing[0]]
            kind = "table" if missing[0] in catalog.tables else "stream"
            raise DataError(f"{kind} {known.name} has no data; bind it before the first push")
        bound = {name: tables[name] for name in network.tables_read}
        network = replace(network, tables=bound, counts_ties=True)
        network = replace(network, taught=taught(network))
        self.query, self.shard = query, shard_for(network)
        self.state: Any = self.shard.start()
        self.rows: dict[str, list[tuple[int, Arrival]]] = {name: [] for name in network.bases}
        self.aside: Aside = {}
        self.tied = 0
        # Whether a policy could not decide about some rows.
        self.has_stopped = False

    @property
    def policy_name(self) -> str:
        """The policies that are in force here, before events whose owners are told."""
        return " and ".join(each.name for each in self.shard.network.policies)

    @property
    def bases(self) -> list[str]:
        """The names of the streams it reads in the end."""
        return [stream.name for stream in self.shard.network.bases.values()]

    @property
    def memory(self) -> int:
        """How far behind the watermark a row can still matter; 0 where nothing bounds it."""
        network = self.shard.network
        return 0 if network.keeps_chains else network.memory or 0

    def accept(self, stream: str, arrival: Arrival) -> bool:
        """Let a good row wait for its turn; tell whether its ID has to be remembered."""
        self.rows[stream.lower()].append((arrival.time, arrival))
        return not self.shard.network.keeps_chains

    def told_until(self, horizon: int) -> int:
        """Return up to when all is told once all rows before `horizon` are there."""
        network, name = self.shard.network, self.query.name.lower()
        if network.neighbours:
            # Rows wait for those behind them.
            horizon = min(horizon, self.state.beside.known)
        # Matches over owners are told as the steps of these are complete.
        return network.known_until(name, horizon) if network.follows_owners(name) else horizon

    def advance(self, horizon: int) -> list[dict[str, Any]]:
        """Report what is known once all rows before `horizon` are there."""
        if horizon <= self.state.horizon:
            return []
        batch = {name: self._due(name, horizon) for name in self.rows}
        self.has_stopped = bool(self.policy_name)
        self.state, answers = self.shard.advance(self.state, batch, horizon)
        self.has_stopped = False
        self.tied += sum(answers.tied.values())
        if self.shard.network.keeps_chains:
            self._put_aside(answers.rejected)
        return [row for table in answers.found.values() for row in python_rows(table)]

    def _put_aside(self, rejected: Mapping[str, pa.Table]) -> None:
        """Put readings aside that no model takes; all else was checked where it came in."""
        for name, bad in rejected.items():
            for row in bad.to_pylist():
                reason = row.pop(REASON)
                self.aside[name].append(({c: v for c, v in row.items() if c != EVENT_ID}, reason))

    def finish(self) -> list[dict[str, Any]]:
        """Report what remains: the streams have ended."""
        return self.advance(ALWAYS)

    def _due(self, name: str, horizon: int) -> pa.Table:
        """Return the rows whose turn has come, which wait no longer."""
        ready = [
            arrival.values
            for time, arrival in self.rows[name]
            if time < horizon and not (arrival.alternatives and arrival.alternatives.is_overfull)
        ]
        self.rows[name] = [entry for entry in self.rows[name] if entry[0] >= horizon]
        stream = self.shard.network.bases[name]
        columns: dict[str, Any] = {
            c.name: pa.array(
                [stored(values[c.name], c.type.value) for values in ready],
                ARROW_TYPES[c.type.value],
            )
            for c in stream.columns
        }
        return Packer(stream, self.shard.schemas[name]).travelling(pa.table(columns))

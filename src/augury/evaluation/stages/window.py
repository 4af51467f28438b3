"""The stage of queries that are evaluated over whole tables: all rows at once, or a window of them.

Counts, joins, chains and lineage need all rows, and have them in the only step of a bounded run.
Matches of matches are found step by step: the rows that a match may reach back to are kept, and
evaluated again in every step; what was known before is not reported twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.evaluation.answers.answers import Answers, Clock
from augury.evaluation.encoding import chances_of, declaration_of, whole
from augury.evaluation.enumeration import Span
from augury.evaluation.evaluator import Evaluator
from augury.evaluation.identifying import Identities, identify_stage, last_tellings
from augury.evaluation.network import Network, delay
from augury.evaluation.stages.retention import oldest_counted
from augury.evaluation.stages.source import cut, in_order, joined
from augury.evaluation.stream_rows import StreamRows
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET
from augury.sources.rows import sift

Rows = Mapping[str, StreamRows]
NOTHING = pa.table({})


@dataclass
class WindowState:
    """Rows by stream that had their turn and may matter again, and up to when was reported."""

    kept: dict[str, pa.Table]
    reported: int

    @property
    def is_empty(self) -> bool:
        return not any(table.num_rows for table in self.kept.values())

    @property
    def nbytes(self) -> int:
        """How many bytes are held in memory."""
        return sum(table.nbytes for table in self.kept.values())


@dataclass(frozen=True)
class WindowStage:
    """Evaluates the queries of a network, and all below them, over the rows that matter."""

    network: Network
    revises: ClassVar[bool] = False
    # Which windows of a probability are evaluated: all, together.
    window: ClassVar[int | None] = None

    def start(self, since: int = NEVER_YET) -> WindowState:
        """Return the state before any row; what is known before `since` is not reported."""
        return WindowState({}, since)

    def advance(self, state: WindowState, batch: Rows, horizon: int) -> tuple[WindowState, Answers]:
        """Take new rows in, in the order of time; report what is known before `horizon`."""
        kept, rejected = self._joined(state, batch)
        clock, owners = Clock(), self._owners(batch)
        found = self._found(kept, rejected, (state.reported, horizon), clock, owners)
        after = WindowState(self._still_needed(kept, horizon), horizon)
        clock.measured[next(reversed(clock.measured))].state_bytes = after.nbytes
        return after, Answers(found, rejected, clock.measured)

    def dump(self, state: WindowState) -> bytes:
        """Return nothing: the state is made of its rows."""
        return b""

    def restore(
        self,
        batch: Rows,
        reported: int,
        own: bytes = b"",
    ) -> WindowState:
        """Return the state in which rows are remembered, and reported up to some time."""
        return WindowState({name: rows.table for name, rows in batch.items()}, reported)

    def oldest(self, state: WindowState, horizon: int) -> int:
        """Return the time before which no row can matter any more."""
        return self._oldest_needed(state.kept, horizon) if state.kept else horizon

    def due(self, state: WindowState) -> int | None:
        """Return at which horizon the oldest row can be forgotten, or a match becomes known."""
        network = self.network
        if network.waits and not state.is_empty:
            return state.reported + 1
        if network.memory is None:
            return None
        times = [
            int(whole(state.kept[name].column(stream.time)).min())
            for name, stream in network.inputs.items()
            if name in state.kept and state.kept[name].num_rows
        ]
        return min(times) + network.memory + 1 if times else None

    # Rows -------------------------------------------------------------------------------------

    def _joined(
        self, state: WindowState, batch: Rows
    ) -> tuple[dict[str, pa.Table], dict[str, pa.Table]]:
        """Return what is kept and what is new, and what turns out bad among both."""
        kept, rejected = dict[str, pa.Table](), dict[str, pa.Table]()
        for name, stream in self.network.inputs.items():
            rows = batch[name].table
            if name in state.kept:
                rows = in_order(joined(state.kept[name], rows), stream)
            if stream.alternatives and stream.id is not None:
                # Alternatives that share an ID may come in several steps.
                rows, bad = sift(rows, declaration_of(stream))
                rejected |= {name: bad} if bad.num_rows else {}
            kept[name] = rows
        return kept, rejected

    def _still_needed(self, kept: dict[str, pa.Table], horizon: int) -> dict[str, pa.Table]:
        oldest = self._oldest_needed(kept, horizon)
        if oldest == NEVER_YET:
            return kept
        inputs = self.network.inputs
        return {name: cut(rows, inputs[name], oldest)[1] for name, rows in kept.items()}

    def _oldest_needed(self, kept: Mapping[str, pa.Table], horizon: int) -> int:
        """Return the time before which no row can matter any more."""
        network = self.network
        if horizon == ALWAYS:
            return ALWAYS
        if network.memory is not None:
            until = min(network.known_until(name, horizon) for name in network.names)
            return max(NEVER_YET, until - network.memory)
        if not network.is_flat:
            return NEVER_YET
        return min(self._oldest_counted(name, kept) for name in network.names)

    def _oldest_counted(self, name: str, kept: Mapping[str, pa.Table]) -> int:
        """Return the time before which no row can matter to a window that counts events."""
        times, chances = [], []
        for stream in self.network.queries[name].streams:
            rows = kept[stream.name.lower()]
            times.append(whole(rows.column(stream.time)))
            p = chances_of(stream, rows)
            chances.append(np.zeros(len(p)) if stream.alternatives else p)
        time, p = np.concatenate(times), np.concatenate(chances)
        order = np.argsort(time, kind="stable")
        return oldest_counted(self.network.plans[name].pattern, time[order], p[order])

    # Answers ----------------------------------------------------------------------------------

    def _found(
        self,
        kept: Mapping[str, pa.Table],
        rejected: dict[str, pa.Table],
        span: Span,
        clock: Clock,
        owners: dict[str, Identities],
    ) -> dict[str, pa.Table]:
        """Return the new answers; readings that no model takes are added to the rejected."""
        network, found = self.network, dict[str, pa.Table]()
        for names in self._runs():
            rows = {n: StreamRows(s, kept[n], NOTHING) for n, s in network.inputs.items()}
            evaluator = self._evaluator(rows, span[1], clock)
            evaluator.identities |= owners
            evaluator.spans, evaluator.window = self._spans(names, *span), self.window
            for name, table in evaluator.run_all(names).items():
                found[name] = self._newly_known(table, network.queries[name.lower()], span)
            for name, how in network.inferred.items():
                if name in evaluator.loaded and evaluator.loaded[name].rejected.num_rows:
                    rejected[how.statement.readings.lower()] = evaluator.loaded[name].rejected
        return found

    def _owners(self, batch: Rows) -> dict[str, Identities]:
        """Return what policies let be told of owners; without one, readers find it themselves."""
        network, found = self.network, dict[str, Identities]()
        guarded = {policy.stream.lower() for policy in network.policies}
        for name, log in batch.items():
            if network.catalog.owners_of(name) in guarded:
                how = identify_stage(network.catalog, network.tables, name)
                rows = batch[how.source.name.lower()].table
                last = replace(log, table=last_tellings(log.table, log.schema))
                found[name] = Identities(last, log.table, 0, how.identifier, how.seen(rows))
        return found

    def _newly_known(self, table: pa.Table, query: CheckedQuery, span: Span) -> pa.Table:
        """Return of probabilities by time those of times that are known now, and were not."""
        if self.network.graph.of(query.name).tells != "times" or span == (NEVER_YET, ALWAYS):
            return table
        name = query.name.lower()
        plan = self.network.plans.get(name)
        late = delay(plan.pattern) if plan is not None else 0
        first, until = (self.network.known_until(name, moment) - late for moment in span)
        if span[1] == ALWAYS:
            until = ALWAYS
        time = whole(table.column("ts"))
        is_new = (time >= first) & (time < until)
        if query.group_by:
            # Which groups there are beside those that may hold is known of no stream.
            is_new &= np.asarray(table.column("probability")) > 0.0
        return table.filter(pa.array(is_new))

    def _runs(self) -> list[list[str]]:
        """Return what is evaluated together: a query that others read has a span of its own."""
        network = self.network
        top = [name for name in network.names if name not in network.read_by_others]
        return [top] * bool(top) + [[name] for name in network.names if name not in top]

    def _spans(self, names: Iterable[str], reported: int, horizon: int) -> dict[str, Span]:
        if (reported, horizon) == (NEVER_YET, ALWAYS):
            return {}
        network = self.network
        spans = {name: (NEVER_YET, network.known_until(name, horizon)) for name in network.queries}
        for name in names:
            spans[name] = network.known_until(name, reported), network.known_until(name, horizon)
        return spans

    def _evaluator(self, rows: Rows, horizon: int, clock: Clock) -> Evaluator:
        network = self.network
        return Evaluator(
            network.catalog,
            network.queries,
            dict(network.tables),
            dict(rows),
            plans=dict(network.plans),
            clock=clock,
            horizon=horizon,
        )

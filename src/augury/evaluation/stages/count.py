"""The stage of RETURN COUNT: over all rows at once, or as rows come, in totals so far.

As rows come, the matches that became known are counted and forgotten. The row of a key comes again
whenever its total has grown, in the place of the one before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.checked import CheckedQuery
from augury.evaluation.answers.answers import Answers
from augury.evaluation.answers.schemas import answer_schema
from augury.evaluation.codec import ipc_bytes
from augury.evaluation.network import Network
from augury.evaluation.stages.match import MatchStage
from augury.evaluation.stages.window import Rows, WindowStage
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET, Operator
from augury.planning.graph import stage_of

SIZE_BYTES = 8


@dataclass
class CountState:
    """What finding matches remembers, and how many there were, by key."""

    finding: Any
    totals: pa.Table
    reported: int

    @property
    def is_empty(self) -> bool:
        return self.finding.is_empty and not self.totals.num_rows

    @property
    def nbytes(self) -> int:
        """How many bytes are held in memory."""
        found: int = self.finding.nbytes + self.totals.nbytes
        return found


@dataclass(frozen=True)
class CountStage:
    """Counts the matches of one query of a network."""

    network: Network
    revises: ClassVar[bool] = False

    @cached_property
    def query(self) -> CheckedQuery:
        """The query that counts."""
        return self.network.queries[self.network.names[0]]

    @cached_property
    def finding(self) -> Operator[Rows, Any, Answers]:
        """The stage that finds what is counted."""
        name, made = self.network.names[0], {"query", "confidence"}
        listing = replace(self.query, returns="MATCHES")
        made |= {key.name for key in self.query.keys}
        queries = {**self.network.queries, name: listing}
        network = replace(self.network, queries=queries, made=frozenset(made))
        if stage_of(listing, network.catalog).step == "new":
            return MatchStage(network.plans[name], network.relations)
        return WindowStage(network)

    def start(self, since: int = NEVER_YET) -> CountState:
        """Return the state before any row; what is known before `since` is not counted."""
        return CountState(self.finding.start(since), self._nothing, since)

    def advance(self, state: CountState, batch: Rows, horizon: int) -> tuple[CountState, Answers]:
        """Take new rows in; tell the totals that have grown by what is known before `horizon`."""
        if (state.reported, horizon) == (NEVER_YET, ALWAYS) and state.is_empty:
            whole = WindowStage(self.network)
            _, answers = whole.advance(whole.start(), batch, horizon)
            return replace(state, reported=horizon), answers
        finding, answers = self.finding.advance(state.finding, batch, horizon)
        totals, grown = self._added(state.totals, answers.found[self.query.name])
        if horizon == ALWAYS and not (self.query.keys or totals.num_rows):
            grown = self._zero
        found = {self.query.name: grown}
        return CountState(finding, totals, horizon), Answers(found, answers.rejected)

    def _added(self, totals: pa.Table, matches: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Return the totals with matches that are new, and those of them that have grown."""
        names = self._nothing.column_names[:-2]
        new = {name: matches.column(name) for name in names}
        new |= {"count": pa.repeat(pa.scalar(1), matches.num_rows)}
        new |= {"expected": matches.column("confidence")}
        parts = [totals, pa.table(new).cast(self._nothing.schema)]
        marked = [
            part.append_column("new", pa.repeat(pa.scalar(k), part.num_rows))
            for k, part in enumerate(parts)
        ]
        sums = [("count", "sum"), ("expected", "sum"), ("new", "max")]
        summed = pa.concat_tables(marked).group_by(names, use_threads=False).aggregate(sums)
        kept = [*names, "count_sum", "expected_sum"]
        found = summed.select(kept).rename_columns(self._nothing.column_names)
        found = found.cast(self._nothing.schema)
        return found, found.filter(pc.equal(summed.column("new_max"), 1))

    @cached_property
    def _nothing(self) -> pa.Table:
        return answer_schema(self.network.plans[self.network.names[0]]).empty_table()

    @property
    def _zero(self) -> pa.Table:
        row = {"query": self.query.name, "count": 0, "expected": 0.0}
        return pa.Table.from_pylist([row], self._nothing.schema)

    # State ------------------------------------------------------------------------------------

    def dump(self, state: CountState) -> bytes:
        """Return the totals, and what finding matches knows beside its rows."""
        own = self.finding.dump(state.finding)
        return len(own).to_bytes(SIZE_BYTES, "big") + own + ipc_bytes(state.totals)

    def restore(self, batch: Rows, reported: int, own: bytes = b"") -> CountState:
        """Return the state that remembers rows and totals, and has reported up to some time."""
        size = int.from_bytes(own[:SIZE_BYTES], "big")
        finding = self.finding.restore(batch, reported, own[SIZE_BYTES : SIZE_BYTES + size])
        totals = pa.ipc.open_stream(own[SIZE_BYTES + size :]).read_all()
        return CountState(finding, totals, reported)

    def oldest(self, state: CountState, horizon: int) -> int:
        """Return the time before which no row can matter any more."""
        return self.finding.oldest(state.finding, horizon)

    def due(self, state: CountState) -> int | None:
        """Return at which horizon a match may become known."""
        return self.finding.due(state.finding)

"""The stage of RETURN PROBABILITY in windows: a window is answered when all of its rows are there.

Each window is evaluated by itself over its own rows, and those that queries below look back to, in
one order whatever order they came in. So neither steps, shards nor restarts show in an answer, and
where worlds are sampled, they follow from the window and its rows alone.

Over rows that have an end, windows are evaluated together where nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import StreamSchema
from augury.evaluation.answers.answers import Answers, Clock
from augury.evaluation.answers.windows import EACH, windows_of
from augury.evaluation.encoding import whole
from augury.evaluation.enumeration import Span
from augury.evaluation.probability.lineage_probability import LargeWindowError, probability_schema
from augury.evaluation.stages.source import cut
from augury.evaluation.stages.window import NOTHING, Rows, WindowStage, WindowState
from augury.evaluation.stream_rows import StreamRows, event_ids
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET


@dataclass(frozen=True)
class ClosedWindowsStage(WindowStage):
    """Evaluates one query for windows over the rows of those that are not closed."""

    window: ClassVar[int | None] = EACH

    @property
    def query(self) -> CheckedQuery:
        """The query that asks of windows."""
        return self.network.queries[self.network.names[0]]

    def advance(self, state: WindowState, batch: Rows, horizon: int) -> tuple[WindowState, Answers]:
        """Take new rows in; answer the windows that have ended before `horizon`, or then."""
        span = state.reported, horizon
        if span == (NEVER_YET, ALWAYS):
            try:
                return super().advance(state, batch, horizon)
            except LargeWindowError:
                pass
        clock, (kept, rejected) = Clock(), self._joined(state, batch)
        with clock.stage(self.network.graph.of(self.query.name).name) as own:
            closed = self._spans([self._name], *span).get(self._name, span)
            none = probability_schema(self.query).empty_table()
            found = pa.concat_tables([none, *self._answers(kept, closed)])
            after = WindowState(self._still_needed(kept, horizon), horizon)
            own.state_bytes = after.nbytes
        return after, Answers({self.query.name: found}, rejected, clock.measured)

    def due(self, state: WindowState) -> int | None:
        """Return at which horizon the first window closes that holds a row."""
        if state.is_empty:
            return None
        query, known = self.query, self.network.known_until(self._name, state.reported)
        ends = [end for _, (_, end) in self._windows(query, state.kept) if end > known]
        late = state.reported - known if state.reported not in (NEVER_YET, ALWAYS) else 0
        return min(ends) + late if ends else super().due(state)

    @property
    def _name(self) -> str:
        return self.network.names[0]

    def _windows(
        self, query: CheckedQuery, kept: Mapping[str, pa.Table]
    ) -> Iterator[tuple[int, tuple[int, int]]]:
        """Yield the windows that may hold an event: matches of others end with a row."""
        inputs = self.network.inputs
        times = [whole(rows.column(inputs[name].time)) for name, rows in kept.items()]
        for start, span in windows_of(query, np.concatenate(times)):
            assert start is not None
            assert span is not None
            yield start, span

    def _answers(self, kept: Mapping[str, pa.Table], known: Span) -> Iterator[pa.Table]:
        """Yield the answer of each window that was not closed before, and is now."""
        before, until = known
        reach = self.network.memory
        for start, (low, high) in self._windows(self.query, kept):
            if before < high <= until:
                # Where a query below counts events, nothing says how far back it looks.
                first = NEVER_YET if reach is None else min(low, high - reach)
                # What a query below finds in the window may hang on rows that come after it.
                last = high + high - self.network.known_until(self._name, high)
                yield self._answer(self._inside(kept, first, last), (start, high))

    def _answer(self, rows: Rows, window: tuple[int, int]) -> pa.Table:
        start, end = window
        evaluator = self._evaluator(rows, end, Clock())
        evaluator.window = start
        answer = evaluator.table(self.query.name)
        if answer.num_rows and self.query.group_by:
            # Which groups there are beside those that may hold is known of no stream.
            answer = answer.filter(pc.greater(answer.column("probability"), 0.0))
        return answer

    def _inside(self, kept: Mapping[str, pa.Table], low: int, high: int) -> dict[str, StreamRows]:
        """Return the rows of a stretch of time, in one order, whatever order they came in."""
        found = {}
        for name, stream in self.network.inputs.items():
            _, later = cut(kept[name], stream, low)
            found[name] = StreamRows(stream, _ordered(cut(later, stream, high)[0], stream), NOTHING)
        return found


def _ordered(rows: pa.Table, stream: StreamSchema) -> pa.Table:
    """Return rows by time, those of one time by what tells them apart."""
    own = StreamRows(stream, rows, NOTHING)
    keys = {"time": rows.column(stream.time), "id": event_ids(own).cast(pa.string())}
    keys |= {f"a{k}": rows.column(name) for k, name in enumerate(stream.alternatives)}
    if stream.probability is not None:
        keys["p"] = rows.column(stream.probability)
    order = pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending") for name in keys])
    return rows.take(order)

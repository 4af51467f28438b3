"""The source stage: rows of one declared stream in, checked rows out, in the order of time.

Rows ahead of the horizon wait. What is wrong with a row is said by `sources.rows`; that its ID was
seen before is known as long as the rows with that ID may matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.catalog import StreamSchema
from augury.evaluation.answers.match_answers import text_hashes
from augury.evaluation.encoding import declaration_of, whole
from augury.evaluation.stream_rows import StreamRows, with_event_ids
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET
from augury.records import Flags, Words
from augury.sources.rows import REASON, sift


class SeenIds:
    """Ids of earlier rows as words, in sorted runs, each with the latest time of its rows."""

    def __init__(self) -> None:
        self.runs: list[tuple[Words, int]] = []

    def repeats(self, words: Words) -> Flags:
        """Return which ids were seen in an earlier step."""
        again = np.zeros(len(words), np.bool_)
        for run, _ in self.runs:
            # Ids mostly grow, and then no run has to be searched.
            if len(words) and words.min() <= run[-1] and words.max() >= run[0]:
                at = np.minimum(np.searchsorted(run, words), len(run) - 1)
                again |= run[at] == words
        return again

    def add(self, words: Words, latest: int) -> None:
        """Remember ids, of which the latest row is of time `latest`."""
        if not len(words):
            return
        self.runs.append((np.sort(words), latest))
        while len(self.runs) > 1 and len(self.runs[-1][0]) >= len(self.runs[-2][0]):
            (one, before), (other, after) = self.runs[-2:]
            self.runs[-2:] = [(np.sort(np.concatenate([one, other])), max(before, after))]

    def drop_before(self, time: int) -> None:
        """Forget ids whose rows are all before a time."""
        self.runs = [run for run in self.runs if run[1] >= time]


@dataclass
class SourceState:
    """Rows that wait, and the ids of those that had their turn."""

    waiting: pa.Table
    seen: SeenIds


@dataclass(frozen=True)
class SourceStage:
    """Checks the rows of one stream; `schema` has the columns that they come with."""

    stream: StreamSchema
    schema: pa.Schema

    def start(self) -> SourceState:
        """Return the state before any row."""
        return SourceState(self.schema.empty_table(), SeenIds())

    def advance(
        self, state: SourceState, batch: pa.Table | None, horizon: int
    ) -> tuple[SourceState, StreamRows]:
        """Take rows in; return those before the horizon that are good, and those that are not.

        The state that is given is used up.
        """
        # Apart: mostly all that waited is ready now, and nothing of what came is.
        old = cut(state.waiting, self.stream, horizon)
        new = cut(self.schema.empty_table() if batch is None else batch, self.stream, horizon)
        state.waiting = joined(old[1], new[1])
        return state, self._checked(state, in_order(joined(old[0], new[0]), self.stream), horizon)

    def _checked(self, state: SourceState, rows: pa.Table, horizon: int) -> StreamRows:
        good, bad = sift(rows, declaration_of(self.stream))
        if self._has_ids and good.num_rows:
            words = _words(good.column(self.stream.id))
            again = state.seen.repeats(words)
            if again.any():
                reason = [f"{self.stream.id} was seen before"] * int(again.sum())
                repeated = good.filter(pa.array(again)).append_column(REASON, pa.array(reason))
                bad = pa.concat_tables([bad, repeated])
                good, words = good.filter(pa.array(~again)), words[~again]
            if horizon != ALWAYS and good.num_rows:
                state.seen.add(words, int(whole(good.column(self.stream.time))[-1]))
        return StreamRows(self.stream, with_event_ids(self.stream, good), bad)

    @property
    def _has_ids(self) -> bool:
        return self.stream.id is not None and not self.stream.alternatives

    def due(self, state: SourceState) -> int | None:
        """Return at which horizon the next row has its turn; None where none waits."""
        times = whole(state.waiting.column(self.stream.time))
        return int(times.min()) + 1 if len(times) else None

    def restore(self, rows: pa.Table, horizon: int) -> tuple[SourceState, StreamRows]:
        """Return the state after good rows, some of which had their turn, and those that had it."""
        before, waiting = cut(rows, self.stream, horizon)
        before, state = in_order(before, self.stream), self.start()
        state.waiting = waiting
        if self._has_ids and before.num_rows:
            words = _words(before.column(self.stream.id))
            state.seen.add(words, int(whole(before.column(self.stream.time))[-1]))
        good = with_event_ids(self.stream, before)
        return state, StreamRows(self.stream, good, before.slice(0, 0))


def _words(ids: Any) -> Words:
    """Return ids as words: whole numbers as they are, others by a hash."""
    if pa.types.is_integer(ids.type):
        return np.asarray(ids, np.int64)
    text = ids if pa.types.is_string(ids.type) else ids.cast(pa.string())
    return text_hashes(text, 1).view(np.int64)


def cut(rows: pa.Table, stream: StreamSchema, horizon: int) -> tuple[pa.Table, pa.Table]:
    """Return the rows before a time and those from it on; without a copy if they are in order."""
    if horizon == ALWAYS:
        return rows, rows.slice(0, 0)
    if horizon == NEVER_YET:
        return rows.slice(0, 0), rows
    before = whole(rows.column(stream.time)) < horizon
    count = int(before.sum())
    if before[:count].all():
        return rows.slice(0, count), rows.slice(count)
    return rows.filter(pa.array(before)), rows.filter(pa.array(~before))


def joined(first: pa.Table, second: pa.Table) -> pa.Table:
    """Return the rows of both."""
    if not second.num_rows:
        return first
    return pa.concat_tables([first, second]) if first.num_rows else second


def in_order(rows: pa.Table, stream: StreamSchema) -> pa.Table:
    """Return the rows by time, so that neither batches nor shards show in what follows."""
    time = whole(rows.column(stream.time))
    if (time[1:] >= time[:-1]).all():
        return rows
    return rows.take(pa.array(np.argsort(time, kind="stable")))

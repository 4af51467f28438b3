"""One shard of a network: rows of its streams in, answers out, as far as the watermark allows.

The shard obeys `augury.operator`. Its state is the rows themselves: those ahead of the watermark,
which wait, and those behind it that a later match may still need. Each step evaluates the rows with
the local runner, and reports what became known since the last step. So Spark's answers are those of
the local runner by construction, and stored state depends on nothing but the declared columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from augury.analysis.declarations.catalog import StreamSchema
from augury.errors import StateError
from augury.evaluation.encoding import chances_of, declaration_of, whole
from augury.evaluation.enumeration import Span
from augury.evaluation.evaluator import Evaluator
from augury.evaluation.network import Network
from augury.evaluation.stream_rows import EVENT_ID, StreamRows
from augury.matching.codec import Format, fingerprint, ipc_bytes
from augury.matching.matcher import ALWAYS
from augury.matching.retention import oldest_counted
from augury.operator import NEVER_YET
from augury.sources.rows import ARROW_TYPES, sift

FORMAT = Format(b"AUGURYSH", 1)
# Rows of fewer windows than that are not worth steps.
FEW_WINDOWS = 4
Tables = Mapping[str, pa.Table]


@dataclass(frozen=True, slots=True)
class ShardState:
    """Rows by stream: `kept` are behind the horizon and were checked, `waiting` are ahead of it."""

    kept: Tables
    waiting: Tables
    horizon: int = NEVER_YET

    @property
    def is_empty(self) -> bool:
        return not any(table.num_rows for table in (*self.kept.values(), *self.waiting.values()))


@dataclass(frozen=True, slots=True)
class Answers:
    """New rows of each query, and by stream the rows that were put aside, with their reason."""

    found: Tables
    rejected: Tables


@dataclass(frozen=True)
class Shard:
    """Evaluates a network over the rows of one shard."""

    network: Network

    @cached_property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each stream's rows as they travel."""
        return {name: travelling(self.network, each) for name, each in self.network.bases.items()}

    def start(self, like: Tables | None = None) -> ShardState:
        """Return the state before any row."""
        empty = {name: schema.empty_table() for name, schema in self.schemas.items()}
        return ShardState(empty, empty)

    def advance(self, state: ShardState, batch: Tables, horizon: int) -> tuple[ShardState, Answers]:
        """Take rows in; report what is known once all rows before `horizon` are there."""
        fresh, waiting = self._released(state, batch, horizon)
        if horizon <= state.horizon:
            return replace(state, waiting=waiting), Answers({}, {})
        kept, rejected = self._checked(state, fresh)
        found = self._found(kept, rejected, (state.horizon, horizon))
        after = ShardState(self._still_needed(kept, horizon), waiting, horizon)
        return after, Answers(found, rejected)

    def finish(self, state: ShardState) -> tuple[ShardState, Answers]:
        """Report what remains: the streams have ended."""
        return self.advance(state, {}, ALWAYS)

    # Rows -------------------------------------------------------------------------------------

    def _released(self, state: ShardState, batch: Tables, horizon: int) -> tuple[Tables, Tables]:
        """Return the rows whose turn has come, and those that wait."""
        fresh, waiting = {}, {}
        for name, stream in self.network.bases.items():
            # Apart: mostly all that waited is ready now, and nothing of what came is.
            old = _cut(state.waiting[name], stream, horizon)
            new = _cut(batch.get(name, state.waiting[name].slice(0, 0)), stream, horizon)
            fresh[name], waiting[name] = _joined(old[0], new[0]), _joined(old[1], new[1])
        return fresh, waiting

    def due(self, state: ShardState) -> int | None:
        """Return when the next row gets its turn, or else the oldest one can be forgotten."""
        network, found = self.network, []
        for name, stream in network.bases.items():
            times = whole(state.waiting[name].column(stream.time))
            if len(times):
                found.append(int(times.min()) + 1)
            elif state.kept[name].num_rows and network.memory is not None:
                oldest = int(whole(state.kept[name].column(stream.time)).min())
                found.append(oldest + network.memory + 1)
        return min(found, default=NEVER_YET)

    def _checked(self, state: ShardState, fresh: Tables) -> tuple[Tables, dict[str, pa.Table]]:
        """Return all rows behind the horizon that are good, and those that turned out bad."""
        good, bad = {}, {}
        for name, stream in self.network.bases.items():
            rows = _in_order(_joined(state.kept[name], fresh[name]), stream)
            good[name], rejected = sift(rows, declaration_of(stream))
            if rejected.num_rows:
                bad[name] = rejected
        return good, bad

    def _still_needed(self, kept: Tables, horizon: int) -> Tables:
        oldest = self._oldest_needed(kept, horizon)
        if oldest == NEVER_YET:
            return kept
        found = {}
        for name, stream in self.network.bases.items():
            _, found[name] = _cut(kept[name], stream, oldest)
        return found

    def _oldest_needed(self, kept: Tables, horizon: int) -> int:
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

    def _oldest_counted(self, name: str, kept: Tables) -> int:
        """Return the same for a window of events, which is bounded by counting."""
        streams = self.network.queries[name].streams
        times, chances = [], []
        for stream in streams:
            rows = kept[stream.name.lower()]
            times.append(whole(rows.column(stream.time)))
            p = chances_of(stream, rows)
            chances.append(np.zeros(len(p)) if stream.alternatives else p)
        time, p = np.concatenate(times), np.concatenate(chances)
        order = np.argsort(time, kind="stable")
        return oldest_counted(self.network.plans[name].pattern, time[order], p[order])

    # Answers ----------------------------------------------------------------------------------

    def _found(self, kept: Tables, rejected: dict[str, pa.Table], span: tuple[int, int]) -> Tables:
        """Return the new answers; readings that no model takes are added to the rejected."""
        network, (reported, horizon) = self.network, span
        found: dict[str, pa.Table] = {}
        for names in self._runs():
            runner = self._runner(kept, self._spans(names, reported, horizon))
            answers = runner.run_all(names)
            found |= {
                network.queries[name].name: answers[network.queries[name].name] for name in names
            }
            for name, how in network.inferred.items():
                if name in runner.loaded:
                    _put_aside(rejected, how.statement.readings.lower(), runner.loaded[name])
        return found

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

    def _runner(self, kept: Tables, spans: Mapping[str, Span]) -> Evaluator:
        network = self.network
        nothing = pa.table({})
        return Evaluator(
            network.catalog,
            network.queries,
            dict(network.tables),
            {name: StreamRows(each, kept[name], nothing) for name, each in network.bases.items()},
            spans=spans,
            plans=dict(network.plans),
        )

    # Bytes ------------------------------------------------------------------------------------

    def dump(self, state: ShardState) -> bytes:
        """Return the state as versioned bytes."""
        # In one piece: every chunk would bring a header, and small micro-batches make many.
        parts = [
            ipc_bytes(tables[name].combine_chunks())
            for tables in (state.kept, state.waiting)
            for name in sorted(tables)
        ]
        about = {"horizon": state.horizon, "parts": [len(part) for part in parts]}
        head = json.dumps(about).encode()
        return FORMAT.seal(len(head).to_bytes(4, "little") + head + b"".join(parts), self._mark)

    def load(self, data: bytes) -> ShardState:
        """Return the state that `dump` wrote for the same queries over the same declarations."""
        _, body = FORMAT.unseal(data, f"queries {', '.join(self.network.names)}", self._mark)
        size = int.from_bytes(body[:4], "little")
        about = json.loads(body[4 : 4 + size])
        tables, at = [], 4 + size
        for length in about["parts"]:
            tables.append(pa.ipc.open_stream(body[at : at + length]).read_all())
            at += length
        names = sorted(self.network.bases)
        if len(tables) != 2 * len(names):
            raise StateError("the stored state holds other streams than the queries read")
        kept, waiting = tables[: len(names)], tables[len(names) :]
        return ShardState(
            dict(zip(names, kept, strict=True)),
            dict(zip(names, waiting, strict=True)),
            about["horizon"],
        )

    @cached_property
    def _mark(self) -> bytes:
        """Return what tells this state from that of other queries: texts and columns."""
        columns = [(name, str(schema)) for name, schema in sorted(self.schemas.items())]
        return fingerprint(self.network.identity, columns)


def steps_of(network: Network, step: int, first: int | None, last: int | None) -> int:
    """Return how many rows to evaluate at once, of rows of some span of time.

    What a step keeps for the next is evaluated again with it; where that would be most of the rows
    there are, all of them are taken at once.
    """
    if network.memory is None or not network.goes_by_time or first is None or last is None:
        return ALWAYS
    return step if network.memory < (last - first) // FEW_WINDOWS else ALWAYS


def travelling(network: Network, stream: StreamSchema) -> pa.Schema:
    """Return the columns of a stream that its rows take along; a row without ID brings a hash."""
    kinds = {column.name: ARROW_TYPES[column.type.value] for column in stream.columns}
    fields = [(name, kinds[name]) for name in network.columns(stream)]
    if stream.id is None:
        fields.append((EVENT_ID, pa.string()))
    return pa.schema(fields)


def _put_aside(rejected: dict[str, pa.Table], readings: str, inferred: StreamRows) -> None:
    """Add what inference could not take; several streams may be inferred from the same rows."""
    if not inferred.rejected.num_rows:
        return
    known = rejected.get(readings)
    if known is None:
        rejected[readings] = inferred.rejected
        return
    told = {tuple(row.values()) for row in known.to_pylist()}
    rows = inferred.rejected.select(known.column_names).to_pylist()
    more = [row for row in rows if tuple(row.values()) not in told]
    rejected[readings] = pa.concat_tables([known, pa.Table.from_pylist(more, known.schema)])


def _cut(rows: pa.Table, stream: StreamSchema, horizon: int) -> tuple[pa.Table, pa.Table]:
    """Return the rows before a time and those from it on; without a copy if they are in order."""
    if horizon == ALWAYS:
        return rows, rows.slice(0, 0)
    before = whole(rows.column(stream.time)) < horizon
    count = int(before.sum())
    if before[:count].all():
        return rows.slice(0, count), rows.slice(count)
    return rows.filter(pa.array(before)), rows.filter(pa.array(~before))


def _joined(first: pa.Table, second: pa.Table) -> pa.Table:
    if not second.num_rows:
        return first
    return pa.concat_tables([first, second]) if first.num_rows else second


def _in_order(rows: pa.Table, stream: StreamSchema) -> pa.Table:
    """Return the rows by time, so that neither batches nor shards show in what follows."""
    time = whole(rows.column(stream.time))
    if (time[1:] >= time[:-1]).all():
        return rows
    return rows.take(pa.array(np.argsort(time, kind="stable")))

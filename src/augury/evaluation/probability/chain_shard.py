"""A shard that carries probabilities: rows in, rows of RETURN PROBABILITY BY TIME out.

It obeys `augury.operator`, as the executor does, but keeps no rows that have had their turn: only
the distribution of each chain, the last belief of each inferred key, and where each Markovian
object stands. So state per key is constant, however long the stream is.

A repeated ID is noticed among rows of one turn; what was before is not remembered.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.analysis.declarations.catalog import StreamSchema
from augury.errors import DataError
from augury.evaluation.answers.answers import Answers
from augury.evaluation.codec import Format, fingerprint, ipc_bytes, plain, value_of
from augury.evaluation.encoding import declaration_of, keys_of, whole
from augury.evaluation.inferring import Inferring, Steps
from augury.evaluation.network import Network
from augury.evaluation.probability.beliefs import KeyedBeliefs, Numbers, keyed_beliefs
from augury.evaluation.probability.chains import HORIZON, chains_by_group, known_rows, operator_of
from augury.evaluation.probability.lineage_probability import answer_table
from augury.evaluation.probability.markov_objects import MarkovObject, ObjectState, markov_objects
from augury.evaluation.probability.quiet_steps import with_quiet_steps
from augury.evaluation.row_blocks import Stored
from augury.evaluation.stream_rows import StreamRows
from augury.evaluation.travelling import Tables, travelling
from augury.inference.crowds import Crowds
from augury.inference.following import Followed
from augury.matching.marginal import (
    BEGINNING,
    MOST_STATES,
    Marginaliser,
    MarginalState,
    TooManyNumbersError,
)
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET
from augury.planning.chain_plan import ChainPlan
from augury.records import Words
from augury.sources.rows import REASON, sift

FORMAT = Format(b"AUGURYCH", 1)
Key = tuple[Any, ...]


@dataclass(frozen=True)
class QueryState:
    """How far the chains of one query have come; nothing yet where `marginal` is None."""

    chains: tuple[Any, ...] = ()
    values: tuple[Any, ...] = ()
    marginal: MarginalState | None = None


@dataclass(frozen=True)
class ChainState:
    """What is carried: rows that wait, chains by query, and beliefs and stands by stream.

    `kept` are the tables of Markovian objects that lead on from their last step.
    """

    waiting: Tables
    kept: Tables
    horizon: int = NEVER_YET
    queries: Mapping[str, QueryState] = field(default_factory=dict)
    followed: Mapping[str, Followed | Crowds] = field(default_factory=dict)
    stands: Mapping[str, Mapping[Key, ObjectState]] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """About how many bytes are held in memory."""
        tables = sum(rows.nbytes for rows in (*self.waiting.values(), *self.kept.values()))
        states = (each.marginal for each in self.queries.values() if each.marginal is not None)
        return int(tables + sum(each.mass.nbytes for each in states))

    @property
    def is_empty(self) -> bool:
        chains = any(each.chains for each in self.queries.values())
        keys = any(each.keys for each in self.followed.values())
        rows = any(table.num_rows for table in (*self.waiting.values(), *self.kept.values()))
        return not (chains or keys or rows or any(self.stands.values()))


@dataclass(frozen=True)
class ChainShard:
    """Evaluates the chains of a network over the rows of one shard."""

    network: Network

    @cached_property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each stream's rows as they travel."""
        return {name: travelling(self.network, each) for name, each in self.network.bases.items()}

    def start(self, like: Tables | None = None) -> ChainState:
        """Return the state before any row."""
        empty = {name: schema.empty_table() for name, schema in self.schemas.items()}
        return ChainState(empty, empty)

    def advance(self, state: ChainState, batch: Tables, horizon: int) -> tuple[ChainState, Answers]:
        """Take rows in; report what is known once all rows before `horizon` are there."""
        fresh, waiting = self._released(state, batch, horizon)
        state = replace(state, waiting=waiting)
        if horizon <= state.horizon:
            return state, Answers({}, {})
        turn = _Turn(self, replace(state, horizon=horizon), fresh, {})
        found = {self.network.queries[name].name: turn.answer(name) for name in self.network.names}
        aside = {name: rows for name, rows in turn.aside.items() if rows.num_rows}
        return turn.after(), Answers(found, aside, tied=self.network.tied(turn.loaded.values()))

    def finish(self, state: ChainState) -> tuple[ChainState, Answers]:
        """Report what remains: the streams have ended."""
        return self.advance(state, {}, ALWAYS)

    def due(self, state: ChainState) -> int | None:
        """Return when the next row gets its turn, if one waits."""
        if self.network.waits and any(rows.num_rows for rows in state.kept.values()):
            return NEVER_YET
        times = [
            int(whole(rows.column(self.network.bases[name].time)).min())
            for name, rows in state.waiting.items()
            if rows.num_rows
        ]
        return min(times) + 1 if times else None

    def _released(self, state: ChainState, batch: Tables, horizon: int) -> tuple[Tables, Tables]:
        """Return the rows whose turn has come, and those that wait."""
        fresh, waiting = {}, {}
        for name, stream in self.network.bases.items():
            rows = _joined(state.waiting[name], batch.get(name))
            # A step of readings has its turn when it is complete.
            step = self.steps.get(name, 1)
            until = horizon if horizon in (ALWAYS, NEVER_YET) else horizon // step * step
            ready = pa.array(whole(rows.column(stream.time)) < until)
            fresh[name], waiting[name] = rows.filter(ready), rows.filter(pc.invert(ready))
        return fresh, waiting

    # What is carried by ---------------------------------------------------------------------------

    @cached_property
    def inferring(self) -> dict[str, Steps]:
        """How each inferred stream follows its readings."""
        network = self.network
        stage = Inferring(network.catalog, self._no_rows, self._relation)
        return {name: stage.following(name) for name in network.inferred}

    def _relation(self, name: str) -> pa.Table:
        return self.network.tables[name.lower()]

    def _no_rows(self, name: str) -> StreamRows:
        schema = self.network.bases[name.lower()]
        empty = self.schemas[name.lower()].empty_table()
        return StreamRows(schema, empty, empty)

    @cached_property
    def steps(self) -> dict[str, int]:
        """The length of a step of each stream of readings."""
        found: dict[str, int] = {}
        for each in self.inferring.values():
            name = each.readings.name.lower()
            found[name] = int(np.lcm(found.get(name, 1), each.follower.step))
        return found

    @cached_property
    def operators(self) -> dict[str, Marginaliser]:
        """The operator of each query's chains, which keeps what it has found of its automaton."""
        return {
            name: operator_of(plan, plan.query.streams[0].markov is not None)
            for name, plan in self.network.chains.items()
        }

    # Bytes ------------------------------------------------------------------------------------

    def dump(self, state: ChainState) -> bytes:
        """Return the state as versioned bytes."""
        parts: list[bytes] = []
        about = {
            "horizon": state.horizon,
            "rows": [
                _part(parts, ipc_bytes(tables[name]))
                for tables in (state.waiting, state.kept)
                for name in sorted(tables)
            ],
            "queries": {n: self._plain(n, each, parts) for n, each in state.queries.items()},
            "followed": {
                name: [[plain(key) for key in each.keys], _part(parts, each.dump())]
                for name, each in state.followed.items()
            },
            "stands": {
                name: [[plain(key), *_plain_stand(stand)] for key, stand in each.items()]
                for name, each in state.stands.items()
            },
        }
        about["parts"] = [len(part) for part in parts]
        head = json.dumps(about).encode()
        return FORMAT.seal(len(head).to_bytes(8, "little") + head + b"".join(parts), self._mark)

    def _plain(self, name: str, each: QueryState, parts: list[bytes]) -> list[Any]:
        marginal = None
        if each.marginal is not None:
            marginal = self.operators[name].dump(each.marginal)
        place = None if marginal is None else _part(parts, marginal)
        return [[plain(key) for key in each.chains], [plain(v) for v in each.values], place]

    def whole(self, state: ChainState) -> Stored:
        """Return all of the state, which is what is stored of it."""
        return self.stored(state)

    def stored(self, state: ChainState) -> Stored:
        """Return the state as it is stored; it is constant, so all of it is the head."""
        return Stored(self.dump(state))

    def load(self, data: bytes, blocks: Mapping[int, bytes] | None = None) -> ChainState:
        """Return the state that `dump` wrote for the same queries over the same declarations."""
        _, body = FORMAT.unseal(data, f"queries {', '.join(self.network.names)}", self._mark)
        size = int.from_bytes(body[:8], "little")
        about = json.loads(body[8 : 8 + size])
        parts, at = [], 8 + size
        for length in about["parts"]:
            parts.append(body[at : at + length])
            at += length
        tables = [pa.ipc.open_stream(parts[k]).read_all() for k in about["rows"]]
        names = sorted(self.network.bases)
        return ChainState(
            dict(zip(names, tables[: len(names)], strict=True)),
            dict(zip(names, tables[len(names) :], strict=True)),
            about["horizon"],
            {name: self._query_state(name, each, parts) for name, each in about["queries"].items()},
            {
                name: self.inferring[name].follower.load(
                    tuple(value_of(key) for key in keys), parts[k]
                )
                for name, (keys, k) in about["followed"].items()
            },
            {
                name: {value_of(key): _stand(*rest) for key, *rest in each}
                for name, each in about["stands"].items()
            },
        )

    def _query_state(self, name: str, written: list[Any], parts: list[bytes]) -> QueryState:
        chains, values, k = written
        marginal = None
        if k is not None:
            marginal = self.operators[name].load(parts[k])
        return QueryState(
            tuple(value_of(key) for key in chains), tuple(value_of(v) for v in values), marginal
        )

    @cached_property
    def _mark(self) -> bytes:
        """Return what tells this state from that of other queries: texts and columns."""
        columns = [(name, str(schema)) for name, schema in sorted(self.schemas.items())]
        return fingerprint(self.network.identity, columns)


@dataclass
class _Turn:
    """One step of a shard: the rows whose turn has come, and what has been made of them."""

    shard: ChainShard
    state: ChainState
    fresh: Tables
    aside: dict[str, pa.Table]
    loaded: dict[str, StreamRows] = field(default_factory=dict)
    objects: dict[str, list[MarkovObject]] = field(default_factory=dict)
    queries: dict[str, QueryState] = field(default_factory=dict)
    followed: dict[str, Followed | Crowds] = field(default_factory=dict)
    stands: dict[str, dict[Key, ObjectState]] = field(default_factory=dict)
    kept: dict[str, pa.Table] = field(default_factory=dict)

    def answer(self, name: str) -> pa.Table:
        """Return the new rows of one query."""
        plan = self.shard.network.chains[name]
        sources = [self._stream(stream) for stream in plan.query.streams]
        objects = {
            s.schema.name.lower(): self.objects[s.schema.name.lower()]
            for s in sources
            if s.schema.name.lower() in self.objects
        }
        before = self.state.queries.get(name, QueryState())
        numbers = _numbers(before)
        rows = keyed_beliefs(plan, sources, objects, self.shard.network.relations, numbers)
        if rows is None:
            raise DataError(
                f"query {plan.query.name}: alternatives of one event differ in time or chain, "
                "which a streaming run cannot carry; ask for it over bounded rows"
            )
        times = np.concatenate([_times(source) for source in sources])
        return self._carry(name, plan, rows, (before, numbers, times))

    def _carry(
        self, name: str, plan: ChainPlan, rows: KeyedBeliefs, by: tuple[QueryState, Numbers, Words]
    ) -> pa.Table:
        before, numbers, times = by
        operator = self.shard.operators[name]
        state = before.marginal or operator.start(rows.beliefs)
        if not len(rows.beliefs):
            self.queries[name] = before
            return answer_table(plan.query, ())
        if plan.over is not None:
            groups = chains_by_group(plan, rows, times)
            rows = with_quiet_steps(rows, plan.over.length, groups, state.last)
        try:
            after, found = operator.advance(state, rows.beliefs, HORIZON)
        except TooManyNumbersError as problem:
            shorter = "" if plan.over is None else " or its OVER"
            raise DataError(
                f"query {plan.query.name} has more states than the {MOST_STATES} that a chain can "
                f"hold; shorten it{shorter}"
            ) from problem
        self.queries[name] = _query_state(operator, numbers, after, self._reached(plan))
        answers = known_rows(plan, rows, found, times)
        if plan.over is not None and plan.groups:
            # That an object was nowhere between its rows is told when they go on: too late.
            reportable = self._reportable(plan)
            answers = (row for row in answers if row[:2] in reportable)
        return answer_table(plan.query, answers)

    def _reportable(self, plan: ChainPlan) -> set[tuple[Any, int]]:
        """Return the groups and times that have rows."""
        found: set[tuple[Any, int]] = set()
        for source in (self._stream(stream) for stream in plan.query.streams):
            columns = (keys_of(source.table.column(name)) for _, name in plan.groups)
            found |= set(zip(zip(*columns, strict=True), _times(source).tolist(), strict=True))
        return found

    def _reached(self, plan: ChainPlan) -> int:
        """Return before which time no more steps of any chain come; an inferred key may be late."""
        inferred = (s.name.lower() in self.shard.network.inferred for s in plan.query.streams)
        return NEVER_YET if any(inferred) else self.state.horizon

    # Streams ----------------------------------------------------------------------------------

    def _stream(self, stream: StreamSchema) -> StreamRows:
        name = stream.name.lower()
        if name not in self.loaded:
            if name in self.shard.network.inferred:
                self.loaded[name] = self._inferred(name)
            else:
                self.loaded[name] = self._base(name)
                if stream.markov is not None:
                    self.objects[name] = self._objects(self.loaded[name], stream.markov.lower())
        return self.loaded[name]

    def _base(self, name: str) -> StreamRows:
        """Return the good rows of a declared stream; the bad ones are put aside, once."""
        if name not in self.loaded:
            schema = self.shard.network.bases[name]
            good, bad = sift(self.fresh[name], declaration_of(schema))
            self.loaded[name] = StreamRows(schema, good, bad)
            self._put_aside(name, bad)
        return self.loaded[name]

    def _put_aside(self, name: str, bad: pa.Table) -> None:
        known = self.aside.get(name)
        self.aside[name] = bad if known is None else pa.concat_tables([known, bad])

    def _inferred(self, name: str) -> StreamRows:
        steps = self.shard.inferring[name]
        readings = steps.readings.name.lower()
        source = self._base(readings)
        before = self.state.followed.get(name) or steps.follower.start()
        ends = self.state.horizon == ALWAYS
        self.followed[name], known = steps.advance(before, source, ends=ends)
        if known.objects is not None:
            self.objects[name] = known.objects
        rows = sorted(known.rejected)
        bad = source.table.take(pa.array(rows, pa.int64()))
        texts = pa.array([known.rejected[row] for row in rows], pa.string())
        self._put_aside(readings, bad.append_column(REASON, texts))
        return known.rows

    def _objects(self, source: StreamRows, moves: str) -> list[MarkovObject]:
        fresh, name = self._base(moves), source.schema.name.lower()
        rows = _joined(self.state.kept[moves], fresh.table)
        stands = self.state.stands.get(name, {})
        tables = StreamRows(fresh.schema, rows, fresh.rejected)
        found = markov_objects(source, tables, stands, horizon=self.state.horizon)
        fresh_stands = {each.key: each.stand for each in found if each.stand is not None}
        self.stands[name] = {**stands, **fresh_stands}
        self.kept[moves] = _leading_on(rows, fresh.schema, source.schema.key, self.stands[name])
        return found

    def after(self) -> ChainState:
        """Return the state after the step."""
        empty = {name: table.slice(0, 0) for name, table in self.fresh.items()}
        return replace(
            self.state,
            kept={**empty, **self.kept},
            queries=self.queries,
            followed=self.followed,
            stands=self.stands,
        )


def _numbers(before: QueryState) -> Numbers:
    numbers = Numbers()
    for key in before.chains:
        numbers.chains.code(key)
    for value in before.values:
        numbers.values.setdefault(value, len(numbers.values))
    return numbers


def _query_state(
    operator: Marginaliser, numbers: Numbers, state: MarginalState, horizon: int
) -> QueryState:
    """Return what later rows can need: not the chains that are as if they had not begun."""
    chains, values = tuple(numbers.chains.known), tuple(numbers.values)
    if operator.is_markovian:
        return QueryState(chains, values, state)
    alone = [isinstance(key, tuple) and None in key for key in chains]
    begun = operator.is_waiting(state) | operator.is_counting(state, horizon)
    kept = np.flatnonzero(begun & ~np.array(alone, np.bool_))
    n = len(kept)
    state = replace(
        state,
        first=np.arange(n + 1),
        value=np.full(n, BEGINNING, np.int64),
        mass=state.mass[kept],
        last=state.last[kept],
    )
    return QueryState(tuple(chains[k] for k in kept.tolist()), values, state)


def _times(source: StreamRows) -> Words:
    return whole(source.table.column(source.schema.time))


def _leading_on(
    rows: pa.Table, schema: StreamSchema, key: tuple[str, ...], stands: Mapping[Key, ObjectState]
) -> pa.Table:
    """Return the tables that lead on from where their object stands, or from later."""
    columns = [keys_of(rows.column(name)) for name in key]
    keys = zip(*columns, strict=True) if columns else iter([()] * rows.num_rows)
    times = whole(rows.column(schema.time)).tolist()
    needed = [
        own not in stands or time >= stands[own].time for own, time in zip(keys, times, strict=True)
    ]
    return rows.filter(pa.array(needed, pa.bool_()))


def _joined(first: pa.Table, second: pa.Table | None) -> pa.Table:
    if second is None or not second.num_rows:
        return first
    return pa.concat_tables([first, second]) if first.num_rows else second


# Bytes --------------------------------------------------------------------------------------------


def _part(parts: list[bytes], data: bytes) -> int:
    parts.append(data)
    return len(parts) - 1


def _plain_stand(stand: ObjectState) -> list[Any]:
    return [stand.time, [plain(v) for v in stand.values], stand.marginal.tolist()]


def _stand(time: int, values: list[Any], marginal: list[float]) -> ObjectState:
    return ObjectState(time, tuple(value_of(v) for v in values), np.array(marginal))

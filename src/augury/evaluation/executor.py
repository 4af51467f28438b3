"""The executor: it runs a graph of stages, over all rows at once or step by step.

Rows of the base streams go in with a horizon, answers come out. Who calls it is the runners'
business: whole tables in one step, stretches of time, a shard's rows in a task of Spark, a stream
with stored state. What it remembers is stored as rows, in the columns that were declared, so stored
state depends on no more than these; what stages make of them is made again when it is loaded. What
a stage knows beside that, it dumps itself.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode, b85decode
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from augury.evaluation.acting.worlds import Worlds
from augury.evaluation.answers.answers import Answers, Clock, Measured
from augury.evaluation.answers.asked_rows import acted_rows
from augury.evaluation.asked import ACTED
from augury.evaluation.codec import Format, fingerprint
from augury.evaluation.evaluator import Evaluator
from augury.evaluation.made_streams import stream_stages
from augury.evaluation.memory_guard import memory_errors_named
from augury.evaluation.network import Network
from augury.evaluation.probability.chain_shard import ChainShard
from augury.evaluation.row_blocks import Kind, RowBlocks, Stored
from augury.evaluation.stages.act import Acted, ActState
from augury.evaluation.stages.beside import BesideStage, BesideState
from augury.evaluation.stages.chain import ChainStage
from augury.evaluation.stages.closed_windows import ClosedWindowsStage
from augury.evaluation.stages.count import CountStage
from augury.evaluation.stages.forecasting import forecast_stages
from augury.evaluation.stages.made import StreamStage
from augury.evaluation.stages.match import MatchStage
from augury.evaluation.stages.owner_match import OwnerMatchStage
from augury.evaluation.stages.source import SourceStage, SourceState
from augury.evaluation.stages.window import WindowStage
from augury.evaluation.stream_rows import StreamRows, with_event_ids
from augury.evaluation.travelling import Tables, travelling
from augury.matching.matcher import ALWAYS
from augury.operator import NEVER_YET, Operator
from augury.planning.base_streams import below
from augury.planning.evaluated import reads_owners

FORMAT = Format(b"AUGURYHD", 2)
# Rows of fewer windows than that are not worth steps.
FEW_WINDOWS = 4
# A stage that answers queries: new rows of streams in, answers out.
QueryStage = Operator[Mapping[str, StreamRows], Any, Answers]


@dataclass
class ExecutorState:
    """What every stage remembers, by its name, and up to when all rows were there.

    `blocks` are the rows that it is made of, where it will be stored. `made` is what those know
    that make streams of others: what they learned or decided is never forgotten as a whole. Nor
    is what rules have done, `acted`.
    """

    sources: dict[str, SourceState]
    stages: dict[str, Any]
    horizon: int = NEVER_YET
    blocks: RowBlocks | None = None
    made: dict[str, Any] = field(default_factory=dict)
    acted: ActState | None = None
    beside: BesideState = field(default_factory=BesideState)

    @property
    def is_empty(self) -> bool:
        waiting = any(each.waiting.num_rows for each in self.sources.values())
        found = all(each.is_empty for each in self.stages.values())
        return not (waiting or self.made) and self.acted is None and found and self.beside.is_empty


@dataclass(frozen=True)
class Executor:
    """Runs the graph of a network over the rows of one shard; obeys `augury.operator`.

    `stores` tells that states will be stored between steps.
    """

    network: Network
    stores: bool = False

    @cached_property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each stream's rows as they travel."""
        return {name: travelling(self.network, each) for name, each in self.network.bases.items()}

    @cached_property
    def sources(self) -> dict[str, SourceStage]:
        """The stage of each base stream."""
        bases = self.network.bases
        return {name: SourceStage(each, self.schemas[name]) for name, each in bases.items()}

    @cached_property
    def makers(self) -> dict[str, StreamStage]:
        """The stages that make streams of others, by name, in order."""
        return stream_stages(self.network)

    @cached_property
    def beside(self) -> BesideStage | None:
        """The stage of what is read outside matches, if anything is."""
        return BesideStage(self.network.neighbours) if self.network.neighbours else None

    @cached_property
    def stages(self) -> dict[str, QueryStage]:
        """The stages of the queries by name: those that go by what is new, and all others."""
        network, others = self.network, list[str]()
        found: dict[str, QueryStage] = {}
        for name in network.names:
            stage = network.graph.of(name)
            if network.follows_owners(name):
                found[stage.name] = OwnerMatchStage(network.alone_with(name))
            elif stage.step == "new" and stage.lists_matches:
                found[stage.name] = MatchStage(network.plans[name], network.relations)
            elif stage.kind == "count" and self._keeps_rows(name):
                found[stage.name] = CountStage(network.only([name]))
            elif self.stores and not network.policies and network.carries(name):
                found[stage.name] = ChainStage(network.chain_of(name))
            elif self._closes_windows(name):
                found[stage.name] = ClosedWindowsStage(network.only([name]))
            else:
                others.append(name)
        if others:
            own = network.only(others)
            found[" and ".join(network.graph.of(name).name for name in others)] = WindowStage(own)
        return found | forecast_stages(network)

    def _closes_windows(self, name: str) -> bool:
        """Return whether the answer of a query is that of windows, whose rows are its own."""
        return self.network.graph.of(name).tells == "windows" and self._keeps_rows(name)

    def _keeps_rows(self, name: str) -> bool:
        """Return whether rows are all that a query goes by, and none of their beliefs or owners."""
        queries = below(self.network.queries[name], self.network.queries).values()
        read = {stream.name.lower() for query in queries for stream in query.streams}
        return not (read & set(self.network.inferred) or any(map(reads_owners, queries)))

    def start(self, since: int = NEVER_YET) -> ExecutorState:
        """Return the state before any row; what is known before `since` is not reported."""
        return ExecutorState(
            {name: stage.start() for name, stage in self.sources.items()},
            {name: stage.start(since) for name, stage in self.stages.items()},
            since,
            RowBlocks(self._kind) if self.stores else None,
            {name: stage.start() for name, stage in self.makers.items()},
            None if self.network.act is None else self.network.act.start(since),
            BesideState(since),
        )

    def advance(
        self, state: ExecutorState, batch: Tables, horizon: int
    ) -> tuple[ExecutorState, Answers]:
        """Take rows in; report what is known once all rows before `horizon` are there.

        The state that is given is used up.
        """
        with self._named_errors():
            return self._advanced(state, batch, horizon)

    def run(self, rows: Mapping[str, StreamRows]) -> Answers:
        """Return the answers over all rows there are, which were checked: one step, the last."""
        clock, state = Clock(), self.start()
        with self._named_errors():
            fresh = {name: self._known_rows(name, rows[name], clock) for name in self.sources}
            requested, aside = self._made(state, fresh, ALWAYS, clock)
            fresh, _ = self._looked_beside(state, fresh, ALWAYS, clock)
            found, rejected = self._stepped(state, fresh, ALWAYS, clock)
            put_aside(rejected, aside)
            found = self._acted(state, found, ALWAYS, clock)
        return Answers({**requested, **found}, rejected, self._shown(clock))

    def _known_rows(self, name: str, rows: StreamRows, clock: Clock) -> StreamRows:
        """Return rows that were checked; those that matches are made of know their events' ids."""
        with clock.stage(f"source {self.sources[name].stream.name}") as own:
            own.rows_in = rows.table.num_rows + rows.rejected.num_rows
            own.rows_out = rows.table.num_rows
            lists = any(stage.lists_matches for stage in self.network.graph.stages)
            if not (lists or self.network.forecasts_made):
                return rows
            return replace(rows, table=with_event_ids(rows.schema, rows.table))

    def _named_errors(self) -> AbstractContextManager[None]:
        return memory_errors_named(self.network.queries[name].name for name in self.network.names)

    def _advanced(
        self, state: ExecutorState, batch: Tables, horizon: int
    ) -> tuple[ExecutorState, Answers]:
        if state.blocks is not None:
            state.blocks.add(batch)
        clock, moves = Clock(), horizon > state.horizon
        fresh = self._released(state, batch, horizon if moves else NEVER_YET, clock)
        found = dict[str, pa.Table]()
        placed, rejected = fresh, self._rejected(fresh)
        if moves:
            requested, aside = self._made(state, fresh, horizon, clock)
            before = self._known(state)
            placed, known = self._looked_beside(state, fresh, horizon, clock)
            found, more = dict[str, pa.Table](), dict[str, pa.Table]()
            if known > before:
                found, more = self._stepped(state, placed, known, clock)
                found = self._acted(state, found, known, clock)
            found |= requested
            put_aside(rejected, aside)
            put_aside(rejected, more)
            self._forget(state, fresh, horizon)
        tied = self.network.tied(placed.values())
        return state, Answers(found, rejected, self._shown(clock), tied)

    def _looked_beside(
        self, state: ExecutorState, fresh: dict[str, StreamRows], horizon: int, clock: Clock
    ) -> tuple[dict[str, StreamRows], int]:
        """Return rows that know the values of their neighbours, and up to when they are there."""
        if self.beside is None:
            return fresh, horizon
        names = [f"beside {self.network.inputs[name].name}" for name in self.beside.neighbours]
        with ExitStack() as clocks:
            measured = [clocks.enter_context(clock.stage(name)) for name in names]
            state.beside, rows = self.beside.advance(state.beside, fresh, horizon)
            for name, own in zip(self.beside.neighbours, measured, strict=True):
                own.rows_in, own.rows_out = fresh[name].table.num_rows, rows[name].table.num_rows
                own.state_bytes = state.beside.past[name].nbytes
        return rows, state.beside.known

    def _known(self, state: ExecutorState) -> int:
        """Return up to when the stages of queries have all rows."""
        return state.horizon if self.beside is None else state.beside.known

    def _acted(
        self, state: ExecutorState, found: dict[str, pa.Table], horizon: int, clock: Clock
    ) -> dict[str, pa.Table]:
        """Let candidates be settled, where something acts; return what was asked for of it."""
        stage, network = self.network.act, self.network
        if stage is None or state.acted is None or self._acts_in_worlds:
            return found
        acting = stage.acting.candidates
        candidates = {name: found[made.name] for name, made in acting.items()}
        until = min((network.known_until(name, horizon) for name in network.names), default=horizon)
        with clock.stage("act") as own:
            state.acted, acted = stage.advance(state.acted, candidates, until)
            own.rows_in = sum(each.num_rows for each in candidates.values())
            own.rows_out, own.state_bytes = len(acted.firings), state.acted.nbytes
        if acted.stopped is not None:
            raise acted.stopped
        asked = [each for each in network.asked if each.kind in ACTED]
        rows = {each: acted_rows(stage, state.acted, acted, each) for each in asked}
        ends = horizon == ALWAYS
        return {a.key: table for a, table in rows.items() if ends or a.kind != "contents"}

    @property
    def _acts_in_worlds(self) -> bool:
        return self.network.act is not None and self.network.act.acting.uncertain is not None

    def _in_worlds(self, fresh: Mapping[str, StreamRows], clock: Clock) -> dict[str, pa.Table]:
        """Settle candidates in every world: over rows that have an end, which are all there."""
        stage, network = self.network.act, self.network
        assert stage is not None
        rows = Evaluator(network.catalog, network.queries, dict(network.tables), dict(fresh))
        with clock.stage("act in worlds"):
            outcome = Worlds.of(stage, rows).run()
        acted = Acted(outcome.found, outcome.firings, outcome.rejected)
        asked = [each for each in network.asked if each.kind in ACTED]
        return {
            each.key: outcome.table(network.catalog, each.name)
            if each.kind == "contents"
            else acted_rows(stage, stage.start(), acted, each)
            for each in asked
        }

    def _shown(self, clock: Clock) -> dict[str, Measured]:
        """Return what was measured, but how many rows came to a policy: that is secret, too."""
        policies, streams = self.network.policies, self.network.catalog.streams
        below = [*(policy.stream.lower() for policy in policies), *self._below_policies]
        secret = {f"source {streams[name].name}" for name in below}
        secret |= {f"suppress {policy.name}" for policy in policies}
        secret |= {f"identify {policy.stream}" for policy in policies}
        return {name: own for name, own in clock.measured.items() if name not in secret}

    def _rejected(self, fresh: Mapping[str, StreamRows]) -> dict[str, pa.Table]:
        """Return the bad rows of each stream; those under a policy are as secret as all of it."""
        secret = self.network.catalog.guarded
        bad = {name: rows.rejected for name, rows in fresh.items() if name not in secret}
        return {name: rows for name, rows in bad.items() if rows.num_rows}

    def _made(
        self, state: ExecutorState, fresh: dict[str, StreamRows], horizon: int, clock: Clock
    ) -> tuple[dict[str, pa.Table], dict[str, pa.Table]]:
        """Let streams be made of others; return what was asked for, and rows that were put aside.

        What is made goes on among the new rows, in the place of what it was made of.
        """
        found, rejected = dict[str, pa.Table](), dict[str, pa.Table]()
        for name, stage in self.makers.items():
            with clock.stage(name) as own:
                own.rows_in = fresh[stage.source].table.num_rows
                state.made[name], made = stage.advance(state.made[name], fresh, horizon)
                own.rows_out = made.num_rows
            fresh |= made.streams
            found |= {a.key: made.requested[a] for a in self.network.asked if a in made.requested}
            put_aside(rejected, made.rejected)
        return found, rejected

    def _read(self, fresh: Mapping[str, StreamRows]) -> int:
        """Return how many rows stages read, of those that may be told."""
        secret = self._below_policies
        return sum(rows.table.num_rows for name, rows in fresh.items() if name not in secret)

    @cached_property
    def _below_policies(self) -> frozenset[str]:
        """The streams whose events get owners under a policy: their rows stay what they were."""
        known = self.network.catalog.identified
        owned = [
            known[p.stream.lower()] for p in self.network.policies if p.stream.lower() in known
        ]
        return frozenset(each.statement.readings.lower() for each in owned)

    def _stepped(
        self, state: ExecutorState, fresh: Mapping[str, StreamRows], horizon: int, clock: Clock
    ) -> tuple[dict[str, pa.Table], dict[str, pa.Table]]:
        """Let every stage take new rows in; return answers, and rows that stages put aside."""
        if self._acts_in_worlds:
            return self._in_worlds(fresh, clock), {}
        found, rejected = dict[str, pa.Table](), dict[str, pa.Table]()
        stages = self._stages(state, horizon)
        for name, stage in stages.items():
            with clock.stage(name) as own:
                state.stages[name], answers = stage.advance(state.stages[name], fresh, horizon)
                own.rows_in = self._read(fresh)
                own.rows_out = sum(table.num_rows for table in answers.found.values())
                if not self._below_policies:
                    # Elsewhere it holds the acts of all people, whether they were kept or not.
                    own.state_bytes = state.stages[name].nbytes
            found |= answers.found
            put_aside(rejected, answers.rejected)
            if answers.measured:
                # It says itself what its stages did.
                del clock.measured[name]
                clock.measured |= answers.measured
        for each in self.network.asked:
            if each.kind == "forecast":
                found[each.key] = found.pop(self.network.forecasts[each.name].name)
        return found, rejected

    def _released(
        self, state: ExecutorState, batch: Tables, horizon: int, clock: Clock
    ) -> dict[str, StreamRows]:
        """Return the rows of each stream whose turn has come, checked."""
        fresh = {}
        for name, source in self.sources.items():
            rows = batch.get(name)
            with clock.stage(f"source {source.stream.name}") as own:
                state.sources[name], fresh[name] = source.advance(
                    state.sources[name], rows, horizon
                )
                own.rows_in = 0 if rows is None else rows.num_rows
                own.rows_out = fresh[name].table.num_rows
                own.state_bytes = state.sources[name].waiting.nbytes
        return fresh

    def _stages(self, state: ExecutorState, horizon: int) -> Mapping[str, QueryStage]:
        """Return the stages of a step; if it is the only one, queries share a pass if they can."""
        is_only = state.is_empty and state.horizon == NEVER_YET and horizon == ALWAYS
        is_followed = any(map(self.network.follows_owners, self.network.names))
        in_windows = any(map(self._closes_windows, self.network.names))
        if not is_only or is_followed or in_windows or len(self.network.names) < 2:
            return self.stages
        shared = WindowStage(self.network)
        name = " and ".join(self.network.graph.of(each).name for each in self.network.names)
        forecasts = forecast_stages(self.network)
        state.stages = {name: shared.start()}
        state.stages |= {each: stage.start() for each, stage in forecasts.items()}
        return {name: shared, **forecasts}

    def finish(self, state: ExecutorState) -> tuple[ExecutorState, Answers]:
        """Report what remains: the streams have ended."""
        return self.advance(state, {}, ALWAYS)

    def due(self, state: ExecutorState) -> int | None:
        """Return at which horizon there may be something to do: a row's turn, or a row's end."""
        found = [source.due(state.sources[name]) for name, source in self.sources.items()]
        waiting = [each for each in found if each is not None]
        if self.network.act is not None and state.acted is not None:
            own_due = self.network.act.due(state.acted)
            waiting += [] if own_due is None else [own_due]
        waiting += [
            state.horizon + 1 for name, own in self.makers.items() if own.waits(state.made[name])
        ]
        if self.beside is not None:
            own_due = self.beside.due(state.beside, self.network.inputs)
            waiting += [] if own_due is None else [own_due]
        # A window may end before the next row's turn, and with it what was waited for.
        ends = [stage.due(state.stages[name]) for name, stage in self.stages.items()]
        waiting += [each for each in ends if each is not None]
        return min(waiting) if waiting else NEVER_YET

    def _forget(self, state: ExecutorState, fresh: Mapping[str, StreamRows], horizon: int) -> None:
        """Forget rows that turned out to be bad, and all that no stage can need any more."""
        span, state.horizon = (state.horizon, horizon), horizon
        oldest = self.oldest(state)
        for name, each in state.sources.items():
            each.seen.drop_before(oldest)
            if state.blocks is not None:
                state.blocks.keep_only(name, span, fresh[name].table)
        if state.blocks is not None:
            state.blocks.drop_before(oldest)
        for name, maker in self.makers.items():
            maker.forget(state.made[name], oldest)
        if self.beside is not None:
            self.beside.forget(state.beside, self.network.inputs, oldest)

    def oldest(self, state: ExecutorState) -> int:
        """Return the time before which no row can matter any more."""
        if state.horizon == ALWAYS:
            return ALWAYS
        stages = self.stages.items()
        until = self._known(state)
        known = [stage.oldest(state.stages[name], until) for name, stage in stages]
        return min(known, default=until)

    # Bytes ------------------------------------------------------------------------------------

    def stored(self, state: ExecutorState) -> Stored:
        """Return what is new in the state since it was stored last, as versioned bytes."""
        assert state.blocks is not None
        added, dropped = state.blocks.changes()
        dumps = {name: stage.dump(state.stages[name]) for name, stage in self.stages.items()}
        dumps |= {name: stage.dump(state.made[name]) for name, stage in self.makers.items()}
        if self.network.act is not None and state.acted is not None:
            dumps["act"] = self.network.act.dump(state.acted)
        if self.beside is not None:
            inputs, oldest = self.network.inputs, self.oldest(state)
            dumps["beside"] = self.beside.dump(state.beside, inputs, oldest)
        about = {
            "horizon": state.horizon,
            "oldest": self.oldest(state),
            "stages": {name: b64encode(own).decode() for name, own in dumps.items() if own},
        }
        return Stored(FORMAT.seal(json.dumps(about).encode(), self._mark), added, dropped)

    def whole(self, state: ExecutorState) -> Stored:
        """Return all of the state, whether it was stored before or not."""
        assert state.blocks is not None
        return replace(self.stored(state), added=state.blocks.written(), dropped=())

    def load(self, head: bytes, blocks: Mapping[int, bytes]) -> ExecutorState:
        """Return the state that `stored` wrote for the same queries over the same declarations."""
        version, body = FORMAT.unseal(head, self._kind.owner, self._mark)
        about = json.loads(body)
        held, horizon = RowBlocks.load(self._kind, blocks), about["horizon"]
        rows = held.rows(about["oldest"])
        sources, fresh = dict[str, SourceState](), dict[str, StreamRows]()
        for name, source in self.sources.items():
            sources[name], fresh[name] = source.restore(rows[name], horizon)
        # b85 takes ten times as long, and was what version 1 had.
        decoded = b85decode if version == 1 else b64decode
        own = {name: decoded(text) for name, text in about.get("stages", {}).items()}
        made = {name: stage.load(own[name]) for name, stage in self.makers.items()}
        for name, maker in self.makers.items():
            fresh |= maker.again(made[name], fresh)
        beside = BesideState(horizon)
        if self.beside is not None:
            beside, fresh = self.beside.restore(own["beside"], fresh, horizon)
        stages = {
            name: stage.restore(fresh, beside.known, own.get(name, b""))
            for name, stage in self.stages.items()
        }
        act = self.network.act
        acted = None if act is None else act.restore({}, beside.known, own["act"])
        return ExecutorState(sources, stages, horizon, held, made, acted, beside)

    @cached_property
    def _kind(self) -> Kind:
        times = {name: stream.time or "" for name, stream in self.network.bases.items()}
        return Kind(self.schemas, times, f"queries {', '.join(self.network.names)}", self._mark)

    @cached_property
    def _mark(self) -> bytes:
        """What tells this state from that of other queries: texts and columns."""
        columns = [(name, str(schema)) for name, schema in sorted(self.schemas.items())]
        return fingerprint(self.network.identity, columns)


def put_aside(rejected: dict[str, pa.Table], more: Tables) -> None:
    """Add rows that were put aside; several stages may refuse the same one."""
    for name, rows in more.items():
        known = rejected.get(name)
        if known is None:
            rejected[name] = rows
            continue
        seen = {tuple(row.values()) for row in known.to_pylist()}
        candidates = rows.select(known.column_names).to_pylist()
        unseen = [row for row in candidates if tuple(row.values()) not in seen]
        rejected[name] = pa.concat_tables([known, pa.Table.from_pylist(unseen, known.schema)])


def steps_of(network: Network, step: int, first: int | None, last: int | None) -> int:
    """Return how many rows to evaluate at once, of rows of some span of time.

    What a step keeps for the next may be evaluated again with it; where that would be most of the
    rows there are, all of them are taken at once.
    """
    if network.memory is None or not network.goes_by_time or first is None or last is None:
        return ALWAYS
    return step if network.memory < (last - first) // FEW_WINDOWS else ALWAYS


def shard_for(network: Network) -> Executor | ChainShard:
    """Return what evaluates a network in a streaming run."""
    return ChainShard(network) if network.keeps_chains else Executor(network, stores=True)

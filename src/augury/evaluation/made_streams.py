"""Streams that are made of others before any query reads them: stages between source and query.

A policy stands before its stream: what it keeps goes on in the place of the raw rows, and under
the names of the streams AS SUPPRESS. Events get their owners, and are told under the name of a
stream AS IDENTIFY. Forecasts are events under their own names (`forecast_streams`). Each has a
state of its own, and says what goes on and what else is told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from augury.analysis.declarations.catalog import PolicySchema, StreamSchema
from augury.evaluation.asked import Asked
from augury.evaluation.identifying import identify_stage, last_tellings
from augury.evaluation.network import Network
from augury.evaluation.stages.forecast_streams import Filtered, ForecastRows
from augury.evaluation.stages.forecasting import forecast_stage
from augury.evaluation.stages.identify import IdentifyStage
from augury.evaluation.stages.kept_owners import KeptOwners, is_new
from augury.evaluation.stages.made import Made, Rows, StreamStage
from augury.evaluation.stages.suppress import SuppressStage
from augury.evaluation.stream_rows import StreamRows
from augury.evaluation.suppression import history_of
from augury.matching.matcher import ALWAYS
from augury.planning.policy_plan import plan_policy


def stream_stages(network: Network) -> dict[str, StreamStage]:
    """Return the stages of a network between its sources and its queries, in order."""
    catalog = network.catalog
    on_owners = {p.stream.lower(): p for p in network.policies if catalog.owners_of(p.stream)}
    found: list[StreamStage] = [
        _guard(network, policy.name)
        for policy in network.policies
        if policy not in on_owners.values()
    ]
    asked = [catalog.owners_of(each.name) for each in network.asked]
    read = [catalog.owners_of(name) for name in network.identified]
    names = dict.fromkeys([*on_owners, *asked, *read])
    found += [_owners(network, name, on_owners.get(name)) for name in names if name is not None]
    models = [f.query.streams[0] for f in network.forecasts_made if f.future.kind == "MODEL"]
    found += [Filtered.of(network, stream.name) for stream in models]
    found += [ForecastRows(forecast_stage(network, each)) for each in network.forecasts_below]
    return {each.name: each for each in found}


# Policies ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guard:
    """A policy before its stream; `aliases` are the streams AS SUPPRESS of it."""

    stage: SuppressStage
    aliases: tuple[StreamSchema, ...]
    history: StreamRows | None

    @property
    def name(self) -> str:
        return f"suppress {self.stage.plan.schema.name}"

    @property
    def source(self) -> str:
        return self.stage.stream.name.lower()

    def start(self) -> Any:
        return self.stage.start(self.history)

    def advance(self, state: Any, fresh: Rows, horizon: int) -> tuple[Any, Made]:
        del horizon
        state, passed = self.stage.advance(state, fresh[self.source])
        policy = self.stage.plan.schema.name.lower()
        requested = {Asked("audit", policy): passed.audit}
        for alias in self.aliases:
            columns = [column.name for column in alias.columns]
            requested[Asked("stream", alias.name.lower())] = passed.kept.table.select(columns)
        return state, Made(self._under_all_names(passed.kept), requested)

    def again(self, state: Any, fresh: Rows) -> Rows:
        return self._under_all_names(fresh[self.source])

    def forget(self, state: Any, oldest: int) -> None: ...

    def _under_all_names(self, rows: StreamRows) -> dict[str, StreamRows]:
        streams = {self.source: rows}
        return streams | {each.name.lower(): replace(rows, schema=each) for each in self.aliases}

    def waits(self, state: Any) -> bool:
        return False

    def dump(self, state: Any) -> bytes:
        return self.stage.dump(state)

    def load(self, data: bytes) -> Any:
        return self.stage.load(data)


def _guard(network: Network, name: str) -> Guard:
    policy = network.catalog.policies[name.lower()]
    stage, history = _decided(network, policy)
    return Guard(stage, _aliases(network, policy), history)


def _decided(network: Network, policy: PolicySchema) -> tuple[SuppressStage, StreamRows | None]:
    """Return the stage of a policy, and the rows that it learns from."""
    catalog = network.catalog
    plan = plan_policy(policy, network.weighed, catalog, network.relations)
    return (
        SuppressStage(plan, catalog.streams[policy.stream.lower()]),
        history_of(policy, catalog, network.tables),
    )


def _aliases(network: Network, policy: PolicySchema) -> tuple[StreamSchema, ...]:
    streams, kept = network.catalog.streams, network.catalog.suppressed.items()
    return tuple(streams[name] for name, each in kept if each.policy == policy.name)


# Owners -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Owners:
    """Who did the events of a stream; what is told is asked for by the name of another.

    Under a policy that is what is told of the events that it keeps, under `aliases`, too.
    """

    stage: IdentifyStage | KeptOwners
    aliases: tuple[StreamSchema, ...] = ()

    @property
    def name(self) -> str:
        return f"identify {self.stage.own.name}"

    @property
    def source(self) -> str:
        return self.stage.source.name.lower()

    def start(self) -> Any:
        return self.stage.start()

    def advance(self, state: Any, fresh: Rows, horizon: int) -> tuple[Any, Made]:
        rows = fresh[self.source]
        columns = [column.name for column in self.stage.source.columns]
        is_only = horizon == ALWAYS and is_new(state)
        state, tidings = self.stage.advance(state, rows.table.select(columns), horizon)
        log, bad = tidings.told, tidings.rejected
        # In one step that is the last the last tellings are known; in many they are told again.
        last = last_tellings(log, self.stage.own) if is_only else log
        requested, streams = dict[Asked, pa.Table](), dict[str, StreamRows]()
        for each in (self.stage.own, *self.aliases):
            name = each.name.lower()
            requested |= {Asked("revisions", name): log, Asked("stream", name): last}
            # What is told goes on to those who read it; the rows of the source go on as they are.
            streams[name] = StreamRows(each, log, bad)
        if isinstance(self.stage, KeptOwners) and tidings.audit is not None:
            policy = self.stage.policy.plan.schema.name.lower()
            requested[Asked("audit", policy)] = tidings.audit
        return state, Made(streams, requested, {self.source: bad} if bad.num_rows else {})

    def again(self, state: Any, fresh: Rows) -> Rows:
        return {}

    def forget(self, state: Any, oldest: int) -> None: ...

    def waits(self, state: Any) -> bool:
        return bool(state.known.waiting)

    def dump(self, state: Any) -> bytes:
        return self.stage.dump(state)

    def load(self, data: bytes) -> Any:
        return self.stage.load(data)


def _owners(network: Network, name: str, policy: PolicySchema | None) -> Owners:
    owners = identify_stage(network.catalog, network.tables, name)
    if policy is None:
        return Owners(owners)
    stage, history = _decided(network, policy)
    return Owners(KeptOwners(owners, stage, history), _aliases(network, policy))

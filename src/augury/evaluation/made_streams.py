"""Streams that are made of others before any query reads them: stages between source and query.

A policy stands before its stream: what it keeps goes on in the place of the raw rows, and under
the names of the streams AS SUPPRESS. Events get their owners, and are told under the name of a
stream AS IDENTIFY. Each has a state of its own, and says what goes on and what else is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import pyarrow as pa

from augury.analysis.declarations.catalog import StreamSchema
from augury.errors import DataError
from augury.evaluation.asked import Asked
from augury.evaluation.identifying import identify_stage, last_tellings
from augury.evaluation.network import Network
from augury.evaluation.stages.identify import IdentifyStage
from augury.evaluation.stages.suppress import SuppressStage
from augury.evaluation.stream_rows import StreamRows
from augury.evaluation.suppression import checked_history
from augury.matching.matcher import ALWAYS
from augury.planning.policy_plan import plan_policy


@dataclass(frozen=True)
class Made:
    """What a step made: rows by stream that go on, what is told, and rows that were put aside."""

    streams: Mapping[str, StreamRows] = field(default_factory=dict)
    told: Mapping[Asked, pa.Table] = field(default_factory=dict)
    rejected: Mapping[str, pa.Table] = field(default_factory=dict)


class StreamStage(Protocol):
    """A stage that makes streams of one stream; its state is used up by a step."""

    @property
    def name(self) -> str:
        """What EXPLAIN and measurements call it."""
        ...

    @property
    def source(self) -> str:
        """The stream whose rows it takes, in lower case."""
        ...

    def start(self) -> Any: ...

    def advance(self, state: Any, rows: StreamRows, horizon: int) -> tuple[Any, Made]: ...

    def again(self, rows: StreamRows) -> Mapping[str, StreamRows]:
        """Return the streams that rows go on as, which went through before a state was stored."""
        ...

    def waits(self, state: Any) -> bool:
        """Return whether rows wait for something but the next row."""
        ...

    def dump(self, state: Any) -> bytes: ...

    def load(self, data: bytes) -> Any: ...


def stream_stages(network: Network) -> dict[str, StreamStage]:
    """Return the stages of a network between its sources and its queries, in order."""
    found: list[StreamStage] = [_guard(network, policy.name) for policy in network.policies]
    asked = dict.fromkeys(e.name for e in network.asked if e.name in network.catalog.identified)
    asked |= dict.fromkeys(network.identified)
    found += [_owners(network, name) for name in asked]
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

    def advance(self, state: Any, rows: StreamRows, horizon: int) -> tuple[Any, Made]:
        del horizon
        state, passed = self.stage.advance(state, rows)
        policy = self.stage.plan.schema.name.lower()
        told = {Asked("audit", policy): passed.audit}
        for alias in self.aliases:
            columns = [column.name for column in alias.columns]
            told[Asked("stream", alias.name.lower())] = passed.kept.table.select(columns)
        return state, Made(self.again(passed.kept), told)

    def again(self, rows: StreamRows) -> dict[str, StreamRows]:
        streams = {self.source: rows}
        return streams | {each.name.lower(): replace(rows, schema=each) for each in self.aliases}

    def waits(self, state: Any) -> bool:
        return False

    def dump(self, state: Any) -> bytes:
        return self.stage.dump(state)

    def load(self, data: bytes) -> Any:
        return self.stage.load(data)


def _guard(network: Network, name: str) -> Guard:
    catalog = network.catalog
    policy = catalog.policies[name.lower()]
    plan = plan_policy(policy, network.weighed, catalog, network.relations)
    aliases = [n for n, each in catalog.suppressed.items() if each.policy == policy.name]
    history = policy.statement.learn_from
    if history is not None and history.lower() not in network.tables:
        raise DataError(f"policy {policy.name} learns from {history}, which has no data; bind it")
    return Guard(
        SuppressStage(plan, catalog.streams[policy.stream.lower()]),
        tuple(catalog.streams[alias] for alias in aliases),
        None if history is None else checked_history(catalog, history, network.tables),
    )


# Owners -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Owners:
    """Who did the events of a stream; what is told is asked for by the name of another."""

    stage: IdentifyStage

    @property
    def name(self) -> str:
        return f"identify {self.stage.own.name}"

    @property
    def source(self) -> str:
        return self.stage.source.name.lower()

    def start(self) -> Any:
        return self.stage.start()

    def advance(self, state: Any, rows: StreamRows, horizon: int) -> tuple[Any, Made]:
        columns = [column.name for column in self.stage.source.columns]
        is_only = horizon == ALWAYS and self._is_new(state)
        state, tidings = self.stage.advance(state, rows.table.select(columns), horizon)
        name, log = self.stage.own.name.lower(), tidings.told
        # In one step that is the last the last tellings are known; in many they are told again.
        last = last_tellings(log, self.stage.own) if is_only else log
        told = {Asked("revisions", name): log, Asked("stream", name): last}
        bad = tidings.rejected
        # What is told goes on to those who read it; the rows of the source go on as they are.
        streams = {name: StreamRows(self.stage.own, log, bad)}
        return state, Made(streams, told, {self.source: bad} if bad.num_rows else {})

    @staticmethod
    def _is_new(state: Any) -> bool:
        return not state.rows.num_rows and not state.known.waiting

    def again(self, rows: StreamRows) -> dict[str, StreamRows]:
        return {}

    def waits(self, state: Any) -> bool:
        return bool(state.known.waiting)

    def dump(self, state: Any) -> bytes:
        return self.stage.dump(state)

    def load(self, data: bytes) -> Any:
        return self.stage.load(data)


def _owners(network: Network, name: str) -> Owners:
    return Owners(identify_stage(network.catalog, network.tables, name))

"""A stage that revises what it said, because no stage of the engine does yet.

Each event that comes after a match has the match told again: first with less confidence, then with
more, then it is taken back. So the log is a function of the events, however they are cut.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from augury.evaluation.answers.match_answers import Inputs, match_table
from augury.evaluation.encoding import Encoder, declaration_of
from augury.matching.matcher import Matcher
from augury.operator import NEVER_YET
from augury.planning.expressions.link import link
from augury.planning.match_plan import MatchPlan
from augury.records import Events, Matches
from augury.sources.rows import conform
from contracts.test_shards import network_of
from matching.as_text import Case, bindings
from oracles.model import Comp, Event, Query, Seq

# The confidence of each revision: the last takes the match back.
CONFIDENCES = np.array([0.9, 0.5, 0.7, 0.0])


@dataclass(frozen=True)
class RevisingState:
    """All events, up to when they were looked at, and all matches as they were last told."""

    events: Events | None
    reported: int
    known: Matches


@dataclass(frozen=True)
class Revising:
    """Obeys `augury.operator`; events come in the order of time."""

    matcher: Matcher
    revises: ClassVar[bool] = True

    def start(self, since: int = NEVER_YET) -> RevisingState:
        return RevisingState(None, since, Matches.none())

    def advance(
        self, state: RevisingState, batch: Events, horizon: int
    ) -> tuple[RevisingState, Matches]:
        log = Matches.none()
        for k in range(len(batch)):
            state, found = self._step(state, batch.take(slice(k, k + 1)))
            log = Matches.joined(log, found)
        return state, log

    def _step(self, state: RevisingState, event: Events) -> tuple[RevisingState, Matches]:
        events = event if state.events is None else Events.joined(state.events, event)
        until = int(event.time[0]) + 1
        found = self.matcher.matches(events, state.reported, until)
        open_ones = np.flatnonzero(state.known.revision < len(CONFIDENCES) - 1)
        known = state.known.only(open_ones)
        again = _told(known, known.revision + 1)
        first = _told(found, np.zeros(len(found), np.int64))
        news = Matches.joined(again, first)
        return RevisingState(events, until, news), news

    def dump(self, state: RevisingState) -> bytes:
        return b""

    def restore(self, batch: Events, reported: int, own: bytes = b"") -> RevisingState:
        state, _ = self.advance(self.start(), batch, reported)
        return state

    def oldest(self, state: RevisingState, horizon: int) -> int:
        return NEVER_YET

    def due(self, state: RevisingState) -> int | None:
        return None


def _told(matches: Matches, revision: np.ndarray) -> Matches:
    return replace(matches.settled(CONFIDENCES[revision]), revision=revision)


def logs(sizes: tuple[int, ...]) -> list[pa.Table]:
    """Return what the stage says of SEQ(A, B) over six events, cut into batches of these sizes."""
    events = tuple(Event(str(k), k, kind, 1.0) for k, kind in enumerate("ABABAA"))
    case = Case((Query(Seq((Comp("a", "A"), Comp("b", "B"))), within=("time", 2)),), events)
    plan, events = planned(case)
    table = bindings(case)["s"]
    times, chances = (table.column(name).to_numpy() for name in ("t", "p"))
    inputs = Inputs((table,), (0,), table.column("id").combine_chunks(), times, chances)
    stage = Revising(Matcher(plan.pattern, link(plan.programs, {}, {})))
    state, made, first = stage.start(), [], 0
    for size in sizes:
        state, found = stage.advance(state, events.take(slice(first, first + size)), 0)
        made.append(match_table(plan, found, inputs))
        first += size
        # What is stored of a state is the rows that it was made of.
        state = stage.restore(events.take(slice(0, first)), 0)
    return made


def planned(case: Case) -> tuple[MatchPlan, Events]:
    """Return the plan of a case's query over one stream, and its events."""
    network = network_of(case)
    (plan,), (stream,) = network.plans.values(), network.bases.values()
    table = conform(bindings(case)["s"], declaration_of(stream))
    return plan, Encoder(plan, {}).encode(stream, table, 0, np.full(table.num_rows, -1))

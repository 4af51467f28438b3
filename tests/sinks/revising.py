"""A stage that revises what it said, because no stage of the engine does yet.

Each event that comes after a match has the match told again: first with less confidence, then with
more, then it is taken back. So the log is a function of the events, however they are cut.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from augury.evaluation.answers.match_answers import Inputs, match_table
from augury.matching.matcher import Matcher, MatchState
from augury.records import Events, Matches
from contracts.operator_cases import stage_of
from matching.as_text import Case, bindings
from oracles.model import Comp, Event, Query, Seq

# The confidence of each revision: the last takes the match back.
CONFIDENCES = np.array([0.9, 0.5, 0.7, 0.0])


@dataclass(frozen=True)
class RevisingState:
    """The state of the matcher, and all matches so far as they were last told."""

    found: MatchState
    known: Matches


@dataclass(frozen=True)
class Revising:
    """Obeys `augury.operator`; events come in the order of time."""

    matcher: Matcher
    revises: ClassVar[bool] = True

    def start(self, like: Events) -> RevisingState:
        return RevisingState(self.matcher.start(like), Matches.none())

    def advance(
        self, state: RevisingState, batch: Events, horizon: int
    ) -> tuple[RevisingState, Matches]:
        log = Matches.none()
        for k in range(len(batch)):
            state, found = self._step(state, batch.take(slice(k, k + 1)))
            log = Matches.joined(log, found)
        return state, log

    def _step(self, state: RevisingState, event: Events) -> tuple[RevisingState, Matches]:
        inner, found = self.matcher.advance(state.found, event, int(event.time[0]) + 1)
        open_ones = np.flatnonzero(state.known.revision < len(CONFIDENCES) - 1)
        known = state.known.only(open_ones)
        again = _told(known, known.revision + 1)
        first = _told(found, np.zeros(len(found), np.int64))
        news = Matches.joined(again, first)
        return RevisingState(inner, news), news

    def finish(self, state: RevisingState) -> tuple[RevisingState, Matches]:
        inner, found = self.matcher.finish(state.found)
        return replace(state, found=inner), _told(found, np.zeros(len(found), np.int64))

    def dump(self, state: RevisingState) -> bytes:
        return pickle.dumps((self.matcher.dump(state.found), state.known))

    def load(self, data: bytes) -> RevisingState:
        found, known = pickle.loads(data)
        return RevisingState(self.matcher.load(found), known)


def _told(matches: Matches, revision: np.ndarray) -> Matches:
    return replace(matches.settled(CONFIDENCES[revision]), revision=revision)


def logs(sizes: tuple[int, ...]) -> list[pa.Table]:
    """Return what the stage says of SEQ(A, B) over six events, cut into batches of these sizes."""
    events = tuple(Event(str(k), k, kind, 1.0) for k, kind in enumerate("ABABAA"))
    case = Case((Query(Seq((Comp("a", "A"), Comp("b", "B"))), within=("time", 2)),), events)
    plain = stage_of(case)
    stage, table = Revising(plain.matcher), bindings(case)["s"]
    times, chances = (table.column(name).to_numpy() for name in ("t", "p"))
    inputs = Inputs((table,), (0,), table.column("id").combine_chunks(), times, chances)
    state, made, first = stage.start(plain.events), [], 0
    for size in sizes:
        batch = plain.events.take(slice(first, first + size))
        state, found = stage.advance(stage.load(stage.dump(state)), batch, 0)
        made.append(match_table(plain.plan, found, inputs))
        first += size
    return made

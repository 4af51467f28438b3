"""One query over live events: rows in, match dicts out, as the watermark goes on.

Events wait until the watermark has passed them, then enter the ring in the order of time. Only then
can a match be complete, so only a partition that got an event which may end a match is searched, or
one where a window has ended that a match waits for.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from heapq import heappop, heappush
from typing import Any

import numpy as np

from augury.analysis.checked import CheckedQuery
from augury.evaluation.memory_guard import memory_errors_named
from augury.evaluation.stages.retention import oldest_counted, oldest_needed
from augury.evaluation.ties import TieCounter, TieRule
from augury.kernels.search import layout
from augury.kernels.search.gather import WHEN
from augury.matching.ends import ends_late, ends_with_any_event, looks_back
from augury.matching.matcher import ALWAYS
from augury.matching.probe import Probe, final_components
from augury.matching.ring import Ring
from augury.matching.step_limits import limits_of
from augury.operator import NEVER_YET
from augury.planning.expressions.link import link
from augury.planning.expressions.scalar import Tables
from augury.planning.match_plan import MatchPlan
from augury.runners.live.answers import Answers
from augury.runners.live.encoding import Encoded, EqualRows, LiveEncoder, stream_number
from augury.sources.intake import Arrival


class LiveQuery:
    """A query whose events are base events; holds its live events."""

    def __init__(self, plan: MatchPlan, tables: Tables, ties: TieRule | None = None) -> None:
        self.plan, self.pattern, self.tables, self._tie_rule = plan, plan.pattern, tables, ties
        self._final = 0
        for way in self.pattern.ways:
            self._final |= 0 if way.waits else final_components(way)
        self._starts = _starting_components(plan)
        self._ends_late = ends_late(self.pattern)
        self._any_ends = ends_with_any_event(self.pattern)
        self.restart()

    def restart(self) -> None:
        """Begin without any event."""
        self.encoder = LiveEncoder(self.plan, self.tables)
        self.ring = Ring(self.encoder.width, self.encoder.n_texts)
        self.answers = Answers(self.encoder, self.ring)
        self.reported = NEVER_YET
        self.arrivals = 0
        self.waiting: list[tuple[int, int, int, Encoded]] = []
        self.deadlines: list[tuple[int, int]] = []
        self._counted = 32
        self._ties = TieCounter(self._tie_rule) if self._tie_rule else None
        self.link()

    def link(self) -> None:
        """Give the predicates the codes of the strings that they name."""
        predicates = link(self.plan.programs, self.encoder.string_codes(), self.tables)
        where, is_float = self.encoder.where, self.encoder.is_float
        self.probes = [Probe(way, predicates, where, is_float) for way in self.pattern.ways]

    @property
    def memory(self) -> int:
        """How far behind the watermark an event can still matter; 0 where nothing bounds it."""
        window = self.pattern.window or 0
        return window * (2 if looks_back(self.pattern) else 1)

    def accept(self, stream: str, arrival: Arrival) -> bool:
        """Let a good row wait for its turn, and tell so, unless it can play nothing."""
        self.arrivals += 1
        encoded = self.encoder.encode(stream, arrival, self.arrivals)
        if encoded is None:
            return False
        self.wait(self.arrivals, encoded)
        return True

    def wait(self, number: int, encoded: Encoded) -> None:
        """Let an event, arrival `number`, wait for its turn."""
        heappush(self.waiting, (encoded.time, encoded.tie, number, encoded))

    def advance(self, horizon: int) -> list[dict[str, Any]]:
        """Report what is known once all events before `horizon` are there."""
        if horizon <= self.reported:
            return []
        touched = self._release(horizon)
        touched |= self._due(horizon)
        found = self._found(sorted(touched), horizon)
        self.reported = horizon
        self._drop(horizon)
        return found

    def finish(self) -> list[dict[str, Any]]:
        """Report what remains: the streams have ended."""
        if self.reported == ALWAYS:
            return []
        touched = self._release(ALWAYS)
        if self._ends_late:
            touched = set(self.ring.partition_numbers())
        found = self._found(sorted(touched), ALWAYS)
        self.reported = ALWAYS
        self.ring.drop_before(ALWAYS)
        self.deadlines.clear()
        return found

    def enter(self, encoded: Encoded) -> int:
        """Put an event into the ring; return its partition's number."""
        number = self.ring.append(encoded.partition, encoded.words, encoded.texts)
        if self._ends_late and self.pattern.window is not None and encoded.words[2] & self._starts:
            heappush(self.deadlines, (encoded.time + self.pattern.window, number))
        return number

    def _release(self, horizon: int) -> set[int]:
        """Let events before the horizon enter; return the partitions that may have a new match."""
        touched: set[int] = set()
        waiting, final, equal = self.waiting, self._final, EqualRows(self.encoder.stored)
        while waiting and waiting[0][0] < horizon:
            encoded = heappop(waiting)[3]
            arrival = encoded.arrival
            if arrival and arrival.alternatives and arrival.alternatives.is_overfull:
                continue
            number = self.enter(equal.numbered(encoded))
            if self._ties is not None:
                self._ties.add(encoded.time, *self._place_of(encoded))
            if self._any_ends or encoded.words[2] & final:
                touched.add(number)
        return touched

    def _place_of(self, encoded: Encoded) -> tuple[Hashable, int]:
        """Return the stream and the part of an event, and the components that it may play.

        What another stream orders, and what has a tie-breaker, plays nothing where ties count.
        """
        assert self._tie_rule is not None
        streams, number = self.plan.query.streams, 0
        if len(streams) > 1:
            word = encoded.words[int(self.encoder.where[layout.STREAM])]
            number = stream_number(word, len(streams))
        counts = streams[number] in self._tie_rule.streams
        return (number, encoded.partition), encoded.words[2] if counts else 0

    @property
    def query(self) -> CheckedQuery:
        """The query that is answered."""
        return self.plan.query

    @property
    def tied(self) -> int:
        """How many events that have entered are tied."""
        return self._ties.total if self._ties is not None else 0

    def _due(self, horizon: int) -> set[int]:
        """Return the partitions where a window has ended that a match may wait for."""
        due: set[int] = set()
        while self.deadlines and self.deadlines[0][0] < horizon:
            due.add(heappop(self.deadlines)[1])
        return due

    def _found(self, numbers: Iterable[int], horizon: int) -> list[dict[str, Any]]:
        answers: list[dict[str, Any]] = []
        items, limits = 0, limits_of(self.pattern)
        with memory_errors_named([self.pattern.query]):
            for number in numbers:
                for probe in self.probes:
                    matches = probe.find(self.ring, number, self.reported, horizon)
                    if matches is not None and len(matches):
                        items += len(matches.row)
                        limits.check(len(answers) + len(matches), items)
                        answers += self.answers.dicts(matches)
        return answers

    def _drop(self, horizon: int) -> None:
        oldest = oldest_needed(self.pattern, horizon)
        if self.pattern.count_window is not None and len(self.ring) > self._counted:
            oldest = max(oldest, self._oldest_counted())
            self.ring.drop_before(oldest)
            self._counted = 2 * len(self.ring) + 32
        elif oldest > NEVER_YET:
            self.ring.drop_before(oldest)
        if any(codes.is_due for codes in self.encoder.codes):
            self._forget(oldest, horizon)

    def _forget(self, oldest: int, horizon: int) -> None:
        """Forget codes that no live event can have."""
        if len(self.ring):
            first = int(self.ring.words[self.ring.oldest % len(self.ring.words), WHEN])
            oldest = max(oldest, min(first, horizon))
        for codes in self.encoder.codes:
            codes.forget_before(oldest)

    def _oldest_counted(self) -> int:
        rows, where = self.ring.rows(), self.encoder.where
        words = self.ring.words
        p = np.ones(len(rows))
        if where[layout.P] >= 0:
            p = words[rows, where[layout.P]].copy().view(np.float64)
        if where[layout.GROUP] >= 0:
            p = np.where(words[rows, where[layout.GROUP]] < 0, p, 0.0)
        return oldest_counted(self.pattern, words[rows, WHEN], p)


def _starting_components(plan: MatchPlan) -> int:
    bits = 0
    for way in plan.pattern.ways:
        for edge in way.edges:
            if edge.source == 0:
                bits |= 1 << edge.component
    return bits

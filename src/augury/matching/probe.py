"""Search one partition of live events, with memory that is laid out once and used again.

A search over a few events takes microseconds, so nothing is allocated for it: the arena, the rows
and the output stay, and grow when a search asks for more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from augury.kernels.search import layout
from augury.kernels.search.gather import gather
from augury.kernels.search.predicates import Predicates
from augury.kernels.search.search import search
from augury.matching.arena import Report, Room, lay_out, output_size
from augury.matching.ends import ends_late
from augury.matching.find import enlarged, found_in, most_depth, too_many
from augury.matching.lineage import Formula, Is
from augury.matching.matcher import as_matches, ended
from augury.matching.pattern import Pattern
from augury.matching.resolve_confidence import ConfidenceResolver
from augury.matching.ring import Ring
from augury.matching.step_limits import limits_of
from augury.records import Events, Matches, Words

_FIRST = Room(depth=16, passed=64, matches=64, items=256, absents=256, groups=0)


class Probe:
    """Finds the new matches of one partition of a ring.

    `where` has, for each column of a row that the search reads, the column of the ring (-1: none).
    """

    def __init__(
        self, pattern: Pattern, predicates: Predicates, where: Words, is_float: tuple[bool, ...]
    ) -> None:
        self.pattern = pattern
        self.predicates = predicates
        self.where = where
        self.is_float = is_float
        self.closing = closing_components(pattern)
        self._room = _FIRST
        self._slots = np.zeros(max((len(r.slots) for r in pattern.rules), default=0) + 1, np.int64)
        self._slot_nulls = np.zeros(len(self._slots), np.bool_)
        self._make_rows(32)

    def find(self, ring: Ring, number: int, reported: int, horizon: int) -> Matches | None:
        """Return the matches of partition `number` known in [reported, horizon), or None.

        Rows of the matches are rows of the ring.
        """
        newest = ring.newest(number)
        if newest < ring.oldest:
            return None
        span = (reported, horizon, self.closing, len(self.pattern.components))
        while True:
            n = self._gathered(ring, newest, span)
            status, _ = search(
                self._arena, self._rows[:n], self._queue, self._out,
                self._slots, self._slot_nulls, *self.predicates, 0,
            )  # fmt: skip
            if status == layout.DONE:
                return self._matches(n) if self._arena[layout.MATCHES] else None
            self._make_room(n, full=status == layout.LIMIT_REACHED)

    def _gathered(self, ring: Ring, newest: int, span: tuple[int, int, int, int]) -> int:
        while True:
            n: int = gather(
                ring.words, newest, ring.oldest, self.where, self._places,
                self._rows, self._reals, self._queue, self._arena, span,
            )  # fmt: skip
            if n >= 0:
                return n
            self._make_rows(-2 * n)

    def _make_rows(self, capacity: int) -> None:
        self._rows = np.zeros((capacity, len(self.where)), np.int64)
        self._reals = self._rows.view(np.float64)
        self._places = np.zeros(capacity, np.int64)
        self._queue = np.zeros(capacity * max(1, len(self.pattern.components)), np.int64)
        self._lay_out()

    def _make_room(self, n: int, *, full: bool) -> None:
        if full:
            self._lay_out()
            raise too_many(self.pattern)
        deepest = max(self._room.depth, most_depth(self.pattern, n, 0))
        limits = limits_of(self.pattern)
        self._room = enlarged(self._room, deepest, limits, self._arena)
        self._lay_out()

    def _lay_out(self) -> None:
        has_groups = self.where[layout.GROUP] >= 0
        room = Room(
            self._room.depth, self._room.passed, self._room.matches, self._room.items,
            self._room.absents, len(self._rows) if has_groups else 0,
        )  # fmt: skip
        nothing = np.zeros(len(self.pattern.components) + 1, np.int64)
        report = Report(0, 0, independent=True)
        self._arena = lay_out(self.pattern, report, room, nothing, self.is_float)
        self._out = np.zeros(output_size(room), np.int64)

    def _matches(self, n: int) -> Matches:
        is_final = not self.pattern.is_composite
        listed = found_in(self._arena, self._out, self.pattern.missed)
        found = as_matches(listed, self._places[:n], is_final=is_final)
        asked = self._events(n) if self.pattern.tells_end else None
        found = ended(found, listed, asked, self.pattern)
        return found if found.is_final.all() else self._settled(found, n)

    def _settled(self, matches: Matches, n: int) -> Matches:
        """Value the matches whose confidence is not a product."""
        events = self._events(n)
        blocks = [(0, k) if g < 0 else (1, g) for k, g in enumerate(events.group.tolist())]
        chances: dict[Any, dict[Any, float]] = {}
        for k, p in enumerate(events.p.tolist()):
            chances.setdefault(blocks[k], {})[k] = p
        place = {row: k for k, row in enumerate(events.row.tolist())}

        def formula(row: int) -> Formula:
            return Is(blocks[place[row]], place[row])

        resolver = ConfidenceResolver(self.pattern, events, self.predicates, formula, chances)
        return resolver.resolve_pending(matches)

    def _events(self, n: int) -> Events:
        rows = self._rows[:n]
        attributes = rows.shape[1] - layout.VALUES
        bits = np.arange(attributes)[:, None]
        return Events(
            time=rows[:, layout.TIME].copy(),
            tie=rows[:, layout.TIE].copy(),
            stream=rows[:, layout.STREAM].copy(),
            key=rows[:, layout.KEY].copy(),
            partition=np.zeros(n, np.int64),
            mask=rows[:, layout.MASK].copy(),
            p=self._reals[:n, layout.P].copy(),
            group=rows[:, layout.GROUP].copy(),
            row=self._places[:n].copy(),
            values=rows[:, layout.VALUES :].T.copy(),
            nulls=(rows[:, layout.NULLS] >> bits) & 1 != 0,
            is_float=self.is_float,
        )


def final_components(pattern: Pattern) -> int:
    """Return, as bits, the components whose events can be the last of a match."""
    bits = 0
    for edge in pattern.edges:
        if pattern.accepting[edge.target]:
            bits |= 1 << edge.component
    return bits


def closing_components(pattern: Pattern) -> int:
    """Return, as bits, the components after which a match is always over, with ANY selection.

    A match that ends with an old event of such a component was reported already.
    """
    if pattern.strategy != "ANY" or ends_late(pattern):
        return 0
    left = {edge.source for edge in pattern.edges}
    others = 0
    for edge in pattern.edges:
        if edge.target in left or not pattern.accepting[edge.target]:
            others |= 1 << edge.component
    return final_components(pattern) & ~others

"""Run the search kernel over sorted events, with more memory as often as it asks for it.

The kernel never allocates. When a buffer is full it says at which start event it stopped; buffers
are enlarged and the search goes on from there, so nothing is found twice and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from augury.errors import DataError
from augury.kernels.search import layout, prepare
from augury.kernels.search.predicates import Predicates
from augury.kernels.search.search import search
from augury.matching.arena import Report, Room, lay_out, output_size
from augury.matching.pattern import Pattern
from augury.matching.step_limits import StepLimits, TooManyMatchesError, limits_of
from augury.records import Events, Flags, Reals, Words

FIRST_ROOM = 4096
FIRST_DEPTH = 64
MOST_BOUNDS = 1 << 22
WORK_BEFORE_BOUNDS = 2000
PASSES_BEFORE_OUTLOOK = 1


@dataclass(frozen=True, slots=True)
class Found:
    """Matches as positions in the sorted events, in compressed rows.

    Items are (component, event), absents (event, since); see `kernels.layout`. `missed` has the
    components (bits) that a match takes as missed.
    """

    first_item: Words
    items: Words
    first_absent: Words
    absents: Words
    confidence: Reals
    report_time: Words
    is_conditional: Flags
    missed: Words

    def __len__(self) -> int:
        return len(self.confidence)


def find(
    pattern: Pattern,
    events: Events,
    order: Words,
    predicates: Predicates,
    report: Report,
    around: Sequence[tuple[int, int]] = (),
) -> Found:
    """Return all matches in the events that `order` lists, sorted; variants come last.

    Positions in the result are places in `order`. `around` are the (component, event) pairs of a
    match in whose gap the search is made.
    """
    prepared = Prepared(events, event_rows(events, order), predicates, report, tuple(around))
    found, limits = list[Found](), limits_of(pattern)
    for way in pattern.ways:
        found.append(prepared.search(way, limits))
        sizes = [(len(each), len(each.items), len(each.absents)) for each in found]
        limits.check(*(sum(own) for own in zip(*sizes, strict=True)))
    return found[0] if len(found) == 1 else joined(found)


def joined(found: Sequence[Found]) -> Found:
    """Return the matches of several searches, one after the other."""
    items = np.cumsum([0, *(len(each.items) for each in found)])
    absents = np.cumsum([0, *(len(each.absents) for each in found)])
    changed: dict[str, Words] = {}
    for field in fields(Found):
        own = [getattr(each, field.name) for each in found]
        if field.name.startswith("first_"):
            shifts = items if field.name == "first_item" else absents
            own = [each[:-1] + shift for each, shift in zip(own, shifts, strict=False)]
            own.append(shifts[-1:])
        changed[field.name] = np.concatenate(own)
    return Found(**changed)  # type: ignore[arg-type]


class Prepared:
    """Sorted events as the kernel reads them, for the search of one pattern after the other."""

    def __init__(
        self,
        events: Events,
        rows: Words,
        predicates: Predicates,
        report: Report,
        around: tuple[tuple[int, int], ...],
    ) -> None:
        self.events, self.rows, self.predicates = events, rows, predicates
        self.report, self.around = report, around
        self._queues: tuple[Words, Words] | None = None
        self._stamp = 0

    def search(self, pattern: Pattern, limits: StepLimits) -> Found:
        """Return the matches of one pattern, without its variants."""
        if self._queues is None:
            self._queues = prepare.queues(self.rows, len(pattern.components))
        arena, out = self._searched(pattern, limits, *self._queues)
        # Marks in the rows stay, so the next search counts on from where this one stopped.
        self._stamp = int(arena[layout.STAMP])
        return found_in(arena, out, pattern.missed)

    def _searched(
        self, pattern: Pattern, limits: StepLimits, queue_rows: Words, queue: Words
    ) -> tuple[Words, Words]:
        events, rows, n = self.events, self.rows, len(self.rows)
        deepest = most_depth(pattern, n, len(self.around))
        room = replace(_first_room(events, deepest), **_bound_room(pattern, n))
        arena = lay_out(pattern, self.report, room, queue_rows, events.is_float)
        arena[layout.STAMP] = self._stamp
        out = np.zeros(output_size(room), np.int64)
        slots = np.zeros(max((len(rule.slots) for rule in pattern.rules), default=0) + 1, np.int64)
        slot_nulls = np.zeros(len(slots), np.bool_)
        first = 0
        while True:
            _surround(arena, self.around)
            status, first = search(
                arena, rows, queue, out, slots, slot_nulls, *self.predicates, first
            )
            if status == layout.DONE:
                return arena, out
            if status == layout.LIMIT_REACHED:
                raise too_many(pattern)
            larger = enlarged(room, deepest, limits, arena, f" ({first:,} of {n:,} events seen)")
            grown = lay_out(pattern, self.report, larger, queue_rows, events.is_float)
            out = _moved(arena, out, grown, output_size(larger))
            arena, room = grown, larger


def event_rows(events: Events, order: Words) -> Words:
    """Return one row of words per event, as `kernels.layout` describes it, in the given order."""
    rows = np.zeros((len(order), layout.VALUES + len(events.values)), np.int64)
    places = (events.time, events.tie, events.stream, events.key, events.mask, events.group)
    prepare.fill_rows(
        order, places, events.p, events.values, events.nulls, rows, rows.view(np.float64)
    )
    prepare.mark_partitions(order, events.partition, rows)
    return rows


def most_depth(pattern: Pattern, n_events: int, n_around: int) -> int:
    """Return how deep a search over so many events can go."""
    most = n_events if pattern.most_events is None else min(pattern.most_events, n_events)
    return most + n_around + 3


def enlarged(room: Room, deepest: int, limits: StepLimits, arena: Words, seen: str = "") -> Room:
    """Return more room, up to what the matches of a step may take."""
    used = [int(arena[k]) for k in (layout.MATCHES, layout.ITEMS, layout.ABSENTS)]
    limits.check(*used, seen=seen)
    larger = room.enlarged(deepest)
    larger = replace(
        larger,
        passed=min(larger.passed, max(limits.absents, room.passed)),
        matches=min(larger.matches, max(limits.rows + 1, room.matches)),
        items=min(larger.items, max(limits.items + 1, room.items)),
        absents=min(larger.absents, max(limits.absents + 1, room.absents)),
    )
    if larger == room:
        # What one start has found is lost, but it was more than there may be.
        limits.check(limits.rows + 1, 0, seen=seen)
        raise limits.too_large(limits.rows + 1, limits.bytes, seen)
    return larger


def _first_room(events: Events, deepest: int) -> Room:
    return Room(
        depth=min(FIRST_DEPTH, deepest),
        passed=FIRST_ROOM,
        matches=FIRST_ROOM,
        items=FIRST_ROOM * 4,
        absents=FIRST_ROOM * 4,
        groups=int(events.group.max(initial=-1)) + 1,
    )


def _bound_room(pattern: Pattern, n_events: int) -> dict[str, int]:
    """Return the room for bounds and outlook, in memory that is touched where it is used."""
    words = min(MOST_BOUNDS, 4 * len(pattern.edges) * max(n_events, 1))
    return {
        "bounds": words,
        "work_before_bounds": WORK_BEFORE_BOUNDS,
        "passes_before_outlook": PASSES_BEFORE_OUTLOOK,
        "events_ahead": n_events if _can_look_ahead(pattern, n_events) else 0,
    }


def _can_look_ahead(pattern: Pattern, n_events: int) -> bool:
    """Whether an outlook for all events is not much larger than the events themselves."""
    words = len(pattern.edges) + len(pattern.accepting)
    return pattern.strategy == "ANY" and words * n_events <= max(MOST_BOUNDS, 16 * n_events)


def _surround(arena: Words, around: Sequence[tuple[int, int]]) -> None:
    """Bind the events of the match around; their components are complete."""
    complete = 0
    for component, event in around:
        count = arena[layout.COUNT] + component
        held = arena[layout.HELD] + arena[arena[layout.HELD_FROM] + component] + arena[count]
        arena[held] = event
        arena[count] += 1
        complete |= 1 << component
    arena[arena[layout.FRAMES] + layout.COMPLETE] = complete


def _moved(arena: Words, out: Words, grown: Words, size: int) -> Words:
    """Carry what was found over into larger buffers."""
    moved = np.zeros(size, np.int64)
    counters = slice(layout.MATCHES, layout.STAMP + 1)
    grown[counters] = arena[counters]
    for entry, count, width in _OUTPUT:
        begin, used = int(arena[entry]), int(arena[count]) * width
        moved[int(grown[entry]) : int(grown[entry]) + used] = out[begin : begin + used]
    return moved


# Where each part of the output begins, how many there are, and their size.
_OUTPUT = (
    (layout.OUT_MATCHES, layout.MATCHES, layout.MATCH_SIZE),
    (layout.OUT_ITEMS, layout.ITEMS, layout.ITEM_SIZE),
    (layout.OUT_ABSENTS, layout.ABSENTS, layout.ABSENT_SIZE),
)


def found_in(arena: Words, out: Words, missed: int) -> Found:
    """Return what a search left in its output; `missed` are the components that it did without."""
    n, n_items, n_absents = (int(arena[k]) for k in (layout.MATCHES, layout.ITEMS, layout.ABSENTS))
    rows = out[: n * layout.MATCH_SIZE].reshape(n, layout.MATCH_SIZE)
    items, absents = int(arena[layout.OUT_ITEMS]), int(arena[layout.OUT_ABSENTS])
    return Found(
        first_item=np.append(rows[:, layout.FIRST_ITEM], n_items),
        items=out[items : items + n_items * layout.ITEM_SIZE].reshape(n_items, layout.ITEM_SIZE),
        first_absent=np.append(rows[:, layout.FIRST_ABSENT], n_absents),
        absents=out[absents : absents + n_absents * layout.ABSENT_SIZE].reshape(
            n_absents, layout.ABSENT_SIZE
        ),
        # Rounding may lead beyond 1 where alternatives add up.
        confidence=np.minimum(rows.view(np.float64)[:, layout.CONFIDENCE], 1.0),
        report_time=rows[:, layout.REPORT_TIME].copy(),
        is_conditional=rows[:, layout.CONDITIONAL] != 0,
        missed=np.full(n, missed, np.int64),
    )


def too_many(pattern: Pattern) -> DataError:
    """Return the error for more matches than MATCH LIMIT allows."""
    return TooManyMatchesError(
        f"query {pattern.query}: more than {pattern.match_limit} matches begin with one event; "
        "uncertain events make exponentially many matches possible: narrow WITHIN, add conjuncts, "
        "raise HAVING CONFIDENCE, or set MATCH LIMIT to what you expect"
    )

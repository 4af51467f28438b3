"""Lay out the arena that the search kernel works in: a header, the query's tables, buffers.

The header holds scalars and, for every table and buffer, the offset where it stands. Tables come
from the compiled pattern; buffers are sized by `Room`, which grows when a search runs out of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from augury.kernels.search import layout
from augury.matching.ends import can_lack
from augury.matching.pattern import Pattern
from augury.records import Words

STRATEGIES = {
    "ANY": layout.ANY,
    "NEXT": layout.NEXT,
    "STRICT": layout.STRICT,
    "PARTITION": layout.PARTITION,
}
KINDS = {"GAP": layout.GAP, "NEXT": layout.NEXT_TO, "UNTIL": layout.UNTIL}
_SLOT = (layout.SLOT_COMPONENT, layout.SLOT_KIND, layout.SLOT_COLUMN, layout.SLOT_NUMBER)
_JOINT = (layout.JOINT_TO, layout.JOINT_OWN)
_EACH = (layout.EACH_COMPONENT, layout.EACH_FROM, layout.EACH_LEADER, layout.EACH_LAG)


@dataclass(frozen=True, slots=True)
class Report:
    """Which matches to report: those known in [reported, horizon).

    `independent` tells that events are base events, or alternatives of such, so that the kernel can
    compute the confidence.
    """

    reported: int
    horizon: int
    independent: bool


@dataclass(frozen=True, slots=True)
class Room:
    """How many rows each buffer has."""

    depth: int
    passed: int
    matches: int
    items: int
    absents: int
    groups: int
    bounds: int = 0
    work_before_bounds: int = 0
    events_ahead: int = 0
    passes_before_outlook: int = 1

    def enlarged(self, most_depth: int) -> Room:
        """Return four times the room."""
        return replace(
            self,
            depth=min(self.depth * 4, most_depth),
            passed=self.passed * 4,
            matches=self.matches * 4,
            items=self.items * 4,
            absents=self.absents * 4,
        )


def wants_absent(pattern: Pattern, independent: bool) -> bool:
    """Whether the caller needs to know which events must be absent, to compute the confidence."""
    return not independent or pattern.is_composite


def lay_out(
    pattern: Pattern, report: Report, room: Room, queue_rows: Words, is_float: Sequence[bool]
) -> Words:
    """Return a fresh arena for one search."""
    tables = {
        **_tables(pattern),
        **_scores(pattern),
        layout.IS_FLOAT: [int(real) for real in is_float],
        layout.QUEUE_ROWS: queue_rows.tolist(),
        layout.HELD_FROM: _held_from(pattern, room)[:-1],
    }
    header = np.zeros(layout.HEADER_SIZE, np.int64)
    for entry, value in _scalars(pattern, report, room).items():
        header[entry] = value
    header.view(np.float64)[layout.THRESHOLD] = pattern.threshold
    header.view(np.float64)[layout.BEST_SCORE] = pattern.best_score
    return _placed(header, tables, _buffers(pattern, room))


def _scalars(pattern: Pattern, report: Report, room: Room) -> dict[int, int]:
    return {
        layout.STRATEGY: STRATEGIES[pattern.strategy],
        layout.WINDOW: layout.FOREVER if pattern.window is None else pattern.window,
        layout.COUNT_WINDOW: pattern.count_window or 0,
        layout.STRICT_THRESHOLD: pattern.strict_threshold,
        layout.MATCH_LIMIT: pattern.match_limit,
        layout.WAITS: pattern.waits or _waits_for_composite(pattern),
        layout.INDEPENDENT: report.independent,
        layout.AMBIGUOUS: pattern.is_ambiguous,
        layout.WANT_ABSENT: wants_absent(pattern, report.independent),
        layout.REPORTED: report.reported,
        layout.HORIZON: report.horizon,
        layout.N_GUARDS: sum(guard.inside is None for guard in pattern.guards),
        layout.N_UNTILS: sum(guard.kind == "UNTIL" for guard in pattern.guards),
        layout.AFTER_COUNT: len(pattern.after),
        layout.END_COUNT: len(_matchwide(pattern)),
        layout.DEPTH_ROOM: room.depth,
        layout.PASSED_ROOM: room.passed,
        layout.MATCH_ROOM: room.matches,
        layout.ITEM_ROOM: room.items,
        layout.ABSENT_ROOM: room.absents,
        layout.N_STATES: len(pattern.accepting),
        layout.N_STRETCHES: len(pattern.stretches),
        layout.BOUND_ROOM: room.bounds,
        layout.BOUND_AFTER: room.work_before_bounds,
        layout.OUTLOOK_AFTER: room.passes_before_outlook if room.events_ahead else -1,
        layout.OUTLOOK_STOP: -1,
        layout.FIRST_ONLY: pattern.first_only,
        layout.OUT_MATCHES: 0,
        layout.OUT_ITEMS: room.matches * layout.MATCH_SIZE,
        layout.OUT_ABSENTS: room.matches * layout.MATCH_SIZE + room.items * layout.ITEM_SIZE,
    }


def _waits_for_composite(pattern: Pattern) -> bool:
    """Whether a negation of several components may reach to the end of the window.

    The search does not look at those, so every match of such a pattern waits.
    """
    return any(guard.inside and can_lack(pattern, guard.later) for guard in pattern.guards)


def output_size(room: Room) -> int:
    """Return how many words the output needs."""
    return (
        room.matches * layout.MATCH_SIZE
        + room.items * layout.ITEM_SIZE
        + room.absents * layout.ABSENT_SIZE
    )


def _buffers(pattern: Pattern, room: Room) -> dict[int, int]:
    """Return the buffers by header entry, with their sizes in words."""
    n = len(pattern.components)
    return {
        layout.HELD: _held_from(pattern, room)[-1],
        layout.COUNT: n,
        layout.INDEX: n,
        layout.CHANCES: (pattern.count_window or 0) + 1,
        layout.FRAMES: room.depth * layout.FRAME_SIZE,
        layout.GROUPS: room.groups * layout.GROUP_SIZE,
        layout.PASSED_OVER: room.passed * layout.ABSENT_SIZE,
        layout.BEST: len(pattern.accepting),
        layout.BOUNDS: room.bounds,
        layout.AHEAD_FIRST: len(pattern.accepting),
        layout.AHEAD_LAST: len(pattern.accepting),
        layout.AHEAD: room.events_ahead * len(pattern.accepting),
        layout.OUTLOOK: room.events_ahead * len(pattern.edges),
    }


def _held_from(pattern: Pattern, room: Room) -> list[int]:
    """Return where each component's items begin: a repetition has room for the whole depth."""
    sizes = (
        room.depth if (pattern.repeats >> c) & 1 else 1 for c in range(len(pattern.components))
    )
    return _starts(sizes)


def _tables(pattern: Pattern) -> dict[int, Sequence[int]]:
    edges = sorted(pattern.edges, key=lambda edge: edge.source)
    states = range(len(pattern.accepting))
    by_component = [_rules_of(pattern, c) for c in range(len(pattern.components))]
    simple = [guard for guard in pattern.guards if guard.inside is None]
    rules = pattern.rules
    return {
        layout.EDGE_ROWS: _starts(sum(e.source == q for e in edges) for q in states),
        layout.EDGE_COMPONENT: [e.component for e in edges],
        layout.EDGE_TARGET: [e.target for e in edges],
        layout.EDGE_YIELDS: [int(e.yields) for e in edges],
        layout.JOINT_ROWS: _starts(len(e.adjacent) for e in edges),
        **_columns(_JOINT, (joint for e in edges for joint in e.adjacent)),
        layout.ACCEPTING: [int(a) for a in pattern.accepting],
        layout.BEFORE: pattern.before,
        layout.CLOSED_BY: pattern.closed_by,
        layout.RULE_ROWS: _starts(map(len, by_component)),
        layout.RULES: [rule for own in by_component for rule in own],
        layout.AFTER_RULES: pattern.after,
        layout.END_RULES: _matchwide(pattern),
        layout.RULE_READS: [rule.reads for rule in rules],
        layout.RULE_READS_WHOLE: [rule.reads_whole for rule in rules],
        layout.RULE_NEEDS: [rule.needs for rule in rules],
        layout.SLOT_ROWS: _starts(len(rule.slots) for rule in rules),
        **_columns(_SLOT, (slot for rule in rules for slot in rule.slots)),
        layout.EACH_ROWS: _starts(len(rule.each) for rule in rules),
        **_columns(_EACH, (each for rule in rules for each in rule.each)),
        layout.GUARD_COMPONENT: [guard.component for guard in simple],
        layout.GUARD_KIND: [KINDS[guard.kind] for guard in simple],
        layout.GUARD_EARLIER: [guard.earlier for guard in simple],
        layout.GUARD_LATER: [guard.later for guard in simple],
        layout.GUARD_COMPANY: [guard.company for guard in simple],
        layout.GUARD_ROWS: _starts(len(guard.rules) for guard in simple),
        layout.GUARD_RULES: [rule for guard in simple for rule in guard.rules],
    }


def _scores(pattern: Pattern) -> dict[int, Sequence[int]]:
    """Return the tables of the stretches; pieces are numbered like cuts, so one is to spare."""
    stretches = pattern.stretches
    powers = [power for s in stretches for row in (*s.powers, s.powers[-1]) for power in row]
    return {
        layout.STRETCH_EARLIER: [s.earlier for s in stretches],
        layout.STRETCH_LATER: [s.later for s in stretches],
        layout.PIECE_ROWS: _starts(len(s.cuts) for s in stretches),
        layout.PIECE_CUTS: _words(cut for s in stretches for cut in s.cuts),
        layout.PIECE_POWERS: _words(powers),
    }


def _words(reals: Iterable[float]) -> list[int]:
    words: list[int] = np.array(list(reals), np.float64).view(np.int64).tolist()
    return words


def _matchwide(pattern: Pattern) -> tuple[int, ...]:
    """Return the rules over positive components, without those applied afterwards.

    One that reads a missed component is applied only if it has a default for it.
    """
    own = pattern.positive | pattern.missed
    return tuple(
        k
        for k, rule in enumerate(pattern.rules)
        if rule.reads & ~own == 0 and not rule.needs & pattern.missed and k not in pattern.after
    )


def _rules_of(pattern: Pattern, component: int) -> list[int]:
    """Return the rules that taking an event for a component can make testable."""
    touched = pattern.closed_by[component] | 1 << component
    return [k for k in _matchwide(pattern) if pattern.rules[k].reads & touched]


def _columns(entries: tuple[int, ...], rows: Iterable[tuple[int, ...]]) -> dict[int, list[int]]:
    found = list(rows)
    return {entry: [row[k] for row in found] for k, entry in enumerate(entries)}


def _starts(lengths: Iterable[int]) -> list[int]:
    starts = [0]
    for length in lengths:
        starts.append(starts[-1] + length)
    return starts


def _placed(
    header: Words, tables: Mapping[int, Sequence[int]], buffers: Mapping[int, int]
) -> Words:
    body: list[int] = []
    for entry, table in tables.items():
        header[entry] = len(header) + len(body)
        body.extend(table)
    end = len(header) + len(body)
    for entry, size in buffers.items():
        header[entry] = end
        end += size
    arena = np.zeros(end, np.int64)
    arena[: len(header)] = header
    arena[len(header) : len(header) + len(body)] = body
    return arena

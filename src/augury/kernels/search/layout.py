"""The memory of the search: which array holds what, and where in it.

The arena `m` is a vector of 64-bit words: a header of scalars and of offsets, then the tables and
buffers that the offsets point to; `augury.matching.arena` lays it out. Kernels see it, the events
and the output by address (see `memory`).

Shapes: T events, A attributes, D search depth, C components, G groups of alternatives, M matches.
"""

from __future__ import annotations

from typing import NamedTuple

from augury.kernels.jit import accessor
from augury.kernels.memory import get, get_real, put

ANY, NEXT, STRICT, PARTITION = range(4)
DONE, BUFFER_FULL, LIMIT_REACHED = range(3)
GAP, NEXT_TO, UNTIL = range(3)
TOLERANCE = 1e-9
FOREVER = 2**63 - 1

# Columns of `e` (T, VALUES + A). BEGIN and STOP bound the event's partition; P is a double.
# IN_MATCH and ABSENT hold the number of the match that marked the event last. NULLS has bit a set
# where attribute a is NULL; the attributes follow.
TIME, TIE, STREAM, KEY, MASK, GROUP, BEGIN, STOP, P, IN_MATCH, ABSENT, NULLS, VALUES = range(13)

# The header of `m`: scalars of the query and of the report, room in buffers, rows used in them.
(
    STRATEGY,
    WINDOW,
    COUNT_WINDOW,
    THRESHOLD,
    STRICT_THRESHOLD,
    MATCH_LIMIT,
    WAITS,
    INDEPENDENT,
    AMBIGUOUS,
    WANT_ABSENT,
    REPORTED,
    HORIZON,
    N_GUARDS,
    AFTER_COUNT,
    END_COUNT,
    DEPTH_ROOM,
    PASSED_ROOM,
    MATCH_ROOM,
    ITEM_ROOM,
    ABSENT_ROOM,
    MATCHES,
    ITEMS,
    ABSENTS,
    PASSED,
    STAMP,
    # Offsets of the query's tables; `_ROWS` holds where each row of a ragged table starts.
    EDGE_ROWS,
    EDGE_COMPONENT,
    EDGE_TARGET,
    EDGE_YIELDS,
    JOINT_ROWS,
    JOINT_TO,
    JOINT_OWN,
    ACCEPTING,
    BEFORE,
    CLOSED_BY,
    RULE_ROWS,
    RULES,
    AFTER_RULES,
    END_RULES,
    RULE_READS,
    RULE_READS_WHOLE,
    RULE_NEEDS,
    SLOT_ROWS,
    SLOT_COMPONENT,
    SLOT_COLUMN,
    SLOT_KIND,
    SLOT_NUMBER,
    EACH_ROWS,
    EACH_COMPONENT,
    EACH_FROM,
    EACH_LEADER,
    EACH_LAG,
    GUARD_COMPONENT,
    GUARD_KIND,
    GUARD_EARLIER,
    GUARD_LATER,
    GUARD_COMPANY,
    GUARD_ROWS,
    GUARD_RULES,
    IS_FLOAT,
    QUEUE_ROWS,
    # Offsets of buffers: the items a component holds (COUNT of them from HELD_FROM on; a rule looks
    # at number INDEX), the distribution of a count, the search frames, groups, passed-over events.
    HELD,
    HELD_FROM,
    COUNT,
    INDEX,
    CHANCES,
    FRAMES,
    GROUPS,
    PASSED_OVER,
    # Offsets into `out`.
    OUT_MATCHES,
    OUT_ITEMS,
    OUT_ABSENTS,
    # Bounds: number of states, room for trees, work to do before bounds are thought of (0: make
    # them at once), the start they belong to, leaves of a tree, events looked at for this start and
    # how many may be before the next thought; then two buffers.
    N_STATES,
    BOUND_ROOM,
    BOUND_AFTER,
    BOUNDED_START,
    LEAVES,
    WORK,
    BUDGET,
    BOUNDS,
    BEST,
    # Stretches of what was not read: how many, and the best that all can score (a double); then
    # offsets of tables: the components before and after each, its pieces, where a piece is cut, and
    # the polynomial of each piece (doubles).
    N_STRETCHES,
    BEST_SCORE,
    STRETCH_EARLIER,
    STRETCH_LATER,
    PIECE_ROWS,
    PIECE_CUTS,
    PIECE_POWERS,
    # Outlook: after how many passes' worth of work it is made (-1: never), the partition it is
    # about (by its end), events looked at there so far, whether it is made; then buffers: the
    # bounds, the events ahead of each state, and where these begin and end.
    OUTLOOK_AFTER,
    OUTLOOK_STOP,
    OUTLOOK_WORK,
    SEES_AHEAD,
    OUTLOOK,
    AHEAD,
    AHEAD_FIRST,
    AHEAD_LAST,
    # Whether one match is enough for each start.
    FIRST_ONLY,
    # Repetitions that end before an event for which UNTIL holds.
    N_UNTILS,
    HEADER_SIZE,
) = range(99)

# A frame: the item (component and event), the transition that took it, the state reached, the
# components that are complete (bits); which transition and event to try next; where the events that
# must be absent stand among those passed over: FIXED..OWN for taking the item, OWN.. since. BARRIER
# is a certain event that nothing after it can pass (-1: none); DOOMED tells that a certain event
# would have been taken, so that the match cannot end here. REFUSED are the transitions (bits) left
# out for the event at SCAN. WEIGHT, a double, bounds the confidence.
(
    ITEM_COMPONENT,
    ITEM_EVENT,
    LANE,
    STATE,
    COMPLETE,
    TRY,
    SCAN,
    FIXED,
    OWN,
    BARRIER,
    DOOMED,
    REFUSED,
    WEIGHT,
    FRAME_SIZE,
) = range(14)

# A group of alternatives: the match that took one of them, the match that forbids some, and their
# total probability (a double); the match that looked at some beyond its end, and where they begin.
GROUP_TAKEN, GROUP_ABSENT, GROUP_MASS, GROUP_SEEN, GROUP_BLOCK, GROUP_SIZE = range(6)

# A match in `out`; CONDITIONAL tells that it takes more than a product to value it. CONFIDENCE, a
# double, is then an upper bound.
FIRST_ITEM, FIRST_ABSENT, REPORT_TIME, CONDITIONAL, CONFIDENCE, MATCH_SIZE = range(6)

# The polynomials of scores have this many coefficients.
POWERS = 8

# A passed-over or absent event. One that a NEXT(...) would have taken only as the direct neighbour
# of SINCE need not be absent where something else lies between; with ALSO_SINCE the next row names
# a further event whose neighbour it would have been. UNLESS_OUTSIDE, it need not be absent where so
# many events exist that it lies outside the window of events; UNLESS_SKIPPED, where a contiguous
# run would have skipped something that exists. ALSO_SKIPPED adds that to what the row before says.
WHO, SINCE, ABSENT_SIZE = range(3)
ALWAYS_ABSENT, UNLESS_OUTSIDE, ALSO_SINCE, UNLESS_SKIPPED, ALSO_SKIPPED = -1, -2, -3, -4, -5
ITEM_SIZE = 2


class Memory(NamedTuple):
    """Addresses of all that a search reads and writes.

    `m` is the arena, `e` the events (`n_events` rows of `width` words), `q` lists, by component,
    the events that may play it, `out` takes the matches; the rest is the predicate machine's.
    """

    m: int
    e: int
    q: int
    out: int
    slots: int
    slot_nulls: int
    code: int
    words: int
    nulls: int
    n_events: int
    width: int


@accessor
def of(s, event, column):
    """Return a column of an event."""
    return get(s.e, event * s.width + column)


@accessor
def real_of(s, event, column):
    """Return a column of an event as a double."""
    return get_real(s.e, event * s.width + column)


@accessor
def mark(s, event, column, value):
    """Write a column of an event."""
    put(s.e, event * s.width + column, value)


@accessor
def entry(s, name, row):
    """Return row `row` of the table that the header entry `name` points to."""
    return get(s.m, get(s.m, name) + row)


@accessor
def frame_at(s, depth, field):
    """Return where a field of a search frame stands in the arena."""
    return get(s.m, FRAMES) + depth * FRAME_SIZE + field


@accessor
def event_at(s, depth):
    """Return the event taken at a depth."""
    return get(s.m, get(s.m, FRAMES) + depth * FRAME_SIZE + ITEM_EVENT)


@accessor
def group_at(s, number, field):
    """Return where a field of a group of alternatives stands in the arena."""
    return get(s.m, GROUPS) + number * GROUP_SIZE + field


@accessor
def passed_at(s, number, field):
    """Return where a field of a passed-over event stands in the arena."""
    return get(s.m, PASSED_OVER) + number * ABSENT_SIZE + field


@accessor
def absent_at(s, number, field):
    """Return where a field of an absent event stands in the output."""
    return get(s.m, OUT_ABSENTS) + number * ABSENT_SIZE + field


@accessor
def match_at(s, number, field):
    """Return where a field of a match stands in the output."""
    return get(s.m, OUT_MATCHES) + number * MATCH_SIZE + field

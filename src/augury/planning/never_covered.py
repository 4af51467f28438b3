"""Contiguous runs of which none begins inside another: AFTER MATCH passes over nothing.

Between the events of a contiguous run lies no other event of its partition. So where no two events
are at once, what begins inside a match begins with an event of it; and where no first component may
be played by what plays a later one, there is no such event.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from augury.analysis.checked import CheckedQuery
from augury.language import expressions as ex
from augury.planning.pattern.build_automaton import build_automaton


def without_skip(query: CheckedQuery) -> CheckedQuery | None:
    """Return the query without AFTER MATCH where its matches stay, but for events at once.

    None where matches may cover each other, or are numbered.
    """
    skip = query.after_match
    if skip is None or query.strategy not in ("STRICT", "PARTITION"):
        return None
    is_plain = all(s.query is None and not s.is_uncertain for s in query.streams)
    if not is_plain or len(query.streams) > 1 or _is_numbered(query) or _may_begin_inside(query):
        return None
    return replace(query, after_match=None, having=skip.having)


def _is_numbered(query: CheckedQuery) -> bool:
    values = (out.value for out in query.outputs)
    return any(isinstance(v, ex.Call) and v.function.upper() == "MATCH_NUMBER" for v in values)


def _may_begin_inside(query: CheckedQuery) -> bool:
    transitions = build_automaton(query).transitions
    first = {each.component for each in transitions if each.source == 0}
    later = {each.component for each in transitions if each.source != 0}
    pairs = {*product(first, later), *((a, b) for a, b in product(first, first) if a < b)}
    return any(_may_be_one(query, a, b) for a, b in pairs)


def _may_be_one(query: CheckedQuery, a: int, b: int) -> bool:
    """Whether an event may play one component, and the other."""
    own, other = ({by.type for by in query.components[c].played_by} for c in (a, b))
    return None in own or None in other or not own.isdisjoint(other)

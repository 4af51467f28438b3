"""Gaps, conditions and ends whose unread parts have no score: known before any table is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, islice

from augury.analysis.checked import CheckedGap, CheckedQuery
from augury.analysis.unread import can_be_missed
from augury.config import value_of
from augury.planning.missed.time_bounds import reads_time_of
from augury.planning.missed.unseen import Placed, parts_of, stretches_of
from augury.planning.refusal import PlanError, Refused

MOST_LENGTHS = 500


def unscored(query: CheckedQuery) -> Refused | None:
    """Return what keeps the unread parts of a query from being scored, or None."""
    return next((found for rule in _RULES if (found := rule(query)) is not None), None)


def _gaps(query: CheckedQuery) -> Refused | None:
    return next((found for gap in query.gaps if (found := _gap(query, gap)) is not None), None)


def _gap(query: CheckedQuery, gap: CheckedGap) -> Refused | None:
    """Return why a gap cannot be used: its start may not be the nearest component that is bound."""
    own, origin = (gap.earlier, gap.later) if gap.backward else (gap.later, gap.earlier)
    optional = query.components[origin].minimum == 0
    if _nearest(query, gap, own) != (origin,) or optional:
        names = query.components
        why = "may be absent" if optional else "is not always its nearest neighbour"
        return Refused(
            f"a gap that times {names[own].name} from {names[origin].name}, which {why}",
            "time it from a single component that is always there and next to it",
        )
    if len(gap.parameters) > MOST_LENGTHS:
        return Refused(
            f"an EMPIRICAL gap of {len(gap.parameters)} lengths, of which {MOST_LENGTHS} at most",
            "give fewer lengths, or let CREATE GAPS ... LEARN FROM fit a distribution",
        )
    return None


def _nearest(query: CheckedQuery, gap: CheckedGap, own: int) -> tuple[int, ...]:
    parts = parts_of(query)
    place = next(k for k, part in enumerate(parts) if own in part.components)
    positive = [k for k, part in enumerate(parts) if not part.negated]
    beside = [k for k in positive if (k > place if gap.backward else k < place)]
    return parts[min(beside) if gap.backward else max(beside)].components


def _timed_negations(query: CheckedQuery) -> Refused | None:
    """Return the time of a negation that WHERE bounds and a score takes as possibly unread."""
    for own in query.components:
        if own.negated and can_be_missed(query, own.index) and reads_time_of(query, own.index):
            return Refused(
                f"a condition on the time of {own.name}, which is negated and, by its gap and miss "
                "rate, may have happened unread",
                f"leave out the condition, or the gap of {own.name} (it is then taken as read)",
            )
    return None


def _ends(query: CheckedQuery) -> Refused | None:
    """Return what lies unread at an end of the pattern and cannot be scored there."""
    counts = query.within is not None and query.within.events
    negated = [c.index for c in query.components if c.negated]
    if not counts and not any(can_be_missed(query, c) for c in negated):
        return None
    for missed in _missed(query):
        try:
            placed = stretches_of(query, missed) or ()
        except PlanError as error:
            what = "more missed components at the ends than can be scored with a negation there"
            return Refused(what, error.hint)
        if counts and any(map(_is_end, placed)):
            what = "an unseen component at an end of a window of events, which is no time"
            return Refused(what, "use a window of time, such as WITHIN 1 HOUR")
    return None


def _missed(query: CheckedQuery) -> Iterator[frozenset[int]]:
    usable = [c for c in query.may_miss if can_be_missed(query, c)]
    sizes = range(min(query.allow, len(usable)) + 1)
    sets = (frozenset(own) for size in sizes for own in combinations(usable, size))
    return islice(sets, value_of("automaton_state_limit"))


def _is_end(placed: Placed) -> bool:
    return not (placed.earlier and placed.later)


_RULES: tuple[Callable[[CheckedQuery], Refused | None], ...] = (_gaps, _timed_negations, _ends)

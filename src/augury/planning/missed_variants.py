"""Which sets of components a match may do without: a variant of the pattern for each.

A variant is the pattern with the missed components turned into guards, and with what their
stretches score. The best that a variant can score within the window decides whether it is there at
all, and bounds every path of its search.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from augury.analysis.checked import CheckedQuery
from augury.config import value_of
from augury.gaps.likely import likely_times
from augury.gaps.scores import score_table
from augury.gaps.stretch import Stretch, unseen_in
from augury.matching import pattern as compiled
from augury.planning.refusal import NOT_EVALUATED, TOO_MANY_STATES, PlanError
from augury.planning.time_bounds import reads_time_of
from augury.planning.unseen import Missed, Placed, can_be_missed, parts_of, stretches_of

TOLERANCE = 1e-9
# What a table may be off by is not a reason to leave something out.
SLACK = 1e-6
MOST_LENGTHS = 500


@dataclass(frozen=True, slots=True)
class Variant:
    """Components that are missed together, and the stretches that this leaves."""

    missed: Missed
    stretches: tuple[compiled.Stretch, ...]
    placed: tuple[Placed, ...]

    @property
    def best(self) -> float:
        return math.prod(stretch.best for stretch in self.stretches)


def variants_of(query: CheckedQuery) -> tuple[Variant, ...]:
    """Return the pattern as written first, then the variants that can reach the threshold."""
    _refuse_untimed(query)
    _refuse_timed_negations(query)
    plain = _variant(query, frozenset())
    assert plain is not None
    return (plain, *(each for each in missing(query) if can_pass(query, each.best)))


def missing(query: CheckedQuery) -> Iterator[Variant]:
    """Yield every set of components that a match may do without, whatever it can score."""
    usable = [c for c in query.may_miss if can_be_missed(query, c)]
    limit, n = value_of("automaton_state_limit"), 0
    for size in range(1, min(query.allow, len(usable)) + 1):
        for chosen in combinations(usable, size):
            n += 1
            if n > limit:
                raise _too_many(limit)
            variant = _variant(query, frozenset(chosen))
            if variant is not None:
                yield variant


def _variant(query: CheckedQuery, missed: Missed) -> Variant | None:
    placed = stretches_of(query, missed)
    if placed is None:
        return None
    return Variant(missed, tuple(_compiled(query, each) for each in placed), placed)


def can_pass(query: CheckedQuery, best: float) -> bool:
    """Return whether a match that scores at most `best` can be reported."""
    having = query.having
    threshold = having.threshold if having and having.measure == "CONFIDENCE" else 0.0
    return best > 0.0 and best + SLACK >= threshold - TOLERANCE


def best_score(query: CheckedQuery, stretch: Stretch) -> float:
    """Return the highest score of a stretch within the window."""
    window = window_of(query)
    return min(1.0, score_table(stretch, query.scoring, window).best(window))


def window_of(query: CheckedQuery) -> float:
    """Return the window's length, inf where it has none in time."""
    within = query.within
    return float(within.length) if within is not None and not within.events else math.inf


def _compiled(query: CheckedQuery, placed: Placed) -> compiled.Stretch:
    if not (placed.earlier and placed.later) and query.within is not None and query.within.events:
        raise PlanError(
            NOT_EVALUATED,
            f"query {query.name} has an unseen component at an end of a window of events, which "
            "says nothing about time: that is checked and explained, but not evaluated",
            "use a window of time, such as WITHIN 1 HOUR",
        )
    table = score_table(placed.stretch, query.scoring, window_of(query))
    return compiled.Stretch(
        earlier=_bits(placed.earlier),
        later=_bits(placed.later),
        unseen=_bits(part.component for part in unseen_in(placed.stretch)),
        cuts=tuple(table.cuts.tolist()),
        powers=tuple(tuple(row) for row in table.coefficients.tolist()),
        best=best_score(query, placed.stretch),
        likely=tuple(
            (each.component, each.lengths, each.low, each.high)
            for each in likely_times(placed.stretch, float(table.cuts[-1]))
        ),
    )


def _bits(components: Iterable[int]) -> int:
    return sum(1 << c for c in set(components))


# Refusals -------------------------------------------------------------------------------------


def _refuse_untimed(query: CheckedQuery) -> None:
    """Raise where a gap starts at a component that may not be the nearest one that was bound."""
    parts = parts_of(query)
    positive = [k for k, part in enumerate(parts) if not part.negated]
    for gap in query.gaps:
        own, origin = (gap.earlier, gap.later) if gap.backward else (gap.later, gap.earlier)
        place = next(k for k, part in enumerate(parts) if own in part.components)
        beside = [k for k in positive if (k > place if gap.backward else k < place)]
        nearest = parts[min(beside) if gap.backward else max(beside)].components
        optional = query.components[origin].minimum == 0
        if nearest != (origin,) or optional:
            names = query.components
            raise PlanError(
                NOT_EVALUATED,
                f"query {query.name} times {names[own].name} from {names[origin].name}, which "
                f"{'may be absent' if optional else 'is not always its nearest neighbour'}: "
                "that is checked and explained, but not evaluated",
                "time it from a single component that is always there and next to it",
            )
        if len(gap.parameters) > MOST_LENGTHS:
            raise PlanError(
                NOT_EVALUATED,
                f"query {query.name} has an EMPIRICAL gap of {len(gap.parameters)} lengths, and "
                f"{MOST_LENGTHS} can be evaluated",
                "give fewer lengths, or let CREATE GAPS ... LEARN FROM fit a distribution",
            )


def _refuse_timed_negations(query: CheckedQuery) -> None:
    """Raise where WHERE bounds the time of a negation that a score takes as possibly unread."""
    for own in query.components:
        if own.negated and can_be_missed(query, own.index) and reads_time_of(query, own.index):
            raise PlanError(
                NOT_EVALUATED,
                f"query {query.name} has a condition on the time of {own.name}, which is negated "
                "and, by its gap and miss rate, may have happened unread: that is checked and "
                "explained, but not evaluated",
                f"leave out the condition, or the gap of {own.name} (it is then taken as read)",
            )


def _too_many(limit: int) -> PlanError:
    return PlanError(
        TOO_MANY_STATES,
        f"ALLOW permits more than {limit:,} different sets of missed components",
        "lower the number in ALLOW, or name the components: ALLOW 2 MISSED OF (x, z)",
    )

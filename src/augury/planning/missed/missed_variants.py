"""Which sets of components a match may do without: a variant of the pattern for each.

A variant is the pattern with the missed components turned into guards, and with what their
stretches score. The best that a variant can score within the window decides whether it is there at
all, and bounds every path of its search.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from augury.analysis.checked import CheckedQuery
from augury.analysis.unread import can_be_missed
from augury.config import value_of
from augury.gaps.likely import likely_times
from augury.gaps.scores import Scoring, score_table
from augury.gaps.scores import best_score as table_best
from augury.gaps.stretch import Stretch, nameless, unseen_in
from augury.matching import pattern as compiled
from augury.planning.missed.unseen import Missed, Placed, stretches_of
from augury.planning.refusal import TOO_MANY_STATES, PlanError

TOLERANCE = 1e-9
# What a table may be off by is not a reason to leave something out.
SLACK = 1e-6


@dataclass(frozen=True, slots=True)
class Variant:
    """Components that are missed together, and the stretches that this leaves."""

    missed: Missed
    stretches: tuple[compiled.Stretch, ...]

    @property
    def best(self) -> float:
        return math.prod(stretch.best for stretch in self.stretches)


def variants_of(query: CheckedQuery) -> tuple[Variant, ...]:
    """Return the pattern as written first, then the variants that can reach the threshold."""
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
    return Variant(missed, tuple(_compiled(query, each) for each in placed))


def can_pass(query: CheckedQuery, best: float) -> bool:
    """Return whether a match that scores at most `best` can be reported."""
    having = query.having
    threshold = having.threshold if having and having.measure == "CONFIDENCE" else 0.0
    return best > 0.0 and best + SLACK >= threshold - TOLERANCE


def best_score(query: CheckedQuery, stretch: Stretch) -> float:
    """Return the highest score of a stretch within the window."""
    return table_best(nameless(stretch), scoring_of(query), window_of(query))


def scoring_of(query: CheckedQuery) -> Scoring:
    """Return by which formulas unread parts are scored; of other papers nothing is unread."""
    return "AYAC" if query.scoring == "AYAC" else "LAW"


def window_of(query: CheckedQuery) -> float:
    """Return the window's length, inf where it has none in time."""
    within = query.within
    return float(within.length) if within is not None and not within.events else math.inf


def _compiled(query: CheckedQuery, placed: Placed) -> compiled.Stretch:
    table = score_table(placed.stretch, scoring_of(query), window_of(query))
    return compiled.Stretch(
        earlier=compiled.bits_of(placed.earlier),
        later=compiled.bits_of(placed.later),
        unseen=compiled.bits_of(part.component for part in unseen_in(placed.stretch)),
        cuts=tuple(table.cuts.tolist()),
        powers=tuple(tuple(row) for row in table.coefficients.tolist()),
        best=best_score(query, placed.stretch),
        likely=tuple(
            (each.component, each.lengths, each.low, each.high)
            for each in likely_times(placed.stretch, window_of(query))
        ),
    )


# Refusals -------------------------------------------------------------------------------------


def _too_many(limit: int) -> PlanError:
    return PlanError(
        TOO_MANY_STATES,
        f"ALLOW permits more than {limit:,} different sets of missed components",
        "lower the number in ALLOW, or name the components: ALLOW 2 MISSED OF (x, z)",
    )

"""The rules that a resolved query must obey, in order, one function each.

Rules report and do not raise. Those that read a clause fill its place in the draft, so the ones
after them can build on it.
"""

from __future__ import annotations

from collections.abc import Callable

from augury.analysis.clauses import (
    active,
    after_match,
    correlation,
    missed,
    negation,
    options,
    probability,
    returns,
    scoring,
    selection,
    windows,
)
from augury.analysis.draft import Draft
from augury.analysis.expressions import conditional

Rule = Callable[[Draft], None]

RULES: tuple[Rule, ...] = (
    negation.some_event_must_happen,
    negation.pattern_is_not_too_large,
    negation.conditions_name_one_negated_component,
    windows.lengths_fit_the_time,
    windows.window_bounds_the_state,
    windows.every_slides_a_window,
    windows.over_looks_back_from_a_time,
    windows.probability_windows_are_of_time,
    windows.streaming_needs_a_window,
    windows.matches_may_straddle_windows,
    selection.after_where_follows_a_choice,
    selection.strategy_is_over_components,
    selection.contiguity_has_a_key,
    selection.tie_breakers_are_of_one_stream,
    selection.match_limit_is_positive,
    options.options_are_known,
    missed.allowed_components_can_be_missed,
    missed.rates_are_of_components,
    missed.missing_needs_matches,
    missed.components_are_told_apart,
    missed.conditions_survive_a_miss,
    active.subqueries_name_what_is_there,
    active.moments_are_known,
    after_match.skip_goes_to_an_event,
    after_match.events_are_of_matches,
    correlation.correlation_applies,
    conditional.correlation_names_pairs,
    probability.having_fits_what_returns,
    probability.threshold_is_a_probability,
    probability.groups_need_a_probability,
    probability.approximation_has_bounds,
    returns.keys_are_what_is_equated,
    returns.columns_have_names,
    returns.groups_are_values,
)

# These need the gaps, which a script may give after the query.
LATE_RULES: tuple[Rule, ...] = (
    scoring.scoring_fits,
    missed.missed_components_have_models,
    missed.readers_are_listed,
)

"""WITHIN, EVERY and OVER: lengths, units, and where a window must be.

A window is required where state would grow for ever: in enumerated queries with a repetition or a
negation at an end, and wherever a negation at an end would have nothing to bound it.
"""

from __future__ import annotations

from augury.analysis.checked import CheckedWindow, Leaf, Negated, Shape
from augury.analysis.clauses.shapes import at_an_end, end_negations, pattern_text
from augury.analysis.declarations.durations import microseconds
from augury.analysis.declarations.streams import check_length
from augury.analysis.draft import Draft
from augury.language.expressions import Duration
from augury.language.tree import Window


def lengths_fit_the_time(draft: Draft) -> None:
    """WITHIN, EVERY and OVER are positive and in the unit that TIME has."""
    draft.within = _read(draft, draft.statement.within, "WITHIN")
    draft.every = _read(draft, draft.statement.every, "EVERY")
    returns = draft.statement.returns
    draft.over = _read(draft, returns.over, "OVER") if returns else None


def _read(draft: Draft, window: Window | None, keyword: str) -> CheckedWindow | None:
    if window is None:
        return None
    span = window.span if window.span.end else draft.clause(keyword)
    before = draft.findings.error_count
    length = window.length
    amount = length.amount if isinstance(length, Duration) else length
    if not amount > 0:
        message = f"{keyword} {amount:g} is not positive"
        draft.findings.error("A023", message, span, "write a length above 0")
    elif window.events:
        if isinstance(length, float) and not length.is_integer():
            message = f"{keyword} {length:g} EVENTS is not a whole number of events"
            draft.findings.error("A023", message, span, "write a whole number")
    elif draft.time_is_ticks is not None and draft.complete:
        check_length(length, draft.time_is_ticks, keyword, span, draft.findings)
    if draft.findings.error_count > before:
        return None
    return CheckedWindow(_units(length), window.events)


def _units(length: Duration | float) -> int:
    return microseconds(length) if isinstance(length, Duration) else int(length)


def window_bounds_the_state(draft: Draft) -> None:
    """Where a repetition or negation is at an end, enumerated queries have WITHIN."""
    if draft.statement.within is not None or draft.shape is None:
        return
    negation = next(iter(end_negations(draft.shape, draft.components)), None)
    if negation is not None and (draft.by_time or not draft.returns_probability):
        part, trailing = negation
        where = "ends" if trailing else "starts"
        text = pattern_text(part, draft.components)
        _report(
            draft,
            f"{_pattern(draft)} {where} with {text} and has no window, "
            f"so nothing bounds how long {text} is watched for",
        )
    elif not draft.returns_probability and _repeats_at_an_end(draft):
        _report(draft, f"{_pattern(draft)} has no window, so its state can grow for ever")


def _repeats_at_an_end(draft: Draft) -> bool:
    if draft.shape is None:
        return False
    ends = at_an_end(draft.shape, draft.components, last=False) | at_an_end(
        draft.shape, draft.components, last=True
    )
    return any(draft.components[i].repeats for i in ends)


def _pattern(draft: Draft) -> str:
    return pattern_text(draft.shape, draft.components) if draft.shape else "the pattern"


def _report(draft: Draft, message: str) -> None:
    example = "WITHIN 100" if draft.time_is_ticks else "WITHIN 10 MINUTES"
    draft.findings.error(
        "A021", message, draft.statement.pattern.span, f"add WITHIN, for example: {example}"
    )


def streaming_needs_a_window(draft: Draft) -> None:
    """Tell that an enumerated query without WITHIN runs over bounded input only."""
    if draft.statement.within is None and not draft.returns_probability:
        draft.findings.warning(
            "W001",
            f"query {draft.name} has no window: it runs over bounded input, "
            "and a streaming run refuses it",
            draft.statement.pattern.span,
            "add WITHIN to run it on an endless stream",
        )


def every_slides_a_window(draft: Draft) -> None:
    """EVERY stands with WITHIN and RETURN PROBABILITY, not BY TIME."""
    every = draft.statement.every
    if every is None:
        return
    if not draft.returns_probability or draft.by_time:
        what = (
            "RETURN PROBABILITY BY TIME gives a row for each time"
            if draft.by_time
            else "the query returns no probability"
        )
        _report_every(
            draft, f"EVERY slides the window of RETURN PROBABILITY, but {what}", "remove EVERY"
        )
    elif draft.statement.within is None:
        _report_every(draft, "EVERY slides a window, but there is none", "add WITHIN before EVERY")
    elif every.events:
        _report_every(
            draft, "EVERY counts events, but windows slide in time", "write a length of time"
        )
    elif draft.within and draft.every and draft.every.length > draft.within.length:
        message = "EVERY is longer than WITHIN, so events between two windows are never looked at"
        draft.findings.warning("W008", message, draft.clause("EVERY"), "make EVERY at most WITHIN")


def over_looks_back_from_a_time(draft: Draft) -> None:
    """OVER stands with RETURN PROBABILITY BY TIME: without BY TIME, windows are WITHIN's."""
    returns = draft.statement.returns
    if returns is not None and returns.over is not None and not draft.by_time:
        draft.findings.error(
            "A082",
            "OVER looks back from each time, but RETURN PROBABILITY is per window",
            returns.over.span,
            "write RETURN PROBABILITY BY TIME OVER, or WITHIN and EVERY",
        )


def _report_every(draft: Draft, message: str, hint: str) -> None:
    draft.findings.error("A024", message, draft.clause("EVERY"), hint)


def probability_windows_are_of_time(draft: Draft) -> None:
    """RETURN PROBABILITY without BY TIME is per window of time, not of events."""
    within = draft.statement.within
    if within and within.events and draft.returns_probability and not draft.by_time:
        draft.findings.error(
            "A076",
            "RETURN PROBABILITY is per window of time, but WITHIN counts events",
            draft.clause("WITHIN"),
            "write a length of time, or RETURN PROBABILITY BY TIME",
        )


def matches_may_straddle_windows(draft: Draft) -> None:
    """Tell that a match which two windows of RETURN PROBABILITY cut is in neither of them."""
    per_window = draft.returns_probability and not draft.by_time and draft.within is not None
    if not per_window or draft.statement.every is not None or draft.shape is None:
        return
    if _most_events(draft, draft.shape) < 2:
        return
    draft.findings.warning(
        "W018",
        "RETURN PROBABILITY cuts time into windows of WITHIN, one after the other, and a match "
        "that begins in one and ends in the next is in neither",
        draft.clause("WITHIN"),
        "let windows overlap with EVERY, ask RETURN PROBABILITY BY TIME OVER, or leave WITHIN out",
    )


def _most_events(draft: Draft, shape: Shape) -> int:
    """Return how many events a match may have, counting no further than to two of a component."""
    if isinstance(shape, Leaf):
        return min(2, draft.components[shape.component].maximum or 2)
    if isinstance(shape, Negated):
        return 0
    parts = [_most_events(draft, part) for part in shape.parts]
    return max(parts) if shape.operator == "OR" else sum(parts)

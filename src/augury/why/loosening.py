"""What would have to give way: windows, bounds and thresholds, or events that are in the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from augury.language import expressions as ex
from augury.language.printer import to_text
from augury.language.tree import Having, Return, ReturnColumn
from augury.why.draft import Draft, duration, expression_of, values_of, window_of
from augury.why.explanation import shown
from augury.why.relaxing import Constraint, window_text
from augury.why.trials import Match

Place = tuple[str, int]
MOST_TRIED = 8


def loosen_window(draft: Draft) -> bool:
    """Make the window as long as it must be, and no longer."""
    for broken in draft.broken_of("window"):
        within = draft.asked.checked.within
        assert within is not None
        assert draft.window is not None
        by_events = within.events
        for length in _event_lengths(draft) if by_events else _spans(draft.meets(draft.rows)):
            trial = replace(draft, window=window_of(draft.asked, length))
            if length > within.length and trial.meets(draft.rows):
                draft.window = trial.window
                break
        draft.give_up(broken)
        assert draft.window is not None
        text = window_text(draft.window)
        spans = text.removeprefix("WITHIN ")
        draft.reasons.append(f"{broken.says}, and the nearest spans {spans}")
        draft.says.append(f"with {text} in place of {broken.says}")
    return True


def _spans(found: Sequence[Match]) -> list[int]:
    spans = {match["end_ts"] - match["start_ts"] for match in found}
    whole = [s // timedelta(microseconds=1) if isinstance(s, timedelta) else int(s) for s in spans]
    return sorted(whole)[:MOST_TRIED]


def _event_lengths(draft: Draft) -> list[int]:
    """Return the least number of events in a window that lets a match through."""
    within, window = draft.asked.checked.within, draft.window
    assert within is not None
    assert window is not None
    low, high = within.length, int(window.length)  # type: ignore[arg-type]
    while high - low > 1:
        middle = (low + high) // 2
        trial = replace(draft, window=window_of(draft.asked, middle))
        low, high = (low, middle) if trial.meets(draft.rows) else (middle, high)
    return [high]


def loosen_conditions(draft: Draft) -> bool:
    """Give up conditions, or move their bounds as far as needed."""
    for broken in draft.broken_of("condition"):
        match = next(iter(draft.meets(draft.rows)), None)
        values = "" if match is None else values_of(draft.asked, broken, match, draft.rows)
        draft.give_up(broken)
        nearer = _nearer(broken, draft)
        if nearer is not None:
            draft.tightened = draft.tightened | {broken: nearer}
            draft.says.append(f"with {to_text(nearer)} in place of {broken.says}")
        else:
            draft.says.append(f"without {broken.says}")
        draft.reasons.append(broken.says + (f": {values}" if values else ""))
    return True


def _nearer(broken: Constraint, draft: Draft) -> ex.Expression | None:
    """Return the condition with the bound that would just have let a match through."""
    if broken.clause not in ("WHERE", "AFTER WHERE"):
        return None
    found = _bound(expression_of(draft.asked.query, broken))
    if found is None:
        return None
    side, operator, is_left = found
    column = Return("COLUMNS", (ReturnColumn(side, "side"),))
    matches = draft.asked.matches(replace(draft.so_far()[0], returns=column), draft.rows) or []
    values = [each["side"] for each in matches if each.get("side") is not None]
    literal = None if not values else _literal((min if operator == "<=" else max)(values))
    if literal is None:
        return None
    sides = (side, literal) if is_left else (literal, side)
    own = operator if is_left else {"<=": ">=", ">=": "<="}[operator]
    nearer = ex.Binary(own, *sides)  # type: ignore[arg-type]
    trial = replace(draft, tightened=draft.tightened | {broken: nearer})
    return nearer if trial.meets(draft.rows) else None


def _bound(expression: ex.Expression) -> tuple[ex.Expression, str, bool] | None:
    """Return the side of a comparison that varies, how it is bounded, and if it is the left."""
    if not isinstance(expression, ex.Binary) or expression.operator not in ("<", "<=", ">", ">="):
        return None
    at_most = expression.operator in ("<", "<=")
    constant = (ex.Literal, ex.Duration)
    if isinstance(expression.right, constant) and not isinstance(expression.left, constant):
        return expression.left, "<=" if at_most else ">=", True
    if isinstance(expression.left, constant) and not isinstance(expression.right, constant):
        return expression.right, ">=" if at_most else "<=", False
    return None


def _literal(value: Any) -> ex.Expression | None:
    if isinstance(value, timedelta):
        return duration(value // timedelta(microseconds=1))
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return ex.Literal(value)
    return None


def lower_threshold(draft: Draft) -> bool:
    """Lower the threshold to the confidence that there is."""
    for broken in draft.broken_of("threshold"):
        found = draft.meets(draft.rows)
        having = draft.asked.query.having
        if not found or having is None:
            return False
        best = max(match["confidence"] for match in found)
        draft.broken = [each for each in draft.broken if each is not broken]
        draft.having = Having(having.measure, best)
        draft.reasons.append(f"the confidence is {best:.6g}, and {broken.says} is asked for")
        draft.says.append(f"with HAVING {having.measure} >= {best:.6g}")
    return True


# Events in the way --------------------------------------------------------------------------------


def clear_the_way(draft: Draft) -> bool:
    """Take out events that a negation, a strategy or an earlier match stumbles over."""
    broken = draft.broken_of("negation", "selection", "skip")
    if not broken:
        return True
    left = [each for each in draft.broken if each not in broken]
    trial = replace(draft, broken=left)

    def does(gone: Sequence[Place]) -> bool:
        return bool(trial.meets(draft.rows.without(gone)))

    for match in draft.meets(draft.rows)[:MOST_TRIED]:
        taken = draft.asked.base_places(match, draft.rows)
        around = draft.asked.near(match["start_ts"], match["end_ts"], draft.rows)
        may_go = [place for place in around if place not in taken]
        if may_go and does(may_go):
            gone = least(may_go, does)
            draft.broken, draft.rows = left, draft.rows.without(gone)
            _say_removed(draft, broken, gone)
            return True
    return _leave_out(draft, broken)


def _leave_out(draft: Draft, broken: Sequence[Constraint]) -> bool:
    """Change the query, where no event that could be taken out is in the way."""
    for each in broken:
        draft.give_up(each)
        draft.reasons.append(each.says)
        draft.says.append(
            "with SKIP TILL ANY MATCH" if each.kind == "selection" else f"without {each.says}"
        )
    return True


def _say_removed(draft: Draft, broken: Sequence[Constraint], gone: Sequence[Place]) -> None:
    says = ", ".join(each.says for each in broken)
    forbidden = any(each.kind == "negation" for each in broken)
    about = "it may not be there" if forbidden else "it is in the way"
    for name, place in gone:
        row = draft.asked.row_at(name, place, draft.asked.rows)
        schema = draft.asked.streams[name]
        kind = "" if schema.type is None else f" {row[schema.type]}"
        own = "" if schema.id is None else f" {row[schema.id]}"
        at = shown(row[schema.time or ""])
        draft.says.append(f"without the event{kind}{own} of {schema.name} at {at}")
        draft.reasons.append(f"{says}: event{kind}{own} at {at}, {about}")


def least(places: list[Place], does: Callable[[Sequence[Place]], bool]) -> list[Place]:
    """Return some of the places that will do, of which none can be left out (QuickXplain)."""

    def within(taken: list[Place], is_new: bool, rest: list[Place]) -> list[Place]:
        if is_new and does(taken):
            return []
        if len(rest) == 1:
            return rest
        half = len(rest) // 2
        second = within([*taken, *rest[:half]], True, rest[half:])
        first = within([*taken, *second], bool(second), rest[:half])
        return [*first, *second]

    return within([], False, places)

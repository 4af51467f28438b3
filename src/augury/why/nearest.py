"""The nearest miss: which constraints stop a match, and the least change that lets one through.

One constraint after the other is left out, and the engine asked again; where no single one will do,
all are left out, and put back one by one while matches remain. What is left is turned into a
change: an event that would have to be there, or not to be, a longer window, a lower threshold. A
change is told only if the engine, asked with it, gives a match.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice
from typing import Any

from augury.language.printer import to_text
from augury.language.tree import CreateQuery, Window
from augury.why.adding import Adding
from augury.why.asked import Asked, times_of
from augury.why.draft import Budget, Draft, NewRows, window_of
from augury.why.explanation import Change
from augury.why.loosening import (
    clear_the_way,
    loosen_conditions,
    loosen_window,
    lower_threshold,
)
from augury.why.relaxing import Constraint, constraints_of, relaxed
from augury.why.trials import Match, Rows

MOST_MATCHES = 8
MOST_SUBSETS = 120
# So many questions are asked for one change, and for all of them.
MOST_TRIALS = 250
MOST_IN_ALL = 1500


class Search:
    """The search for changes that let a match through."""

    def __init__(self, asked: Asked, fixed: Iterable[str], budget: Budget | None = None) -> None:
        self.asked = asked
        self.constraints = constraints_of(asked.query, fixed)
        self.budget = budget or Budget(MOST_IN_ALL)

    def changes(self) -> list[Change]:
        """Return every single change that lets a match through; else the least of several."""
        found = []
        for constraint in self.constraints:
            change = self._change([constraint])
            if change is not None:
                found.append(change)
        if found:
            return sorted(found, key=lambda each: len(each.missing))
        combined = self._least()
        if combined is None:
            combined = self._from_nothing()
        return [] if combined is None else [combined]

    def _found(
        self, broken: Sequence[Constraint], rows: Rows, window: Window | None
    ) -> list[tuple[CreateQuery, Match]]:
        """Return matches of the query without some constraints, and of which choice of an OR."""
        found = []
        for query in relaxed(self.asked.query, broken, self.asked.checked, window):
            matches = self.asked.matches(query, rows)
            found += [(query, match) for match in (matches or [])[:MOST_MATCHES]]
        return found

    def _least(self) -> Change | None:
        """Return a change of several constraints, none of which can be left out."""
        others = [each for each in self.constraints if each.kind != "component"]
        lost = [each for each in self.constraints if each.kind == "component" and not each.number]
        subsets = (set_ for size in range(len(lost)) for set_ in combinations(lost, size))
        for gone in islice(subsets, MOST_SUBSETS):
            broken = [*others, *gone]
            if not self._any(broken):
                continue
            for each in reversed(broken):
                fewer = [one for one in broken if one is not each]
                if self._any(fewer):
                    broken = fewer
            least_of_all = self._fuller(broken)
            for attempt in self._attempts(least_of_all, others):
                change = self._change(attempt)
                if change is not None:
                    return change
        return None

    def _attempts(
        self, broken: list[Constraint], others: list[Constraint]
    ) -> Iterator[list[Constraint]]:
        """Yield constraints to give up: events that are added may need more room than there is."""
        yield broken
        lost = [each for each in broken if each.kind == "component"]
        for kind in ("window", "selection"):
            more = [each for each in others if each.kind == kind and each not in broken]
            if lost and more:
                yield [*more, *broken]
        every = [*others, *lost]
        if lost and len(every) > len(broken):
            yield every

    def _any(self, broken: Sequence[Constraint]) -> bool:
        return any(self._found(broken, self.asked.rows, window) for window in self._windows(broken))

    def _fuller(self, broken: list[Constraint]) -> list[Constraint]:
        """Return constraints of which repetitions keep as many events as are there."""
        for lost in [each for each in broken if each.kind == "component"]:
            options = [
                each
                for each in self.constraints
                if each.kind == "component" and each.path == lost.path and each.number
            ]
            for option in options:
                trial = [option if each is lost else each for each in broken]
                if self._any(trial):
                    broken = trial
                    break
        return broken

    def _windows(self, broken: Sequence[Constraint]) -> Iterator[Window | None]:
        """Yield longer and longer windows, up to one that holds everything."""
        if not any(each.kind == "window" for each in broken):
            yield None
            return
        within = self.asked.checked.within
        assert within is not None
        times = times_of(self.asked.rows, self.asked.streams)
        all_of_it = len(times) if within.events else int(times[-1] - times[0]) if len(times) else 0
        length = max(1, within.length)
        while length < all_of_it + within.length:
            length = min(2 * length, all_of_it + within.length)
            yield window_of(self.asked, length)

    def _change(self, broken: Sequence[Constraint]) -> Change | None:
        self.budget.stop = min(self.asked.trials.count + MOST_TRIALS, MOST_IN_ALL)
        for window in self._windows(broken):
            found = self._found(broken, self.asked.rows, window)
            for _, match in found[:MOST_MATCHES]:
                change = self._worked_out(broken, window, match)
                if change is not None or self._is_enough():
                    return change
            if found and not any(each.kind == "component" for each in broken):
                break
        return None

    def _is_enough(self) -> bool:
        return self.asked.trials.count >= self.budget.stop

    def _worked_out(
        self,
        broken: Sequence[Constraint],
        window: Window | None,
        match: Match | None,
    ) -> Change | None:
        draft = Draft(
            self.asked, self.budget, list(broken), self.asked.rows, window, self.asked.query.having
        )
        reached = () if match is None else self.asked.events(match, self.asked.rows)
        missing = [each for each in broken if each.kind == "component"]
        adding = Adding(draft, _whole)
        steps = (loosen_window, loosen_conditions, clear_the_way, lower_threshold)
        if not (adding.all() and all(step(draft) for step in steps)):
            return None
        final = draft.statement()
        found = self.asked.matches(final, draft.rows)
        if not found:
            return None
        changed = final != self.asked.query
        return Change(
            tuple(each.kind for each in broken),
            tuple(draft.reasons),
            tuple(draft.says),
            to_text(draft.as_written()) if changed else None,
            _by_stream(draft.added),
            _by_stream(
                (name, self.asked.row_at(name, place, self.asked.rows))
                for name, place in sorted(draft.rows.left_out)
            ),
            found[0]["confidence"],
            reached,
            tuple(_missing_text(each) for each in missing),
        )

    def _from_nothing(self) -> Change | None:
        """Return a change that adds every event of a match, where not one is there."""
        lost = [each for each in self.constraints if each.kind == "component" and not each.number]
        others = [each for each in self.constraints if each.kind in ("window", "threshold")]
        for broken in (lost, [*others, *lost]) if lost else ():
            self.budget.stop = max(self.budget.stop, self.asked.trials.count + MOST_TRIALS)
            for window in self._windows(broken):
                change = self._worked_out(broken, window, None)
                if change is not None:
                    return change
        return None


def _whole(asked: Asked, budget: Budget) -> NewRows | None:
    """Return rows that make a whole match of a query, where not one event of it is there."""
    made = Search(asked, (), budget)._from_nothing()
    if made is None or made.query is not None:
        return None
    return [(name, dict(row)) for name, rows in made.added.items() for row in rows]


def _missing_text(lost: Constraint) -> str:
    return lost.says if lost.missing == 1 and not lost.number else f"{lost.missing} of {lost.says}"


def _by_stream(
    pairs: Iterable[tuple[str, dict[str, Any]]],
) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for name, row in pairs:
        found.setdefault(name, []).append(row)
    return found

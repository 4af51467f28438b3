"""Evaluate one query over loaded rows, in this process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from augury.analysis.declarations.catalog import DataType
from augury.evaluation.encoding import Encoder
from augury.evaluation.prune_by_threshold import prune_by_threshold
from augury.evaluation.stream_rows import StreamRows
from augury.kernels.search.predicates import Predicates
from augury.matching.backwards import reversed_events, reversed_pattern
from augury.matching.correlation import Correlation, LearnedCorrelation
from augury.matching.counting import Counts, count, is_countable, listed
from augury.matching.lineage import Formula, Is
from augury.matching.matcher import ALWAYS, Matcher, sort_order, with_dense_groups
from augury.matching.pattern import Pattern
from augury.matching.resolve_confidence import ConfidenceResolver
from augury.matching.step_limits import limits_of
from augury.operator import NEVER_YET
from augury.planning.expressions.link import link
from augury.planning.match_plan import MatchPlan
from augury.records import Events, Matches

# From when, and until when, a match becomes known that is reported.
Span = tuple[int, int]
# Which matches of a world are wanted: all, or enough to know with which events one starts or ends.
Kept = Literal["all", "starts", "ends"]
ALL_TIME: Span = (NEVER_YET, ALWAYS)


def one_of_each(pattern: Pattern, keeps: Kept) -> Pattern | None:
    """Return what finds one match of each start or end in one world; None: all are listed."""
    # Whether an instance of a composite is in the way is not known to the search.
    if keeps == "all" or pattern.is_composite or pattern.count_window is not None:
        return None
    own = reversed_pattern(pattern) if keeps == "ends" else pattern
    return None if own is None or own.strategy != "ANY" else replace(own, first_only=True)


@dataclass(frozen=True)
class Enumeration:
    """One query over loaded rows: search, then settle what the search could not.

    `chances` collects the probabilities of base events, by which lineage is valued. Without
    `sources` all events are base events, known by their rows' numbers alone. `window` is the
    start of the one that is asked for.
    """

    plan: MatchPlan
    encoder: Encoder
    events: Events
    sources: list[StreamRows]
    chances: dict[Any, dict[Any, float]]
    lineage: bool
    span: Span = ALL_TIME
    correlation: Correlation | LearnedCorrelation | None = None
    window: int | None = None

    def at_once(self) -> Enumeration:
        """Return the search with the pattern for rows of all time, which wait for no others."""
        if self.plan.at_once is None or self.span != ALL_TIME:
            return self
        return replace(self, plan=replace(self.plan, pattern=self.plan.at_once))

    def matches(self) -> tuple[Matches, list[Formula]]:
        """Return the final matches, and their lineage if it is asked for."""
        events, predicates = self._prepared()
        if not self.lineage and self.correlation is None:
            events = prune_by_threshold(self.plan, events)
        matcher = Matcher(self.plan.pattern, predicates, is_independent=not self.lineage)
        found = matcher.matches(events, *self.span)
        if self.correlation is not None:
            return self.correlation.applied(found), []
        if found.is_final.all() and not self.lineage:
            return found, []
        if self.lineage:
            limits_of(self.plan.pattern).check_lineage(len(found), len(found.row))
        self._register(events)
        resolver = ConfidenceResolver(
            self.plan.pattern,
            events.take(sort_order(events)),
            predicates,
            self._formula,
            self.chances,
        )
        if self.lineage:
            return resolver.resolve(found)
        return resolver.resolve_pending(found), []

    def possible(self) -> tuple[Matches, list[Formula]]:
        """Return all that may be a match, and its lineage, which is not valued."""
        events, predicates = self._prepared()
        matcher = Matcher(self.plan.pattern, predicates, is_independent=False)
        found = matcher.matches(events, *self.span)
        limits_of(self.plan.pattern).check_lineage(len(found), len(found.row))
        self._register(events)
        ordered = events.take(sort_order(events))
        resolver = ConfidenceResolver(
            self.plan.pattern, ordered, predicates, self._formula, self.chances
        )
        return resolver.lineage(found)

    def with_few_matches(self, most: int) -> Enumeration:
        """Return the search with a limit: it refuses to list more matches."""
        pattern = replace(self.plan.pattern, most_matches=most)
        return replace(self, plan=replace(self.plan, pattern=pattern))

    @property
    def has_one_world(self) -> bool:
        """Whether every event surely happened, and excludes none."""
        base = all(source.formulas is None for source in self.sources)
        return base and bool((self.events.p >= 1.0).all() and (self.events.group < 0).all())

    def in_one_world(self, keeps: Kept) -> Matches:
        """Return the matches of certain events; where that will do, one of each start or end."""
        pattern = one_of_each(self.plan.pattern, keeps)
        if pattern is None:
            return replace(self, lineage=False).matches()[0]
        events = reversed_events(self.events) if keeps == "ends" else self.events
        plan = replace(self.plan, pattern=pattern)
        return replace(self, plan=plan, events=events, lineage=False).matches()[0]

    def counts(self) -> Counts:
        """Return how many matches there are: by sums where that is possible, or by listing them."""
        events, predicates = self._prepared()
        plain = not self.lineage and self.correlation is None
        if plain and is_countable(self.plan.pattern, events):
            return count(self.plan.pattern, events, predicates)
        return listed(self.matches()[0])

    def _prepared(self) -> tuple[Events, Predicates]:
        """Return the events and the predicate programs as the search reads them."""
        codes, events = self.encoder.strings.known, self.events
        if self.plan.programs.orders_strings:
            codes, events = self._ranked(codes)
        return with_dense_groups(events), link(self.plan.programs, codes, self.encoder.tables)

    def _ranked(self, codes: dict[str, int]) -> tuple[dict[str, int], Events]:
        """Return codes in the order of the strings, and the events with them."""
        ordered = sorted(codes, key=lambda text: text.encode())
        ranks = {text: k for k, text in enumerate(ordered)}
        by_code = np.array([ranks[text] for text in codes] or [0], np.int64)
        values = self.events.values.copy()
        for k, column in enumerate(self.plan.programs.columns):
            if column.type is DataType.STRING:
                values[k] = np.where(values[k] >= 0, by_code[np.maximum(values[k], 0)], -1)
        return ranks, replace(self.events, values=values)

    @cached_property
    def _groups(self) -> dict[int, int]:
        """The group of alternatives of each row; -1: none."""
        return dict(zip(self.events.row.tolist(), self.events.group.tolist(), strict=True))

    def _place(self, row: int) -> tuple[StreamRows, int]:
        for source in self.sources:
            if row < source.table.num_rows:
                return source, row
            row -= source.table.num_rows
        raise IndexError(row)

    def _register(self, events: Events) -> None:
        """Tell the chances of the base events among the inputs."""
        for row, p in zip(events.row.tolist(), events.p.tolist(), strict=True):
            literal = self._formula(row)
            if isinstance(literal, Is) and not self._is_derived(row):
                self.chances.setdefault(literal.block, {})[literal.alternative] = p

    def _is_derived(self, row: int) -> bool:
        return bool(self.sources) and self._place(row)[0].formulas is not None

    def _formula(self, row: int) -> Formula:
        """Return what must be true for the event of a row to have happened."""
        group = self._groups[row]
        if not self.sources:
            return Is(("event", row), row) if group < 0 else Is(("alternatives", group), row)
        source, own = self._place(row)
        if source.formulas is not None:
            return source.formulas[own]
        first, name = row - own, source.schema.name.lower()
        return Is((name, own), own) if group < 0 else Is((name, group - first), own)

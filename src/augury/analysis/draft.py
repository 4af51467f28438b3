"""A query while it is judged: what has been resolved so far, and where findings go.

Resolution fills the draft in the order of the fields (streams, components, conjuncts, equalities);
the rules of `augury.analysis.checks` then judge it, and a clean draft becomes a `CheckedQuery`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from augury.analysis import places
from augury.analysis.checked import (
    CheckedGap,
    CheckedWindow,
    Component,
    Conjunct,
    EqualityClass,
    Output,
    Shape,
    Skip,
)
from augury.analysis.declarations.catalog import Column, DataType, StreamSchema
from augury.analysis.declarations.ledger import Ledger
from augury.analysis.findings import Findings
from augury.errors import Span
from augury.language.expressions import Attribute, Expression
from augury.language.tree import CreateQuery


@dataclass(frozen=True, slots=True)
class Rounds:
    """A named group that repeats: its components, and those that have an event in every round."""

    name: str
    components: tuple[int, ...]
    sure: tuple[int, ...]


@dataclass(slots=True)
class Draft:
    """One query under judgement.

    `complete` is False where a stream of ON is unknown: then a word or attribute that is not found
    is not reported. `copies` pairs the component of FIRST or LAST with its negation,
    `untils` a repetition with what ends it. `variables`
    are Lahar's names of (component name, column), where the query came `from_subgoals`. `filters`
    are conditions inside components.
    """

    name: str
    statement: CreateQuery
    ledger: Ledger
    findings: Findings
    variables: Mapping[tuple[str, str], str] = field(default_factory=dict)
    from_subgoals: bool = False
    streams: tuple[StreamSchema, ...] = ()
    complete: bool = True
    components: tuple[Component, ...] = ()
    shape: Shape | None = None
    repeated_words: frozenset[str] = frozenset()
    groups: tuple[Rounds, ...] = ()
    filters: tuple[tuple[int, Expression], ...] = ()
    copies: tuple[tuple[int, int], ...] = ()
    untils: tuple[tuple[int, int], ...] = ()
    conjuncts: tuple[Conjunct, ...] = ()
    lookups: tuple[Conjunct, ...] = ()
    equalities: tuple[EqualityClass, ...] = ()
    group_by: tuple[Attribute, ...] = ()
    group_names: tuple[str, ...] = ()
    outputs: tuple[Output, ...] = ()
    keys: tuple[Column, ...] = ()
    within: CheckedWindow | None = None
    every: CheckedWindow | None = None
    over: CheckedWindow | None = None
    allow: int = 0
    may_miss: tuple[int, ...] = ()
    miss_rates: tuple[float | None, ...] = ()
    gaps: tuple[CheckedGap, ...] = ()
    learn_gaps_from: str | None = None
    after_match: Skip | None = None
    _streams_of: dict[int, tuple[StreamSchema, ...]] = field(default_factory=dict)
    _by_name: dict[str, Component] = field(default_factory=dict)

    def clause(self, keyword: str) -> Span:
        """Return where a clause stands, or the pattern where it was not written."""
        return places.clause(self.statement, keyword)

    def wrote(self, keyword: str) -> bool:
        """Return whether a clause was written, not implied by a dialect."""
        return any(key == keyword for key, _ in self.statement.places)

    def word(self, keyword: str, name: str) -> Span:
        """Return where a word of a clause stands."""
        return places.word(self.findings.source, self.clause(keyword), name)

    @property
    def positive(self) -> tuple[Component, ...]:
        return tuple(c for c in self.components if not c.negated)

    @property
    def returns_probability(self) -> bool:
        r = self.statement.returns
        return r is not None and r.kind in ("PROBABILITY", "PROBABILITY BY TIME")

    @property
    def by_time(self) -> bool:
        r = self.statement.returns
        return r is not None and r.kind == "PROBABILITY BY TIME"

    @property
    def time_is_ticks(self) -> bool | None:
        """Whether time is counted in ticks; None where no stream is known."""
        return self.streams[0].time_is_ticks if self.streams else None

    def stream(self, name: str) -> StreamSchema:
        return next(s for s in self.streams if s.name == name)

    def streams_of(self, component: int) -> tuple[StreamSchema, ...]:
        """Return the streams whose events may play a component."""
        known = self._streams_of.get(component)
        if known is None:
            sources = {p.stream for p in self.components[component].played_by}
            known = tuple(s for s in self.streams if s.name in sources)
            self._streams_of[component] = known
        return known

    def forget_streams(self) -> None:
        """Look the streams of components up anew: they have got columns."""
        self._streams_of.clear()

    def column_of(self, component: int, attribute: str) -> Column | None:
        """Return the column that an attribute of a component is."""
        for stream in self.streams_of(component):
            column = stream.column(attribute)
            if column is not None:
                return column
        return None

    def is_time(self, component: int, attribute: str) -> bool:
        return any(s.time == attribute for s in self.streams_of(component))

    def component_named(self, name: str) -> Component | None:
        """Return the component of that name: as written, or else without regard to case."""
        if not self._by_name:
            self._by_name.update((c.name, c) for c in reversed(self.components))
        exact = self._by_name.get(name)
        if exact is not None:
            return exact
        lowered = [c for c in self.components if c.name.lower() == name.lower()]
        return lowered[0] if len(lowered) == 1 else None

    def group_named(self, name: str) -> Rounds | None:
        """Return the group that repeats of that name, without regard to case."""
        return next((g for g in self.groups if g.name.lower() == name.lower()), None)

    def type_of(self, component: int, attribute: str) -> DataType | None:
        column = self.column_of(component, attribute)
        return column.type if column else None

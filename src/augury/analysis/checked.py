"""The checked query: what planning builds on, with nothing left to look up.

Every name is resolved, every bare word is a type or a name, SEQ in SEQ is flat, FIRST and LAST are
negations, dialects are gone, equalities are closed transitively, WHERE is a tuple of conjuncts, and
defaults are filled in. Expressions are syntax nodes in which `Attribute.component` is always the
component's name and `Attribute.name` the column's declared name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from augury.analysis.classes.joins import JoinPlan
from augury.analysis.declarations.catalog import Column, DataType, StreamSchema
from augury.errors import NOWHERE, Diagnostic, Span
from augury.language.expressions import Attribute, Expression
from augury.language.tree import Approximate, Having, Option, SkipTo, Strategy

QueryKind = Literal["deterministic", "enumerated", "regular", "extended regular", "safe", "hard"]


@dataclass(frozen=True, slots=True)
class PlayedBy:
    """Events that may play a component: those of one ON stream, of one type or of any (None)."""

    stream: str
    type: str | None = None


@dataclass(frozen=True, slots=True)
class Component:
    """One component after names are resolved; `index` is its place in `CheckedQuery.components`.

    Components are numbered in the order written; negated ones are numbered with the others. A
    repetition has minimum != 1 or maximum != 1 (None: unbounded). `named` is False where the name
    was made up (a bare type that occurs twice, FIRST and LAST's negations, Lahar subgoals).
    """

    index: int
    name: str
    played_by: tuple[PlayedBy, ...]
    negated: bool = False
    minimum: int = 1
    maximum: int | None = 1
    named: bool = True
    span: Span = NOWHERE

    @property
    def repeats(self) -> bool:
        return self.minimum != 1 or self.maximum != 1


@dataclass(frozen=True, slots=True)
class Leaf:
    """A component by its index."""

    component: int


@dataclass(frozen=True, slots=True)
class Branch:
    """SEQ, NEXT, AND or OR of at least two parts (a SEQ may have one positive and negations).

    A group that repeats has `times`, its least and greatest number of rounds, and may have one
    part; its components have these bounds too.
    """

    operator: Literal["SEQ", "NEXT", "AND", "OR"]
    parts: tuple[Shape, ...]
    times: tuple[int, int | None] | None = None


@dataclass(frozen=True, slots=True)
class Negated:
    """`!part`; all components inside are `negated`.

    `!NEXT B b` is the negation of a NEXT of one part: no neighbour of the event before it. `within`
    is the repetition between whose events nothing may lie: what UNTIL looks for.
    """

    part: Shape
    within: int | None = None


Shape = Leaf | Branch | Negated


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One conjunct of WHERE, of a component's filter, or implied by equalities.

    `components` are the indices it names, in order. `after` marks AFTER WHERE: applied to the
    candidate once chosen. `derived` marks one that closing the equalities added.
    """

    expression: Expression
    components: tuple[int, ...]
    after: bool = False
    derived: bool = False
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class EqualityClass:
    """Attributes that WHERE makes equal, closed transitively: at most one column per component.

    `members[k]` is (component index, column name). `covers_all` is True if every component, negated
    ones too, has a member: then the class can partition the stream.
    """

    members: tuple[tuple[int, str], ...]
    covers_all: bool


@dataclass(frozen=True, slots=True)
class CheckedWindow:
    """A window in microseconds (or ticks where time is a LONG), or in events."""

    length: int
    events: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """One RETURN column."""

    column: Column
    value: Expression


@dataclass(frozen=True, slots=True)
class Verdict:
    """The class of a query and why: `reasons` in sentences, `plan` the plan if it is safe.

    `join` is the plan of a type or rank query that runners carry out step by step.
    """

    kind: QueryKind
    reasons: tuple[str, ...]
    plan: str | None = None
    join: JoinPlan | None = None


@dataclass(frozen=True, slots=True)
class CheckedGap:
    """A gap model of one step, in microseconds or ticks; `parameters` are the family's."""

    earlier: int
    later: int
    backward: bool
    family: str
    parameters: tuple[float, ...]
    reaches: float = 1.0


@dataclass(frozen=True, slots=True)
class Skip:
    """AFTER MATCH SKIP: `to` which event the search goes on, of which component where it is of one.

    `having` is the query's threshold. It judges what was taken, so nothing may be left out for it
    before that, and the query itself has none.
    """

    to: SkipTo
    component: int | None = None
    having: Having | None = None


Tellings = Literal["LAST", "EVERY", "EVERY AND FINAL"]


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A query that has passed every rule.

    `miss_rates[k]` is the chance that a read of component k is missed, None where none is declared.
    `allow` is the number of positive components that may be missed, and `may_miss` which.
    `warnings` are diagnostics that do not refuse the query; EXPLAIN shows them. `learn_gaps_from`
    names the stream of history where gaps are learned instead of given. `group_names[k]` is the
    result column of `group_by[k]`. `lookups` are the conjuncts with subqueries that are tested on
    the whole match, and by which nothing is searched. `over` is how far back a probability by time
    looks, in ticks or microseconds; None is that time alone. `each_event` lets the answer have a
    row per event.
    `tellings` says which rows of a match that is told again are found: what acts needs every one,
    and where a rule waits for the last one to know that it was the last.
    """

    name: str
    streams: tuple[StreamSchema, ...]
    components: tuple[Component, ...]
    shape: Shape
    conjuncts: tuple[Conjunct, ...]
    equalities: tuple[EqualityClass, ...]
    strategy: Strategy
    within: CheckedWindow | None
    every: CheckedWindow | None
    allow: int
    may_miss: tuple[int, ...]
    miss_rates: tuple[float | None, ...]
    gaps: tuple[CheckedGap, ...]
    correlated_by: str | None
    group_by: tuple[Expression, ...]
    having: Having | None
    returns: Literal["MATCHES", "COUNT", "PROBABILITY", "PROBABILITY BY TIME"]
    outputs: tuple[Output, ...]
    keys: tuple[Column, ...]
    approximate: Approximate | None
    match_limit: int | None
    scoring: Literal["LAW", "AYAC", "DPCEP"]
    options: tuple[Option, ...]
    verdict: Verdict
    output_schema: StreamSchema | None
    warnings: tuple[Diagnostic, ...] = ()
    span: Span = NOWHERE
    learn_gaps_from: str | None = None
    group_names: tuple[str, ...] = ()
    over: int | None = None
    lookups: tuple[Conjunct, ...] = ()
    after_match: Skip | None = None
    each_event: bool = False
    tellings: Tellings = "LAST"

    @property
    def looks_beside(self) -> bool:
        """Whether it reads neighbours of its events, outside the match: PREV or NEXT of a value."""
        return any(stream.neighbours for stream in self.streams)

    def component_of(self, node: Attribute) -> int:
        """Return the number of the component that an attribute is of."""
        return next(c.index for c in self.components if c.name == node.component)

    def column_of(self, component: int, attribute: str) -> Column | None:
        """Return the column that `attribute` of a component is, by the first stream that has it."""
        streams = {p.stream for p in self.components[component].played_by}
        for stream in self.streams:
            if stream.name in streams and (column := stream.column(attribute)):
                return column
        return None

    def type_of_attribute(self, component: int, attribute: str) -> DataType:
        column = self.column_of(component, attribute)
        return column.type if column else DataType.NULL

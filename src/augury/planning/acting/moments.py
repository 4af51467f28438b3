"""The moments of matches: how each is told from a candidate, and where it is not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from augury.analysis.checked import Branch, CheckedQuery, Leaf, Output, Shape
from augury.analysis.declarations.catalog import Catalog, Column, DataType, StreamSchema
from augury.language import expressions as ex
from augury.matching.ends import alone, ends_late
from augury.planning.acting.columns import Hidden, Ties, refuse_mixed_ties
from augury.planning.acting.refusals import not_evaluated
from augury.planning.evaluated import without_owners
from augury.planning.expressions.typed import END_OPEN, END_TIME, STREAM_OF, THE_END
from augury.planning.match_plan import plan_match

# When a match is known: with its last event, at the end of its window, or at that end unless a
# repetition has taken all it may, or unless the end of the match was seen; or with the event that
# ends a contiguous run. What is "taken" is known with its last event, and told at that end.
End = Literal["event", "window", "full", "missed", "ended", "taken"]


@dataclass(frozen=True)
class RunEnd:
    """The columns that say how a contiguous run ended: whether it was open, and by which event.

    `time` is NULL where the window ended it; `ties` are as those of components.
    """

    open: str
    time: str
    stream: str
    ties: Ties


@dataclass(frozen=True)
class Rows:
    """Rows that rules listen to and that are no matches: of a forecast, or of a query BY TIME.

    They are known with the order of their event on the `stream` of that number, or, where that is
    None, after all events of their time. A rule acts `once` on rows of one match_id.
    """

    schema: StreamSchema
    stream: int | None = None
    once: bool = False
    is_forecast: bool = False


@dataclass(frozen=True)
class Candidates:
    """How the matches of a query become candidates: `query` finds them.

    What is heard of `rows` that are no matches is never tested, only acted on; of a forecast,
    `query` is what it forecasts.

    `ties` has the column of each component's tie-breaker, and the number of its stream, and `which`
    the column that tells by which of several streams its last event came; `lower` the query of each
    component whose events are matches. `window` is added to the first event where the
    end is open, `lag` to every moment. `count` is the column of how many events the last repetition
    has, and `most` how many it may have. `unseen` are the components without which, when they were
    missed, the end is open.
    """

    query: CheckedQuery
    columns: Mapping[str, DataType]
    ties: Mapping[str, Ties]
    lower: Mapping[str, str]
    end: End = "event"
    window: int = 0
    lag: int = 0
    count: str = ""
    most: int = 0
    rows: Rows | None = None
    which: Mapping[str, str] = field(default_factory=dict)
    unseen: frozenset[frozenset[str]] = frozenset()
    run_end: RunEnd | None = None

    @property
    def name(self) -> str:
        """What rules listen to."""
        return self.query.name if self.rows is None else self.rows.schema.name

    @property
    def keys(self) -> tuple[Column, ...]:
        """The columns that say what a row is about."""
        if self.rows is None:
            return self.query.keys
        found = (self.rows.schema.column(name) for name in self.rows.schema.key)
        return tuple(column for column in found if column is not None)

    @property
    def is_searched(self) -> bool:
        """Whether its rows are answers of a query of its own, as it is planned here."""
        return self.rows is None or not self.rows.is_forecast

    @property
    def delay(self) -> int:
        """How long after its moment a match may be found."""
        return self.window if self.end in ("full", "taken") else 0


def ending(made: Candidates, catalog: Catalog, hidden: Hidden) -> Candidates:
    """Return candidates with the moment at which each is known."""
    query = made.query
    pattern = plan_match(without_owners(replace(query, learn_gaps_from=None)), catalog).pattern
    if not ends_late(pattern):
        return made
    if query.within is None or query.within.events:
        what = "has an open end"
        if query.after_match is not None:
            what = "takes matches AFTER MATCH, each when the window of its start has gone by"
        raise not_evaluated(
            f"query {query.name} {what}, and has no window of time",
            "give WITHIN a length of time",
        )
    window = query.within.length
    if all(way.waits for way in pattern.ways):
        return replace(made, end="taken" if is_taken_at_once(query) else "window", window=window)
    if query.allow and all(way.waits or not ends_late(alone(way)) for way in pattern.ways):
        unseen = frozenset(_named(query, way.missed) for way in pattern.ways if way.waits)
        return replace(made, end="missed", window=window, unseen=unseen)
    if pattern.is_contiguous and not any(way.waits for way in pattern.ways):
        return _by_its_end(made, catalog, hidden, window)
    last = _last(query.shape)
    if query.strategy != "NEXT" or last is None or any(way.waits for way in pattern.ways):
        raise not_evaluated(
            f"query {query.name} acts or is tested, and the end of its matches may be open or not",
            "end the pattern with one event, or with a negation",
        )
    component = query.components[last]
    if component.maximum is None:
        return replace(made, end="window", window=window)
    count = hidden.column(ex.Aggregate("COUNT", component.name))
    found = replace(query, outputs=(*query.outputs, *_new(query, hidden)))
    return replace(
        made, query=found, end="full", window=window, count=count, most=component.maximum
    )


def is_taken_at_once(query: CheckedQuery) -> bool:
    """Return whether the last event of a match tells whether AFTER MATCH takes it.

    That is so where neighbours follow each other to a fixed length: what begins earlier is complete
    earlier, and what begins there is not longer. Elsewhere another match may yet reach further.
    """
    parts = query.shape.parts if isinstance(query.shape, Branch) else (query.shape,)
    in_turn = not isinstance(query.shape, Branch) or query.shape.operator == "SEQ"
    single = all(isinstance(p, Leaf) and not query.components[p.component].repeats for p in parts)
    contiguous = query.strategy in ("STRICT", "PARTITION")
    one_stream = len(query.streams) == 1 and query.streams[0].query is None
    plain = query.after_match is not None and not query.allow and not query.looks_beside
    return in_turn and single and contiguous and one_stream and plain


def _by_its_end(made: Candidates, catalog: Catalog, hidden: Hidden, window: int) -> Candidates:
    """Return candidates that are known with the event that ends their run."""
    query = made.query
    if made.lower:
        raise not_evaluated(
            f"query {query.name} acts or is tested, and a repetition of matches of another query "
            "ends it under contiguity: whether a match is the next is known when both are",
            "end the pattern with one event, or ask under SKIP TILL NEXT MATCH",
        )
    if any(stream.is_identified or stream.of_owners for stream in query.streams):
        raise not_evaluated(
            f"query {query.name} acts or is tested, over owners in doubt, and a repetition ends it "
            "under contiguity: no event is sure to be the next of somebody",
            "end the pattern with one event, or ask under SKIP TILL NEXT MATCH",
        )
    refuse_mixed_ties(query, "the end", query.streams)
    numbers = {name: k for k, name in enumerate([*catalog.streams, *catalog.forecast_streams])}

    def of_end(name: str) -> str:
        return hidden.column(ex.Attribute(THE_END, name))

    ties = {
        k: (of_end(s.order_by) if s.order_by else None, numbers[s.name.lower()])
        for k, s in enumerate(query.streams)
    }
    end = RunEnd(of_end(END_OPEN), of_end(END_TIME), of_end(STREAM_OF), ties)
    found = replace(query, outputs=(*query.outputs, *_new(query, hidden)))
    return replace(made, query=found, end="ended", window=window, run_end=end)


def _named(query: CheckedQuery, components: int) -> frozenset[str]:
    """Return the names of components, given as bits."""
    return frozenset(c.name for c in query.components if components >> c.index & 1)


def _new(query: CheckedQuery, hidden: Hidden) -> tuple[Output, ...]:
    known = {output.column.name for output in query.outputs}
    return tuple(output for output in hidden.outputs if output.column.name not in known)


def _last(shape: Shape) -> int | None:
    """Return the component at the end of a sequence, whose other parts are all taken before it."""
    if isinstance(shape, Leaf):
        return shape.component
    if isinstance(shape, Branch) and shape.operator == "SEQ":
        return _last(shape.parts[-1])
    return None

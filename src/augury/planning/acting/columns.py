"""Further columns of candidates: what active conjuncts and moments need of a match."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from augury.analysis.checked import CheckedQuery, Component, Conjunct, Output
from augury.analysis.declarations.catalog import Catalog, Column, DataType, StreamSchema
from augury.analysis.expressions.walk import rewritten
from augury.language import expressions as ex
from augury.planning.acting.refusals import not_evaluated
from augury.planning.acting.values import A_MATCH, Names, value_of
from augury.planning.expressions.typed import END_OPEN, END_TIME, STREAM_OF, THE_END
from augury.rules.plan import Condition

# Columns of candidates that no answer shows; users cannot write such names.
HIDDEN = "\0"
# Of matches that are told again: when a row was told, how, and whether HAVING shows it.
TOLD_AT, TOLD_HOW, TOLD_SHOWN = (f"{HIDDEN}{word}" for word in ("told at", "how", "shown"))


@dataclass
class Hidden:
    """The values that candidates carry for tests and moments."""

    query: CheckedQuery
    known: dict[ex.Expression, str] = field(default_factory=dict)
    types: dict[str, DataType] = field(default_factory=dict)

    @property
    def outputs(self) -> tuple[Output, ...]:
        return tuple(Output(Column(n, self.types[n]), value) for value, n in self.known.items())

    def column(self, value: ex.Attribute | ex.Aggregate) -> str:
        """Return the name of the column that has a value."""
        if value not in self.known:
            name = f"{HIDDEN}{len(self.known)}"
            self.known[value], self.types[name] = name, self._type(value)
        return self.known[value]

    def _type(self, value: ex.Attribute | ex.Aggregate) -> DataType:
        if isinstance(value, ex.Aggregate) or value.name in (STREAM_OF, END_TIME, END_OPEN):
            return DataType.LONG
        if value.component == THE_END:
            found = (stream.column(value.name) for stream in self.query.streams)
            return next(column.type for column in found if column is not None)
        numbers = {c.name: c.index for c in self.query.components}
        return self.query.type_of_attribute(numbers[value.component or ""], value.name)

    def condition(self, conjunct: Conjunct, catalog: Catalog) -> Condition:
        """Return an active conjunct as it is tested."""
        needs = set[str]()

        def change(node: ex.Node) -> ex.Node | None:
            if isinstance(node, ex.Attribute) and node.component is not None:
                if node.default is None:
                    needs.add(node.component)
                return ex.Attribute(A_MATCH, self.column(node))
            if isinstance(node, ex.Aggregate):
                return ex.Attribute(A_MATCH, self.column(node))
            return None

        expression = rewritten(conjunct.expression, change)
        names = Names(catalog.tables, self.types)
        holds = value_of(expression, names)
        return Condition(holds, frozenset(needs), frozenset(names.used), tuple(names.lookups))


# Where the last event of a component is, by the number of its stream among those of the query: the
# column of its tie-breaker, if it has one, and the stream's number as declared.
Ties = Mapping[int, tuple[str | None, int]]


def ties_of(
    query: CheckedQuery, catalog: Catalog, hidden: Hidden
) -> tuple[dict[str, Ties], dict[str, str], dict[str, str]]:
    """Return where the tie-breakers of components are, and whose matches others are.

    The last are the columns that tell by which stream an event came, where several may play.
    """
    # Forecasts are told after events: their rows come after all streams.
    numbers = {name: k for k, name in enumerate([*catalog.streams, *catalog.forecast_streams])}
    ties: dict[str, Ties] = {}
    lower: dict[str, str] = {}
    which: dict[str, str] = {}
    for component in query.components:
        if component.negated:
            continue
        names = {by.stream for by in component.played_by}
        own = {k: stream for k, stream in enumerate(query.streams) if stream.name in names}
        below = [stream.query for stream in own.values() if stream.query is not None]
        if below and len(own) > 1:
            raise not_evaluated(
                f"component {component.name} of {query.name} may be a match of {below[0]}, or "
                "something else, and a match is known at another moment than an event",
                "say by the stream's name in PATTERN which are meant, with OR where both are",
            )
        if below:
            lower[component.name] = below[0]
            continue
        last = ex.Index("last") if component.maximum != 1 else None
        refuse_mixed_ties(query, f"component {component.name}", own.values())

        def of_last(name: str, component: Component = component, at: ex.Index | None = last) -> str:
            return hidden.column(ex.Attribute(component.name, name, at))

        ties[component.name] = {
            k: (of_last(s.order_by) if s.order_by else None, numbers[s.name.lower()])
            for k, s in own.items()
        }
        if len(own) > 1:
            which[component.name] = of_last(STREAM_OF)
    return ties, lower, which


def refuse_mixed_ties(query: CheckedQuery, what: str, streams: Iterable[StreamSchema]) -> None:
    """Refuse tie-breakers of one name that are of several types: they are no single column."""
    kinds: dict[str, DataType] = {}
    for stream in streams:
        tie = stream.column(stream.order_by) if stream.order_by else None
        if tie is not None and kinds.setdefault(tie.name.lower(), tie.type) is not tie.type:
            raise not_evaluated(
                f"{what} of {query.name} may come by streams whose tie-breaker "
                f"{tie.name} is of different types, so it has none",
                "give the columns one type, or say by the stream's name which events are meant",
            )


def columns_of(query: CheckedQuery) -> dict[str, DataType]:
    """Return the types of what a rule may name of a match."""
    time = _time(query)
    return {
        "match_id": DataType.STRING,
        "revision": DataType.LONG,
        **{key.name: key.type for key in query.keys},
        "start_ts": time,
        "end_ts": time,
        "ts": time,
        "confidence": DataType.DOUBLE,
        "n_missed": DataType.LONG,
        **{output.column.name: output.column.type for output in query.outputs},
    }


def _time(query: CheckedQuery) -> DataType:
    return DataType.LONG if query.streams[0].time_is_ticks else DataType.TIMESTAMP


def clock_of(query: CheckedQuery) -> Callable[[int], str]:
    """Return how times of a query are shown."""
    return str if query.streams[0].time_is_ticks else time_text


def time_text(microseconds: int) -> str:
    """Return a time as people read it."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
    return moment.isoformat(sep=" ").removesuffix("+00:00")

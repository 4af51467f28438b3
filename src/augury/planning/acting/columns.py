"""Further columns of candidates: what active conjuncts and moments need of a match."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from augury.analysis.checked import CheckedQuery, Conjunct, Output
from augury.analysis.declarations.catalog import Catalog, Column, DataType
from augury.analysis.expressions.walk import rewritten
from augury.language import expressions as ex
from augury.planning.acting.refusals import not_yet
from augury.planning.acting.values import A_MATCH, Names, value_of
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
        if isinstance(value, ex.Aggregate):
            return DataType.LONG
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


def ties_of(
    query: CheckedQuery, catalog: Catalog, hidden: Hidden
) -> tuple[dict[str, tuple[str | None, int]], dict[str, str]]:
    """Return where the tie-breaker of each component is, and whose matches others are."""
    # Forecasts are told after events: their rows come after all streams.
    numbers = {name: k for k, name in enumerate([*catalog.streams, *catalog.forecast_streams])}
    schemas = {stream.name: stream for stream in query.streams}
    ties: dict[str, tuple[str | None, int]] = {}
    lower: dict[str, str] = {}
    for component in query.components:
        if component.negated:
            continue
        streams = {by.stream for by in component.played_by}
        if len(streams) > 1:
            raise not_yet(
                f"component {component.name} of {query.name} may be an event of several streams, "
                "so its place among them is not known",
                "say by the stream's name in PATTERN which events are meant",
            )
        stream = schemas[streams.pop()]
        if stream.query is not None:
            lower[component.name] = stream.query
            continue
        tie = None
        if stream.order_by is not None:
            last = ex.Index("last") if component.maximum != 1 else None
            tie = hidden.column(ex.Attribute(component.name, stream.order_by, last))
        ties[component.name] = (tie, numbers[stream.name.lower()])
    return ties, lower


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

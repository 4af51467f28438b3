"""What has been declared: streams, tables, queries and gaps, with their schemas.

A catalog is immutable; a script's `Ledger` makes the next one. Names of streams, tables, queries
and columns are looked up without regard to case, as Spark does; values of types are data and keep
their case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from augury.errors import Source
from augury.language.tree import (
    CreateCorrelation,
    CreateForecast,
    CreateGaps,
    CreateModel,
    CreateMoves,
    CreatePolicy,
    CreateQuery,
    CreateRule,
    CreateStore,
    External,
    IdentifyStream,
    InferStream,
    MissRate,
    SuppressStream,
)


class DataType(Enum):
    """The types of attributes and expressions; INTERVAL and NULL occur in expressions only."""

    BOOLEAN = "BOOLEAN"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    STRING = "STRING"
    TIMESTAMP = "TIMESTAMP"
    DATE = "DATE"
    INTERVAL = "INTERVAL"
    NULL = "NULL"

    @property
    def is_number(self) -> bool:
        return self in (DataType.LONG, DataType.DOUBLE)


@dataclass(frozen=True, slots=True)
class Column:
    """One attribute of a stream or table."""

    name: str
    type: DataType


@dataclass(frozen=True, slots=True)
class Unread:
    """What the matches of a query take as missed, or as absent though it may have been missed.

    `inside`: it lies between the first and the last event of the match. Matches that differ in one
    of the columns `keys` take different events as unread.
    """

    inside: bool
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An attribute `of` the event so many `places` behind another of its stream, below 0 before it.

    `reach` is how far behind it is looked for, in microseconds or ticks; None: however far.
    """

    of: Column
    places: int
    reach: int | None = None

    @property
    def column(self) -> Column:
        """The column that it is read as."""
        word = "PREV" if self.places < 0 else "NEXT"
        within = "" if self.reach is None else f" within {self.reach}"
        return Column(f"{word}({self.of.name}, {abs(self.places)}){within}", self.of.type)


@dataclass(frozen=True, slots=True)
class StreamSchema:
    """A declared stream, or the output of a query used as one.

    A derived stream (`query` is its query's name) has the query's equated attributes and RETURN
    columns, `start_ts` and `end_ts`; its ID is `match_id`, its TIME `end_ts`, its PROBABILITY
    `confidence`; `lateness` is in microseconds, or ticks where TIME is a LONG. `certain` marks the
    output of a deterministic query: its events all happened. `unread` is what its confidences owe
    to what was not read; `has_lineage` is whether it is known which events they rest on. `markov`
    names the stream of transitions, or the stream itself where they come with its inference
    (CORRELATED). Owners of different events of a stream that `is_identified` hang together, and
    so do matches of queries `of_owners`, which read such a stream, or one below does. Where
    it `skips`, its query, or one below, has AFTER MATCH SKIP: an event hangs on all before it.
    `idle` is after how many microseconds without rows it no longer holds others back. `neighbours`
    are read by a query as further columns of its events: no row brings them.
    """

    name: str
    columns: tuple[Column, ...]
    id: str | None = None
    key: tuple[str, ...] = ()
    time: str | None = None
    order_by: str | None = None
    type: str | None = None
    probability: str | None = None
    alternatives: tuple[str, ...] = ()
    markov: str | None = None
    miss_rate: MissRate | None = None
    lateness: int = 0
    source: External | None = None
    query: str | None = None
    certain: bool = False
    unread: Unread | None = None
    has_lineage: bool = True
    is_identified: bool = False
    of_owners: bool = False
    skips: bool = False
    idle: int | None = None
    neighbours: tuple[Neighbour, ...] = ()
    _by_name: dict[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name = {c.name.lower(): c for c in reversed(self.columns)}
        by_name |= {each.column.name.lower(): each.column for each in self.neighbours}
        object.__setattr__(self, "_by_name", by_name)

    @property
    def is_linked(self) -> bool:
        """Whether its steps are correlated by its inference, and not by rows of tables."""
        return self.markov == self.name

    def column(self, name: str) -> Column | None:
        """Return the column of that name, without regard to case."""
        return self._by_name.get(name.lower())

    @property
    def time_is_ticks(self) -> bool:
        """Whether TIME is a LONG tick rather than a TIMESTAMP."""
        column = self.column(self.time) if self.time else None
        return column is not None and column.type is DataType.LONG

    @property
    def is_uncertain(self) -> bool:
        """Whether any event of the stream may not have happened, or have happened otherwise."""
        return bool(self.probability or self.alternatives or self.query) and not self.certain


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A declared relation; `store` is where it lies, None the embedded default."""

    name: str
    columns: tuple[Column, ...]
    source: External | None = None
    key: tuple[str, ...] = ()
    store: str | None = None
    uncertain: bool = False

    def column(self, name: str) -> Column | None:
        """Return the column of that name, without regard to case."""
        return next((c for c in self.columns if c.name.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True)
class ModelSchema:
    """A declared model: the columns of its states; `step` is in microseconds, 1 for ticks."""

    name: str
    states: tuple[Column, ...]
    statement: CreateModel
    step: int = 1


@dataclass(frozen=True, slots=True)
class Inferred:
    """How a stream is inferred; `moves` is the stream of its transitions, if it has one."""

    statement: InferStream
    moves: str | None = None


@dataclass(frozen=True, slots=True)
class MovesSchema:
    """A declared model of moves: the columns of its objects that are people, places and wards."""

    name: str
    owner: Column
    place: Column
    by: Column | None
    statement: CreateMoves


@dataclass(frozen=True, slots=True)
class Identified:
    """How the events of a stream get owners; `within` and `step` are in microseconds or ticks."""

    statement: IdentifyStream
    within: int
    step: int


@dataclass(frozen=True, slots=True)
class BoundType:
    """A type that a policy never suppresses (None: every type), the statement `by`, and why."""

    type: str | None
    by: str
    why: str


@dataclass(frozen=True, slots=True)
class PolicySchema:
    """A declared policy; `period` and `over` are in microseconds, or ticks."""

    name: str
    stream: str
    statement: CreatePolicy
    period: int | None = None
    over: int | None = None
    bound: tuple[BoundType, ...] = ()

    @property
    def bound_types(self) -> frozenset[str] | None:
        """The types that are never suppressed; None: all."""
        types = {each.type for each in self.bound}
        return None if None in types else frozenset(each for each in types if each is not None)


@dataclass(frozen=True)
class Catalog:
    """Everything declared so far, by lower-case name.

    `outputs` are the queries' output streams; `sources` the texts that declared the queries;
    `inferred` has the streams that inference gives, and those of their transitions; `rules` have
    the names of their tables and columns as declared. `identified` has the streams whose events get
    owners.
    `suppressed` has those of the events that a policy has kept. `forecast_streams` are forecasts as
    streams. `hooks` are the webhooks that hear of the firings of rules.
    """

    streams: Mapping[str, StreamSchema] = field(default_factory=lambda: MappingProxyType({}))
    tables: Mapping[str, TableSchema] = field(default_factory=lambda: MappingProxyType({}))
    queries: Mapping[str, CreateQuery] = field(default_factory=lambda: MappingProxyType({}))
    gaps: Mapping[str, CreateGaps] = field(default_factory=lambda: MappingProxyType({}))
    outputs: Mapping[str, StreamSchema] = field(default_factory=lambda: MappingProxyType({}))
    sources: Mapping[str, Source] = field(default_factory=lambda: MappingProxyType({}))
    models: Mapping[str, ModelSchema] = field(default_factory=lambda: MappingProxyType({}))
    inferred: Mapping[str, Inferred] = field(default_factory=lambda: MappingProxyType({}))
    correlations: Mapping[str, CreateCorrelation] = field(
        default_factory=lambda: MappingProxyType({})
    )
    forecasts: Mapping[str, CreateForecast] = field(default_factory=lambda: MappingProxyType({}))
    stores: Mapping[str, CreateStore] = field(default_factory=lambda: MappingProxyType({}))
    rules: Mapping[str, CreateRule] = field(default_factory=lambda: MappingProxyType({}))
    moves: Mapping[str, MovesSchema] = field(default_factory=lambda: MappingProxyType({}))
    identified: Mapping[str, Identified] = field(default_factory=lambda: MappingProxyType({}))
    policies: Mapping[str, PolicySchema] = field(default_factory=lambda: MappingProxyType({}))
    suppressed: Mapping[str, SuppressStream] = field(default_factory=lambda: MappingProxyType({}))
    forecast_streams: Mapping[str, StreamSchema] = field(
        default_factory=lambda: MappingProxyType({})
    )
    hooks: Mapping[str, tuple[External, ...]] = field(default_factory=lambda: MappingProxyType({}))

    def stream(self, name: str) -> StreamSchema | None:
        return self.streams.get(name.lower())

    def table(self, name: str) -> TableSchema | None:
        return self.tables.get(name.lower())

    def query(self, name: str) -> CreateQuery | None:
        return self.queries.get(name.lower())

    @property
    def guarded(self) -> frozenset[str]:
        """The streams whose raw rows only a policy may read, in lower case."""
        pairs = ((p.stream, p.statement.learn_from) for p in self.policies.values())
        names = {name.lower() for pair in pairs for name in pair if name is not None}
        below = {self.identified[n].statement.readings.lower() for n in names & {*self.identified}}
        return frozenset(names | below)

    def owners_of(self, stream: str) -> str | None:
        """Return the stream AS IDENTIFY that a stream is, or keeps some of, in lower case."""
        kept = self.suppressed.get(stream.lower())
        name = stream.lower() if kept is None else kept.stream.lower()
        return name if name in self.identified else None

    def policy_of(self, stream: str) -> PolicySchema | None:
        """Return the policy that stands before a stream."""
        name = stream.lower()
        return next((p for p in self.policies.values() if p.stream.lower() == name), None)

    def is_private(self, query: str) -> str | None:
        """Return the policy that makes a query private; None where none does."""
        for policy in self.policies.values():
            if query.lower() in {each.query.lower() for each in policy.statement.private}:
                return policy.name
        return None

    def is_history(self, stream: str) -> str | None:
        """Return the policy that learns from a stream; None where none does."""
        for policy in self.policies.values():
            if stream.lower() == (policy.statement.learn_from or "").lower():
                return policy.name
        return None

    def readable(self, name: str) -> StreamSchema | None:
        """Return what ON may read under that name: a stream, or a query's output."""
        return self.streams.get(name.lower()) or self.outputs.get(name.lower())

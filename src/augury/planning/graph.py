"""The graph of stages that answers some queries: what the executor runs, and what EXPLAIN prints.

Every stage takes rows of the stages it reads and gives rows. What a stage declares of itself
decides how runners may drive it: whether a step costs what is new or all that is remembered, or
needs all rows at once. What a query returns is looked at when it is
planned, and nowhere after.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, StreamSchema
from augury.planning.answer_kinds import LIKELY, Tells, tells
from augury.planning.chain_plan import ChainPlan, plan_chain
from augury.planning.evaluated import hangs_on_all, reads_owners

Kind = Literal[
    "source",
    "suppress",
    "identify",
    "infer",
    "filter",
    "events of forecast",
    "beside",
    "match",
    "count",
    "join",
    "chain",
    "lineage",
]
# The kinds that make streams, which queries read.
STREAMS = ("source", "suppress", "identify", "infer", "filter", "events of forecast", "beside")
# What a step costs: the rows that are new; all rows that are remembered, which are evaluated again;
# or nothing before the last one, which needs all rows at once.
Step = Literal["new", "again", "all"]
DOES: Mapping[tuple[Kind, Step], str] = {
    ("source", "new"): "check rows, number equal ones, let them go on in the order of time",
    ("suppress", "new"): "decide event by event what of its stream goes on",
    ("identify", "all"): "from events without an owner to those who may have done them",
    ("infer", "all"): "from readings to probable events, by the model",
    ("filter", "new"): "follow hidden states from reading to reading, by the model",
    ("events of forecast", "new"): "say after each event how partial matches may go on",
    ("beside", "new"): "read what stands before and behind each event, in the order of its key",
    ("match", "new"): "search the partitions to which an event came that may end a match",
    ("match", "again"): "search the rows of the window again in every step",
    ("match", "all"): "search all rows at once",
    ("count", "all"): "count the matches of all rows",
    ("join", "all"): "project, join and project all rows by the safe plan",
    ("chain", "new"): "carry the distribution of every chain from step to step",
    ("chain", "all"): "carry the distribution of every chain over all rows",
    ("lineage", "all"): "value the joint lineage of all matches",
}


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: what it does, for which stream or query, what it reads, what a step costs.

    One that `revises` may tell a row again: under its id, with the next revision, as it is now.
    """

    kind: Kind
    of: str
    reads: tuple[str, ...]
    step: Step
    tells: Tells | None = None
    revises: bool = False

    @property
    def name(self) -> str:
        """What EXPLAIN, measurements and errors call it."""
        return f"{self.kind} {self.of}"

    @property
    def does(self) -> str:
        """What it does, in a sentence."""
        does = DOES[self.kind, self.step]
        return f"{does}; tell again what later rows change" if self.revises else does

    @property
    def lists_matches(self) -> bool:
        """Whether its rows are matches."""
        return self.kind == "match"

    @property
    def is_likely(self) -> bool:
        """Whether its rows are probabilities."""
        return self.tells in LIKELY


@dataclass(frozen=True, slots=True)
class Graph:
    """Stages in the order in which rows go through them."""

    stages: tuple[Stage, ...]

    def of(self, query: str) -> Stage:
        """Return the stage whose rows are the answer of a query."""
        return next(
            each
            for each in reversed(self.stages)
            if each.of.lower() == query.lower() and each.kind not in STREAMS
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What the stages are called."""
        return tuple(each.name for each in self.stages)


def graph_of(names: Iterable[str], queries: Mapping[str, CheckedQuery], catalog: Catalog) -> Graph:
    """Return the graph that answers the named queries over rows that have an end."""
    making = _Making(queries, catalog)
    for name in names:
        making.add_query(queries[name.lower()])
    return Graph(tuple(making.found.values()))


@dataclass(frozen=True, slots=True)
class _Making:
    """A graph that is made: the stages that were found, those that are read first."""

    queries: Mapping[str, CheckedQuery]
    catalog: Catalog
    found: dict[str, Stage] = field(default_factory=dict)

    def add_query(self, query: CheckedQuery) -> None:
        """Add the stages of a query, those that it reads first."""
        reads = tuple(self.add_read(stream) for stream in query.streams)
        stage = stage_of(query, self.catalog, reads)
        self.found.setdefault(stage.name, stage)

    def add_read(self, stream: StreamSchema) -> str:
        """Add the stages of a stream as a query reads it, which may look beside its events."""
        below = self.add_stream(stream)
        if not stream.neighbours:
            return below
        return self.added(Stage("beside", stream.name, (below,), "new"))

    def add_stream(self, stream: StreamSchema) -> str:
        """Add the stages of a stream, declared or made; return the name of the last."""
        name, catalog = stream.name.lower(), self.catalog
        if stream.query is not None:
            return self.add_lower(stream.query)
        if name in catalog.forecast_streams:
            return self.add_forecast(stream.name)
        if name in catalog.suppressed:
            return self.add_stream(catalog.streams[catalog.suppressed[name].stream.lower()])
        if name in catalog.identified:
            known = catalog.identified[name].statement
            below, again = self.add_readings(known.readings), known.revise != "NEVER"
            return self.added(Stage("identify", stream.name, (below,), "all", revises=again))
        if name in catalog.inferred:
            below = self.add_readings(catalog.inferred[name].statement.readings)
            return self.added(Stage("infer", stream.name, (below,), "all"))
        return self.add_declared(stream)

    def add_declared(self, stream: StreamSchema) -> str:
        """Add the source of a stream, and the policy that stands before its readers."""
        source = self.added(Stage("source", stream.name, (), "new"))
        if stream.markov and (tables := self.catalog.stream(stream.markov)) is not None:
            # How its values follow each other comes as rows, too.
            self.add_stream(tables)
        policy = self.catalog.policy_of(stream.name)
        if policy is None:
            return source
        return self.added(Stage("suppress", policy.name, (source,), "new"))

    def add_readings(self, name: str) -> str:
        """Add the stages of the stream that another is made of."""
        readings = self.catalog.stream(name)
        assert readings is not None
        return self.add_stream(readings)

    def add_forecast(self, name: str) -> str:
        """Add the stages of a forecast whose rows a query reads as events."""
        asked = self.catalog.forecasts[name.lower()]
        goes_on = asked.future is not None and asked.future.kind == "MODEL"
        add = self.add_filter if goes_on else self.add_read
        reads = tuple(add(stream) for stream in self._declared_streams(asked.query))
        return self.added(Stage("events of forecast", name, reads, "new"))

    def add_filter(self, stream: StreamSchema) -> str:
        """Add the stages of an inferred stream whose model goes on by itself."""
        inferred = self.catalog.inferred[stream.name.lower()].statement
        return self.added(
            Stage("filter", stream.name, (self.add_readings(inferred.readings),), "new")
        )

    def added(self, stage: Stage) -> str:
        """Add a stage unless it is there; return its name."""
        return self.found.setdefault(stage.name, stage).name

    def add_lower(self, name: str) -> str:
        """Add the stages of a query that another reads: its matches keep what they are made of."""
        query = self.queries.get(name.lower())
        streams = self._declared_streams(name) if query is None else query.streams
        reads = tuple(self.add_read(stream) for stream in streams)
        own = name if query is None else query.name
        return self.added(Stage("match", own, reads, "again", "matches"))

    def _declared_streams(self, name: str) -> Iterable[StreamSchema]:
        """Return what a query reads of which no more than its declaration is at hand."""
        declared = self.catalog.query(name)
        read = [self.catalog.readable(each) for each in declared.streams] if declared else []
        return [stream for stream in read if stream is not None]


def stage_of(query: CheckedQuery, catalog: Catalog, reads: tuple[str, ...] = ()) -> Stage:
    """Return the stage that answers a query over rows that have an end."""
    form = tells(query)
    if form == "matches":
        step, again = _match_step(query, catalog), _revises(query, catalog)
        return Stage("match", query.name, reads, step, form, again)
    return Stage(_kind(query, catalog), query.name, reads, "all", form)


def _kind(query: CheckedQuery, catalog: Catalog) -> Kind:
    """Return how a query is answered that does not list matches."""
    if query.returns == "COUNT":
        return "count"
    if reads_owners(query):
        return "lineage"
    if query.verdict.join is not None:
        return "join"
    return "chain" if isinstance(plan_chain(query, catalog), ChainPlan) else "lineage"


def _revises(query: CheckedQuery, catalog: Catalog) -> bool:
    """Return whether matches may be told again, as the owners of their events are."""
    asked = {each.statement.revise for each in catalog.identified.values()}
    return reads_owners(query) and asked != {"NEVER"}


def _match_step(query: CheckedQuery, catalog: Catalog) -> Step:
    """Return what a step of a query for matches costs.

    Matches of matches carry lineage that reaches below them, those over MARKOV streams follow
    paths, and alternatives that share an ID may be of any time: there the rows of the window are
    searched again.
    """
    if any(stream.name.lower() in catalog.inferred for stream in query.streams):
        return "all"
    if reads_owners(query):
        return "all"
    if hangs_on_all(query):
        return "all"
    derived = any(stream.query is not None for stream in query.streams)
    linked = any(stream.markov for stream in query.streams)
    apart = any(stream.alternatives and stream.id is not None for stream in query.streams)
    return "again" if derived or apart or linked or query.correlated_by is not None else "new"

"""A query with all queries below it: which base streams they read, and how far back they look.

A network is what one shard evaluates. It travels to Spark's workers, so it holds plain data, and
makes the plans where they are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import (
    Catalog,
    Inferred,
    Neighbour,
    PolicySchema,
    StreamSchema,
)
from augury.analysis.declarations.forecasts import CheckedForecast
from augury.analysis.expressions.walk import tables_read
from augury.evaluation.asked import Asked
from augury.evaluation.encoding import rows_of_table
from augury.evaluation.stream_rows import StreamRows
from augury.evaluation.ties import TieRule, tie_rule
from augury.language.printer import to_text
from augury.matching.ends import ends_late, looks_back
from augury.matching.matcher import ALWAYS
from augury.matching.pattern import Pattern
from augury.operator import NEVER_YET
from augury.planning.base_streams import (
    base_streams,
    below,
    model_tables,
    owned_streams,
    weighed_queries,
)
from augury.planning.chain_plan import ChainPlan, plan_chain
from augury.planning.evaluated import refuse_unfollowed, unmatched
from augury.planning.expressions.typed import tables_within
from augury.planning.graph import (
    Graph,
    graph_of,
)
from augury.planning.match_plan import MatchPlan, plan_match, plan_possible
from augury.planning.policy_plan import without_tests
from augury.planning.streamable import is_carried

if TYPE_CHECKING:
    from augury.evaluation.stages.act import ActStage
    from augury.evaluation.stages.forecast import Learned

# Without a window of time, a match that waits is known when the stream ends.
UNTIL_THE_END = 2**61


@dataclass(frozen=True)
class Network:
    """The queries `names`, and all below them; `tables` are the relations that they read whole.

    `texts` are queries and forecasts as they were written. `whole_rows` lets every column travel,
    not only those that are read, so that what is put aside is complete. `made` are the columns of
    the answers that are made; None: all. `counts_ties` lets it be told how many events are tied.
    `asked` is what else is asked for, of `forecasts` among others. Policies are in force before
    every stage, unless the rows have gone through them (`is_behind_policies`); `weighed` are the
    queries that they name. `act` settles what the queries find, which are then candidates. `taught`
    is what the histories of forecasts teach, where they are not among the tables.
    """

    names: tuple[str, ...]
    queries: Mapping[str, CheckedQuery]
    catalog: Catalog
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    whole_rows: bool = False
    made: frozenset[str] | None = None
    counts_ties: bool = False
    asked: tuple[Asked, ...] = ()
    forecasts: Mapping[str, CheckedForecast] = field(default_factory=dict)
    weighed: Mapping[str, CheckedQuery] = field(default_factory=dict)
    is_behind_policies: bool = False
    act: ActStage | None = None
    taught: Mapping[str, Learned] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        names: Iterable[str],
        queries: Mapping[str, CheckedQuery],
        catalog: Catalog,
    ) -> Network:
        """Return the network of some queries, without what they do not need."""
        declared = {**catalog.queries, **catalog.forecasts}
        texts = {name: to_text(statement) for name, statement in declared.items()}
        weighed = {
            name: without_tests(queries[name], catalog)
            for name in weighed_queries(catalog)
            if name in queries
        }
        return cls((), queries, _sendable(catalog), {}, texts, weighed=weighed).only(names)

    def only(self, names: Iterable[str], asked: Iterable[Asked] = ()) -> Network:
        """Return the network of some of the queries, and of what else is asked for."""
        others = tuple(asked)
        logs = [each.name for each in others if each.kind == "revisions"]
        named = [*(name.lower() for name in names), *(n for n in logs if n in self.queries)]
        chosen = tuple(dict.fromkeys(named))
        found: dict[str, CheckedQuery] = {}
        for name in chosen:
            found |= below(self.queries[name], self.queries)
        for name in chosen:
            refuse_unfollowed(below(found[name], found))
        return replace(self, names=chosen, queries=found, asked=others)

    def alone_with(self, name: str) -> Network:
        """Return the network of one of the queries, and of its revisions if they are asked for."""
        return self.only([name], [e for e in self.asked if e == Asked("revisions", name)])

    def alone(self, asked: Asked) -> Network:
        """Return the network of one thing that is asked for; what acts needs all candidates."""
        return self.only(self.names if self.act is not None else (), [asked])

    @property
    def identity(self) -> str:
        """The text of all queries, by which stored state knows its own."""
        named = {*self.queries, *(each.name.lower() for each in self.forecasts_made)}
        named |= {each.query.name.lower() for each in self.forecasts_made}
        others = [each.key for each in sorted(self.asked)]
        policies = [to_text(policy.statement) for policy in self.policies]
        policies += [] if self.act is None else [self.act.mark.hex()]
        return "\n".join([*(self.texts[name] for name in sorted(named)), *others, *policies])

    @cached_property
    def policies(self) -> tuple[PolicySchema, ...]:
        """The policies that are in force here: of the streams that are read in the end."""
        known = self.catalog.policies.values()
        return tuple(policy for policy in known if self._meets(policy.stream.lower()))

    def _meets(self, stream: str) -> bool:
        """Return whether rows come here before the policy of a stream has seen them.

        Owners are told here, and nowhere before.
        """
        if stream in self.catalog.identified:
            return stream in self.owners_read
        return not self.is_behind_policies and stream in self.bases

    @property
    def forecasts_read(self) -> list[CheckedForecast]:
        """The forecasts that are asked for, and those that rules listen to."""
        names = [each.name for each in self.asked if each.kind == "forecast"]
        names += [] if self.act is None else self.act.acting.forecasts
        return [self.forecasts[name] for name in dict.fromkeys(names)]

    @cached_property
    def forecasts_below(self) -> list[CheckedForecast]:
        """The forecasts whose rows queries read as events."""
        streams = [stream for query in self.queries.values() for stream in query.streams]
        names = dict.fromkeys(stream.name.lower() for stream in streams)
        return [self.forecasts[name] for name in names if name in self.catalog.forecast_streams]

    @property
    def forecasts_made(self) -> list[CheckedForecast]:
        """The forecasts that are made here, whoever reads them."""
        found = {each.name.lower(): each for each in (*self.forecasts_read, *self.forecasts_below)}
        return list(found.values())

    @cached_property
    def graph(self) -> Graph:
        """The stages that answer the queries over rows that have an end."""
        return graph_of(self.names, self.queries, self.catalog)

    @cached_property
    def plans(self) -> dict[str, MatchPlan]:
        """The plan of every query whose matches can be listed."""
        found = {
            name: plan_possible(query, self.catalog)
            for name, query in self.queries.items()
            if name not in self.only_chains
        }
        for name in set(self.names) - self.read_by_others:
            if name in found:
                found[name] = replace(found[name], made=self.made)
        return found

    def refuse_unplanned(self) -> None:
        """Raise for a query that cannot be evaluated, before anybody reads rows for it."""
        len(self.plans)

    @cached_property
    def chains(self) -> dict[str, ChainPlan]:
        """The chain of every probability query that is one."""
        asking = {n: query for n, query in self.queries.items() if self.graph.of(n).is_likely}
        found = {name: plan_chain(query, self.catalog) for name, query in asking.items()}
        return {name: plan for name, plan in found.items() if isinstance(plan, ChainPlan)}

    @cached_property
    def _tie_rules(self) -> list[TieRule]:
        names = self.names if self.counts_ties else ()
        rules = (tie_rule(self.queries[name], self.catalog) for name in names)
        return [rule for rule in rules if rule is not None]

    def tied(self, sources: Iterable[StreamRows]) -> dict[str, int]:
        """Return how many of some rows are tied, by the name of the query, if they are counted."""
        if not self._tie_rules:
            return {}
        rows = list(sources)
        found = {
            rule.query.name: sum(rule.count(each, self.relations) for each in rows)
            for rule in self._tie_rules
        }
        return {name: count for name, count in found.items() if count}

    @property
    def keeps_chains(self) -> bool:
        """Whether all queries ask for probabilities by time, along chains."""
        return not (self.asked or self.policies) and all(map(self.carries, self.queries))

    def carries(self, name: str) -> bool:
        """Return whether a query asks for probabilities by time, along chains."""
        return name in self.chains and is_carried(self.queries[name], self.catalog)

    def chain_of(self, name: str) -> Network:
        """Return the network of one such query; nothing acts in it."""
        return replace(self, act=None).only([name])

    @cached_property
    def only_chains(self) -> frozenset[str]:
        """The chains whose matches cannot be listed, so that there is no other way to answer."""
        return frozenset(n for n in self.chains if unmatched(self.queries[n]) is not None)

    @cached_property
    def bases(self) -> dict[str, StreamSchema]:
        """The declared streams that the network reads in the end, by lower-case name."""
        if self.is_behind_policies:
            # What was kept comes under all of its names; forecasts are made here.
            made = self.catalog.forecast_streams
            given = {name: own for name, own in self.inputs.items() if name not in made}
            return {**given, **self._bases_of(self.streams_of_others)}
        return self._bases_of([*self.streams_of_queries, *self.streams_of_others])

    def _bases_of(self, streams: Iterable[StreamSchema]) -> dict[str, StreamSchema]:
        found = (base_streams(own, self.catalog) for own in streams)
        return {name: each for own in found for name, each in own.items()}

    @cached_property
    def inputs(self) -> dict[str, StreamSchema]:
        """The streams whose rows queries get: declared ones, forecasts, or what a policy keeps."""
        catalog, found = self.catalog, dict[str, StreamSchema]()
        for own in self.streams_of_queries:
            is_kept = own.name.lower() in catalog.suppressed and not own.is_identified
            is_made = is_kept or own.name.lower() in catalog.forecast_streams
            found |= {own.name.lower(): own} if is_made else base_streams(own, catalog)
        return found

    @property
    def streams_of_queries(self) -> list[StreamSchema]:
        """The streams that queries read, but for matches of other queries."""
        streams = [stream for query in self.queries.values() for stream in query.streams]
        return [stream for stream in streams if stream.query is None]

    @cached_property
    def streams_of_others(self) -> list[StreamSchema]:
        """The streams that are read for what else is asked for: forecasts, made streams, audits."""
        found = [stream for each in self.forecasts_made for stream in each.query.streams]
        for each in self.asked:
            if each.kind in ("stream", "revisions") and each.name in self.catalog.streams:
                found.append(self.catalog.streams[each.name])
            if each.kind == "audit":
                policy = self.catalog.policies[each.name]
                found.append(self.catalog.streams[policy.stream.lower()])
        return found

    @cached_property
    def inferred(self) -> dict[str, Inferred]:
        """The inferred streams that the queries read, by lower-case name."""
        streams = [stream for query in self.queries.values() for stream in query.streams]
        known = self.catalog.inferred
        return {s.name.lower(): known[s.name.lower()] for s in streams if s.name.lower() in known}

    @cached_property
    def identified(self) -> list[str]:
        """The streams with owners in doubt that queries for matches read, in lower case."""
        names = [n for name in self.names if self.follows_owners(name) for n in self._owned(name)]
        return list(dict.fromkeys(names))

    @cached_property
    def owners_read(self) -> list[str]:
        """The streams AS IDENTIFY that anybody reads here, or what is kept of them."""
        read = (*self.streams_of_queries, *self.streams_of_others)
        found = (self.catalog.owners_of(each.name) for each in read)
        return list(dict.fromkeys(name for name in found if name is not None))

    def follows_owners(self, name: str) -> bool:
        """Return whether the matches of a query are told again, as more is known of owners."""
        return self.graph.of(name).lists_matches and bool(self._owned(name))

    def _owned(self, name: str) -> list[str]:
        return owned_streams(self.queries[name], self.queries)

    def reads(self, stream: StreamSchema) -> bool:
        """Return whether a query reads the rows of a stream as they are."""
        return any(own.name == stream.name for own in self.streams_of_queries)

    @cached_property
    def relations(self) -> dict[str, list[tuple[Any, ...]]]:
        """The rows of the bound relations, by lower-case name."""
        tables = self.catalog.tables
        return {
            name: rows_of_table(tables[name], table)
            for name, table in self.tables.items()
            if name in tables
        }

    @cached_property
    def tables_read(self) -> frozenset[str]:
        """The relations that the queries read, by lower-case name."""
        found: set[str] = set()
        for plan in self.plans.values():
            found |= _relations_of(plan) | self._pairs_of(plan.query)
        for chain in self.chains.values():
            found |= chain.tables
        for each in self.inferred.values():
            found |= model_tables(self.catalog.models[each.statement.model.lower()])
        return frozenset(found | self._tables_of_others())

    def _tables_of_others(self) -> set[str]:
        """Return what policies, owners and forecasts read: relations, and histories."""
        found = set[str]()
        for each in self.policies:
            found |= self._history_of(each)
        untaught = [each for each in self.forecasts_made if each.name.lower() not in self.taught]
        found |= {(each.learn_from or "").lower() for each in untaught}
        for query in self.weighed.values():
            # Every network behind a policy asks, of every query of it: without planning them.
            conjuncts = (*query.conjuncts, *query.lookups)
            found |= {name.lower() for each in conjuncts for name in tables_read(each.expression)}
        for query in (each.query for each in self.forecasts_made):
            found |= _relations_of(plan_match(query, self.catalog))
        for name in self.owners_read:
            found |= self._tables_of_owners(name)
        for own in self.streams_of_others:
            how = self.catalog.inferred.get(own.name.lower())
            if how is not None:
                found |= model_tables(self.catalog.models[how.statement.model.lower()])
        return found - {""}

    def _history_of(self, policy: PolicySchema) -> set[str]:
        """Return what the history of a policy is made of."""
        name = (policy.statement.learn_from or "").lower()
        known = self.catalog.identified.get(name)
        if known is None:
            return {name}
        return {known.statement.readings.lower(), *self._tables_of_owners(name)}

    def _tables_of_owners(self, name: str) -> set[str]:
        how = self.catalog.identified[name].statement
        node = self.catalog.moves[how.model.lower()].statement
        named = [node.objects, *(each[0] for each in (node.doors, node.prefer) if each)]
        return {name.lower() for name in named if name}

    @property
    def histories_of_correlations(self) -> list[str]:
        """The streams that conditional probabilities are learned from, in lower case."""
        named = {name for query in self.queries.values() for name in self._pairs_of(query)}
        return sorted(name for name in named if name in self.catalog.streams)

    def _pairs_of(self, query: CheckedQuery) -> set[str]:
        """Return where the conditional probabilities of a query come from: table or history."""
        if query.correlated_by is None:
            return set()
        name = query.correlated_by.lower()
        learned = self.catalog.correlations.get(name)
        return {learned.learn_from.lower() if learned else name}

    @property
    def is_flat(self) -> bool:
        """Whether no query reads another."""
        return set(self.names) == set(self.queries) and not self.read_by_others

    @cached_property
    def read_by_others(self) -> frozenset[str]:
        """The queries whose matches others take as events."""
        streams = [stream for query in self.queries.values() for stream in query.streams]
        return frozenset(stream.query.lower() for stream in streams if stream.query is not None)

    def __getstate__(self) -> dict[str, object]:
        """Leave the plans behind: they are made again in moments."""
        return {each.name: self.__dict__[each.name] for each in fields(self)}

    # Time -------------------------------------------------------------------------------------

    def is_one_event_of_owners(self, name: str) -> bool:
        """Return whether a match of a query is one event of one stream of owners."""
        query = self.queries[name.lower()]
        is_one = len(query.components) == 1 and not query.components[0].repeats
        return is_one and len(query.streams) == 1 and query.streams[0].is_identified

    def known_until(self, name: str, horizon: int) -> int:
        """Return before which time all events of a query's streams are there."""
        if horizon == ALWAYS:
            return ALWAYS
        for stream in self.queries[name].streams:
            if stream.is_identified:
                # Owners are told as steps are complete.
                own = self.catalog.owners_of(stream.name)
                step = self.catalog.identified[own or ""].step
                horizon = max(NEVER_YET, horizon // step * step)
        below = [
            self.known_until(lower, horizon) - delay(self.plans[lower].pattern)
            for lower in self._lower(name)
        ]
        return max(NEVER_YET, min([horizon, *below]))

    def reach(self, name: str) -> int | None:
        """Return how far back a query looks, with all below it; None where nothing bounds that."""
        query = self.queries[name]
        if self.graph.of(name).tells == "windows":
            assert query.within is not None
            own: int = query.within.length
        elif name not in self.plans:
            # A chain that nothing else tells.
            if query.within is None or query.within.events:
                return None
            own = query.within.length + (query.over or 0)
        else:
            pattern = self.plans[name].pattern
            if pattern.window is None:
                return None
            own = pattern.window * (2 if looks_back(pattern) else 1) + delay(pattern)
            own += query.over or 0
        deepest = [self.reach(lower) for lower in self._lower(name)]
        if any(each is None for each in deepest):
            return None
        return own + max((each for each in deepest if each is not None), default=0)

    @cached_property
    def memory(self) -> int | None:
        """How far back any of the queries looks."""
        found = [self.reach(name) for name in self.names]
        if None in found:
            return None
        return max((each for each in found if each is not None), default=0)

    @property
    def goes_by_time(self) -> bool:
        """Whether rows may be evaluated one span of time after the other, each by itself.

        Not where matches of one event are counted, or taken one after the other, nor where rows
        that exclude each other may be of any time, as those of one ID may, nor along paths; and not
        by stages that must see all events in order.
        """
        if self.asked or self.policies or self.forecasts_below:
            return False
        counted = any(query.match_limit is not None for query in self.queries.values())
        apart = any(each.alternatives and each.id is not None for each in self.bases.values())
        in_turn = any(query.after_match is not None for query in self.queries.values())
        in_turn = in_turn or bool(self.neighbours)
        linked = any(each.markov for each in self.inputs.values())
        whole = any(stage.tells == "windows" for stage in self.graph.stages)
        plain = not (counted or in_turn or apart or linked or whole)
        return self.memory is not None and plain

    @property
    def waits(self) -> bool:
        """Whether a match may become known later than its last event."""
        return any(ends_late(plan.pattern) for plan in self.plans.values())

    def _lower(self, name: str) -> list[str]:
        streams = self.queries[name].streams
        return [stream.query.lower() for stream in streams if stream.query is not None]

    @cached_property
    def neighbours(self) -> dict[str, tuple[Neighbour, ...]]:
        """What queries read beside the events of streams, by lower-case name."""
        found: dict[str, tuple[Neighbour, ...]] = {}
        for stream in (stream for query in self.queries.values() for stream in query.streams):
            if stream.neighbours:
                name = stream.name.lower()
                both = (*found.get(name, ()), *stream.neighbours)
                found[name] = tuple(dict.fromkeys(both))
        return found


def delay(pattern: Pattern) -> int:
    """Return how long after its last event a match may become known."""
    if not ends_late(pattern):
        return 0
    return UNTIL_THE_END if pattern.window is None else pattern.window


def _relations_of(plan: MatchPlan) -> set[str]:
    """Return the relations that the conditions of a query look into, in lower case."""
    filters = [expression for play in plan.plays for expression in play.filters]
    filters += [column.expression for column in plan.programs.columns]
    found = {use.name.lower() for use in plan.programs.tables} | set(plan.programs.opened)
    return found | set(tables_within(filters))


def _sendable(catalog: Catalog) -> Catalog:
    """Return the catalog with plain dicts, which pickle."""
    # The texts of these mark what policies and forecasts store.
    named = [*weighed_queries(catalog), *(f.query.lower() for f in catalog.forecasts.values())]
    return replace(
        catalog,
        streams=dict(catalog.streams),
        tables=dict(catalog.tables),
        queries={name: catalog.queries[name] for name in named},
        gaps={},
        outputs=dict(catalog.outputs),
        sources={},
        models=dict(catalog.models),
        inferred=dict(catalog.inferred),
        correlations=dict(catalog.correlations),
        moves=dict(catalog.moves),
        identified=dict(catalog.identified),
        policies=dict(catalog.policies),
        suppressed=dict(catalog.suppressed),
        forecasts=dict(catalog.forecasts),
        forecast_streams=dict(catalog.forecast_streams),
        stores={},
        rules={},
    )

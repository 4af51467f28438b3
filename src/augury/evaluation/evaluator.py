"""The stages of a graph over whole tables: Arrow in and Arrow out.

A query over queries evaluates those first and carries their lineage, so that what is shared is
counted once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog
from augury.config import value_of
from augury.errors import DataError
from augury.evaluation.answers.answers import Clock
from augury.evaluation.answers.count_answers import count_table
from augury.evaluation.answers.match_answers import Inputs, match_table
from augury.evaluation.encoding import (
    DerivedPlaces,
    Encoder,
    Tables,
    Tie,
    declaration_of,
    rows_of_table,
    ties_of,
)
from augury.evaluation.enumeration import ALL_TIME, Enumeration, Span
from augury.evaluation.identifying import Identifying, Identities
from augury.evaluation.inferring import Inferring
from augury.evaluation.learning.correlation_table import correlation_of
from augury.evaluation.learning.learned_correlation import as_candidates, learned_correlation
from augury.evaluation.learning.learned_gaps import learned
from augury.evaluation.memory_guard import memory_errors_named
from augury.evaluation.owners.claims import OwnerChances, OwnerRows
from augury.evaluation.probability.beliefs import keyed_beliefs
from augury.evaluation.probability.chain_inputs import chain_inputs_of
from augury.evaluation.probability.joins import join_table
from augury.evaluation.probability.lineage_probability import (
    chain_table,
    plain_table,
    probability_table,
    sampled_table,
)
from augury.evaluation.probability.linked_lineage import MarkovChances
from augury.evaluation.probability.markov_objects import MarkovObject, markov_objects
from augury.evaluation.probability.unfolded import unfolded
from augury.evaluation.shared_passes import SharedPass, shareable
from augury.evaluation.skipping import Candidates
from augury.evaluation.skipping_worlds import InWorlds
from augury.evaluation.stream_rows import StreamRows, all_times, inputs_of
from augury.inference.model import Model
from augury.matching.correlation import Correlation, LearnedCorrelation
from augury.matching.lineage import Formula
from augury.matching.matcher import ALWAYS
from augury.matching.worlds import TooManyStatesError
from augury.planning.chain_plan import ChainPlan, Obstacle, is_plain, plan_chain
from augury.planning.evaluated import (
    reads_owners,
)
from augury.planning.graph import stage_of
from augury.planning.join_program import join_program
from augury.planning.match_plan import MatchPlan, plan_possible
from augury.planning.refusal import NOT_EVALUATED, PlanError
from augury.records import Events, Matches, Words
from augury.sources.rows import conform, sift


@dataclass
class Evaluator:
    """Evaluates the queries of a catalog over bound tables.

    `spans` has, by query, in which time a match must become known to be reported; without, always.
    `keeps` picks, of the matches found, those that are reported; without, all. `clock` measures the
    stages of the graph that are entered. Rows from `horizon` on are still to come.
    `window` is the start of the one that is asked for; without, all are.
    """

    catalog: Catalog
    queries: Mapping[str, CheckedQuery]
    bound: dict[str, pa.Table] = field(default_factory=dict)
    loaded: dict[str, StreamRows] = field(default_factory=dict)
    chances: dict[Any, dict[Any, float]] = field(default_factory=dict)
    answers: dict[str, pa.Table] = field(default_factory=dict)
    spans: Mapping[str, Span] = field(default_factory=dict)
    plans: dict[str, MatchPlan] = field(default_factory=dict)
    objects: dict[str, list[MarkovObject]] = field(default_factory=dict)
    keeps: Callable[[Matches, Inputs], Words] | None = None
    clock: Clock = field(default_factory=Clock)
    identities: dict[str, Identities] = field(default_factory=dict)
    horizon: int = ALWAYS
    window: int | None = None

    def known(self, name: str) -> Identities:
        """Return what is told of the owners of a stream's events."""
        if name.lower() not in self.identities:
            schema = self.catalog.streams[name.lower()]
            with self.clock.stage(f"identify {schema.name}") as own:
                identifying = Identifying(self.catalog, self._load, self._relation)
                found = identifying.identities(name)
                own.rows_in, own.rows_out = len(found.rows), found.log.num_rows
            self.identities[name.lower()] = found
        return self.identities[name.lower()]

    def model(self, stream: str) -> Model:
        """Return the model by which a stream is inferred."""
        return Inferring(self.catalog, self._load, self._relation).model(stream)

    def table(self, name: str) -> pa.Table:
        """Return the result of a query."""
        if name.lower() not in self.answers:
            with memory_errors_named([self.queries[name.lower()].name]):
                self._evaluate(self.queries[name.lower()])
        return self.answers[name.lower()]

    def run_all(self, names: Iterable[str] | None = None) -> dict[str, pa.Table]:
        """Return the results of many queries (of all, unless named), sharing passes if possible."""
        chosen = [name.lower() for name in (self.queries if names is None else names)]
        self._share_passes([name for name in chosen if name not in self.answers])
        return {self.queries[name].name: self.table(name) for name in chosen}

    def rejected(self, stream: str) -> pa.Table:
        """Return the bad rows of a stream, with their reasons."""
        return self._load(stream).rejected

    def rows(self, stream: str) -> StreamRows:
        """Return the rows of a stream, inferred ones too."""
        return self._load(stream)

    def _load(self, name: str) -> StreamRows:
        if name.lower() not in self.loaded:
            if self.catalog.stream(name) is None:
                self.table(name)
            else:
                self.loaded[name.lower()] = self._load_declared(name)
        return self.loaded[name.lower()]

    def _load_declared(self, name: str) -> StreamRows:
        schema = self.catalog.stream(name)
        assert schema is not None
        if name.lower() in self.catalog.inferred:
            with self.clock.stage(f"infer {schema.name}") as own:
                inferring = Inferring(self.catalog, self._load, self._relation)
                self.loaded |= inferring.streams(name)
                own.rows_out = self.loaded[name.lower()].table.num_rows
            return self.loaded[name.lower()]
        if schema.is_identified:
            return self._of_owners(self.known(name))
        with self.clock.stage(f"source {schema.name}") as own:
            found = checked_rows(self.catalog, name, self.bound)
            own.rows_in = found.table.num_rows + found.rejected.num_rows
            own.rows_out = found.table.num_rows
        return found

    def _of_owners(self, known: Identities) -> StreamRows:
        """Return the rows of a stream as first told; what they need to be true hangs together."""
        chances = OwnerChances(known, value_of("identity_state_limit"))
        chances.update(self.chances)
        self.chances = chances
        rows = OwnerRows(known.last.schema, known.identifier.wards, known.log).first_told()
        return replace(rows, rejected=known.last.rejected)

    # Many queries -----------------------------------------------------------------------------

    def plan(self, name: str) -> MatchPlan:
        """Return the plan of a query, which is made once."""
        if name not in self.plans:
            query = learned(self.queries[name], self.catalog, self.bound)
            self.plans[name] = plan_possible(query, self.catalog)
        return self.plans[name]

    def _share_passes(self, names: list[str]) -> None:
        """Answer those queries that can share a pass over their stream."""
        if len(names) < 2:
            return
        read = {stream.name.lower() for query in self.queries.values() for stream in query.streams}
        alone = [
            name
            for name in names
            if name not in read
            and name not in self.spans
            and not stage_of(self.queries[name], self.catalog).is_likely
            and not reads_owners(self.queries[name])
        ]
        for group in shareable(self.plan(name) for name in alone):
            source = self._load(group[0].query.streams[0].name)
            tables = self._tables(group[0].query)
            shared = SharedPass(group, source, inputs_of([source]), tables)
            with memory_errors_named(plan.query.name for plan in group):
                found = list(shared.answers())
            for plan, answer in found:
                self.answers[plan.query.name.lower()] = answer
                with self.clock.stage(stage_of(plan.query, self.catalog).name) as own:
                    own.rows_in, own.rows_out = source.table.num_rows, answer.num_rows

    # One query --------------------------------------------------------------------------------

    def _evaluate(self, query: CheckedQuery) -> None:
        """Run the stage of a query over the rows of those that it reads."""
        stage = stage_of(query, self.catalog)
        run = {
            "match": self._by_matches,
            "count": self._by_counting,
            "join": self._by_joining,
            "chain": self._by_chains,
            "lineage": self._by_lineage,
        }
        with self.clock.stage(stage.name) as own:
            answer = run[stage.kind](query)
            own.rows_in = sum(self._load(each.name).table.num_rows for each in query.streams)
            own.rows_out = answer.num_rows
        self.answers[query.name.lower()] = answer

    def possible(self, name: str) -> tuple[Matches, list[Formula], Inputs]:
        """Return all that may be a match of a query, with lineage that is not valued."""
        enumeration, inputs = self._enumeration(self.queries[name.lower()], lineage=True)
        return *enumeration.possible(), inputs

    def _by_matches(self, query: CheckedQuery) -> pa.Table:
        """Return the matches of a query; those that others read keep what they are made of."""
        enumeration, inputs = self._enumeration(query)
        if reads_owners(query) and not isinstance(self.chances, OwnerChances):
            # How likely they are is known of those alone that are told.
            matches, formulas = enumeration.possible()
        elif query.after_match is None:
            matches, formulas = enumeration.matches()
        else:
            matches, formulas = _taken(enumeration.at_once(), inputs)
        if self.keeps is not None:
            matches = matches.only(self.keeps(matches, inputs))
        result = match_table(enumeration.plan, matches, inputs)
        is_read = enumeration.lineage or self._is_read(query.name)
        if is_read and query.output_schema is not None:
            events, sources = enumeration.events, enumeration.sources
            by_code = {code: key for key, code in enumeration.encoder.keys.known.items()}
            keys = [by_code[code] for code in events.key.tolist()]
            place = _place(matches, events, keys, _ties(sources, inputs, matches.row))
            self.loaded[query.name.lower()] = StreamRows(
                query.output_schema,
                result,
                result.slice(0, 0),
                formulas if enumeration.lineage else None,
                place,
            )
        return result

    def _by_counting(self, query: CheckedQuery) -> pa.Table:
        return count_table(*self._enumeration(query))

    def _by_lineage(self, query: CheckedQuery) -> pa.Table:
        """Return the probabilities of a query from lineage, or from worlds that are sampled."""
        enumeration, inputs = self._enumeration(query, lineage=True)
        markov = [source for source in enumeration.sources if source.schema.markov]
        first = dict(zip((s.name for s in query.streams), inputs.first_rows, strict=True))
        hidden = [(first[source.schema.name], self._objects(source)) for source in markov]
        return probability_table(unfolded(enumeration), inputs, hidden)

    def _by_joining(self, query: CheckedQuery) -> pa.Table:
        program = join_program(query, self.catalog)
        assert program is not None
        sources = {stream.name: self._load(stream.name) for stream in query.streams}
        return join_table(program, sources, self._tables(query), self.window)

    def _enumeration(
        self, query: CheckedQuery, *, lineage: bool = False
    ) -> tuple[Enumeration, Inputs]:
        """Return the search for a query's matches, and the rows that they are made of."""
        plan = self.plan(query.name.lower())
        sources = [self._load(stream.name) for stream in query.streams]
        if query.scoring == "DPCEP":
            # The paper takes derived events as independent, too.
            sources = [replace(source, formulas=None) for source in sources]
        encoder = Encoder(plan, self._tables(query))
        events, inputs = self._events(encoder, sources)
        derived = any(s.formulas is not None for s in sources)
        lineage = lineage or derived or self._is_read(query.name)
        correlation = None
        if query.correlated_by is not None:
            correlation, lineage = self._correlation(query, inputs), False
        if any(stream.markov for stream in query.streams):
            _refuse_linked(query)
            lineage = True
            self._link(sources)
        # Of a probability, all is known of the times that are asked about.
        span = ALL_TIME if plan.is_likely else self.spans.get(query.name.lower(), ALL_TIME)
        found = Enumeration(
            plan, encoder, events, sources, self.chances, lineage, span, correlation, self.window
        )
        return found, inputs

    def _by_chains(self, query: CheckedQuery) -> pa.Table:
        """Return the probabilities of a chain; from lineage where its rows are none after all."""
        plan = plan_chain(query, self.catalog)
        assert not isinstance(plan, Obstacle)
        sources = [self._load(stream.name) for stream in query.streams]
        objects = {s.schema.name.lower(): self._objects(s) for s in sources if s.schema.markov}
        tables, times = self._tables(query), all_times(sources)
        is_hard = query.verdict.kind == "hard"
        if is_hard:
            _refuse_linked(query)
        if is_plain(plan) and not is_hard and (plan.by_time or query.within is None):
            beliefs = keyed_beliefs(plan, sources, objects, tables)
            answer = None if beliefs is None else plain_table(plan, beliefs, times)
            if answer is not None:
                return answer
        answer = self._by_chain_inputs(plan, sources, objects, tables)
        return self._by_lineage(query) if answer is None else answer

    def _by_chain_inputs(
        self,
        plan: ChainPlan,
        sources: list[StreamRows],
        objects: dict[str, list[MarkovObject]],
        tables: Tables,
    ) -> pa.Table | None:
        """Return the answer of chains that their operator cannot take; None if no chain can."""
        inputs = chain_inputs_of(plan, sources, objects, tables)
        if isinstance(inputs, Obstacle):
            return None
        try:
            return chain_table(inputs, all_times(sources), self.window)
        except TooManyStatesError:
            if plan.query.approximate is not None:
                _refuse_linked(plan.query)
                return sampled_table(inputs, all_times(sources), self.window)
            if objects or any(c.repeats for c in plan.query.components):
                raise
            return None

    def _link(self, sources: list[StreamRows]) -> None:
        """Let lineage know how the values of Markovian streams follow each other."""
        if not isinstance(self.chances, MarkovChances):
            self.chances = MarkovChances(self.chances)
        for source in sources:
            name = source.schema.name.lower()
            if source.schema.markov and name not in self.chances.streams:
                self.chances.add(name, self._objects(source), source.groups())

    def _objects(self, source: StreamRows) -> list[MarkovObject]:
        name, known = source.schema.markov or "", source.schema.name.lower()
        if source.schema.is_linked and known not in self.objects:
            inferring = Inferring(self.catalog, self._load, self._relation)
            self.objects[known] = inferring.objects(name)
        if self.catalog.stream(name) is None:
            raise DataError(
                f"MARKOV of stream {source.schema.name} names {name}, which is not declared; "
                "declare it with CREATE STREAM, and bind its rows"
            )
        if known not in self.objects:
            moves = self._load(name)
            self.objects[known] = markov_objects(source, moves, horizon=self.horizon)
        return self.objects[known]

    def _correlation(self, query: CheckedQuery, inputs: Inputs) -> Correlation | LearnedCorrelation:
        """Return the conditional probabilities that a query names: of a table, or learned."""
        name = query.correlated_by or ""
        learning = self.catalog.correlations.get(name.lower())
        if learning is None:
            return correlation_of(query, self._relation(name), inputs)
        history = self._load(learning.learn_from)
        return learned_correlation(query, self._candidates(query, history), history, inputs)

    def _candidates(self, query: CheckedQuery, history: StreamRows) -> pa.Table:
        """Return the matches of a query in a history, whether their events happened or not."""
        plain = replace(query, correlated_by=None, having=None)
        (stream,) = query.streams
        runner = Evaluator(self.catalog, {query.name.lower(): plain}, dict(self.bound))
        runner.loaded[stream.name.lower()] = as_candidates(history, stream)
        return runner.table(query.name)

    def _is_read(self, name: str) -> bool:
        return any(
            stream.name.lower() == name.lower()
            for q in self.queries.values()
            for stream in q.streams
        )

    def _tables(self, query: CheckedQuery) -> dict[str, list[tuple[Any, ...]]]:
        rows = {}
        for name in self.catalog.tables:
            if name in self.bound and name != (query.correlated_by or "").lower():
                rows[name] = rows_of_table(self.catalog.tables[name], self.bound[name])
        return rows

    def _relation(self, name: str) -> pa.Table:
        """Return the declared columns of a bound table."""
        schema = self.catalog.table(name)
        if schema is None:
            raise DataError(f"table {name} is not declared; declare it with CREATE TABLE")
        if name.lower() not in self.bound:
            raise DataError(f"table {schema.name} has no data; bind it: bind({schema.name!r}, ...)")
        table = self.bound[name.lower()]
        for column in schema.columns:
            if column.name not in table.column_names:
                raise DataError(f"table {schema.name} has no column {column.name}, as declared")
        return table.select([column.name for column in schema.columns])

    def _events(self, encoder: Encoder, sources: list[StreamRows]) -> tuple[Events, Inputs]:
        inputs = inputs_of(sources)
        parts = [
            encoder.encode(source.schema, source.table, first, source.groups(), source.place)
            for source, first in zip(sources, inputs.first_rows, strict=True)
        ]
        events = parts[0]
        for part in parts[1:]:
            events = Events.joined(events, part) if len(part) else events
        return events, inputs


def _taken(enumeration: Enumeration, inputs: Inputs) -> tuple[Matches, list[Formula]]:
    """Return the matches that AFTER MATCH takes; where all is certain, with their lineage."""
    query = enumeration.plan.query
    places = [source.place for source in enumeration.sources]
    if enumeration.has_one_world and not enumeration.lineage:
        found, _ = enumeration.matches()
        return Candidates(query, found, inputs, places).taken(), []
    found, formulas = enumeration.possible()
    candidates = Candidates(query, found, inputs, places)
    return InWorlds(candidates, formulas, enumeration.chances).taken()


def checked_rows(catalog: Catalog, name: str, bound: Mapping[str, pa.Table]) -> StreamRows:
    """Return the rows of a declared stream, of which the bad ones are put aside."""
    schema = catalog.stream(name)
    assert schema is not None
    if name.lower() not in bound:
        raise DataError(f"stream {schema.name} has no data; bind it: bind({schema.name!r}, table)")
    declared = declaration_of(schema)
    return StreamRows(schema, *sift(conform(bound[name.lower()], declared), declared))


def _refuse_linked(query: CheckedQuery) -> None:
    """Raise where worlds would be sampled of a stream whose tables are no probabilities."""
    for stream in query.streams:
        if stream.is_linked:
            message = f"query {query.name} would be sampled over {stream.name}, which is CORRELATED"
            raise PlanError(NOT_EVALUATED, message, "remove CORRELATED, or ask of AS SMOOTH")


def _ties(sources: list[StreamRows], inputs: Inputs, rows: Words) -> dict[int, Tie | None]:
    """Return the tie-breakers of some of the inputs' rows."""
    found: dict[int, Tie | None] = {}
    for source, first in zip(sources, inputs.first_rows, strict=True):
        is_own = (rows >= first) & (rows < first + source.table.num_rows)
        own = np.unique(rows[is_own] - first)
        if source.place:
            ties = [source.place.ties[k] for k in own.tolist()]
        else:
            ties = ties_of(source.schema, source.table, own)
        found |= zip((own + first).tolist(), ties, strict=True)
    return found


def _place(
    matches: Matches, events: Events, keys: list[Any], ties: Mapping[int, Tie | None]
) -> DerivedPlaces:
    """Return the place of each match as an event: that of its last event, and their common key."""
    last, common = list[Tie | None](), []
    for m in range(len(matches)):
        rows = matches.row[matches.first_item[m] : matches.first_item[m + 1]]
        at = np.searchsorted(events.row, rows)
        latest = rows[events.time[at] == events.time[at].max()]
        known = [tie for row in latest.tolist() if (tie := ties[row]) is not None]
        last.append(max(known, default=None))
        own = {keys[e] for e in at}
        common.append(own.pop() if len(own) == 1 else ())
    return DerivedPlaces(last, common)

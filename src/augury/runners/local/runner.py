"""The local runner: everything in this process, Arrow in and Arrow out, no Java.

It is the reference for the other runners: the executor takes all rows in one step. Where rows are
many and a query can be cut, threads take a part each (`runners.local.threads`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, StreamSchema
from augury.analysis.declarations.forecasts import CheckedForecast
from augury.errors import warn
from augury.evaluation.answers.answers import Answers, as_rows
from augury.evaluation.answers.schemas import answer_schema, chosen
from augury.evaluation.asked import Asked
from augury.evaluation.encoding import declaration_of
from augury.evaluation.evaluator import Evaluator, checked_rows
from augury.evaluation.executor import Executor
from augury.evaluation.identifying import Identities
from augury.evaluation.learning.forecast_explained import explain_learned
from augury.evaluation.learning.forecast_scores import ForecastScore, judge, off_in_words, scored
from augury.evaluation.learning.learned_gaps import learned
from augury.evaluation.network import Network
from augury.evaluation.stages.beside import BesideStage, BesideState
from augury.evaluation.stages.forecast import ForecastStage
from augury.evaluation.stages.forecast_streams import with_step_ids
from augury.evaluation.stages.owner_match import OwnerMatchStage
from augury.evaluation.stages.sampled_forecast import forecast_stage_of
from augury.evaluation.stages.source import in_order
from augury.evaluation.stream_rows import StreamRows, with_event_ids
from augury.matching.matcher import ALWAYS
from augury.planning.acting.columns import HIDDEN
from augury.planning.base_streams import below, owned_streams
from augury.planning.evaluated import refuse_identified, refuse_unfollowed
from augury.planning.forecast_plan import plan_forecast
from augury.planning.graph import stage_of
from augury.planning.match_plan import refuse_unlearned
from augury.planning.never_covered import without_skip
from augury.planning.refusal import NEVER_MET
from augury.runners.local import threads
from augury.sources.rows import CODES, conform, sift


@dataclass
class LocalRunner:
    """Answers the queries of a catalog over bound tables.

    `checked` are the rows of the streams that were read, `coded` those whose types were bound as
    codes and stay so for threads, `taught` the queries with the gaps of their histories,
    `identities` what is told of owners behind policies.
    """

    catalog: Catalog
    queries: Mapping[str, CheckedQuery]
    bound: dict[str, pa.Table] = field(default_factory=dict)
    checked: dict[str, StreamRows] = field(default_factory=dict)
    coded: dict[str, StreamRows] = field(default_factory=dict)
    taught: dict[str, CheckedQuery] = field(default_factory=dict)
    answers: dict[str, pa.Table] = field(default_factory=dict)
    forecasts: Mapping[str, CheckedForecast] = field(default_factory=dict)
    identities: Mapping[str, Identities] = field(default_factory=dict)

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the result of a query: all columns, or those that are named."""
        query = self.queries[name.lower()]
        known, is_listed = (
            self.answers.get(name.lower()),
            stage_of(query, self.catalog).lists_matches,
        )
        if known is None and columns is not None and is_listed:
            network = self._network(name)
            names = chosen(query.name, columns, answer_schema(network.plans[name.lower()]).names)
            return self._answer(replace(network, made=frozenset(names))).select(names)
        if known is None and self._is_of_owners(query) and not is_listed:
            known = self.answers[name.lower()] = self._probabilities(query)
        if known is None:
            known = self.answers[name.lower()] = self._answer(self._network(name))
        if columns is None:
            return known
        return known.select(chosen(query.name, columns, known.column_names))

    def _probabilities(self, query: CheckedQuery) -> pa.Table:
        """Return the probabilities, or the count, of a query over owners, by what readers see."""
        refuse_unfollowed(below(query, self.queries))
        return self._evaluator.table(query.name)

    def forecast(self, forecast: CheckedForecast) -> pa.Table:
        """Return the rows of a forecast over all rows of its streams."""
        stage = self._forecast_stage(forecast)
        state = stage.start()
        for component in stage.never_met(state):
            reason = f"no event of {forecast.learn_from} fits {component}, so every forecast is 0"
            warn(f"forecast {forecast.name}: {reason} ({NEVER_MET})")
        return self._forecast_table(forecast, stage)

    def _forecast_table(self, forecast: CheckedForecast, stage: ForecastStage) -> pa.Table:
        rows = {each.name.lower(): self._ordered(each.name) for each in forecast.query.streams}
        _, answers = stage.advance(stage.start(), rows, ALWAYS)
        return answers.found[forecast.name]

    def forecast_to_act(self, name: str) -> pa.Table:
        """Return the rows of a forecast, by lower-case name, with what tells their moments."""
        forecast = self.forecasts[name]
        stage = replace(self._forecast_stage(forecast), acts=True)
        return self._forecast_table(forecast, stage)

    def score(self, forecast: CheckedForecast) -> ForecastScore:
        """Return how good a forecast is over all rows of its stream; warn where it went off."""
        stage = self._forecast_stage(forecast)
        rows = self._ordered(forecast.query.streams[0].name)
        found = judge(stage, rows, lambda: self.table(forecast.query.name, ["events"]))
        score = scored(*found)
        if score.went_off:
            warn(f"forecast {forecast.name} is calibrated no more: {off_in_words(score)}")
        return score

    def explain_learned(self, forecast: CheckedForecast) -> str:
        """Return what the history of a forecast teaches, in words."""
        return explain_learned(self._forecast_stage(forecast))

    def _forecast_stage(self, forecast: CheckedForecast) -> ForecastStage:
        refuse_identified(below(forecast.query, self.queries).values())
        plan = plan_forecast(forecast, self.catalog)
        tables = self._network(forecast.query.name).relations
        history = None if forecast.learn_from is None else self._ordered(forecast.learn_from)
        model = None
        if forecast.future.kind == "MODEL":
            model = self._evaluator.model(forecast.query.streams[0].name)
        return forecast_stage_of(plan, tables, history, model=model)

    def _ordered(self, stream: str) -> StreamRows:
        """Return the rows of a stream by time, with the ids of their events."""
        if stream.lower() in self.catalog.inferred:
            return with_step_ids(self._evaluator.rows(stream))
        checked = self._checked(stream)
        table = with_event_ids(checked.schema, in_order(checked.table, checked.schema))
        return StreamRows(checked.schema, table, checked.rejected)

    def _is_of_owners(self, query: CheckedQuery) -> bool:
        """Return whether a query, or one below it, reads events whose owners are in doubt."""
        return bool(owned_streams(query, self.queries))

    def known(self, name: str) -> Identities:
        """Return what is told of the owners of a stream's events."""
        return self._evaluator.known(name)

    def revisions(self, name: str) -> pa.Table:
        """Return every telling of a query's matches; without owners in doubt there is one each."""
        own = self.queries[name.lower()]
        if own.tellings != "LAST":
            # Rules take rows that HAVING does not show, and columns that nobody sees.
            outputs = tuple(o for o in own.outputs if not o.column.name.startswith(HIDDEN))
            own = replace(own, tellings="LAST", outputs=outputs)
            queries = {**self.queries, name.lower(): own}
            return replace(self, queries=queries, taught={}, answers={}).revisions(name)
        network = self._network(name)
        if not network.follows_owners(name.lower()):
            return self.table(name)
        asked = Asked("revisions", name.lower())
        return self._run(network.only([name], [asked])).found[asked.key]

    @cached_property
    def _evaluator(self) -> Evaluator:
        """Who finds owners, and matches over them, in whole tables."""
        return Evaluator(self.catalog, self.queries, self.bound, identities=dict(self.identities))

    def rows(self, stream: str) -> pa.Table:
        """Return the good rows of a declared stream, with its columns."""
        source = self._checked(stream)
        return source.table.select([column.name for column in source.schema.columns])

    def measures(self, name: str) -> list[dict[str, Any]]:
        """Return what the stages of a query do over the bound rows, in one thread and one step."""
        return as_rows(self._run(self._network(name)).measured)

    def rejected(self, stream: str) -> pa.Table:
        """Return the bad rows of a stream, with their reasons."""
        if stream.lower() in self.catalog.inferred:
            # Readings that the model does not take.
            return Evaluator(self.catalog, self.queries, self.bound).rejected(stream)
        return self._checked(stream).rejected

    @property
    def streams_read(self) -> list[StreamRows]:
        """The streams that were read so far."""
        return [*self.checked.values(), *self.coded.values()]

    def tied(self, name: str) -> dict[str, int]:
        """Return how many events are tied, of a query that was answered and of those below it."""
        if self._is_of_owners(self.queries[name.lower()]):
            # Rows of one event are tied by nature: they are its owners.
            return {}
        network = self._network(name)
        network = replace(network.only(network.queries), counts_ties=True)
        rows = {**self.coded, **self.checked}
        if network.neighbours:
            beside = BesideStage(network.neighbours)
            _, rows = beside.advance(BesideState(), rows, ALWAYS)
        return network.tied(rows.values())

    def with_gaps(self, query: CheckedQuery) -> CheckedQuery:
        """Return a query with the gaps that its history teaches."""
        name = query.name.lower()
        if name not in self.taught:
            found = learned(query, self.catalog, self.bound)
            refuse_unlearned(found)
            self.taught[name] = found
        return self.taught[name]

    def _network(self, name: str) -> Network:
        asked = below(self.queries[name.lower()], self.queries)
        known = dict(self.queries) | {each: self.with_gaps(own) for each, own in asked.items()}
        network = Network.of([name], known, self.catalog)
        network = replace(network, forecasts=self.forecasts, is_behind_policies=True)
        return replace(network, tables=dict(self.bound))

    def _answer(self, network: Network) -> pa.Table:
        (name,) = network.names
        parts = threads.cut_for_threads(network)
        rows = None if parts is None else self._many(network.queries[name].streams[0])
        if parts is not None and rows is not None:
            parts = self._without_skip(parts, rows) or parts
            return threads.InThreads(parts, threads.cores()).answer(rows)
        return self._run(network).found[network.queries[name].name]

    def _without_skip(self, network: Network, rows: pa.Table) -> Network | None:
        """Return a query without AFTER MATCH where that passes over nothing, and costs time."""
        (name,) = network.names
        query = without_skip(network.queries[name])
        if query is None or not threads.is_sorted(
            rows.column(query.streams[0].time), strictly=True
        ):
            return None
        known = {**network.queries, name: query}
        return threads.cut_for_threads(
            replace(
                Network.of([query.name], known, self.catalog),
                tables=network.tables,
                is_behind_policies=True,
            )
        )

    def _run(self, network: Network) -> Answers:
        network.refuse_unplanned()
        known = [self.identities[name] for name in network.identified if name in self.identities]
        if known:
            # Owners were told before a policy decided what readers see of them.
            stage = OwnerMatchStage(network, known[0])
            rows = {n: self._checked(n) for n in stage.streams if n not in network.identified}
            return stage.advance(stage.start(), rows, ALWAYS)[1]
        return Executor(network).run({name: self._checked(name) for name in network.bases})

    # Rows -------------------------------------------------------------------------------------

    def _checked(self, name: str) -> StreamRows:
        if name.lower() not in self.checked:
            self.checked[name.lower()] = checked_rows(self.catalog, name, self.bound)
        return self.checked[name.lower()]

    def _many(self, stream: StreamSchema) -> pa.Table | None:
        """Return the good rows of a stream if they are many, and in the order of time."""
        bound = self.bound.get(stream.name.lower())
        if bound is None or bound.num_rows < threads.MANY:
            return None
        has_codes = CODES in bound.schema.types
        read = self._coded(stream, bound) if has_codes else self._checked(stream.name)
        if read is None or read.table.num_rows < threads.MANY:
            return None
        return read.table if threads.is_sorted(read.table.column(stream.time)) else None

    def _coded(self, stream: StreamSchema, bound: pa.Table) -> StreamRows | None:
        """Return the rows of a stream in the order of time, with codes for types; None of others.

        To sift takes longest: what is evaluated in one in the end is not sifted here.
        """
        name, declared = stream.name.lower(), declaration_of(stream)
        if name not in self.coded:
            rows = conform(bound, declared, coded=stream.type)
            if not threads.is_sorted(rows.column(stream.time)):
                return None
            self.coded[name] = StreamRows(stream, *sift(rows, declared))
        return self.coded[name]

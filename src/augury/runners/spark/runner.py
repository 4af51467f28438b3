"""The runner on Spark: DataFrames in, lazy DataFrames out, batch or streaming alike.

Nothing is started and no stream is collected here. Only relations and histories, which every shard
needs whole, are read when a query over them is planned, as Spark reads what it broadcasts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from augury.analysis.checked import CheckedQuery
from augury.analysis.declarations.catalog import Catalog, StreamSchema
from augury.analysis.declarations.forecasts import CheckedForecast
from augury.config import value_of
from augury.errors import AuguryError, DataError
from augury.evaluation.acting.opened import with_stores
from augury.evaluation.answers.schemas import chosen
from augury.evaluation.asked import ACTED, Asked
from augury.evaluation.encoding import Tables, declaration_of, rows_of_table
from augury.evaluation.learning.learned_gaps import taught
from augury.evaluation.network import Network
from augury.evaluation.packing import FAULT
from augury.evaluation.stages.act import ActStage
from augury.evaluation.stages.forecasting import taught as taught_forecasts
from augury.planning.acting.world import Acting, acting_of
from augury.planning.base_streams import base_streams, below
from augury.planning.distribution.layout import Sketches
from augury.planning.distribution.movement import Priced
from augury.planning.evaluated import refuse_idle
from augury.planning.expressions.spark_sql import quoted
from augury.planning.graph import stage_of
from augury.planning.join_program import join_program
from augury.planning.refusal import (
    NOT_EVALUATED,
    PlanError,
)
from augury.planning.streamable import why_not_streamable
from augury.runners.endless import refuse_endless
from augury.runners.spark import catalyst_rows as spark_rows
from augury.runners.spark.joins import SparkJoining, suits_spark, tables_of
from augury.runners.spark.learning import collected
from augury.runners.spark.movement import Movements
from augury.runners.spark.pipeline import Pipeline
from augury.runners.spark.pulses import Pulses
from augury.sources import spark_sources
from augury.sources.rows import REASON, conform
from augury.sources.tables import arrow_table
from augury.sources.watermarked import refuse_watermark


@dataclass
class SparkRunner:
    """Evaluates the queries of a catalog over bound DataFrames.

    `streaming` says how streams that name their source are read. `shards` cuts what a key can cut;
    without, a bounded run takes as many as Spark shuffles into, a streaming run the setting.
    Who starts a streaming run and watches over it gives `pulses`.
    """

    spark: SparkSession
    catalog: Catalog
    queries: Mapping[str, CheckedQuery]
    bound: dict[str, Any] = field(default_factory=dict)
    streaming: bool = False
    shards: int | None = None
    _taught: dict[str, CheckedQuery] = field(default_factory=dict)
    forecasts: Mapping[str, CheckedForecast] = field(default_factory=dict)
    sketches: Mapping[str, Sketches] = field(default_factory=dict)
    pulses: Pulses | None = None

    def table(self, name: str, columns: Sequence[str] | None = None) -> DataFrame:
        """Return the lazy answer of a query: all columns, or those that are named."""
        query = self.queries[name.lower()]
        joining = self._joining(query)
        if joining is None:
            return self.pipeline([name]).matches(name, columns)
        answer = joining.table()
        named = None if columns is None else chosen(query.name, columns, answer.columns)
        return answer if named is None else answer.select(*map(quoted, named))

    def _joining(self, query: CheckedQuery) -> SparkJoining | None:
        """Return a query as a join that Spark carries out by itself; None of another."""
        program = join_program(query, self.catalog)
        made = any(s.query or s.name.lower() in self.catalog.forecasts for s in query.streams)
        if program is None or self._is_guarded(query) or made:
            return None
        read = {stream.name: self.rows(stream) for stream in query.streams}
        if any(rows.isStreaming for rows in read.values()):
            return None
        asked = {name: self._relation(name) for name in sorted(tables_of(program))}
        tables = {n: rows_of_table(self.catalog.tables[n], rows) for n, rows in asked.items()}
        if not suits_spark(program, tables):
            return None
        rows = {s.name: self._good_rows(read[s.name], s) for s in query.streams}
        return SparkJoining(self.spark, program, rows, tables)

    def _is_guarded(self, query: CheckedQuery) -> bool:
        """Return whether a policy stands before some rows that a query reads."""
        every = below(query, self.queries).values()
        read = [each for own in every for each in own.streams if each.query is None]
        return any(self.catalog.guarded & set(base_streams(each, self.catalog)) for each in read)

    def asked(self, asked: Asked, columns: Sequence[str] | None = None) -> DataFrame:
        """Return the lazy rows of what is no query: a stream that is made of another, a log."""
        acts = asked.kind in ACTED
        names = [asked.name] if asked.name in self.queries and asked.kind == "revisions" else []
        pipeline = self.acting([asked]) if acts else self.pipeline(names, asked=[asked])
        answer = pipeline.asked(asked)
        named = None if columns is None else chosen(asked.name, columns, answer.columns)
        return answer if named is None else answer.select(*map(quoted, named))

    def acting(self, asked: Sequence[Asked], *, tells_faults: bool = False) -> Pipeline:
        """Return one pass in which rules act, and queries are tested by what these write."""
        acting = acting_of(self.catalog, self.queries)
        bound = {n: self._relation(n) for n in self._bound_tables(acting)}
        found = acting.searched
        queries = self._with_gaps(list(found)) | found
        network = Network.of(list(found), queries, self.catalog).only(found, asked)
        act = with_stores(ActStage.of(self.catalog, self.queries, bound))
        return self._planned(replace(network, act=act, whole_rows=tells_faults), tells_faults)

    def _bound_tables(self, acting: Acting) -> list[str]:
        """Return the tables of what acts that have rows at the start, in lower case."""
        named = [name.lower() for name in acting.world.tables]
        tables = self.catalog.tables
        return [name for name in named if name in self.bound or tables[name].source is not None]

    def _good_rows(self, read: DataFrame, stream: StreamSchema) -> DataFrame:
        """Return the rows of a bounded stream that have no fault; of repeated ids, the first."""
        rows = spark_rows.declared_rows(read, stream)
        fault = spark_rows.fault_of(stream, rows.columns)
        if stream.id:
            rows, fault = self._with_repeats(rows, stream, fault)
        return rows.where(fault.isNull())

    def pipeline(
        self,
        names: Sequence[str],
        *,
        asked: Sequence[Asked] = (),
        tells_faults: bool = False,
        tells_movement: bool = False,
    ) -> Pipeline:
        """Return one pass that answers several queries; with faults, whole rows travel."""
        network = Network.of(names, self._with_gaps(names), self.catalog).only(names, asked)
        for name in network.histories_of_correlations:
            self._refuse_guarded(name)
        network = replace(network, whole_rows=tells_faults, counts_ties=tells_faults)
        return self._planned(network, tells_faults, tells_movement)

    def _planned(
        self, network: Network, tells_faults: bool, tells_movement: bool = False
    ) -> Pipeline:
        """Return the pass of a network, with the relations that it reads."""
        network = replace(network, forecasts=self.forecasts)
        for each in network.forecasts_made:
            self._refuse_guarded(each.learn_from or "")
        tables = {name: self._relation(name) for name in sorted(network.tables_read)}
        network = replace(network, tables=tables)
        # A history teaches once, here, and does not travel.
        network = replace(network, taught=taught_forecasts(network))
        read = network.tables_read
        network = replace(network, tables={n: t for n, t in tables.items() if n in read})
        draft = Pipeline(
            network,
            self.rows,
            1,
            tells_faults,
            tells_movement=tells_movement,
            sketches=self.sketches,
            pulses=self.pulses,
        )
        if draft.is_streaming:
            if self.pulses is None:
                refuse_idle(network.bases.values())
            refuse_endless(network)
        shards = self._shards(streaming=draft.is_streaming)
        return replace(draft, shards=shards, partitions=self._partitions())

    def _with_gaps(self, names: Sequence[str]) -> dict[str, CheckedQuery]:
        """Return the queries, those asked for with the gaps that their histories teach."""
        found = dict(self.queries)
        for name in names:
            for lower, query in below(self.queries[name.lower()], self.queries).items():
                if query.learn_gaps_from is not None:
                    found[lower] = self.with_gaps(query)
        return found

    def with_gaps(self, query: CheckedQuery) -> CheckedQuery:
        """Return a query with the gaps that its history teaches; it is read once."""
        name = query.name.lower()
        if name not in self._taught:
            plain = replace(query, learn_gaps_from=None, gaps=())
            read = Network.of([name], {**self.queries, name: plain}, self.catalog).tables_read
            tables: Tables = {
                each: rows_of_table(self.catalog.tables[each], self._relation(each))
                for each in sorted(read)
            }
            self._taught[name] = taught(
                query,
                self.catalog,
                tables,
                lambda lesson: collected(lesson, self._history(lesson.schema)),
            )
        return self._taught[name]

    def _history(self, stream: StreamSchema) -> DataFrame:
        """Return the rows that something is learned from."""
        self._refuse_guarded(stream.name)
        return replace(self, streaming=False).rows(stream)

    def _refuse_guarded(self, stream: str) -> None:
        """Raise where rows would be read that only a policy may read."""
        if stream.lower() in self.catalog.guarded:
            message = f"stream {stream} is under a policy, and nothing else learns from it on Spark"
            raise PlanError(NOT_EVALUATED, message, "learn from rows that are under no policy")

    def measures(self, name: str) -> list[dict[str, Any]]:
        """Return what the stages of a query do over bounded rows: runs it, now."""
        query = self.queries[name.lower()]
        if self._joining(query) is not None:
            raise AuguryError(
                f"query {query.name} is answered by Spark SQL, stage by stage; ask Spark for what "
                "they did: table(...).explain()"
            )
        pipeline = self.pipeline([name])
        if pipeline.is_streaming:
            raise AuguryError(f"query {query.name} reads rows without an end; bind bounded ones")
        return pipeline.measured()

    def analysed(self, name: str) -> Sketches:
        """Return how the rows of a query's streams are spread over time: reads them, now."""
        return self.pipeline([name]).analysed()

    def priced(self, name: str) -> Priced | None:
        """Return what each way to move a query's rows costs; None where nobody analysed them."""
        if name.lower() not in self.sketches:
            return None
        network = Network.of([name], self._with_gaps([name]), self.catalog)
        parts = self._shards(streaming=False)
        return Movements(network, parts, True, self.sketches).priced(name.lower())

    def late(self, name: str) -> DataFrame:
        """Return the rows of a stream that come after the watermark, with the reason."""
        pipeline = self.pipeline(self._readers(name), tells_faults=True)
        return pipeline.rows(pipeline.answers, "late", name)

    def _readers(self, stream: str) -> list[str]:
        """Return the queries by which rows of a stream are put aside."""
        found = [query.name for query in self.queries.values() if self._reads(query, stream)]
        if not found:
            raise DataError(f"no query reads stream {stream}, so no row of it is put aside")
        return found

    def _reads(self, query: CheckedQuery, stream: str) -> bool:
        known = any(
            stream.lower() in (each.name.lower(), *base_streams(each, self.catalog))
            for each in query.streams
        )
        stage = stage_of(query, self.catalog)
        streamable = stage.is_likely and why_not_streamable(query, self.catalog) is None
        return known and (stage.lists_matches or streamable)

    def rejected(self, name: str) -> DataFrame:
        """Return the bad rows of a stream, with the reason; of a bounded one, repeated ids too.

        Those of an inferred stream are its readings that were bad, or that the model cannot take.
        """
        stream = self.catalog.streams[name.lower()]
        known = self.catalog.identified.get(name.lower())
        if known is not None:
            pipeline = self.pipeline([], asked=[Asked("stream", name.lower())], tells_faults=True)
            return pipeline.rows(pipeline.answers, "rejected", known.statement.readings)
        how = self.catalog.inferred.get(name.lower())
        if how is not None:
            pipeline = self.pipeline(self._readers(name), tells_faults=True)
            return pipeline.rows(pipeline.answers, "rejected", how.statement.readings)
        rows = spark_rows.declared_rows(self.rows(stream), stream)
        fault = spark_rows.fault_of(stream, rows.columns)
        if stream.id and not stream.alternatives and not rows.isStreaming:
            rows, fault = self._with_repeats(rows, stream, fault)
        raw = (
            f.col(spark_rows.SOURCE_RAW)
            if spark_rows.SOURCE_RAW in rows.columns
            else f.lit(None).cast("string")
        )
        judged = rows.withColumn(FAULT, fault).where(f.col(quoted(FAULT)).isNotNull())
        columns = [f.col(quoted(c.name)) for c in stream.columns]
        return judged.select(*columns, raw.alias("raw"), f.col(quoted(FAULT)).alias(REASON))

    def _with_repeats(
        self, rows: DataFrame, stream: StreamSchema, fault: Any
    ) -> tuple[DataFrame, Any]:
        """Return rows that know whether their id was seen before, and the fault with that."""
        assert stream.id is not None
        assert stream.time is not None
        good = rows.withColumn("augury good", fault.isNull())
        window = Window.partitionBy(quoted(stream.id), quoted("augury good"))
        again = f.row_number().over(window.orderBy(quoted(stream.time))) > 1
        counted = good.withColumn("augury again", again & f.col(quoted("augury good")))
        reason = f.when(f.col(quoted("augury again")), f.lit(f"{stream.id} was seen before"))
        return counted, f.coalesce(fault, reason)

    def rows(self, stream: StreamSchema) -> DataFrame:
        """Return the rows of a declared stream: those bound, or those of its source."""
        bound = self.bound.get(stream.name.lower())
        if bound is not None:
            rows: DataFrame = bound if _is_frame(bound) else self._created(bound, stream)
            refuse_watermark(rows, stream.name)
            return rows
        if stream.source is not None:
            return spark_sources.read(self.spark, stream, self.streaming)
        raise DataError(f"stream {stream.name} has no data; bind it: bind({stream.name!r}, df)")

    def _created(self, table: pa.Table, stream: StreamSchema) -> DataFrame:
        return self.spark.createDataFrame(conform(table, declaration_of(stream)))

    def _relation(self, name: str) -> pa.Table:
        """Return the rows of a relation, or of a history that a correlation is learned from."""
        history = self.catalog.stream(name)
        if history is not None:
            rows = replace(self, streaming=False).rows(history)
            if rows.isStreaming:
                raise DataError(f"history {name} has no end; bind bounded rows to learn from")
            return spark_rows.declared_rows(rows, history).toArrow()
        schema = self.catalog.tables[name]
        bound = self.bound.get(name)
        if bound is None and schema.source is not None:
            bound = spark_sources.read_table(self.spark, schema)
        if bound is None:
            raise DataError(f"table {schema.name} has no data; bind it: bind({schema.name!r}, ...)")
        return bound.toArrow() if _is_frame(bound) else arrow_table(schema.name, bound)

    def _shards(self, *, streaming: bool) -> int:
        if self.shards is not None:
            return self.shards
        if streaming:
            return value_of("shards")
        return self._partitions()

    def _partitions(self) -> int:
        return int(self.spark.conf.get("spark.sql.shuffle.partitions", "200") or 200)


def _is_frame(data: Any) -> bool:
    """Whether data are a DataFrame of Spark, classic or Connect."""
    return type(data).__module__.startswith("pyspark.sql")

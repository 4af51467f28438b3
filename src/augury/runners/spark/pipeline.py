"""One pass over Spark's rows that answers many queries: DataFrames in, one lazy DataFrame out.

Rows are typed and filtered by Catalyst, packed by shard, shuffled as blobs, evaluated, and come
out as answers: `kind, name, n, payload`. `rows` opens the payloads of one kind and name. Queries
that are cut alike share the pass; others have one of their own, in the same plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from augury.analysis.declarations.catalog import StreamSchema
from augury.errors import AuguryError, DataError
from augury.evaluation.answers.answers import Measured, as_rows, joined
from augury.evaluation.answers.asked_rows import asked_schema
from augury.evaluation.answers.schemas import chosen, network_schema, spark_schema
from augury.evaluation.asked import Asked
from augury.evaluation.executor import shard_for
from augury.evaluation.network import Network
from augury.evaluation.packing import BLOBS, FAULT, ROW_TEXT, SHARD, Packer
from augury.evaluation.sharding import Sharding, sharding_of
from augury.language.nearest import did_you_mean
from augury.planning.distribution.layout import Sketches
from augury.planning.distribution.movement import joint
from augury.planning.expressions.spark_sql import quoted
from augury.runners.process.worker_process import InWorker
from augury.runners.spark import catalyst_rows as spark_rows
from augury.runners.spark.file_scans import FileScans, Read
from augury.runners.spark.movement import Movements
from augury.runners.spark.pulses import Pulses
from augury.runners.spark.range_packing import ENTERS, SKETCHES, RangePacker
from augury.runners.spark.ranges import MOVEMENT
from augury.runners.spark.shard_ids import ids_by_partition
from augury.runners.spark.sketching import analysed, sketch_text, with_sketches
from augury.runners.spark.streaming import StreamingPart, stateful
from augury.runners.spark.tasks import (
    ANSWERS,
    ASIDE,
    MEASURES,
    BoundedTask,
    MatchRows,
    Unpacked,
)
from augury.sources.columns import ARROW_TYPES
from augury.sources.rows import REASON

# What rows are asked for by; repeated ids, a kind of their own on the way, are rejected rows.
KINDS = ("match", "late", "rejected", "movement")


@dataclass(frozen=True)
class Pipeline:
    """Queries over bound DataFrames; `read` gives the rows of a declared stream.

    `shards` is how many parts the rows are cut into where a key cuts them, `partitions` how many
    Spark shuffles into. `tells_faults` brings the rows that are put aside along, `tells_movement`
    what came to each range of time, `measures` what each stage did. `sketches` has what is known of
    the streams, by query. Of `silent` streams no bad or late row is told. `pulses` let the time of
    idle streams go on.
    """

    network: Network
    read: Read
    shards: int
    tells_faults: bool = False
    partitions: int = 1
    tells_movement: bool = False
    measures: bool = False
    sketches: Mapping[str, Sketches] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()
    pulses: Pulses | None = None

    def without(self, streams: frozenset[str]) -> Pipeline:
        """Return the pass that says nothing of bad and late rows of some streams."""
        return replace(self, silent=streams)

    @cached_property
    def inputs(self) -> Mapping[str, DataFrame]:
        """The declared columns of the base streams."""
        bases = self.network.bases
        return {name: spark_rows.declared_rows(self.read(s), s) for name, s in bases.items()}

    @property
    def is_streaming(self) -> bool:
        """Whether some input has no end."""
        return any(data.isStreaming for data in self.inputs.values())

    @cached_property
    def parts(self) -> tuple[tuple[Network, Sharding], ...]:
        """The queries that are cut alike, and how they are cut.

        Stored state knows parts by their number, so the order of the queries has no say in it.
        """
        if self.network.act is not None:
            return ((self.network, sharding_of(self.network, bounded=not self.is_streaming)),)
        found: dict[Sharding, list[str]] = {}
        for name, sharding in self.movements.shardings().items():
            found.setdefault(sharding, []).append(name)
        asked: dict[Sharding, list[Asked]] = {}
        for each in self.network.asked:
            asked.setdefault(self._cut(each), []).append(each)
        parts: list[tuple[Network, Sharding]] = []
        every = {*found, *asked}
        for sharding in sorted(every, key=lambda each: (each.moving is not None, repr(each))):
            groups = [found.get(sharding, [])]
            if sharding.moving is not None:
                groups = self.movements.grouped(found[sharding], sharding.moving.movement)
            others = asked.get(sharding, [])
            parts += [(self.network.only(names, others), sharding) for names in groups]
        return tuple(parts)

    def _cut(self, asked: Asked) -> Sharding:
        return sharding_of(self.network.alone(asked), bounded=not self.is_streaming)

    @cached_property
    def _files(self) -> FileScans:
        """What of the rows workers can read themselves."""
        return FileScans(self.read)

    @property
    def movements(self) -> Movements:
        """How the queries that time cuts are moved."""
        return Movements(self.network, self.shards, not self.is_streaming, self.sketches)

    # The pass ---------------------------------------------------------------------------------

    @property
    def answers(self) -> DataFrame:
        """The lazy answers of all queries."""
        reported = self._reported_by_part()
        tells = reported if self.tells_faults else [frozenset[str]()] * len(reported)
        if self.is_streaming:
            return stateful(self.streaming_parts, self.shards)
        blobs = [self._blobs(*part, own) for part, own in zip(self.parts, tells, strict=True)]
        found = [
            self._ordered(own, part[1]).mapInArrow(
                InWorker(BoundedTask(*part, reported_here, self.tells_movement, self.measures)),
                spark_schema(ANSWERS),
            )
            for part, own, reported_here in zip(self.parts, blobs, reported, strict=True)
        ]
        return reduce(lambda one, other: one.unionByName(other), found)

    @property
    def streaming_parts(self) -> list[StreamingPart]:
        """The parts of a streaming run, with their blobs."""
        reported = self._reported_by_part()
        faults_by_part = reported if self.tells_faults else [frozenset[str]()] * len(reported)
        return [
            StreamingPart(part[0], self._blobs(*part, faults), own)
            for part, faults, own in zip(self.parts, faults_by_part, reported, strict=True)
        ]

    def _reported_by_part(self) -> list[frozenset[str]]:
        """Return the streams whose rows each part puts aside, so that each is reported once."""
        reported: list[frozenset[str]] = []
        left = set(self.network.bases) - self.silent
        if not self.tells_faults:
            # Late and bad rows of a stream under a policy are for those who ask for them.
            left -= self.network.catalog.guarded
        for network, _ in self.parts:
            reported.append(frozenset(left & set(network.bases)))
            left -= set(network.bases)
        return reported

    def matches(self, name: str, columns: Sequence[str] | None = None) -> DataFrame:
        """Return the answer of one query: all columns, or those that are named."""
        if columns is None:
            return self._matches(name)
        known = network_schema(self.network, name).names
        names = chosen(self.network.queries[name.lower()].name, columns, known)
        thinner = replace(self, network=replace(self.network, made=frozenset(names)))
        return thinner._matches(name).select(*map(quoted, names))

    def _matches(self, name: str) -> DataFrame:
        """Return the answer of one query; a bounded run gives its rows without packing them."""
        if self.is_streaming:
            return self.rows(self.answers, "match", name)
        network = self.network.only([name])
        ((_, sharding),) = replace(self, network=network).parts
        scanned = self._files.answer(network, sharding)
        if scanned is not None:
            return scanned
        query = network.queries[name.lower()].name
        return self._given(network, sharding, network_schema(network, name), query)

    def matches_of(self, names: Sequence[str]) -> DataFrame:
        """Return the matches of several queries, of which each has columns of its own or NULL."""
        fields = (f for name in names for f in network_schema(self.network, name))
        schema = pa.schema(list({field.name: field for field in fields}.values()))
        return _opened(self.answers, ("match",), names, schema)

    def asked(self, asked: Asked) -> DataFrame:
        """Return the rows of what else is asked for."""
        schema = asked_schema(self.network, asked)
        if self.is_streaming:
            return _opened(self.answers, ("match",), asked.key, schema)
        return self._given(self.network.alone(asked), self._cut(asked), schema, asked.key)

    def _given(
        self, network: Network, sharding: Sharding, schema: pa.Schema, name: str
    ) -> DataFrame:
        """Return the rows of one name as they are made, of a bounded run."""
        task = MatchRows(BoundedTask(network, sharding), schema, name)
        ordered = self._ordered(self._blobs(network, sharding, frozenset()), sharding)
        return ordered.mapInArrow(InWorker(task), spark_schema(schema))

    def _ordered(self, blobs: DataFrame, sharding: Sharding) -> DataFrame:
        """Return the blobs where they are evaluated, as many shards in every partition."""
        shards, partitions = self._counts(sharding)
        numbers = f.array(*(f.lit(n).cast("bigint") for n in ids_by_partition(shards, partitions)))
        named = blobs.withColumn("shard", f.element_at(numbers, f.col("shard").cast("int") + 1))
        if sharding.moving is not None and sharding.moving.exactly:
            # A number that is asked for is kept; otherwise Spark may join small partitions.
            return named.repartition(partitions, "shard").sortWithinPartitions("first")
        return named.repartition("shard").sortWithinPartitions("first")

    def _counts(self, sharding: Sharding) -> tuple[int, int]:
        """Return how many shards there are, and partitions; OPTIONS may ask for some number."""
        moving = sharding.moving
        if moving is None or not moving.exactly:
            return self.shards, self.partitions
        return moving.parts, moving.parts

    def _blobs(self, network: Network, sharding: Sharding, tells: frozenset[str]) -> DataFrame:
        if not tells and not self.is_streaming:
            scanned = self._files.blobs(network, sharding, self.shards)
            if scanned is not None:
                return scanned
        rows = {
            name: self._judged(network, stream, sharding, tells=name in tells)
            for name, stream in network.bases.items()
        }
        if sharding.moving is not None and not self._known(network):
            rows = self._sketched(network, sharding, rows)
        packed = [
            self._packed(network, sharding, stream, rows[name])
            for name, stream in network.bases.items()
        ]
        return reduce(lambda one, other: one.unionByName(other), packed)

    def _sketched(
        self, network: Network, sharding: Sharding, rows: Mapping[str, DataFrame]
    ) -> dict[str, DataFrame]:
        """Return the rows with what a packer needs to know of all streams."""
        assert sharding.moving is not None
        good = {
            name: (data.where(f.col(quoted(FAULT)).isNull()), network.bases[name])
            for name, data in rows.items()
        }
        text = sketch_text(good, full=sharding.moving.movement == "events")
        return {name: with_sketches(data, text) for name, data in rows.items()}

    def _known(self, network: Network) -> Sketches | None:
        """Return the sketches of a part's streams, if a user had them made."""
        known = [self.sketches.get(name) for name in network.names]
        found = [each for each in known if each is not None]
        return joint(found) if len(found) == len(known) else None

    def _packed(
        self, network: Network, sharding: Sharding, stream: StreamSchema, rows: DataFrame
    ) -> DataFrame:
        """Return the blobs of one stream."""
        rows = rows.withColumn(SHARD, spark_rows.shard_of(stream, sharding, self.shards))
        packer = self._packer(network, sharding, stream)
        aside = [FAULT, ROW_TEXT] if ROW_TEXT in rows.columns else []
        extra = [name for name in (ENTERS, SKETCHES) if name in rows.columns]
        chosen = rows.select(*(quoted(name) for name in (*packer.columns, SHARD, *extra, *aside)))
        return chosen.mapInArrow(InWorker(packer), spark_schema(BLOBS))

    def _packer(self, network: Network, sharding: Sharding, stream: StreamSchema) -> Packer:
        schema, moving = shard_for(network).schemas[stream.name.lower()], sharding.moving
        if moving is None:
            return Packer(stream, schema)
        known = self._known(network)
        layout = None if known is None else moving.layout(known)
        return RangePacker(stream, schema, moving, self._counts(sharding)[0], layout)

    def _judged(
        self, network: Network, stream: StreamSchema, sharding: Sharding, *, tells: bool
    ) -> DataFrame:
        """Return the rows that matter, and those with a fault if they are to be told.

        Who tells faults also tells late and repeated rows, so all that matter to anyone pass.
        """
        rows = self.inputs[stream.name.lower()]
        columns = rows.columns
        rows = rows.withColumn(FAULT, spark_rows.fault_of(stream, columns))
        if rows.isStreaming:
            rows = spark_rows.with_watermark(rows, stream, self.pulses)
        good = f.col(quoted(FAULT)).isNull()
        asking = self.network if tells else network
        passes = good & spark_rows.matters(asking, stream, streaming=rows.isStreaming)
        if self.pulses is not None:
            passes &= spark_rows.is_own()
        if sharding.moving is not None:
            enters = spark_rows.matters(asking, stream, streaming=False)
            if sharding.moving.movement == "events":
                passes = good
            rows = rows.withColumn(ENTERS, f.coalesce(enters, f.lit(False)))
        if not tells:
            return rows.where(passes)
        with_texts = rows.withColumn(ROW_TEXT, spark_rows.row_texts(stream, columns))
        return with_texts.where(passes | ~good)

    def analysed(self) -> Sketches:
        """Return how the rows of all streams are spread over time: reads them, now."""
        (network, sharding), *_ = self.parts
        moving = sharding.moving
        if moving is None or self.is_streaming:
            query = network.queries[network.names[0]].name
            raise DataError(
                f"the rows of query {query} are not cut by time, so there is no choice how to "
                "move them; analyse queries over bounded rows with a window of time and no key"
            )
        every = replace(sharding, moving=replace(moving, movement="events"))
        return analysed(
            {
                name: (self._judged(network, stream, every, tells=False), stream)
                for name, stream in network.bases.items()
            }
        )

    # Answers ----------------------------------------------------------------------------------

    def rows(self, answers: DataFrame, kind: str, name: str) -> DataFrame:
        """Return the rows of one kind and name: matches of a query, or rows put aside."""
        for each in self.network.asked:
            if kind == "match" and each.key.lower() == name.lower():
                return _opened(answers, (kind,), name, asked_schema(self.network, each))
        self._expect(kind, name)
        if kind == "match":
            schema = network_schema(self.network, name)
            return _opened(answers, (kind,), name, schema)
        if kind == "movement":
            return _opened(answers, (kind,), name, MOVEMENT)
        return self._put_aside(answers, kind, name)

    def gives(self, kind: str, name: str) -> bool:
        """Whether rows of a kind and name are answers of this pass."""
        network = self.network
        if kind in ASIDE:
            return name.lower() in set(network.bases) - self.silent
        asked = {each.key.lower() for each in network.asked}
        queries = () if network.act is not None else network.names
        return name.lower() in {*queries, *asked}

    def measured(self) -> list[dict[str, Any]]:
        """Return what the stages do over the rows: runs the queries, now."""
        answers = replace(self, measures=True).answers.where(f.col("kind") == "stage")
        opened = answers.select("payload").mapInArrow(
            InWorker(Unpacked(MEASURES)), spark_schema(MEASURES)
        )
        steps = [{row.pop("stage"): Measured(**row)} for row in opened.toArrow().to_pylist()]
        total = joined(steps)
        order = {name: k for k, name in enumerate(self.network.graph.names)}
        return as_rows({k: total[k] for k in sorted(total, key=lambda k: order.get(k, len(order)))})

    def _expect(self, kind: str, name: str) -> None:
        """Raise where there is no such kind of answers, or none of that name."""
        if kind not in (*KINDS, *ASIDE):
            raise _unknown("kind", kind, KINDS)
        network = self.network
        if kind in ASIDE and name.lower() not in network.bases:
            raise _unknown("stream", name, [stream.name for stream in network.bases.values()])
        if kind not in ASIDE and name.lower() not in network.names:
            raise _unknown("query", name, [network.queries[each].name for each in network.names])

    def _put_aside(self, answers: DataFrame, kind: str, name: str) -> DataFrame:
        """Return rows that were put aside: the declared columns, the raw text, and the reason."""
        stream = self.network.bases[name.lower()]
        own = pa.schema([(c.name, ARROW_TYPES[c.type.value]) for c in stream.columns])
        schema = own.append(pa.field("raw", pa.string())).append(pa.field(REASON, pa.string()))
        if kind == "late":
            return _opened(answers, ("late",), name, schema)
        texts = _opened(
            answers, ("rejected",), name, pa.schema([(ROW_TEXT, pa.string()), (FAULT, pa.string())])
        )
        return spark_rows.rows_of_texts(texts, stream).unionByName(
            _opened(answers, ("repeated",), name, schema)
        )


def _unknown(what: str, word: str, known: Sequence[str]) -> AuguryError:
    """Return the error for answers that a pipeline does not have."""
    hint = did_you_mean(word, known)
    have = f"the answers of this pipeline have no {what} {word!r}; they have {', '.join(known)}"
    return AuguryError(f"{have}; {hint}" if hint else have)


def _opened(
    answers: DataFrame, kinds: Sequence[str], names: str | Sequence[str], schema: pa.Schema
) -> DataFrame:
    known = [name.lower() for name in ([names] if isinstance(names, str) else names)]
    own = answers.where(f.col("kind").isin(*kinds) & f.lower("name").isin(*known))
    return own.select("payload").mapInArrow(InWorker(Unpacked(schema)), spark_schema(schema))

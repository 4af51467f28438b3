"""One pass over Spark's rows that answers many queries: DataFrames in, one lazy DataFrame out.

Rows are typed and filtered by Catalyst, packed by shard, shuffled as blobs, evaluated, and come
out as answers: `kind, name, n, payload`. `rows` opens the payloads of one kind and name. Queries
that are cut alike share the pass; others have one of their own, in the same plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from augury.analysis.catalog import StreamSchema
from augury.planning.expressions.spark_sql import quoted
from augury.runners import spark_rows
from augury.runners.network import Network
from augury.runners.packing import BLOBS, FAULT, SHARD, TOLD, Packer
from augury.runners.ranges import RANGE, Ranges
from augury.runners.schemas import answer_schema, spark_schema
from augury.runners.shard import Shard
from augury.runners.sharding import Sharding, sharding_of
from augury.runners.spread import spread
from augury.runners.streaming import StreamingPart, stateful
from augury.runners.tasks import ANSWERS, BoundedTask, MatchRows, Opened
from augury.sources.rows import ARROW_TYPES, REASON

Read = Callable[[StreamSchema], DataFrame]


@dataclass(frozen=True)
class Pipeline:
    """Queries over bound DataFrames; `read` gives the rows of a declared stream.

    `shards` is how many parts the rows are cut into where a key cuts them, `partitions` how many
    Spark shuffles into. `tells_faults` brings the rows that are put aside along.
    """

    network: Network
    read: Read
    shards: int
    tells_faults: bool = False
    partitions: int = 1

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
        found: dict[Sharding, list[str]] = {}
        own: list[tuple[str, Sharding]] = []
        for name in self.network.names:
            sharding = sharding_of(self.network.only([name]), bounded=not self.is_streaming)
            if sharding.kind == "time":
                own.append((name, sharding))
            else:
                found.setdefault(sharding, []).append(name)
        return tuple(
            [(self.network.only(found[sharding]), sharding) for sharding in sorted(found, key=repr)]
            + [(self.network.only([name]), sharding) for name, sharding in own]
        )

    # The pass ---------------------------------------------------------------------------------

    @property
    def answers(self) -> DataFrame:
        """The lazy answers of all queries."""
        told = self._told_by_part()
        tells = told if self.tells_faults else [frozenset[str]()] * len(told)
        blobs = [self._blobs(*part, own) for part, own in zip(self.parts, tells, strict=True)]
        if self.is_streaming:
            parts = [
                StreamingPart(network, own, told_here)
                for (network, _), own, told_here in zip(self.parts, blobs, told, strict=True)
            ]
            return stateful(parts, self.shards)
        found = [
            self._ordered(own).mapInArrow(BoundedTask(*part, told_here), spark_schema(ANSWERS))
            for part, own, told_here in zip(self.parts, blobs, told, strict=True)
        ]
        return reduce(lambda one, other: one.unionByName(other), found)

    def _told_by_part(self) -> list[frozenset[str]]:
        """Return the streams whose rows each part puts aside, so that each is told once."""
        told: list[frozenset[str]] = []
        left = set(self.network.bases)
        for network, _ in self.parts:
            told.append(frozenset(left & set(network.bases)))
            left -= set(network.bases)
        return told

    def matches(self, name: str) -> DataFrame:
        """Return the answer of one query; a bounded run gives its rows without packing them."""
        if self.is_streaming:
            return self.rows(self.answers, "match", name)
        network = self.network.only([name])
        sharding = sharding_of(network, bounded=True)
        task = BoundedTask(network, sharding)
        schema = answer_schema(network.plans[name.lower()])
        ordered = self._ordered(self._blobs(network, sharding, frozenset()))
        return ordered.mapInArrow(MatchRows(task, schema), spark_schema(schema))

    def _ordered(self, blobs: DataFrame) -> DataFrame:
        """Return the blobs where they are evaluated, as many shards in every partition."""
        numbers = f.array(*(f.lit(n).cast("bigint") for n in spread(self.shards, self.partitions)))
        named = blobs.withColumn("shard", f.element_at(numbers, f.col("shard").cast("int") + 1))
        return named.repartition("shard").sortWithinPartitions("first")

    def _blobs(self, network: Network, sharding: Sharding, tells: frozenset[str]) -> DataFrame:
        packed = [
            self._packed(network, sharding, stream, tells=name in tells)
            for name, stream in network.bases.items()
        ]
        return reduce(lambda one, other: one.unionByName(other), packed)

    def _packed(
        self, network: Network, sharding: Sharding, stream: StreamSchema, *, tells: bool
    ) -> DataFrame:
        """Return the blobs of one stream."""
        rows = self._judged(network, stream, tells=tells)
        if sharding.kind == "time":
            rows = spark_rows.in_ranges(rows, stream, sharding)
        rows = rows.withColumn(SHARD, spark_rows.shard_of(stream, sharding, self.shards))
        schema = travelling_schema(network, sharding, stream)
        own = [c.name for c in stream.columns]
        hashed = stream.id is None or bool(stream.alternatives)
        names = [name for name in (own if hashed else schema.names) if name in own]
        extra = [SHARD, *([RANGE] if sharding.kind == "time" else [])]
        extra += [FAULT, TOLD] if tells else []
        chosen = rows.select(*(quoted(name) for name in (*names, *extra)))
        return chosen.mapInArrow(Packer(stream, schema), spark_schema(BLOBS))

    def _judged(self, network: Network, stream: StreamSchema, *, tells: bool) -> DataFrame:
        """Return the rows that matter, and those with a fault if they are to be told.

        Who tells faults also tells late and repeated rows, so all that matter to anyone pass.
        """
        rows = self.inputs[stream.name.lower()]
        if rows.isStreaming:
            rows = spark_rows.with_watermark(rows, stream)
        columns = rows.columns
        rows = rows.withColumn(FAULT, spark_rows.fault_of(stream, columns))
        good = f.col(quoted(FAULT)).isNull()
        asking = self.network if tells else network
        passes = good & spark_rows.matters(asking, stream, streaming=rows.isStreaming)
        if not tells:
            return rows.where(passes)
        told = rows.withColumn(TOLD, spark_rows.told_rows(stream, columns))
        return told.where(passes | ~good)

    # Answers ----------------------------------------------------------------------------------

    def rows(self, answers: DataFrame, kind: str, name: str) -> DataFrame:
        """Return the rows of one kind and name: matches of a query, or rows put aside."""
        if kind == "match":
            schema = answer_schema(self.network.plans[name.lower()])
            return _opened(answers, (kind,), name, schema)
        return self._put_aside(answers, kind, name)

    def _put_aside(self, answers: DataFrame, kind: str, name: str) -> DataFrame:
        """Return rows that were put aside: the declared columns, the raw text, and the reason."""
        stream = self.network.bases[name.lower()]
        own = pa.schema([(c.name, ARROW_TYPES[c.type.value]) for c in stream.columns])
        schema = own.append(pa.field("raw", pa.string())).append(pa.field(REASON, pa.string()))
        if kind == "late":
            return _opened(answers, ("late",), name, schema)
        told = _opened(
            answers, ("rejected",), name, pa.schema([(TOLD, pa.string()), (FAULT, pa.string())])
        )
        return spark_rows.read_told(told, stream).unionByName(
            _opened(answers, ("repeated",), name, schema)
        )


def travelling_schema(network: Network, sharding: Sharding, stream: StreamSchema) -> pa.Schema:
    """Return the columns of packed rows."""
    shard = Ranges(network, sharding) if sharding.kind == "time" else Shard(network)
    return shard.schemas[stream.name.lower()]


def _opened(answers: DataFrame, kinds: Sequence[str], name: str, schema: pa.Schema) -> DataFrame:
    own = answers.where(f.col("kind").isin(*kinds) & (f.lower("name") == name.lower()))
    return own.select("payload").mapInArrow(Opened(schema), spark_schema(schema))

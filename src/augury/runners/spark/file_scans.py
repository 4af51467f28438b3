"""Which rows behind DataFrames are read by workers, and how they are shared out (see `scanning`).

Everything here answers None where Spark has to read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from augury.analysis.declarations.catalog import StreamSchema
from augury.evaluation.answers.schemas import network_schema, spark_schema
from augury.evaluation.executor import Executor
from augury.evaluation.network import Network
from augury.evaluation.packing import BLOBS, Packer
from augury.evaluation.sharding import Sharding
from augury.planning.distribution.movement import asks_for_movement
from augury.runners.process.worker_process import InWorker
from augury.runners.spark.catalyst_rows import are_plain
from augury.runners.spark.scanning import (
    EVER,
    FEW_TASKS,
    MOST_HELD,
    Scan,
    ScanPacker,
    ScanTask,
    are_few,
    held_at_once,
    shared,
    spans_of,
)
from augury.runners.spark.tasks import BoundedTask
from augury.sources.parquet_files import Group
from augury.sources.parquet_frames import groups_of, is_remote

Read = Callable[[StreamSchema], DataFrame]


@dataclass(frozen=True)
class FileScans:
    """The files behind bound DataFrames; `read` gives the rows of a declared stream."""

    read: Read

    def blobs(self, network: Network, sharding: Sharding, shards: int) -> DataFrame | None:
        """Return the rows of all streams, packed by shard to be moved."""
        if sharding.moving is not None:  # how ranges are cut is found out by Spark
            return None
        if network.asked or network.policies:
            return None
        scans = self._scans(network, sharding, shards)
        if scans is None:
            return None
        spark, cores = self._session(network)
        found = []
        for scan in scans:
            tasks = shared(scan.groups, cores)
            numbers = spark.range(0, len(tasks), 1, len(tasks))
            packer = ScanPacker(network, scan, tasks)
            found.append(numbers.mapInArrow(InWorker(packer), spark_schema(BLOBS)))
        return reduce(lambda one, other: one.unionByName(other), found)

    def answer(self, network: Network, sharding: Sharding) -> DataFrame | None:
        """Return the answer where tasks read all they need: a span of time, or on few cores all."""
        task = BoundedTask(network, sharding)
        if network.asked or network.policies:
            return None
        if not _may_stay(network, sharding) or not task.goes_on_in_steps or not network.is_flat:
            return None
        spark, tasks = self._session(network)
        scans = self._scans(network, sharding, tasks) if tasks else None
        held = None if scans is None else held_at_once(scans)
        if scans is None or held is None or held > MOST_HELD:
            return None
        spans, has_key = spans_of(network, scans, tasks), sharding.kind == "key"
        if not has_key and not spans and network.goes_by_time and are_few(scans, tasks):
            spans = (EVER,)
        if not spans and (not has_key or tasks > FEW_TASKS):
            return None
        (name,) = network.names
        schema = network_schema(network, name)
        own, tasks = ScanTask(network, scans, schema, spans), len(spans) or tasks
        return spark.range(0, tasks, 1, tasks).mapInArrow(InWorker(own), spark_schema(schema))

    def _session(self, network: Network) -> tuple[SparkSession, int]:
        """Return the session, and how many tasks it runs at a time; 0 where that is not told."""
        frame = self.read(next(iter(network.bases.values())))
        spark = frame.sparkSession
        return spark, 0 if is_remote(frame) else spark.sparkContext.defaultParallelism

    def _scans(self, network: Network, sharding: Sharding, shards: int) -> tuple[Scan, ...] | None:
        scans = [self._scan(network, sharding, s, shards) for s in network.bases.values()]
        found = tuple(scan for scan in scans if scan is not None)
        return found if len(found) == len(scans) else None

    @cached_property
    def _groups(self) -> dict[Any, tuple[Group, ...] | None]:
        """What files hold, by stream and columns: footers are read once."""
        return {}

    def _scan(
        self, network: Network, sharding: Sharding, stream: StreamSchema, shards: int
    ) -> Scan | None:
        """Return what is to be read of a stream's files."""
        assert stream.time is not None
        frame = self.read(stream)
        packer = Packer(stream, Executor(network).schemas[stream.name.lower()])
        if not are_plain(frame, stream, packer.columns):
            return None
        theirs = {name.lower(): name for name in frame.columns}
        names = tuple((own, theirs[own.lower()]) for own in packer.columns)
        asked = stream.name.lower(), names
        if asked not in self._groups:
            read = [name for _, name in names]
            self._groups[asked] = groups_of(frame, read, dict(names)[stream.time])
        groups = self._groups[asked]
        cut_by = dict(sharding.columns).get(stream.name.lower(), ())
        return Scan(packer, groups, names, cut_by, shards) if groups else None


def _may_stay(network: Network, sharding: Sharding) -> bool:
    """Whether tasks may read what they need: shards of keys, or ranges that nobody wants moved."""
    asked = any(asks_for_movement(query) for query in network.queries.values())
    return sharding.kind == "key" or (sharding.kind == "time" and not asked)

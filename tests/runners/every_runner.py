"""One query by every runner: a local table, pushed rows, and Spark in batch and streaming.

`RUNNERS` parametrises a test; Spark is started where a runner needs it, and not before.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from augury import Session
from spark.queries import opened

# Most cases are about the engine, which is the same there: a run takes a sixth of them on Spark.
ON_SPARK = (pytest.mark.spark, pytest.mark.rotating(6))
RUNNERS = (
    "local",
    "pushed",
    pytest.param("batch", marks=ON_SPARK),
    pytest.param("streaming", marks=ON_SPARK),
)
Row = dict[str, Any]


@dataclass(frozen=True)
class Runner:
    """Answers a query of a script; `end` is a late row that lets a stream know every match."""

    kind: str
    request: pytest.FixtureRequest
    folder: Path

    def __call__(
        self, script: str, query: str, rows: Mapping[str, list[Row]], end: Mapping[str, Row]
    ) -> list[Row]:
        """Return the rows of the answer, in no order."""
        return {
            "local": self._local,
            "pushed": self._pushed,
            "batch": self._batch,
            "streaming": self._streaming,
        }[self.kind](script, query, rows, end)

    def _local(self, script: str, query: str, rows: Any, end: Mapping[str, Row]) -> list[Row]:
        ag = Session(engine="local")
        ag.sql(script)
        for name, own in rows.items():
            ag.bind(name, [*own, end[name]])
        found: list[Row] = ag.table(query).to_pylist()
        return found

    def _pushed(self, script: str, query: str, rows: Any, end: Mapping[str, Row]) -> list[Row]:
        ag, found = Session(engine="local"), list[Row]()
        ag.sql(script)
        for name, own in rows.items():
            for row in [*own, end[name]]:
                found += ag.push(name, row)
        return [each for each in found + ag.finish() if each["query"] == query]

    def _batch(self, script: str, query: str, rows: Any, end: Mapping[str, Row]) -> list[Row]:
        spark = self.request.getfixturevalue("spark")
        ag = Session(spark, shards=2)
        ag.sql(script)
        for name, own in rows.items():
            ag.bind(name, spark.createDataFrame(pa.Table.from_pylist([*own, end[name]])))
        return opened(ag.pipeline([query]).answers)

    def _streaming(self, script: str, query: str, rows: Any, end: Mapping[str, Row]) -> list[Row]:
        spark, found = self.request.getfixturevalue("spark"), list[Row]()
        ag = Session(spark, shards=2)
        ag.sql(script)
        for name, own in rows.items():
            folder = self.folder / name
            folder.mkdir()
            whole = pa.Table.from_pylist([*own, end[name]])
            for k, part in enumerate((whole.slice(0, len(own)), whole.slice(len(own)))):
                pq.write_table(part, folder / f"{k}.parquet")
                os.utime(folder / f"{k}.parquet", (1_000_000_000 + k, 1_000_000_000 + k))
            schema = spark.createDataFrame(whole).schema
            reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
            ag.bind(name, reader.parquet(str(folder)))
        writer = ag.pipeline([query]).answers.writeStream.trigger(availableNow=True)
        writer = writer.foreachBatch(lambda batch, _: found.extend(opened(batch)))
        writer.option("checkpointLocation", str(self.folder / "state")).start().awaitTermination()
        return found


every_runner = pytest.mark.parametrize("runner", RUNNERS, indirect=True)
# What asks about windows, and what is no chain, is answered over bounded rows only.
bounded_runner = pytest.mark.parametrize("runner", [RUNNERS[0], RUNNERS[2]], indirect=True)

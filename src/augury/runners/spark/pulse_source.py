"""Pulses as a source of Spark: rows that say what time some streams have reached.

The offset is what is said, so Spark's own log has all of it: a batch that is repeated after a kill
has the same pulses. Beside it there is a small file on the driver, which is written whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

STREAM, MOMENT = "stream", "moment"
# What each run says of itself, so that what it begins with is no old offset.
RUN = "run"
_MOMENTS = "moments"

Offset = dict[str, Any]


def offset_of(run: str, moments: Mapping[str, int]) -> Offset:
    """Return what is said; Spark compares offsets as texts."""
    return {_MOMENTS: dict(sorted(moments.items())), RUN: run}


class PulseSource(DataSource):
    """What Spark knows as a format; the option `file` says where pulses are told."""

    @classmethod
    def name(cls) -> str:
        return "augury_pulses"

    def schema(self) -> str:
        return f"{STREAM} string, {MOMENT} bigint"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802
        return PulseReader(self.options["file"])


class PulseReader(DataSourceStreamReader):
    """Reads the file on the driver; workers get the rows themselves."""

    def __init__(self, file: str) -> None:
        self.file = file

    def initialOffset(self) -> Offset:  # noqa: N802
        return offset_of("", {})

    def latestOffset(self, *_: Any) -> Offset:  # noqa: N802
        found: Offset = json.loads(Path(self.file).read_text(encoding="utf-8"))
        return found

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return all that is said, also what was said before: it is true still."""
        moments = end[_MOMENTS]
        return [InputPartition(list(moments.items()))] if start != end and moments else []

    def read(self, partition: InputPartition) -> Iterator[tuple[str, int]]:
        yield from partition.value

"""All that a run is asked for, on Spark: what acts and what does not, in one pass over the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from augury.errors import DataError
from augury.evaluation.acting.written import WRITTEN as CHANGES
from augury.runners.spark.pipeline import Pipeline
from augury.runners.spark.streaming import stateful

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from augury.evaluation.acting.stores import Stores
    from augury.runners.request import Request
    from augury.runners.spark.runner import SparkRunner
    from augury.sinks.sink import Mode


@dataclass(frozen=True)
class Combined:
    """Pipelines whose answers come as one; each answer is of one of them.

    Rows that are put aside are told by the first that reads their stream; of streams under a policy
    they are told by none.
    """

    pipelines: Sequence[Pipeline]

    @cached_property
    def answers(self) -> DataFrame:
        """The lazy answers of all."""
        first, *others = self.pipelines
        if not others:
            return first.answers
        if first.is_streaming:
            return stateful(
                [part for each in self.pipelines for part in each.streaming_parts], first.shards
            )
        found = first.answers
        for each in others:
            found = found.unionByName(each.answers)
        return found

    def rows(self, answers: DataFrame, kind: str, name: str) -> DataFrame:
        """Return the rows of one kind and name, as `Pipeline.rows` does."""
        return next(each for each in self.pipelines if each.gives(kind, name)).rows(
            answers, kind, name
        )


def combined(runner: SparkRunner, request: Request) -> Combined:
    """Return the pass that gives all that is asked for."""
    found, reported = list[Pipeline](), frozenset(runner.catalog.guarded)
    if request.acts:
        found.append(runner.acting(request.of_acting, tells_faults=True).without(reported))
        reported |= set(found[-1].network.bases)
    if request.plain or request.others:
        plain = runner.pipeline(request.plain, asked=request.others, tells_faults=True)
        found.append(plain.without(reported))
    if len({each.is_streaming for each in found}) > 1:
        raise DataError(
            "some of what is asked for reads rows that have an end, and some reads rows that have "
            "none; ask for them in two runs, or bind all streams in one way"
        )
    return Combined(found)


@dataclass
class StoreSink:
    """The tables that lie in stores, written by the driver: a transaction for each batch.

    All shards have settled what is before the watermark, so the last change tells a moment up to
    which nothing will change any more.
    """

    stores: Stores
    run: str
    mode: ClassVar[Mode] = "append"

    def open(self) -> None:
        """There is nothing to open: the stores were claimed before they were read."""

    def write(self, rows: DataFrame, batch: int) -> None:
        changes: pa.Table = rows.toArrow().cast(CHANGES)
        self.stores.commit_rows(changes, pc.max(changes.column("ts")).as_py() + 1, self.run, batch)

    def clear(self, batch: int) -> None:
        """Do nothing: what was committed for a batch is left alone."""


@dataclass
class ArrowSink:
    """A sink that takes rows of Arrow, such as a log of decisions, which are few."""

    sink: Any
    mode: ClassVar[Mode] = "append"

    def open(self) -> None:
        self.sink.open()

    def write(self, rows: DataFrame, batch: int) -> None:
        self.sink.add(rows.toArrow())
        self.sink.commit(batch)

    def clear(self, batch: int) -> None:
        """Leave what was written."""

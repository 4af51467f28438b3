"""Floor ratio: augury in batch against bare Spark that moves the same rows and computes nothing.

SEQ of 3 over 10 M events. Bare Spark does the same scan, filter, shuffle by key into the same
number of partitions, sort by key and time, and hands the same columns to an empty kernel with
mapInArrow. augury is measured twice: where its workers read the files themselves, which is what it
does with plain Parquet files and takes less than that floor; and where Spark reads them, as it does
with all other rows. Run: python benchmarks/spark/floor.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import events
import pyarrow as pa
from measuring import (
    cores,
    drain,
    medians,
    ratio,
    read_by,
    record,
    scaled,
    session,
    shown,
    warm_workers,
)
from patterns import ABC, COLUMNS, UNCERTAIN, asked


def empty_kernel(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Take every batch, and return nothing."""
    for _ in batches:
        pass
    return iter(())


def bare(rows: Any, partitions: int) -> Any:
    """Return Spark's own floor under a pattern query."""
    moved = rows.where(ABC).select(*COLUMNS).repartition(partitions, "key")
    return moved.sortWithinPartitions("key", "t").mapInArrow(empty_kernel, "n LONG")


def measured(spark: Any, n: int) -> dict[str, Any]:
    """Return seconds and the ratio."""
    folder = events.files(n)
    through = asked(UNCERTAIN, read_by(spark, "spark", folder), spark)
    rows = read_by(spark, "workers", folder)
    found = asked(UNCERTAIN, rows, spark)
    warm_workers(found, through)
    taken = medians(
        {
            "scan": lambda: drain(rows.where(ABC).select(*COLUMNS)),
            "bare_spark": lambda: drain(bare(rows, cores())),
            "augury": lambda: drain(found),
            "augury_through_spark": lambda: drain(through),
        }
    )
    return {
        "events": n,
        "matches": same(found.count(), through.count()),
        "seconds": shown(taken),
        "augury_events_per_second": round(n / taken["augury"].clock),
        "floor_ratio": ratio(taken["augury"], taken["bare_spark"]),
        "floor_ratio_through_spark": ratio(taken["augury_through_spark"], taken["bare_spark"]),
    }


def same(one: int, other: int) -> int:
    """Return a number that two ways must agree on."""
    if one != other:
        raise SystemExit(f"{one} matches by workers, and {other} through Spark")
    return one


def main() -> None:
    """Measure."""
    with session("floor") as spark:
        figures = measured(spark, scaled(10_000_000))
    record("spark_floor", figures)


if __name__ == "__main__":
    main()

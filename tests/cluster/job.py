"""A small batch query for a cluster: `python job.py MASTER ARCHIVE ANSWER` writes its matches."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augury import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

SCRIPT = """
CREATE STREAM reads (id LONG, tag STRING, kind STRING, at LONG, p DOUBLE)
ID id KEY tag TIME at TYPE kind PROBABILITY p;
CREATE QUERY taken ON reads PATTERN SEQ(A a, !B b, C c) WHERE [tag] WITHIN 20;
"""
ROWS: list[dict[str, Any]] = [
    {"id": k, "tag": "uvwx"[k % 4], "kind": "ABCA"[(k * 7 + k // 5) % 4], "at": k, "p": 0.75}
    for k in range(80)
]


def matches(ag: Session) -> Any:
    ag.sql(SCRIPT)
    ag.bind("reads", ROWS)
    return ag.table("taken")


def facts(rows: list[dict[str, Any]]) -> list[list[Any]]:
    return sorted([row["match_id"], row["confidence"]] for row in rows)


def where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Tell which package the executor has imported, its kernels, and how many it compiles."""
    import augury
    from augury.kernels import kept
    from augury.kernels.search.search import search

    for _ in batches:
        matches(Session(engine="local"))
        compiled = sum(search.stats.cache_misses.values())
        yield _told(str(augury.__file__), str(kept.SHIPPED / kept.fingerprint()), compiled)


def _told(package: str, kernels: str, compiled: int) -> pa.RecordBatch:
    import pyarrow as pa

    told = {"package": [package], "kernels": [kernels], "compiled": [compiled]}
    return pa.RecordBatch.from_pydict(told)


def started(master: str, archive: str) -> SparkSession:
    from pyspark.sql import SparkSession

    settings = {
        "spark.archives": f"{archive}#environment",
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.log.level": "ERROR",
    }
    return SparkSession.builder.master(master).config(map=settings).getOrCreate()


def main(master: str, archive: str, answer: Path) -> None:
    spark = started(master, archive)
    found = [row.asDict() for row in matches(Session(spark, shards=2)).collect()]
    columns = "package string, kernels string, compiled long"
    places = spark.range(0, 2, 1, 2).mapInArrow(where, columns).collect()
    hosts = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    told = {"facts": facts(found), "places": places, "executors": len(hosts) - 1}
    answer.write_text(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))

"""Four skewed streams on a cluster, by both plans: `python moving.py MASTER FOLDER`.

Writes the matches of each plan, and Spark's log of what its tasks did, to the folder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import augury
from augury import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

# From when to when each stream lasts, and how many rows it has.
SPANS = {"s1": (0, 700, 40), "s2": (150, 900, 150), "s3": (300, 1300, 400), "s4": (500, 2000, 1200)}
PLANS = ("events", "results")
QUERY = """
CREATE QUERY by_{plan} ON s1, s2, s3, s4 PATTERN SEQ(A a, B b, !X x, C c) WHERE a.v <= c.v
WITHIN 30 HAVING CONFIDENCE >= 0.05 OPTIONS (movement = '{plan}', partitions = 6);
"""
DDL = "id long, kind string, v long, t long, p double"


def script() -> str:
    stream = f"({DDL}) ID id TIME t TYPE kind PROBABILITY p;"
    streams = [f"CREATE STREAM {name} {stream}" for name in SPANS]
    return "\n".join([*streams, *(QUERY.format(plan=plan) for plan in PLANS)])


def rows(name: str) -> pa.Table:
    """Return the rows of a stream, most of which no query takes."""
    start, end, n = SPANS[name]
    rng = np.random.default_rng([start, end, n])
    return pa.table(
        {
            "id": np.arange(n) + 10_000 * list(SPANS).index(name),
            "kind": rng.choice(list("ABCXYZUVW"), n),
            "v": rng.integers(0, 5, n),
            "t": np.sort(rng.integers(start, end, n)),
            "p": rng.choice([1.0, 0.9, 0.5, 0.04], n),
        }
    )


def facts(found: list[dict[str, Any]]) -> list[list[Any]]:
    return sorted([row["match_id"], round(row["confidence"], 9)] for row in found)


def expected() -> list[list[Any]]:
    """Return what the local engine answers, which is the same for both plans but for the name."""
    ag = Session(engine="local")
    ag.sql(script())
    for name in SPANS:
        ag.bind(name, rows(name))
    return [facts(ag.table(f"by_{plan}").to_pylist()) for plan in PLANS]


def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pass rows on after a while, and say that they are being read."""
    import os
    import time

    for batch in batches:
        Path(os.environ["STARTED"]).touch()
        time.sleep(0.5)
        yield batch


def started(master: str, folder: Path) -> SparkSession:
    from pyspark.sql import SparkSession

    source = str(Path(augury.__file__).parents[1])
    here = str(Path(__file__).parents[1])
    settings = {
        "spark.executorEnv.PYTHONPATH": f"{source}:{here}",
        "spark.executorEnv.STARTED": str(folder / "started"),
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.log.level": "ERROR",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.shuffle.compress": "false",
    }
    return SparkSession.builder.master(master).config(map=settings).getOrCreate()


def read(spark: SparkSession, name: str) -> DataFrame:
    from cluster.moving import slowly

    data = spark.createDataFrame(rows(name))
    return data.mapInArrow(slowly, DDL) if name == "s4" else data


def main(master: str, folder: Path) -> None:
    spark = started(master, folder)
    ag = Session(spark)
    ag.sql(script())
    for name in SPANS:
        ag.bind(name, read(spark, name))
    found: dict[str, list[dict[str, Any]]] = {f"by_{plan}": [] for plan in PLANS}
    for answer in ag.pipeline(list(found)).answers.collect():
        found[answer.name] += pa.ipc.open_stream(bytes(answer.payload)).read_all().to_pylist()
    (folder / "answer.json").write_text(json.dumps([facts(each) for each in found.values()]))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))

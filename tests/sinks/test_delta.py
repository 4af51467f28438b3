"""Answers in a Delta table: one row per match, its newest revision, whatever is repeated."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from augury.analysis.script import check_text
from cli.terminal import STORE

# Jars of Delta 4.4.0 for Spark 4.2 with what they need, separated by commas; a JVM takes jars only
# when it starts, so the table is written by a process of its own.
REPOSITORY = Path.home() / ".m2" / "repository"
NEEDED = ("io/delta/*/4.4.0/*.jar", "org/antlr/antlr4-runtime/*/*.jar", "io/unitycatalog/*/*/*.jar")
WRITES = """
import sys
from pyspark.sql import SparkSession
from augury.sinks.delta import SETTINGS, DeltaSink
own = {"spark.jars": sys.argv[1], "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"}
local = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
builder = SparkSession.builder.master("local[1]")
spark = builder.config(map={**own, **local, **SETTINGS}).getOrCreate()
columns = "match_id string, revision long, confidence double"
sink = DeltaSink(spark, sys.argv[2], "theft", "run")
sink.open()
def write(batch, *rows):
    sink.write(spark.createDataFrame(rows, columns), batch)
    found = spark.read.format("delta").load(sys.argv[2]).orderBy("match_id").collect()
    print("told", [tuple(row) for row in found], flush=True)
write(0, ("a", 0, 0.5), ("b", 0, 0.4))
write(0, ("a", 0, 0.5), ("b", 0, 0.4))
write(1, ("a", 1, 0.75), ("c", 0, 1.0))
write(1, ("a", 1, 0.75), ("c", 0, 1.0))
write(2, ("a", 0, 0.5))
print("told", spark.sql(f"DESCRIBE HISTORY delta.`{sys.argv[2]}`").count())
"""


def test_a_query_may_be_written_to_a_delta_table() -> None:
    assert not check_text(STORE + "WRITE theft TO delta 'thefts';", "store.sql").has_errors
    assert check_text(STORE + "WRITE theft TO delta;", "store.sql").has_errors


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.rotating(3, 1)
def test_a_batch_is_merged_once_and_the_newest_revision_holds(tmp_path: Path) -> None:
    jars = [str(path) for pattern in NEEDED for path in sorted(REPOSITORY.glob(pattern))]
    if not any("delta-spark" in jar for jar in jars):
        pytest.skip("the jars of Delta are absent")
    done = subprocess.run(
        [sys.executable, "-c", WRITES, ",".join(jars), str(tmp_path / "table")],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    told = [line for line in done.stdout.splitlines() if line.startswith("told")]
    first = "[('a', 0, 0.5), ('b', 0, 0.4)]"
    later = "[('a', 1, 0.75), ('b', 0, 0.4), ('c', 0, 1.0)]"
    assert told[:5] == [f"told {each}" for each in (first, first, later, later, later)], done.stderr
    assert told[5] in ("told 2", "told 3"), "a repeated batch is no transaction"

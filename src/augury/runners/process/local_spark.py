"""A local Spark session for those who have none: Java is found, the workers take this Python."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from augury.errors import AuguryError
from augury.runners.process.warm_up import warm_up

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),
    "spark.sql.session.timeZone": "UTC",
    # Others read what Spark writes unless told so as nanoseconds, which begin in 1677.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


def start(more: Mapping[str, str] | None = None, master: str | None = None) -> SparkSession:
    """Return the running Spark session, or a new local one."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which(str(Path(home, "bin", "java")) if home else "java") is None:
        raise AuguryError(
            "Spark needs Java 17 or later, which was not found; install it, or work without Spark: "
            "Session(engine='local')"
        )
    if master is None or master.startswith("local"):
        # The workers are on this machine: one compiles, and not all of them at once.
        warm_up()
    # Without this the workers take another interpreter, which lacks the packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("augury").config(map={**SETTINGS, **(more or {})})
    if master is not None or "SPARK_REMOTE" not in os.environ:
        builder = builder.master(master or "local[*]")
    return builder.getOrCreate()

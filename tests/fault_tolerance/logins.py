"""A streaming run over a log whose rows have no ID, to be killed: see `driver`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from augury import Session
from fault_tolerance import driver

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "logins.csv"
SCRIPT = """
CREATE STREAM logins (ts TIMESTAMP, event STRING, user STRING, ip STRING) TIME ts TYPE event;
CREATE QUERY guessing ON logins PATTERN SEQ(FAIL{5} f) WHERE [ip]
USING SKIP TILL NEXT MATCH WITHIN 60 SECONDS;
"""
COLUMNS = "ts TIMESTAMP, event STRING, user STRING, ip STRING"
PLACES = [("match", "guessing"), ("late", "logins"), ("rejected", "logins")]


def started(spark: Any, folder: Path) -> StreamingQuery:
    ag = Session(spark, shards=3)
    ag.sql(SCRIPT)
    reader = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1)
    ag.bind("logins", reader.json(str(folder / "in")))
    return driver.delivering(ag, SCRIPT, PLACES, folder)


if __name__ == "__main__":
    driver.main(Path(sys.argv[1]), started)

"""A thousand wards in one streaming run of Spark: equal to the local engine, and how fast.

    python benchmarks/identity/wards.py [wards] [events of each]

Wards of `ward.py`'s kind with 8 people and 10 rooms, a quarter of the badges unread, merged by
time and cut into micro-batches; every telling of owners and of visits is compared with those of the
local engine over bound rows. Writes docs/benchmarks/identity_wards.json.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from augury import Session
from identity.ward import walked
from matching.harness import record, sized

WARDS, EVENTS, PARTS, SHARDS = sized(1_000, 3), 20, 3, 4
PEOPLE, PLACES, UNREAD = 8, 10, 0.25
SCRIPT = """
CREATE TABLE staff (unit LONG, person LONG, room STRING);
CREATE STREAM doors (id LONG, unit LONG, person LONG, action STRING, room STRING, t LONG)
ID id TIME t TYPE action;
CREATE MODEL ward MOVES (OBJECTS staff, OWNER person, PLACE room, ENTER 'ENTER', EXIT 'EXIT',
HALL 'H', STEP 1, BY unit);
CREATE STREAM known AS IDENTIFY doors USING ward WITHIN 3600 REVISE ANY;
CREATE QUERY visit ON known PATTERN SEQ(ENTER x, EXIT e) WHERE [unit] AND [person]
AND x.room = e.room WITHIN 1800 RETURN x.id AS x, e.id AS e;
"""
STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SETTINGS = {
    "spark.sql.shuffle.partitions": str(SHARDS),
    "spark.sql.streaming.stateStore.providerClass": STORE,
    "spark.ui.enabled": "false",
    "spark.driver.memory": "3g",
}
COLUMNS = ("id", "unit", "person", "action", "room", "t")


def rows_of(wards: int, events: int) -> list[tuple[Any, ...]]:
    """Return the rows of all wards in the order of time, and one that lets all be known."""
    found = []
    for unit in range(wards):
        walk = walked(unit, events, UNREAD, (PEOPLE, PLACES))
        for _, row in walk.rows:
            number = unit * events + row.id
            found.append((number, unit, row.person, row.type, row.place, row.time))
    found.sort(key=lambda row: (row[5], row[0]))
    last = found[-1]
    return [*found, (wards * events, last[1], None, "END", None, last[5] + 10**6)]


def session(engine: Any, staff: Any) -> Session:
    """Return a session that has the staff."""
    ag = Session(engine="local") if engine is None else Session(engine, shards=SHARDS)
    ag.sql(SCRIPT)
    ag.bind("staff", staff)
    return ag


def streamed(spark: SparkSession, staff: pa.Table, table: pa.Table, folder: Path) -> Session:
    """Return a session in which the rows come in micro-batches."""
    ag, each = session(spark, staff), table.num_rows // PARTS + 1
    (folder / "rows").mkdir()
    for k in range(PARTS):
        path = folder / "rows" / f"{k}.parquet"
        pq.write_table(table.slice(k * each, each), path)
        os.utime(path, (1_000_000_000 + k, 1_000_000_000 + k))
    schema = spark.read.parquet(str(folder / "rows")).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    ag.bind("doors", reader.parquet(str(folder / "rows")))
    return ag


class Run(NamedTuple):
    """What a stream told, in a set order; its seconds, and the rate of its fastest batch."""

    told: list[str]
    seconds: float
    rate: float


def collected(data: Any, folder: Path) -> Run:
    """Run a stream to its end; its rate is that of the fastest micro-batch, rows a second."""
    found, began = list[dict[str, Any]](), perf_counter()
    writer = data.writeStream.trigger(availableNow=True).foreachBatch(
        lambda part, _: found.extend(part.toArrow().to_pylist())
    )
    query = writer.option("checkpointLocation", str(folder)).start()
    query.awaitTermination()
    seconds = perf_counter() - began
    rates = [each["processedRowsPerSecond"] for each in query.recentProgress]
    return Run(shown(found), seconds, max(rates, default=0.0))


def shown(rows: list[dict[str, Any]]) -> list[str]:
    """Return rows as texts in a set order; sums of floats hang on their order."""
    for row in rows:
        row.pop("events", None)
        for name in ("p", "confidence"):
            if name in row:
                row[name] = round(row[name], 9)
    return sorted(map(repr, rows))


def main() -> None:
    """Measure, compare, print and write."""
    wards = int(sys.argv[1]) if len(sys.argv) > 1 else WARDS
    events = int(sys.argv[2]) if len(sys.argv) > 2 else EVENTS
    rows = rows_of(wards, events)
    table = pa.Table.from_pylist([dict(zip(COLUMNS, row, strict=True)) for row in rows])
    people = [{"unit": u, "person": p, "room": None} for u in range(wards) for p in range(PEOPLE)]
    staff = pa.Table.from_pylist(
        people, pa.schema([("unit", pa.int64()), ("person", pa.int64()), ("room", pa.string())])
    )
    warnings.simplefilter("ignore")
    here = session(None, staff)
    here.bind("doors", table)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.master("local[2]").config(map=SETTINGS).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    figures: dict[str, object] = {"wards": wards, "events": len(rows) - 1}
    with tempfile.TemporaryDirectory() as name:
        there = streamed(spark, staff, table, Path(name))
        for asked in ("known", "visit"):
            began = perf_counter()
            expected = shown(here.revisions(asked).to_pylist())
            local = perf_counter() - began
            run = collected(there.revisions(asked), Path(name) / asked)
            if run.told != expected:
                raise SystemExit(f"{asked}: the stream told other rows than the local engine")
            figures[f"tellings of {asked}"] = len(run.told)
            figures[f"{asked}, events a second in the stream"] = round(len(rows) / run.seconds)
            figures[f"{asked}, events a second in its fastest batch"] = round(run.rate)
            figures[f"{asked}, events a second locally"] = round(len(rows) / local)
            record("identity_wards", figures)
    spark.stop()


if __name__ == "__main__":
    main()

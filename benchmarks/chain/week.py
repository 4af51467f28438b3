"""A simulated week in batch, on Spark over two cores: the whole chain, corridor by corridor.

Asked for are the firings of the rules, so that owners, the policy, all queries and the badges are
made, in one job; the seconds are those of that job by the clock, after a small one that starts
workers. Beside it the same in this process, on one core.

Run: PYTHONPATH=benchmarks python benchmarks/chain/week.py [corridors] [hours]
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from augury import Session
from augury.demo.hospital.pipelines import opened, script, table_of
from augury.demo.hospital.ward import Care, Ward, simulate
from matching.harness import record, sized
from rules.on_spark import session

CORRIDORS, HOURS, SHARDS = 8, float(sized(168)), 8


def on_spark(spark: Any, ward: Ward, folder: Path) -> float:
    """Return the seconds of the job that lets all rules act."""
    pq.write_table(table_of(ward.told), folder / "doors.parquet")
    ag = Session(spark, shards=SHARDS)
    ag.sql(script("ward.sql"))
    ag.bind("staff", spark.createDataFrame(ward.staff))
    rooms = [{"room": f"R{k + 1}"} for k in range(ward.care.contagious)]
    ag.bind("contagious", spark.createDataFrame(rooms))
    ag.bind("doors", spark.read.parquet(str(folder / "doors.parquet")))
    firings = ag.table("alarm")
    began = time.perf_counter()
    firings.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


def here(ward: Ward) -> float:
    """Return the seconds of the same in this process."""
    ag, began = opened(ward), time.process_time()
    ag.table("alarm")
    return time.process_time() - began


def main() -> None:
    """Measure, and write the figures down."""
    warnings.simplefilter("ignore")
    corridors = int(sys.argv[1]) if len(sys.argv) > 1 else CORRIDORS
    hours = float(sys.argv[2]) if len(sys.argv) > 2 else HOURS
    care = replace(Care(), corridors=corridors, hours=hours)
    ward, small = simulate(1, care), simulate(1, replace(care, hours=min(0.5, hours)))
    spark = session()
    with tempfile.TemporaryDirectory() as folder:
        on_spark(spark, small, Path(folder))
        took = on_spark(spark, ward, Path(folder))
    spark.stop()
    here(small)
    alone, events = here(ward), len(ward.told)
    found = {"events": events, "corridors": corridors, "people": len(ward.staff), "hours": hours}
    found |= {"seconds_on_two_cores": round(took, 2), "seconds_on_one_core": round(alone, 2)}
    found["events_per_second"] = round(events / took)
    found["events_per_core_second"] = round(events / alone)
    record("chain_week", found)


if __name__ == "__main__":
    main()

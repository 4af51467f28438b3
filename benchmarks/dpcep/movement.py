"""Bytes moved by both plans, estimated and measured: `python movement.py [ROWS]`.

Four streams at four places, with overlaps from none to full, and shares of rows that enter the
queues (the paper's lambda, figure 14) from 0.05 to 1, for one query and for three over the same
window. Measured are the blobs that came to ranges at other places, on Spark; Spark's own count of
shuffled bytes confirms all blobs, those that stayed too.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from augury import Session
from augury.runners.movement import Movements
from augury.runners.network import Network
from dpcep.spark_log import SETTINGS, work_of
from lahar.lines import draw
from matching.harness import record

ROWS = 12_000
STREAMS = ("s1", "s2", "s3", "s4")
OVERLAPS = (0.0, 0.25, 0.5, 0.75, 1.0)
RATES = (0.05, 0.1, 0.25, 0.5, 1.0)
PLANS = ("events", "results")
WINDOW = 2
PARTS = 4


def script(rate: float, queries: int) -> str:
    """Return queries of which each takes its own share of the rows, in both ways."""
    columns = "id LONG, kind STRING, v LONG, t LONG, p DOUBLE, u1 DOUBLE, u2 DOUBLE, u3 DOUBLE"
    text = [f"CREATE STREAM {s} ({columns}) ID id TIME t TYPE kind PROBABILITY p;" for s in STREAMS]
    for k in range(1, queries + 1):
        where = f"a.u{k} <= {rate} AND b.u{k} <= {rate} AND a.v + 1 = b.v"
        head = f"ON {', '.join(STREAMS)} PATTERN SEQ(A a, B b) WHERE {where} WITHIN {WINDOW}"
        text += [
            f"CREATE QUERY {plan}{k} {head} OPTIONS (movement = '{plan}', partitions = {PARTS});"
            for plan in PLANS
        ]
        text.append(f"CREATE QUERY free{k} {head} OPTIONS (partitions = {PARTS});")
    return "\n".join(text)


def rows(number: int, overlap: float, n: int) -> pa.Table:
    """Return the rows of a stream, which begins later the less the streams overlap."""
    rng = np.random.default_rng([number, n])
    first = round(number * n * (1 - overlap))
    return pa.table(
        {
            "id": np.arange(n) + number * n,
            "kind": rng.choice(["A", "B"], n),
            "v": rng.integers(0, 20, n),
            "t": first + np.sort(rng.integers(0, n, n)),
            "p": rng.choice([0.5, 0.9], n),
            **{f"u{k}": rng.random(n) for k in (1, 2, 3)},
        }
    )


def bound(spark: Any, folder: Path, overlap: float, rate: float, queries: int, n: int) -> Session:
    """Return a session over files of the streams, two each."""
    ag = Session(spark)
    ag.sql(script(rate, queries))
    for number, name in enumerate(STREAMS):
        path = folder / f"{overlap}-{name}"
        if not path.exists():
            path.mkdir()
            table = rows(number, overlap, n)
            for k, part in enumerate((table.slice(0, n // 2), table.slice(n // 2))):
                pq.write_table(part, path / f"{k}.parquet")
        ag.bind(name, spark.read.parquet(str(path)))
    return ag


def estimated(ag: Session, queries: int) -> dict[str, Any]:
    """Return what the planner expects of both plans, and which it takes."""
    free = [f"free{k}" for k in range(1, queries + 1)]
    ag.analyze(free)
    for k in range(1, queries + 1):
        ag._sketches |= {f"{plan}{k}": ag._sketches[f"free{k}"] for plan in PLANS}
    known = {name: query for name, (query, _) in ag._queries.items()}
    ways = Movements(Network.of(free, known, ag._catalog), PARTS, True, ag._sketches)
    prices = {plan: ways.price(free, plan) for plan in PLANS}
    return {"chosen": ways.chosen(free)} | {
        plan: {"rows": round(cost.rows), "bytes": round(cost.bytes)}
        for plan, cost in prices.items()
    }


def measured(spark: Any, ag: Session, plan: str, queries: int, label: str) -> dict[str, Any]:
    """Return the rows and bytes that came from other places, and all that was packed."""
    spark.sparkContext.setJobDescription(f"{label} {plan}")
    names = [f"{plan}{k}" for k in range(1, queries + 1)]
    answers = ag.pipeline(names, tells_movement=True).answers.collect()
    spark.sparkContext.setJobDescription("")
    told = [
        row
        for answer in answers
        if answer.kind == "movement"
        for row in pa.ipc.open_stream(bytes(answer.payload)).read_all().to_pylist()
    ]
    moved = [row for row in told if row["kind"].startswith("moved")]
    return {
        "rows": sum(row["rows"] for row in moved),
        "bytes": sum(row["bytes"] for row in moved),
        "packed_bytes": sum(row["bytes"] for row in told),
        "matches": sum(answer.n for answer in answers if answer.kind == "match"),
    }


def layout(spark: Any, folder: Path, asked: tuple[float, float, int], n: int) -> dict[str, Any]:
    """Return what both plans were expected to move, and moved."""
    overlap, rate, queries = asked
    ag = bound(spark, folder, overlap, rate, queries, n)
    found: dict[str, Any] = {"overlap": overlap, "rate": rate, "queries": queries}
    found["estimated"] = estimated(ag, queries)
    found["measured"] = {
        plan: measured(spark, ag, plan, queries, f"{overlap} {rate} {queries}") for plan in PLANS
    }
    one, other = (found["measured"][plan] for plan in PLANS)
    assert one["matches"] == other["matches"], found
    return found


def summary(layouts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what was asked: ratio at full overlap, error of estimates, share of right picks."""
    off, right, over = [], 0, []
    for each in layouts:
        found, guess = each["measured"], each["estimated"]
        off += [_error(guess[plan]["bytes"], found[plan]["bytes"]) for plan in PLANS]
        cheaper = "events" if found["events"]["bytes"] < found["results"]["bytes"] else "results"
        right += guess["chosen"] == cheaper
        if each["overlap"] == 1.0 and each["queries"] == 1:
            ratio = found["results"]["bytes"] / found["events"]["bytes"]
            over.append(ratio - each["rate"])
    return {
        "layouts": len(layouts),
        "largest_error_of_estimated_bytes": round(max(off), 4),
        "cheaper_plan_picked": round(right / len(layouts), 4),
        "events_picked": sum(each["estimated"]["chosen"] == "events" for each in layouts),
        "results_to_events_above_rate_at_full_overlap": round(max(over), 4),
    }


def _error(estimate: float, truth: float) -> float:
    """Return the relative error; what is less than a few blobs is not judged."""
    return 0.0 if max(estimate, truth) < 1000 else abs(estimate - truth) / truth


def spark_agrees(layouts: list[dict[str, Any]], folder: Path) -> float:
    """Return how far Spark's count of shuffled bytes is from that of the blobs, at most."""
    work = work_of(folder)
    far = []
    for each in layouts:
        for plan in PLANS:
            told = work[f"{each['overlap']} {each['rate']} {each['queries']} {plan}"].shuffled
            each["measured"][plan]["spark_shuffle_bytes"] = told
            far.append(abs(told / each["measured"][plan]["packed_bytes"] - 1))
    return round(max(far), 4)


def charts(layouts: list[dict[str, Any]]) -> None:
    """Draw megabytes by lambda, for three overlaps."""
    alone = [each for each in layouts if each["queries"] == 1]
    for overlap in (0.0, 0.5, 1.0):
        own = [each for each in alone if each["overlap"] == overlap]
        lines = {
            f"{plan}, {how}": [(e["rate"], e[how][plan]["bytes"] / 1e6) for e in own]
            for plan in PLANS
            for how in ("measured", "estimated")
        }
        title = f"Megabytes moved by the share of rows that enter queues, overlap {overlap:.0%}"
        draw(f"movement_overlap_{round(100 * overlap)}", title, "lambda", lines)


def main() -> None:
    """Measure all layouts."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    asked = [(o, r, 1) for o in OVERLAPS for r in RATES]
    asked += [(o, r, 3) for o in OVERLAPS[::2] for r in RATES[::2]]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "log").mkdir()
        settings = SETTINGS | {
            "spark.eventLog.dir": (folder / "log").as_uri(),
            "spark.sql.shuffle.partitions": str(PARTS),
        }
        spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
        layouts = []
        for each in asked:
            layouts.append(layout(spark, folder, each, n))
            print(layouts[-1], flush=True)
        spark.stop()
        agreed = spark_agrees(layouts, folder / "log")
    charts(layouts)
    found = summary(layouts) | {"spark_differs_from_blobs_by": agreed, "rows_of_a_stream": n}
    print(found)
    record("movement", found | {"layouts_measured": layouts})


if __name__ == "__main__":
    main()

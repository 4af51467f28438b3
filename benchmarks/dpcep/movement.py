"""Bytes moved by both plans, estimated and measured: `python movement.py [ROWS]`.

Four streams at four places, with overlaps from none to full, and shares of rows that enter the
queues (the paper's lambda, figure 14) from 0.05 to 1, for one query and for three over the same
window. Every layout is packed and matched by the code that runs in Spark's workers, and the blobs
that come to ranges at other places are counted. A few layouts run on Spark as well: there Spark
sketches the streams, and its own count of shuffled bytes confirms that of all blobs.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from augury import Session
from augury.evaluation.network import Network
from augury.evaluation.sharding import sharding_of
from augury.planning.distribution.movement import joint
from augury.runners.spark.movement import Movements
from contracts.movement_cases import loaded, moved, sketches_of
from dpcep.spark_log import SETTINGS, work_of
from lahar.lines import draw
from matching.harness import record, sized

ROWS = sized(12_000, 200)
STREAMS = ("s1", "s2", "s3", "s4")
OVERLAPS = (0.0, 0.25, 0.5, 0.75, 1.0)
RATES = (0.05, 0.1, 0.25, 0.5, 1.0)
# (overlap, rate, queries) of the layouts that Spark runs too.
ON_SPARK = ((0.0, 0.25, 1), (0.5, 0.05, 1), (0.5, 0.5, 3), (1.0, 0.05, 1), (1.0, 0.5, 1))
PLANS = ("events", "results")
WINDOW = 2
PARTS = 4
LEAST_SHARE = 0.001


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


def estimates(ag: Session, network: Network) -> dict[str, Any]:
    """Return what the planner expects of both plans, and which it takes."""
    ways = Movements(network, PARTS, True, ag._bound.sketches)
    prices = {plan: ways.price(network.names, plan) for plan in PLANS}
    return {"chosen": ways.chosen(network.names)} | {
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
    return counted(told, sum(answer.n for answer in answers if answer.kind == "match"))


def in_process(tables: dict[str, pa.Table], rate: float, queries: int) -> dict[str, Any]:
    """Return what both plans were expected to move, and moved, without Spark."""
    ag = Session(engine="local")
    ag.sql(script(rate, queries))
    known = {name: query for name, (query, _) in ag._declared.queries.items()}

    def network(plan: str) -> Network:
        return Network.of(
            [f"{plan}{k}" for k in range(1, queries + 1)], known, ag._declared.catalog
        )

    free = network("free")
    for name in free.names:
        own = free.only([name])
        ag._bound.sketches[name] = {
            stream: replace(sketch, tasks=2, text=(("kind", 1.0),))
            for stream, sketch in sketches_of(own, loaded(own, tables)).items()
        }
    found = {"estimated": estimates(ag, free), "measured": {}}
    for plan in PLANS:
        ways = network(plan)
        told = [moved_by(ag, ways.only(names), tables) for names in shared(ways, plan)]
        found["measured"][plan] = {key: sum(each[key] for each in told) for key in told[0]}
    return found


def shared(network: Network, plan: str) -> list[list[str]]:
    """Return the queries that one pass serves."""
    return [list(network.names)] if plan == "events" else [[name] for name in network.names]


def moved_by(ag: Session, network: Network, tables: dict[str, pa.Table]) -> dict[str, int]:
    """Return what packing moves, two tasks to a stream, and the matches."""
    free = [name.replace("events", "free").replace("results", "free") for name in network.names]
    moving = sharding_of(network.only(network.names[:1]), bounded=True).moving
    assert moving is not None
    layout = moving.layout(joint([ag._bound.sketches[name] for name in free]))
    found, told = moved(network, tables, moving, layout, rows_of_a_task=len(tables["s1"]) // 2)
    return counted(told.to_pylist(), len(found))


def counted(told: list[dict[str, Any]], matches: int) -> dict[str, int]:
    """Return the rows and bytes that came from other places, and all that was packed."""
    moved = [row for row in told if row["kind"].startswith("moved")]
    return {
        "rows": sum(row["rows"] for row in moved),
        "bytes": sum(row["bytes"] for row in moved),
        "packed_bytes": sum(row["bytes"] for row in told),
        "matches": matches,
    }


def on_spark(spark: Any, folder: Path, asked: tuple[float, float, int], n: int) -> dict[str, Any]:
    """Return the same, estimated and moved by Spark."""
    overlap, rate, queries = asked
    ag = bound(spark, folder, overlap, rate, queries, n)
    free = [f"free{k}" for k in range(1, queries + 1)]
    ag.analyze(free)
    for k in range(1, queries + 1):
        ag._bound.sketches |= {f"{plan}{k}": ag._bound.sketches[f"free{k}"] for plan in PLANS}
    known = {name: query for name, (query, _) in ag._declared.queries.items()}
    expected = estimates(ag, Network.of(free, known, ag._declared.catalog))
    label = f"{overlap} {rate} {queries}"
    took = {plan: measured(spark, ag, plan, queries, label) for plan in PLANS}
    return {"estimated": expected, "measured": took}


def same(layout: dict[str, Any]) -> dict[str, Any]:
    """Return a layout for which both plans gave as many matches; few sparse rows have none."""
    one, other = (layout["measured"][plan]["matches"] for plan in PLANS)
    assert one == other, layout
    is_dense = layout["rate"] * layout["overlap"] >= 0.25
    assert one > 0 or not is_dense, layout
    return layout


def summary(layouts: list[dict[str, Any]], n: int) -> dict[str, Any]:
    """Return what was asked: ratio at full overlap, error of estimates, share of right picks.

    Where hardly a row moves, because streams do not overlap, one more or less is no error.
    """
    right, over, runs = 0, list[float](), list[tuple[float, float, float]]()
    for each in layouts:
        found, guess = each["measured"], each["estimated"]
        runs += [
            (found[plan]["rows"], found[plan]["bytes"], guess[plan]["bytes"]) for plan in PLANS
        ]
        cheaper = "events" if found["events"]["bytes"] < found["results"]["bytes"] else "results"
        right += guess["chosen"] == cheaper
        if each["overlap"] == 1.0 and each["queries"] == 1:
            over.append(found["results"]["bytes"] / found["events"]["bytes"] - each["rate"])
    judged = [run for run in runs if run[0] >= LEAST_SHARE * n * len(STREAMS)]
    errors = [abs(guess - truth) / truth for _, truth, guess in judged]
    return {
        "layouts": len(layouts),
        "cheaper_plan_picked": round(right / len(layouts), 4),
        "events_picked": sum(each["estimated"]["chosen"] == "events" for each in layouts),
        "above_rate_at_full_overlap": round(max(over), 4),
        "plans_judged": len(judged),
        "largest_error": round(max(errors), 4),
        "most_bytes_of_others": max((r[1] for r in runs if r not in judged), default=0),
    }


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


def all_on_spark(n: int) -> tuple[list[dict[str, Any]], float]:
    """Return a few layouts as Spark runs them, and how far its count is from ours."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "log").mkdir()
        settings = SETTINGS | {
            "spark.eventLog.dir": (folder / "log").as_uri(),
            "spark.sql.shuffle.partitions": str(PARTS),
        }
        os.environ["PYSPARK_PYTHON"] = sys.executable
        spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
        found = []
        for asked in ON_SPARK:
            about = dict(zip(("overlap", "rate", "queries"), asked, strict=True))
            found.append(same(about | on_spark(spark, folder, asked, n)))
            print(found[-1], flush=True)
        spark.stop()
        return found, spark_agrees(found, folder / "log")


def main() -> None:
    """Measure all layouts."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    layouts = []
    for overlap in OVERLAPS:
        tables = {name: rows(k, overlap, n) for k, name in enumerate(STREAMS)}
        for rate in RATES:
            for queries in (1, 3):
                about = {"overlap": overlap, "rate": rate, "queries": queries}
                layouts.append(same(about | in_process(tables, rate, queries)))
                print(layouts[-1], flush=True)
    charts(layouts)
    found = {"rows_of_a_stream": n, **summary(layouts, n), "measured": layouts}
    record("movement", found)
    on, agreed = all_on_spark(n)
    confirmed = {**summary(on, n), "spark_differs_from_blobs_by": agreed, "measured": on}
    record("movement", found | {"on_spark": confirmed})


if __name__ == "__main__":
    main()

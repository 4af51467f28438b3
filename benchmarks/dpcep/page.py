"""Writes docs/benchmarks/distribution.md from the figures that the other scripts leave there."""

from __future__ import annotations

import json
from typing import Any

from matching.harness import FIGURES

HEAD = """# Benchmarks of distribution

Written by `benchmarks/dpcep/page.py` from the JSON files beside it, and measured anew by
`AUGURY_BENCH_SCALE=1 make bench`. What is moved, and why:
[many streams, many machines](../distribution.md).
"""
MOVEMENT = """## Bytes moved

Four streams of {rows_of_a_stream:,} rows at four places, with overlaps from none to full; a share
λ of each, from 0.05 to 1, enters the queues; one query, and three over the same window: {layouts}
layouts, packed and matched by the code that runs in Spark's workers
(`benchmarks/dpcep/movement.py`, [figures](movement.json)).

| what | measured | target |
|---|---|---|
| layouts where the planner picks the cheaper plan | {cheaper_plan_picked:.0%} | at least 95 % |
| layouts where it picks moving events | {events_picked} | |
| results to events in bytes, full overlap | λ + {above_rate_at_full_overlap:.4f} | λ + 0.05 |
| largest error of the estimated bytes | {largest_error:.1%} | at most 10 % |

The error is that of the {plans_judged} plans that moved at least a thousandth of the rows. Events
of streams that do not overlap hardly move: the other plans moved {most_bytes_of_others:,} bytes at
most, a few rows.

![no overlap](movement_overlap_0.svg)
![half](movement_overlap_50.svg)
![full](movement_overlap_100.svg)
"""
ON_SPARK = """
On Spark, {layouts} layouts: largest error of the estimate {largest_error:.1%}, cheaper plan picked
in {cheaper_plan_picked:.0%} of them. Spark's own count of shuffled bytes differs from that of all
blobs, moved and stayed, by at most {spark_differs_from_blobs_by:.1%}.
"""
WORKERS = """## Workers and cores

One query, `SEQ` of three, over skewed streams of {rows:,} rows in all, each half as large as the
one before (`benchmarks/dpcep/workers.py`, [figures](workers.json)). {what_this_can_show} The load
says how many processes wanted those cores: where it is far above their number, throughput says
little. What remains is how the work is cut: tasks, the bytes that they exchange, and their skew,
the largest to the mean.
"""
TITLES = {
    "workers": "Four streams, by workers",
    "workers_figure_17": "Six streams, by workers (figure 17)",
    "workers_figure_16": "Four streams on local Spark, by threads (figure 16)",
}
COLUMNS = {
    "rows_per_second": "rows a second",
    "tasks": "tasks",
    "bytes_shuffled": "bytes shuffled",
    "skew_of_task_time": "skew of time",
    "skew_of_bytes_read": "skew of bytes",
    "load": "load",
}


def figures(name: str) -> dict[str, Any]:
    """Return the figures of a benchmark."""
    found: dict[str, Any] = json.loads((FIGURES / f"{name}.json").read_text())
    return found


def table(name: str, found: dict[str, dict[str, Any]]) -> str:
    """Return one table and its chart."""
    lines = ["| | " + " | ".join(COLUMNS.values()) + " |", "|" + "---|" * (len(COLUMNS) + 1)]
    for count, each in found.items():
        lines.append("| ".join([f"| {count} ", *(f"{each[key]:,} " for key in COLUMNS)]) + "|")
    return "\n".join(["", f"### {TITLES[name]}", "", *lines, "", f"![chart]({name}.svg)", ""])


def main() -> None:
    """Write the page."""
    moved = figures("movement")
    parts = [HEAD, MOVEMENT.format(**moved)]
    if "on_spark" in moved:
        parts.append(ON_SPARK.format(**moved["on_spark"]).lstrip("\n"))
    if (FIGURES / "workers.json").exists():
        workers = figures("workers")
        parts.append(WORKERS.format(**workers))
        parts.append("".join(table(name, workers[name]) for name in TITLES if name in workers))
    (FIGURES / "distribution.md").write_text("\n".join(parts).rstrip() + "\n")


if __name__ == "__main__":
    main()

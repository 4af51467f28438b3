"""What allowing one missed component costs, against plain matching of the same stream.

    python benchmarks/missed/throughput.py

Writes docs/benchmarks/missed-throughput.json: events per second of one core's work without and with
ALLOW 1 MISSED, and what share of the first the second is.
"""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

from augury import Session
from matching.harness import on_one_core, record, sized

EVENTS = sized(300_000, 600)
PER_TAG = 6
ROUNDS = 5
GAPS = "x BEFORE y EXPONENTIAL(1000), x TO y EXPONENTIAL(1000), y TO z EXPONENTIAL(1000)"


def stream(span: int) -> pa.Table:
    """Return reads of tags that pass three readers in any order, each within a span of time."""
    rng = np.random.default_rng(3)
    tag = np.repeat(np.arange(EVENTS // PER_TAG), PER_TAG)
    start = rng.integers(0, 10_000_000, EVENTS // PER_TAG)
    at = np.repeat(start, PER_TAG) + rng.integers(0, span, EVENTS)
    kind = np.array(["X", "Y", "Z"])[rng.integers(0, 3, EVENTS)]
    return pa.table({"tag": tag, "kind": kind, "t": at}).sort_by("t")


def seconds(reads: pa.Table, clauses: str, gaps: str) -> tuple[float, int]:
    """Return the least processor time that the query takes, and how many matches it has."""
    ag = Session(engine="local")
    ag.sql(f"""
    CREATE STREAM s (tag LONG, kind STRING, t LONG) KEY tag TIME t TYPE kind MISS RATE 0.1;
    CREATE QUERY q ON s PATTERN SEQ(X x, Y y, Z z) WHERE [tag] {clauses};
    {f"CREATE GAPS g ON q ({gaps});" if gaps else ""}""")
    best = float("inf")
    for _ in range(ROUNDS):
        ag.bind("s", reads)
        before = time.process_time()
        found = ag.table("q").num_rows
        best = min(best, time.process_time() - before)
    return best, found


def main() -> None:
    """Measure, print and write."""
    on_one_core()
    reads, figures = stream(6000), {}
    for name, clauses, gaps in (
        ("plain", "WITHIN 3000", ""),
        ("one missed", "WITHIN 3000 ALLOW 1 MISSED HAVING CONFIDENCE >= 0.3", GAPS),
        ("one missed, any score", "WITHIN 3000 ALLOW 1 MISSED", GAPS),
    ):
        took, found = seconds(reads, clauses, gaps)
        figures[name] = {"events_per_core_second": round(EVENTS / took), "matches": found}
    share = (
        figures["one missed"]["events_per_core_second"] / figures["plain"]["events_per_core_second"]
    )
    figures["share of plain"] = round(share, 3)
    record("missed-throughput", figures)


if __name__ == "__main__":
    main()

"""What allowing one missed component costs, against plain matching of the same stream.

    python benchmarks/missed/throughput.py

Writes docs/benchmarks/missed-throughput.json: events a second without and with ALLOW 1 MISSED, and
time per event as the window grows tenfold, with y alone to be missed:
ten times as many reads lie in a window, as many of one tag.
"""

from __future__ import annotations

import json
import time

import numpy as np
import pyarrow as pa

from augury import Session
from matching.harness import FIGURES, on_one_core

EVENTS = 300_000
PER_TAG = 6
ROUNDS = 3
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
    """Return the least time that the query takes, and how many matches it has."""
    ag = Session(engine="local")
    ag.sql(f"""
    CREATE STREAM s (tag LONG, kind STRING, t LONG) KEY tag TIME t TYPE kind MISS RATE 0.1;
    CREATE QUERY q ON s PATTERN SEQ(X x, Y y, Z z) WHERE [tag] {clauses};
    {f"CREATE GAPS g ON q ({gaps});" if gaps else ""}""")
    best = float("inf")
    for _ in range(ROUNDS):
        ag.bind("s", reads)
        before = time.perf_counter()
        found = ag.table("q").num_rows
        best = min(best, time.perf_counter() - before)
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
        figures[name] = {"events_per_second": round(EVENTS / took), "matches": found}
    # What a window holds grows tenfold, what belongs to one tag does not.
    reads = stream(500)
    rule = "ALLOW 1 MISSED OF (y) HAVING CONFIDENCE >= {} SCORING {}"
    for scoring, threshold in (("AYAC", 0.02), ("LAW", 0.05)):
        for window in (600, 6000):
            clauses = f"WITHIN {window} " + rule.format(threshold, scoring)
            took, found = seconds(reads, clauses, GAPS)
            micros = round(1e6 * took / EVENTS, 3)
            figures[f"{scoring} within {window}"] = {"us_per_event": micros, "matches": found}
    share = figures["one missed"]["events_per_second"] / figures["plain"]["events_per_second"]
    figures["share of plain"] = round(share, 3)
    for name, each in figures.items():
        print(name, each)
    (FIGURES / "missed-throughput.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
